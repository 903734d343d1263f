# SPDX-License-Identifier: MIT
"""Scan: its body once per element of the scanned axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.control_flow import Scope, check_count, check_limits, check_outputs
from armnn_parser_onnx.operation import Operation


@operator("Scan", since=9, moves_data=True)
def convert_scan(operation: Operation) -> Sequence[Value]:
    """Convert the body once per element of the scanned axes."""
    inputs = operation.values()
    return _Scan(operation, inputs).run(inputs)


@operator("Scan", moves_data=True)
def convert_scan_of_batches(operation: Operation) -> Sequence[Value]:
    """Scan each batch entry, as before opset 9.

    All inputs and outputs have the batch as first axis there.
    """
    if operation.has_input(0):
        raise RefusedError(
            "sequences of different lengths are not supported: leave out the first "
            "input or use opset 9"
        )
    inputs = [operation.input(index) for index in range(1, len(operation.inputs))]
    shapes = [operation.shape_of(value) for value in inputs]
    if any(not shape or shape[0] != shapes[0][0] for shape in shapes):
        raise operation.error("its inputs are of different batch sizes or have no axis for them")
    size = _known_size(operation, inputs[0], 0)
    scan = _Scan(operation, inputs, batched=True)
    parts = [scan.run([_element(operation, v, entry, 0) for v in inputs]) for entry in range(size)]
    if not parts:
        raise RefusedError("it scans an empty batch")
    return [
        operation.network.add_stack(list(each), axis=0, name=operation.layer_name("batch"))
        for each in zip(*parts, strict=True)
    ]


class _Scan:
    """A Scan node whose attributes were checked."""

    def __init__(
        self, operation: Operation, inputs: Sequence[Value], *, batched: bool = False
    ) -> None:
        self._operation = operation
        self._scope = Scope.of(operation, "body")
        body = self._scope.body
        self._scanned = operation.integer("num_scan_inputs")
        self._states = len(inputs) - self._scanned
        self._rows = len(body.outputs) - self._states
        if not 1 <= self._scanned <= len(inputs) or self._rows < 0:
            raise operation.error(
                f"the attribute 'num_scan_inputs' is {self._scanned}, with {len(inputs)} inputs "
                f"and {len(body.outputs)} outputs of the body: expected 1 to {len(inputs)}, and "
                "an output for each state"
            )
        check_count(operation, "the inputs of 'body'", len(body.inputs), len(inputs))
        check_outputs(operation, "body", body, 0)
        directions = "directions" if batched else "scan_input_directions"
        self._backward = self._list(directions, self._scanned)
        self._axes = (
            [0] * self._scanned if batched else self._list("scan_input_axes", self._scanned)
        )
        self._row_axes = [0] * self._rows
        self._rows_backward = [0] * self._rows
        if not batched:
            self._row_axes = self._list("scan_output_axes", self._rows)
            self._rows_backward = self._list("scan_output_directions", self._rows)

    def run(self, inputs: Sequence[Value]) -> list[Value]:
        """Add every iteration."""
        operation, network = self._operation, self._operation.network
        states, scanned = list(inputs[: self._states]), inputs[self._states :]
        axes = [
            operation.axis(axis, len(operation.shape_of(value)))
            for axis, value in zip(self._axes, scanned, strict=True)
        ]
        length = self._length(scanned, axes)
        captured = self._scope.captured(operation)
        rows: list[list[Value]] = [[] for _ in range(self._rows)]
        for index in range(length):
            check_limits(str(operation), network, index, length)
            elements = [
                _element(operation, value, length - 1 - index if backward else index, axis)
                for value, axis, backward in zip(scanned, axes, self._backward, strict=True)
            ]
            made = self._scope.convert(network, [*states, *elements], captured, str(index))
            states = made[: self._states]
            for row, value in zip(rows, made[self._states :], strict=True):
                row.append(value)
        return [*states, *(self._joined(index, row) for index, row in enumerate(rows))]

    def _length(self, scanned: Sequence[Value], axes: Sequence[int]) -> int:
        operation = self._operation
        sizes = [
            _known_size(operation, value, axis) for value, axis in zip(scanned, axes, strict=True)
        ]
        if len(set(sizes)) != 1:
            raise operation.error(f"the scanned axes have {sizes} elements: expected one number")
        if sizes[0] == 0 and self._rows:
            raise RefusedError("it scans nothing, so that its outputs have no shape")
        return sizes[0]

    def _joined(self, index: int, row: list[Value]) -> Value:
        operation = self._operation
        axis = operation.axis(self._row_axes[index], len(operation.shape_of(row[0])) + 1)
        ordered = row[::-1] if self._rows_backward[index] else row
        return operation.network.add_stack(ordered, axis=axis, name=operation.layer_name("rows"))

    def _list(self, name: str, count: int) -> list[int]:
        given = self._operation.integers(name)
        if given is None:
            return [0] * count
        check_count(self._operation, f"the numbers of {name!r}", len(given), count)
        return list(given)


def _known_size(operation: Operation, value: Value, axis: int) -> int:
    size = operation.shape_of(value)[axis]
    if not isinstance(size, int):
        raise NotKnownYetError(f"the size of the axis {axis} of {value.name!r} is not known")
    return size


def _element(operation: Operation, value: Value, index: int, axis: int) -> Value:
    """Return a value's part at an index, without the axis."""
    return operation.network.add_gather(
        value, np.array(index, np.int32), axis=axis, name=operation.layer_name("element")
    )
