# SPDX-License-Identifier: MIT
"""Conversion of stored layers that need more than their fields."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from armnn.errors import ParseError
from armnn.graph import Value
from armnn.layers import LAYERS
from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor
from armnn.layers.plumbing import StandInDescriptor
from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatTable
from armnn.storage.armnn_files import depthwise
from armnn.storage.armnn_files._bindings import TABLES
from armnn.storage.armnn_files.beyond import decoded
from armnn.storage.armnn_files.names import INFERRED
from armnn.storage.armnn_files.operation import Converter, StoredOperation
from armnn.storage.armnn_files.parameters import decimal
from armnn.storage.armnn_files.recurrent import MEMBERS_OF, used_members
from armnn.storage.armnn_files.tensors import read_constant, read_info
from armnn.tensor import Dimension, TensorInfo
from armnn.types import ArmnnEnum, ComparisonOperation, ResizeMethod, UnaryOperation


def default_conversion(operation: StoredOperation, infos: Sequence[TensorInfo]) -> Sequence[Value]:
    """Add a layer with the fields of the layer table."""
    return _plainly(operation, infos, operation.record.kind, {})


def _newer(kind: str, **parameters: ArmnnEnum) -> Converter:
    """Return what adds the layer that replaced an outdated one."""
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
            inputs.append(depthwise.read_member(operation, member))
        else:
            inputs.append(operation.added_constant(member, "weights"))
        bias = operation.constant("bias") if has_bias else None
        if bias is not None:
            inputs.append(bias)
    elif as_depthwise and len(inputs) > 1:
        inputs[1] = depthwise.read_value(operation, inputs[1])
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
            raise RefusedError(f"it pads {source.info}, whose stored values mean nothing single")
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
    layer = decoded(text, len(operation.inputs))
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
"""What adds the layers of each type, where :func:`default_conversion` does not."""
