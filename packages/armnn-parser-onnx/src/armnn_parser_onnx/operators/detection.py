# SPDX-License-Identifier: MIT
"""Boxes of detected objects: NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from armnn.graph import Value
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation


@operator("NonMaxSuppression")
def non_max_suppression(operation: Operation) -> Value:
    """Add NonMaxSuppression; its numbers may be computed."""
    names = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
    computed: list[Value | None] = []
    known: dict[str, float] = {}
    for index, name in enumerate(names, start=2):
        constant = operation.constant(index)
        computed.append(None if constant is not None else operation.optional_input(index))
        if constant is not None:
            known[name] = float(operation.only(index, constant))
    most = int(known.get(names[0], 0))
    return operation.network.add_non_max_suppression(
        operation.input(),
        operation.input(1),
        *computed,
        max_output_boxes_per_class=max(most, 0),
        iou_threshold=known.get(names[1], 0.0),
        score_threshold=known.get(names[2], -np.inf),
        center_point_box=operation.flag("center_point_box"),
        name=operation.layer_name(),
    )
