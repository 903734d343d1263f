# SPDX-License-Identifier: MIT
"""Output infos of a layer, computed by its shape function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias

from numpy.typing import NDArray

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor
from armnn.layers._spec import Inputs, LayerSpec, OutputSlot
from armnn.quantization import dequantize
from armnn.tensor import Dimension, Shape, TensorInfo, format_shape
from armnn.types import DataType, DataTypeLike

Requested: TypeAlias = TensorInfo | DataType | None
"""A caller's wish for an output: all of it, its data type only, or nothing."""

RequestedLike: TypeAlias = "TensorInfo | DataTypeLike | None"
"""A caller's wish before it is checked: anything that becomes a DataType will do."""


def infer_outputs(
    spec: LayerSpec,
    descriptor: Descriptor,
    infos: Sequence[TensorInfo | None],
    values: Sequence[NDArray[Any] | None],
    requested: Sequence[Requested],
) -> tuple[TensorInfo, ...]:
    """Return the infos of the outputs of a layer.

    Args:
        spec: The layer type.
        descriptor: Its parameters.
        infos: One info per input; None for an optional input that is absent.
        values: One array per input whose data is known, else None.
        requested: One entry per output: what the caller says of it.

    Raises:
        ShapeError: The inputs do not fit each other, the descriptor or what was requested.
    """
    if spec.has_filling:
        descriptor = filled_descriptor(spec, descriptor, infos, values)
    known = True
    for info in infos:  # as below, a generator would take twice the time
        known = known and (info is None or info.shape is not None)
    slots = spec.output_slots(descriptor)
    inputs = Inputs(spec, tuple(infos), tuple(values))
    shapes = spec.infer(descriptor, inputs) if known else [None] * len(slots)
    if len(slots) == len(shapes) == len(requested) == 1:  # as of most, where it takes less time
        return (_output_info(slots[0], descriptor, inputs, shapes[0], requested[0]),)
    return tuple(
        [
            _output_info(output_slot, descriptor, inputs, shape, request)
            for output_slot, shape, request in zip(slots, shapes, requested, strict=True)
        ]
    )


def filled_descriptor(
    spec: LayerSpec,
    descriptor: Descriptor,
    infos: Sequence[TensorInfo | None],
    values: Sequence[NDArray[Any] | None],
) -> Descriptor:
    """Return the descriptor with fields replaced by known inputs.

    Args:
        spec: The layer type.
        descriptor: Its parameters.
        infos: One info per input; a field takes the real value of a quantized input.
        values: One array per input whose data is known, else None.

    Raises:
        ShapeError: Several numbers are given for a field that takes one, or real numbers for one
            that takes integers.
        InvalidArgumentError: A value is outside of the range of its field.
    """
    if not spec.has_filling:
        return descriptor
    given = [
        (input_slot.name, input_slot.fills, info, value)
        for input_slot, info, value in zip(spec.inputs, infos, values, strict=False)
        if input_slot.fills is not None and info is not None and value is not None
    ]
    return _with_fields(descriptor, given) if given else descriptor


def _with_fields(
    descriptor: Descriptor, given: Iterable[tuple[str, str, TensorInfo, NDArray[Any]]]
) -> Descriptor:
    """Return a descriptor with fields replaced, by both names."""
    changes: dict[str, Any] = {}
    types = {field.name: str(field.type) for field in fields(descriptor)}
    for name, field, info, value in given:
        if info.is_quantized:
            value = dequantize(value, info)
        if value.dtype.kind == "f" and "float" not in types[field]:
            raise ShapeError(f"the input {name!r} holds {value.dtype} numbers: expected integers")
        if isinstance(getattr(descriptor, field), tuple):
            changes[field] = value if value.ndim else value.reshape(1)
        elif value.size == 1:
            changes[field] = value.item()
        else:
            raise ShapeError(f"the input {name!r} has {value.size} elements: expected one number")
    return replace(descriptor, **changes)


def _output_info(
    output_slot: OutputSlot,
    descriptor: Descriptor,
    inputs: Inputs,
    shape: Shape | None,
    request: Requested,
) -> TensorInfo:
    if isinstance(request, TensorInfo):
        info = request.with_shape(merge_shapes(request.shape, shape, output_slot.name))
    elif request is not None:
        info = TensorInfo(shape, request)
    elif output_slot.like:
        info = _like(output_slot, descriptor, inputs[output_slot.like], shape)
    elif output_slot.data_types:
        info = TensorInfo(shape, output_slot.data_types[0])
    else:
        raise ShapeError(
            f"the inputs do not determine the output {output_slot.name!r}: give its TensorInfo or "
            "its DataType"
        )
    if output_slot.data_types and info.data_type not in output_slot.data_types:
        allowed = ", ".join(data_type.arm_name for data_type in output_slot.data_types)
        raise ShapeError(
            f"the output {output_slot.name!r} cannot be {info.data_type.arm_name}: expected one "
            f"of {allowed}"
        )
    return info


def _like(
    output_slot: OutputSlot, descriptor: Descriptor, info: TensorInfo, shape: Shape | None
) -> TensorInfo:
    """Return an input's type for an output.

    Scales per axis stay only with their axis.
    """
    if not info.is_per_axis:
        return info.with_shape(shape)
    axis = output_slot.axis(descriptor, info, shape) if output_slot.axis is not None else None
    if axis is None:
        return TensorInfo(shape, info.data_type)
    return TensorInfo(shape, info.data_type, info.scales, info.zero_points, axis)


def merge_shapes(declared: Shape | None, inferred: Shape | None, what: str) -> Shape | None:
    """Return the shape that two partial shapes describe together.

    Known dimensions precede named ones, named ones precede unknown ones.

    Raises:
        ShapeError: They contradict each other.
    """
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if declared == inferred:
        return declared
    if len(declared) != len(inferred):
        raise ShapeError(
            f"the output {what!r} is declared with shape {format_shape(declared)}, but the layer "
            f"makes {format_shape(inferred)}"
        )
    merged: list[Dimension] = []
    for ours, theirs in zip(declared, inferred, strict=True):
        if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
            raise ShapeError(
                f"the output {what!r} is declared with shape {format_shape(declared)}, but the "
                f"layer makes {format_shape(inferred)}"
            )
        merged.append(ours if isinstance(ours, int) or theirs is None else theirs)
    return tuple(merged)
