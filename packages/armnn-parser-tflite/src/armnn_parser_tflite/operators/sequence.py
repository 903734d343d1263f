# SPDX-License-Identifier: MIT
"""Whole sequences: REVERSE_SEQUENCE."""

from __future__ import annotations

from armnn.graph import Value
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation


@operator("REVERSE_SEQUENCE")
def reverse_sequence(operation: Operation) -> Value:
    """Add ReverseSequence."""
    options = operation.options("ReverseSequenceOptions")
    return operation.network.add_reverse_sequence(
        operation.input(),
        operation.integers(1),
        batch_axis=options.integer("BatchDim"),
        time_axis=options.integer("SeqDim"),
        name=operation.layer_name(),
    )
