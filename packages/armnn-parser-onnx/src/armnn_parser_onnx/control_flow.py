# SPDX-License-Identifier: MIT
"""If, Loop and Scan: the chosen branch, the iterations in order.

A condition or a trip count that is not known yet defers the node (:mod:`armnn.graph`); so does the
condition of each further iteration of a loop. A Scan is converted once per element of the scanned
axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from armnn.errors import ParseError
from armnn.graph import DeferredOperator, Network, Operators, Value
from armnn.layers.plumbing import StandInDescriptor
from armnn.parsing.conversion import NotKnownYetError, RefusedError
from armnn.tensor import TensorInfo
from armnn_parser_onnx import messages
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.body import Body
from armnn_parser_onnx.conversion import convert_nodes
from armnn_parser_onnx.element_types import body_output_types, dimensions_of
from armnn_parser_onnx.graph import DerivedArrays, Graph
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.sequences import SEQUENCE_OPERATORS, Tensors, sequence_of
from armnn_parser_onnx.tensors import ExternalData

Captured: TypeAlias = "Value | Tensors"
"""The types that a body reads from around it: a value, or a sequence."""

MOST_ITERATIONS = 4096
"""How often the body of one Loop or Scan is converted."""

MOST_LAYERS = 2**15
"""How many layers a network may have for a further iteration to be added."""


@operator("If", moves_data=True)
def convert_if(operation: Operation) -> Sequence[Value]:
    """Convert the branch taken; the other one is dropped."""
    condition = operation.known(0)
    if condition.size != 1:
        raise operation.error(f"the condition has {condition.size} elements: expected one")
    name = "then_branch" if condition.reshape(())[()] else "else_branch"
    scope = _Scope.of(operation, name)
    _check_outputs(operation, name, scope.body, 0)
    return scope.convert(operation.network, [], scope.captured(operation), name)


@operator("Loop", moves_data=True)
def convert_loop(operation: Operation) -> Sequence[Value]:
    """Convert the body once per iteration."""
    states = [operation.input(index) for index in range(2, len(operation.inputs))]
    scope = _Scope.of(operation, "body")
    _check_count(operation, "the inputs of 'body'", len(scope.body.inputs), 2 + len(states))
    _check_outputs(operation, "body", scope.body, 1)
    trips = None
    if operation.has_input(0):
        trips = max(0, _one(operation, "trip count", operation.known(0).reshape(-1).tolist()))
    condition = operation.optional_input(1)
    loop = _Loop(scope, str(operation), trips, len(states))
    rows = len(scope.body.outputs) - 1 - len(states)
    if condition is not None and condition.constant is None:
        operation.known(1)
    captured = scope.captured(operation)
    return loop.run(operation.network, _Progress(0, condition, states, captured, [[]] * rows))


def _map(operation: Operation) -> list[Tensors]:
    """Convert the body of a SequenceMap once per tensor of its sequences; others are the same."""
    scope = _Scope.of(operation, "body")
    places = range(1, len(operation.inputs))
    lengths = {operation.inputs[0]: len(sequence_of(operation))}
    given: list[Tensors | Value] = [sequence_of(operation)]
    for place in places:
        name = operation.inputs[place]
        if name in operation.graph.sequences:
            given.append(sequence_of(operation, place))
            lengths[name] = len(sequence_of(operation, place))
        else:
            given.append(operation.input(place))
    if len(set(lengths.values())) > 1:
        raise operation.error(f"its sequences have {lengths} tensors: expected as many in each")
    _check_count(operation, "the inputs of 'body'", len(scope.body.inputs), len(given))
    _check_outputs(operation, "body", scope.body, 0)
    captured, network = scope.captured(operation), operation.network
    rows: list[list[Value]] = []
    count = len(sequence_of(operation))
    for index in range(count):
        _check_limits(str(operation), network, index, count)
        row = [each if isinstance(each, Value) else each[index] for each in given]
        rows.append(scope.convert(network, row, captured, str(index)))
    return [tuple(row[at] for row in rows) for at in range(len(operation.outputs))]


SEQUENCE_OPERATORS["SequenceMap"] = _map


class _Scope(NamedTuple):
    """A body with everything its conversion needs, now or later.

    Attributes:
        body: The graph.
        opset: The version of ONNX's operators.
        external_data: Reads the tensors that stand in other files.
        derived: Keeps the data that converters make from weights.
        prefix: Stands before the names of layers.
        scope: Stands before the names of nodes.
        operators: Finds the operators that the program defines.
    """

    body: Body
    opset: int
    external_data: ExternalData
    derived: DerivedArrays
    prefix: str
    scope: str
    operators: Operators

    @classmethod
    def of(cls, operation: Operation, attribute: str) -> _Scope:
        """Return the scope of the graph in an attribute."""
        graph = operation.graph
        derived = DerivedArrays() if graph.derived is None else graph.derived
        return cls(
            operation.body(attribute),
            operation.opset,
            graph.external_data,
            derived,
            prefix=f"{graph.prefix}{operation.stem}/",
            scope=f"{graph.scope}{operation.stem}/{attribute}/",
            operators=graph.operators,
        )

    def captured(self, operation: Operation) -> list[Captured]:
        """Return the outer values and sequences that the body reads."""
        graph = operation.graph
        known = graph.sequences
        return [known[name] if name in known else graph.value(name) for name in self.body.captures]

    def convert(
        self, network: Network, given: Sequence[Value], captured: Sequence[Captured], part: str
    ) -> list[Value]:
        """Add the layers of the body and return its outputs.

        Args:
            network: The network that is added to.
            given: The inputs of the body.
            captured: See :meth:`captured`.
            part: Names the use of the body in the names of layers.
        """
        prefix = f"{self.prefix}{part}/"
        graph = Graph(
            network, self.external_data, self.body.bodies, self.derived, prefix, self.scope
        )
        graph.operators = self.operators
        for name, held in zip(self.body.captures, captured, strict=True):
            if isinstance(held, Value):
                graph.bind(name, held)
            else:
                graph.sequences[name] = held
        for declared, value in zip(self.body.inputs, given, strict=True):
            graph.bind(declared.name, value)
        for name, data in self.body.arrays.items():
            graph.add_array(name, data)
        outputs = [output.name for output in self.body.outputs]
        convert_nodes(self.body.nodes, outputs, self.opset, graph)
        self.external_data.note_in(network)
        return [graph.value(name) for name in outputs]


class _Progress(NamedTuple):
    """How far a loop got.

    Attributes:
        iteration: The number of the next one.
        condition: Whether there is one; None if only the trip count says it.
        states: The values that the iterations hand on.
        captured: The values that the body reads from around the loop.
        rows: The rows that each iteration so far added to each scan output.
    """

    iteration: int
    condition: Value | None
    states: Sequence[Value]
    captured: Sequence[Captured]
    rows: Sequence[Sequence[Value]]


class _Loop(NamedTuple):
    """A Loop whose trip count is known.

    Attributes:
        scope: The body.
        node: How messages name the node.
        trips: How many iterations there are at most; None for any number.
        states: How many values the iterations hand on.
    """

    scope: _Scope
    node: str
    trips: int | None
    states: int

    def run(self, network: Network, progress: _Progress) -> Sequence[Value]:
        """Add iterations until the end or an unknown condition."""
        while progress.iteration != self.trips:
            condition = progress.condition
            if condition is not None:
                if condition.constant is None:
                    return self._wait(network, condition, progress)
                if not condition.constant.all():
                    break
            progress = self._step(network, progress)
        scans = [self._stacked(network, index, row) for index, row in enumerate(progress.rows)]
        return [*progress.states, *scans]

    def _step(self, network: Network, progress: _Progress) -> _Progress:
        _check_limits(self.node, network, progress.iteration, self.trips)
        body, index = self.scope.body, progress.iteration
        given = [
            _number(network, np.int64(index), body.inputs[0], f"{self.scope.prefix}{index}/i"),
            _number(network, np.bool_(True), body.inputs[1], f"{self.scope.prefix}{index}/go"),
            *progress.states,
        ]
        condition, *made = self.scope.convert(network, given, progress.captured, str(index))
        rows = [
            [*row, value] for row, value in zip(progress.rows, made[self.states :], strict=True)
        ]
        return _Progress(index + 1, condition, made[: self.states], progress.captured, rows)

    def _wait(self, network: Network, condition: Value, progress: _Progress) -> Sequence[Value]:
        """Add a StandIn layer for the iterations that are left.

        Raises:
            RefusedError: The body reads a sequence: a layer reads values only.
        """
        captured = [each for each in progress.captured if isinstance(each, Value)]
        if len(captured) != len(progress.captured):
            raise RefusedError("its condition is computed, and its body reads a sequence")
        rows = [value for row in progress.rows for value in row]
        outputs = [*progress.states, *(row[0] for row in progress.rows)]
        stand_in = network.add(
            "StandIn",
            [condition, *progress.states, *captured, *rows],
            StandInDescriptor(num_outputs=len(outputs)),
            name=network.unique_name(f"{self.scope.prefix}{progress.iteration}"),
            outputs=[TensorInfo(None, value.info.data_type) for value in outputs],
        )
        stand_in.compiled = _RestOfLoop(self, progress.iteration, len(progress.rows))
        return stand_in.outputs

    def _stacked(self, network: Network, index: int, row: Sequence[Value]) -> Value:
        name = network.unique_name(f"{self.scope.prefix}{self.scope.body.outputs[index].name}")
        if row:
            return network.add_stack(list(row), axis=0, name=name)
        types = body_output_types(self.scope.body, (), self.scope.opset, {})
        data_type = types[1 + self.states + index]
        if data_type is None:
            raise ParseError(
                f"{self.node}: it has no iterations, and its body declares no type of this output"
            )
        declared = dimensions_of(self.scope.body.outputs[1 + self.states + index])
        dims = [max(0, dim.dim_value or 0) for dim in declared or ()]
        return network.add_constant(np.zeros((0, *dims), data_type.numpy_dtype), name=name)


class _RestOfLoop(DeferredOperator):
    """A loop's remaining iterations, behind an unknown condition."""

    operator = "Loop"
    awaits = (0,)

    def __init__(self, loop: _Loop, index: int, rows: int) -> None:
        self._loop = loop
        self._index = index
        self._rows = rows

    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        condition, *values = inputs
        states, values = values[: self._loop.states], values[self._loop.states :]
        count = len(self._loop.scope.body.captures)
        captured, collected = values[:count], values[count:]
        rows = [collected[row * self._index : (row + 1) * self._index] for row in range(self._rows)]
        progress = _Progress(self._index, condition, states, captured, rows)
        return self._loop.run(network, progress)


def _check_limits(node: str, network: Network, index: int, trips: int | None) -> None:
    """Check that a loop may have one more iteration.

    Raises:
        ParseError: It has too many, or the network has too many layers.
    """
    if index >= MOST_ITERATIONS or (trips is not None and trips > MOST_ITERATIONS):
        raise ParseError(
            f"{node}: it has {'more than ' if trips is None else ''}"
            f"{MOST_ITERATIONS if trips is None else trips} iterations: loops are written out, "
            f"expected at most {MOST_ITERATIONS}"
        )
    if len(network) > MOST_LAYERS:
        raise ParseError(
            f"{node}: written out, its iterations make more than {MOST_LAYERS} layers; got as far "
            f"as number {index}"
        )


def _check_count(operation: Operation, what: str, got: int, expected: int) -> None:
    """Check how many there are of something.

    Raises:
        ParseError: They are not as many as expected.
    """
    if got != expected:
        raise operation.error(f"{what} are {got}: expected {expected}")


def _check_outputs(operation: Operation, name: str, body: Body, more: int) -> None:
    """Check that a body makes the node's outputs and ``more``.

    Raises:
        ParseError: It makes too few.
    """
    least = len(operation.outputs) + more
    if len(body.outputs) < least:
        raise operation.error(
            f"the outputs of {name!r} are {len(body.outputs)}: expected {least} or more"
        )


def _one(operation: Operation, what: str, numbers: list[int]) -> int:
    if len(numbers) != 1:
        raise operation.error(f"the {what} has {len(numbers)} elements: expected one")
    return numbers[0]


def _number(network: Network, number: np.generic, like: messages.ValueInfo, name: str) -> Value:
    """Return a constant of one element, shaped like ``like``.

    It is a list if ``like`` says so.
    """
    rank = len(dimensions_of(like) or ())
    data = np.full((1,) * min(rank, 1), number)
    return network.add_constant(data, name=network.unique_name(name))


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
        self._scope = _Scope.of(operation, "body")
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
        _check_count(operation, "the inputs of 'body'", len(body.inputs), len(inputs))
        _check_outputs(operation, "body", body, 0)
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
            _check_limits(str(operation), network, index, length)
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
            raise RefusedError("it scans an empty axis: the shapes of its outputs are not known")
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
        _check_count(self._operation, f"the numbers of {name!r}", len(given), count)
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
