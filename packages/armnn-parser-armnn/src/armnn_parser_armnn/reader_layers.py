# SPDX-License-Identifier: MIT
"""One layer of a file, and its conversion where that needs more than its fields."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError, ShapeError
from armnn.graph import Network, Value
from armnn.layers import LAYERS, Descriptor
from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor
from armnn.layers.plumbing import StandInDescriptor
from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatTable
from armnn.tensor import Dimension, TensorInfo, format_shape
from armnn.types import ArmnnEnum, ComparisonOperation, ResizeMethod, UnaryOperation
from armnn_parser_armnn.parameters import (
    MEMBERS_OF,
    decimal,
    extended_layer,
    read_parameters,
    used_members,
)
from armnn_parser_armnn.records import StoredGraph, StoredLayer
from armnn_parser_armnn.schema import INFERRED, TABLES
from armnn_parser_armnn.schema import LAYERS as STORED
from armnn_parser_armnn.tensors import (
    read_constant,
    read_info,
    read_plain_info,
)

_T = TypeVar("_T")


class StoredOperation:
    """A layer with its values.

    Attributes:
        network: The network that its layers are added to.
        record: The layer.
        graph: The file.
        inputs: The values that it reads.
        parameters: The table of its parameters, that of the defaults if it is absent.
    """

    def __init__(self, network: Network, record: StoredLayer, graph: StoredGraph) -> None:
        self.network = network
        self.record = record
        self.graph = graph
        self.inputs: list[Value] = []
        kind = STORED[record.kind].parameters
        table = record.table.table("parameters") if kind else None
        self.parameters = table or FlatTable.empty(kind, graph.file)

    def __str__(self) -> str:
        return f"layer {self.record.title!r} ({self.record.kind})"

    def exactly(self, found: Sequence[_T], count: int, what: str) -> Sequence[_T]:
        """Return a list of a known length.

        Raises:
            ParseError: It has another one.
        """
        if len(found) != count:
            raise ParseError(f"{self} has {len(found)} {what}, expected {count}")
        return found

    def free_name(self, part: str = "") -> str:
        """Return a free name for a layer or its part."""
        return self.network.unique_name(
            f"{self.record.title}/{part}" if part else self.record.title
        )

    def descriptor(self, kind: str, **values: Any) -> Descriptor:
        """Return the descriptor of a layer type.

        Args:
            kind: The layer type.
            values: Parameters that are not read but given.
        """
        descriptor = LAYERS[kind].descriptor
        table = STORED[self.record.kind].parameters
        read = {}
        if table:
            read = read_parameters(descriptor, self.parameters, table, tuple(values))
        return descriptor(**read, **values)

    def constant(self, name: str, table: FlatTable | None = None) -> Value | None:
        """Return a member as a Constant layer's value."""
        member = (self.record.table if table is None else table).table(name)
        return None if member is None else self.added_constant(member, name)

    def added_constant(self, member: FlatTable, part: str) -> Value:
        """Add a stored constant.

        Raises:
            ParseError: It has no info.
            RefusedError: Its data does not fit its info.
        """
        table = member.table("info")
        if table is None:
            raise ParseError("a constant of it has no tensor info")
        found = read_info(table)
        data = read_constant(member, found)
        return self.network.add_constant(data, found, name=self.free_name(part))

    def add(
        self,
        kind: str,
        inputs: Sequence[Value | None],
        descriptor: Descriptor,
        infos: Sequence[TensorInfo],
    ) -> Sequence[Value]:
        """Add the layer with the output infos of the file.

        Where armnn makes a scalar, Arm NN makes one element of rank 1: a Reshape follows then.
        """
        name = self.free_name()
        try:
            return self.network.add(kind, inputs, descriptor, name=name, outputs=infos).outputs
        except ShapeError:
            if len(infos) != 1 or not infos[0].is_static or infos[0].num_elements != 1:
                raise
        (info,) = infos
        scalar = self.network.add(
            kind, inputs, descriptor, name=self.free_name("scalar"), outputs=[info.with_shape(())]
        )
        return [self.network.add_reshape(scalar.output, target_shape=info.static_shape, name=name)]


Converter: TypeAlias = Callable[["StoredOperation", "Sequence[TensorInfo]"], "Sequence[Value]"]
"""A function that adds a layer: from the layer and the infos of its outputs to its outputs."""


# -- weights of depthwise convolutions: [M,I,KH,KW] before, [1,KH,KW,I*M] in the layer table -----


def _older_member(operation: StoredOperation, member: FlatTable) -> Value:
    """Add weights that are members in the older layout.

    Raises:
        ParseError: They have no info.
        RefusedError: Their shape or scales are not those of such weights.
    """
    table = member.table("info")
    if table is None:
        raise ParseError("its weights have no tensor info")
    plain = read_plain_info(table)
    data = read_constant(member, plain)
    # Arm NN has one scale per output channel along the axis of M, which has fewer indices.
    scales = table.reals("scales") if plain.is_quantized else ()
    if len(scales) > 1:
        return _newly_laid_out(operation, data, plain, scales)
    return _newly_laid_out(operation, data, read_info(table), ())


def _older_value(operation: StoredOperation, value: Value) -> Value:
    """Return the weights of a Constant layer, newly laid out."""
    if value.constant is None:
        return value
    return _newly_laid_out(operation, value.constant, value.info, ())


def _newly_laid_out(
    operation: StoredOperation, data: NDArray[Any], info: TensorInfo, scales: tuple[float, ...]
) -> Value:
    if data.ndim != 4:
        raise RefusedError(
            f"its weights have the shape {format_shape(data.shape)}, not [M,I,KH,KW]"
        )
    multiplier, channels, height, width = data.shape
    shape = (1, height, width, channels * multiplier)
    moved = np.ascontiguousarray(data.transpose(2, 3, 1, 0)).reshape(shape)
    newer = info.with_shape(shape)
    if scales:
        newer = TensorInfo(shape, info.data_type, scales, [0] * len(scales), 3)
    return operation.network.add_constant(moved, newer, name=operation.free_name("weights"))


def default_conversion(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a layer with the fields of the layer table."""
    return _plainly(operation, infos, operation.record.kind, {})


def _newer(kind: str, **parameters: ArmnnEnum) -> Converter:
    """Return a converter to the layer that replaced an outdated one."""
    return partial(_plainly, kind=kind, parameters=parameters)


def _plainly(
    operation: StoredOperation,
    infos: Sequence[TensorInfo],
    kind: str,
    parameters: Mapping[str, ArmnnEnum],
) -> Sequence[Value]:
    spec = LAYERS[kind]
    inputs: Sequence[Value] = operation.inputs
    if not spec.is_variadic:
        needed = sum(not slot.optional for slot in spec.inputs)
        inputs = operation.exactly(inputs, needed, "inputs")
    return operation.add(kind, inputs, operation.descriptor(kind, **parameters), infos)


def _constant(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    operation.exactly(operation.inputs, 0, "inputs")
    operation.exactly(infos, 1, "outputs")
    member = operation.record.table.table("input")
    table = None if member is None else member.table("info")
    if member is None or table is None:
        raise ParseError("it has no tensor info")
    info = read_info(table)
    name = operation.free_name()
    return [operation.network.add_constant(read_constant(member, info), info, name=name)]


def _weighted(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a layer whose weights are members or inputs."""
    kind, inputs = operation.record.kind, list(operation.inputs)
    as_depthwise = kind == "DepthwiseConvolution2d" and not operation.graph.weights_layout
    has_bias = operation.parameters.flag("bias_enabled")
    member = None if kind == "Convolution3d" else operation.record.table.table("weights")
    if member is not None:
        if as_depthwise:
            inputs.append(_older_member(operation, member))
        else:
            inputs.append(operation.added_constant(member, "weights"))
        bias = operation.constant("bias") if has_bias else None
        if bias is not None:
            inputs.append(bias)
    elif as_depthwise and len(inputs) > 1:
        inputs[1] = _older_value(operation, inputs[1])
    operation.exactly(inputs, 3 if has_bias else 2, "inputs and constants")
    return operation.add(kind, inputs, operation.descriptor(kind), infos)


def _with_members(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a layer whose last inputs are stored constants."""
    kind, slots = operation.record.kind, LAYERS[operation.record.kind].inputs
    members = [slot for slot in slots if slot.name in TABLES[f"{kind}Layer"]]
    inputs = [*operation.exactly(operation.inputs, len(slots) - len(members), "inputs")]
    for slot in members:
        value = operation.constant(slot.name)
        if value is None:
            raise ParseError(f"it has no {slot.name}")
        inputs.append(value)
    return operation.add(kind, inputs, operation.descriptor(kind), infos)


def _recurrent(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    kind = operation.record.kind
    inputs: list[Value | None] = [*operation.exactly(operation.inputs, 3, "inputs")]
    members = operation.record.table.table("members")
    if members is None:
        raise ParseError("it has no weights")
    descriptor = operation.descriptor(kind)
    used = used_members(kind, descriptor)
    inputs += [
        operation.constant(slot.name, members) if slot.name in used else None
        for slot in LAYERS[kind].inputs[3:]
    ]
    return operation.add(kind, inputs, descriptor, infos)


def _reshape(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    operation.exactly(operation.inputs, 1, "inputs")
    (info,) = operation.exactly(infos, 1, "outputs")
    target = operation.parameters.integers("target_shape")
    if info.is_static:
        target = info.static_shape
    shape = tuple(-1 if size == INFERRED else size for size in target)
    descriptor = operation.descriptor("Reshape", target_shape=shape)
    return operation.add("Reshape", operation.inputs, descriptor, infos)


def _pad(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a Pad layer; the stored value becomes real."""
    (source,) = operation.exactly(operation.inputs, 1, "inputs")
    value = decimal(operation.parameters.real("pad_value"))
    if source.info.is_quantized:
        if source.info.is_per_axis or not source.info.scales:
            raise RefusedError(f"it pads {source.info}, which has no single pad value")
        value = (value - source.info.zero_point) * source.info.scale
    descriptor = operation.descriptor("Pad", pad_value=value)
    return operation.add("Pad", operation.inputs, descriptor, infos)


def _concat(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a Concat layer along the axis of its views."""
    views = _views(operation, operation.parameters, "view_origins", len(operation.inputs))
    declared = operation.parameters.integer("concat_axis")
    shapes = [value.info.shape for value in operation.inputs]
    rank = len(shapes[0] or ()) if shapes else 0
    for axis in dict.fromkeys((declared, *range(rank))):
        if axis < rank and all(_starts(views, shapes, axis)):
            break
    else:
        raise RefusedError(f"its views do not lie behind each other along one of {rank} axes")
    return operation.add("Concat", operation.inputs, ConcatDescriptor(axis=axis), infos)


def _starts(
    views: Sequence[tuple[int, ...]], shapes: Sequence[tuple[Dimension, ...] | None], axis: int
) -> list[bool]:
    """Return for each view whether it follows its predecessor."""
    begin: int | None = 0
    fits = []
    for view, shape in zip(views, shapes, strict=True):
        if shape is None or len(view) != len(shape):
            return [False]
        others = (at for other, at in enumerate(view) if other != axis)
        fits.append(not any(others) and begin in (None, view[axis]))
        size = shape[axis]
        begin = view[axis] + size if isinstance(size, int) else None
    return fits


def _splitter(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a Splitter, or Slices if the views overlap."""
    (source,) = operation.exactly(operation.inputs, 1, "inputs")
    origins = operation.parameters.table("origins")
    if origins is None:
        raise ParseError("it has no origins of views")
    begins = _views(operation, origins, "view_origins", len(infos))
    sizes = _views(operation, operation.parameters, "view_sizes", len(infos))
    shape = source.info.static_shape
    for axis in range(len(shape)):
        parts = tuple(size[axis] for size in sizes)
        ends = itertools.accumulate(parts, initial=0)
        wanted = [
            (
                tuple(begin if other == axis else 0 for other in range(len(shape))),
                (*shape[:axis], part, *shape[axis + 1 :]),
            )
            for begin, part in zip(ends, parts, strict=False)
        ]
        if wanted == list(zip(begins, sizes, strict=True)) and sum(parts) == shape[axis]:
            descriptor = SplitterDescriptor(axis=axis, sizes=parts)
            return operation.add("Splitter", operation.inputs, descriptor, infos)
    return [
        operation.network.add_slice(
            source, begin=begin, size=size, name=operation.free_name(str(at)), output=info
        )
        for at, (begin, size, info) in enumerate(zip(begins, sizes, infos, strict=True))
    ]


def _views(
    operation: StoredOperation, table: FlatTable, field: str, count: int
) -> list[tuple[int, ...]]:
    """Return the places or sizes of the views."""
    rank = operation.inputs[0].info.rank if operation.inputs else None
    views = [
        each.integers("data") for each in operation.exactly(table.tables(field), count, "views")
    ]
    if any(len(view) != rank for view in views):
        raise ParseError(f"its {field} are not those of views of rank {rank}")
    return views


def _stand_in(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a StandIn, or the layer that its extension describes."""
    text = operation.parameters.text("beyond")
    if not text:
        descriptor = StandInDescriptor(num_outputs=len(infos))
        return operation.add("StandIn", operation.inputs, descriptor, infos)
    layer = extended_layer(text, len(operation.inputs))
    inputs: list[Value | None] = [None] * (max(layer.slots, default=-1) + 1)
    for slot, value in zip(layer.slots, operation.inputs, strict=True):
        inputs[slot] = value
    return operation.add(layer.spec.name, inputs, layer.descriptor, infos)


CONVERTERS: Final[dict[str, Converter]] = {
    "Abs": _newer("ElementwiseUnary", operation=UnaryOperation.ABS),
    "Rsqrt": _newer("ElementwiseUnary", operation=UnaryOperation.RSQRT),
    "Equal": _newer("Comparison", operation=ComparisonOperation.EQUAL),
    "Greater": _newer("Comparison", operation=ComparisonOperation.GREATER),
    "ResizeBilinear": _newer("Resize", method=ResizeMethod.BILINEAR),
    "BatchNormalization": _with_members,
    "Concat": _concat,
    "Constant": _constant,
    "Convolution2d": _weighted,
    "Convolution3d": _weighted,
    "DepthwiseConvolution2d": _weighted,
    "DetectionPostProcess": _with_members,
    "FullyConnected": _weighted,
    "Merger": _concat,
    "Pad": _pad,
    "Reshape": _reshape,
    "Splitter": _splitter,
    "StandIn": _stand_in,
    "TransposeConvolution2d": _weighted,
    **dict.fromkeys(MEMBERS_OF, _recurrent),
}
"""The functions that add the layers of each type, where :func:`default_conversion` does not."""
