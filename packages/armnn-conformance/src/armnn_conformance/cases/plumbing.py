# SPDX-License-Identifier: MIT
"""Conformance cases of Debug."""

from __future__ import annotations

from collections.abc import Iterator

from armnn.layers.plumbing import DebugDescriptor
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, case, cases
from armnn_conformance.operands import ANY, values


@cases(DebugDescriptor, types=ANY)
def debug(data_type: DataType) -> Iterator[LayerCase]:
    """Cover inputs of several shapes, returned unchanged."""
    for name, shape in (("rank 5", (2, 1, 3, 1, 2)), ("a scalar", ()), ("an empty tensor", (0, 3))):
        x = values(data_type, shape, seed=1)
        yield case(data_type, name, DebugDescriptor(), [x], x.real, like=x, edge=True)
