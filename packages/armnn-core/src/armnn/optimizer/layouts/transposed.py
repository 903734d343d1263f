# SPDX-License-Identifier: MIT
"""Layers on tensors whose axes have another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.layers import Descriptor
from armnn.layers.joining import ConcatDescriptor
from armnn.layers.normalization import LogSoftmaxDescriptor, SoftmaxDescriptor
from armnn.layers.reduction import MeanDescriptor, ReduceDescriptor
from armnn.layers.reshaping import PadDescriptor, ReshapeDescriptor, TransposeDescriptor
from armnn.optimizer.passes._edits import awaits_parameters, first_input
from armnn.optimizer.passes.permutes import axis_order, inverse
from armnn.tensor import TensorInfo
from armnn.types import DataLayout

Order: TypeAlias = tuple[int, ...]
"""The old axis at each new place."""

Constants: TypeAlias = "dict[Value, tuple[NDArray[Any], TensorInfo]]"
"""Transposed constants with their infos, by the values that they were made of."""

_POINTWISE = (
    *("Activation", "ElementwiseUnary", "Floor", "FakeQuantization", "IsNaN", "IsInf"),
    *("Addition", "Subtraction", "Multiplication", "Division", "Maximum", "Minimum"),
    *("ElementwiseBinary", "Comparison", "LogicalBinary", "Where", "Prelu"),
    *("Quantize", "Dequantize", "Cast"),
)
"""Layers that compute each element alone, with operands that broadcast."""

_WITH_IMAGE_WEIGHTS = ("Convolution2d", "TransposeConvolution2d")
"""Layers whose weights have the axes of an image in its layout."""

_WITHOUT_EFFECT = ("StridedSlice", "BatchMatMul")
"""Layers whose data_layout does not say where the axes of an image are."""


@dataclass(frozen=True, slots=True)
class Transposed:
    """What a layer is with its tensors transposed.

    Attributes:
        descriptor: Its parameters.
        inputs: The positions of the inputs that are transposed.
        output: Whether its outputs are transposed.
    """

    descriptor: Descriptor
    inputs: frozenset[int]
    output: bool = True


def order_to(layout: DataLayout) -> Order:
    """Return the order that leads to a layout."""
    rank = len(layout.name)
    if layout.channel_axis == 1:
        return (0, rank - 1, *range(1, rank - 1))
    return (0, *range(2, rank), 1)


def transposed(layer: Layer, layout: DataLayout) -> Transposed | None:
    """Return what a layer is in a layout.

    The layer is in the opposite layout, or in none. None if it has no such form: its type is not
    known here, its tensors are no images, or shapes are not known.
    """
    order = order_to(layout)
    infos = [info for info in (*layer.input_infos, *layer.output_infos) if info is not None]
    if not all(info.is_static for info in infos) or awaits_parameters(layer):
        return None
    first = layer.input_infos[0] if layer.inputs else None
    if first is None or first.rank != len(order):
        return None
    if layer.type in _POINTWISE:
        return _pointwise(layer, len(order))
    special = _BY_DESCRIPTOR.get(type(layer.descriptor))
    if special is not None:
        return special(layer, order)
    named = {field.name for field in fields(layer.descriptor)}
    if "data_layout" in named and layer.type not in _WITHOUT_EFFECT:
        return _image(layer, order, layout)
    return None


def transposed_info(info: TensorInfo, order: Order) -> TensorInfo:
    """Return a tensor's info with its axes in an order."""
    shape = info.static_shape
    axis = None if info.axis is None else order.index(info.axis)
    moved = [shape[old] for old in order]
    return TensorInfo(moved, info.data_type, info.scales, info.zero_points, axis)


def transposed_constant(value: Value, order: Order) -> tuple[NDArray[Any], TensorInfo]:
    """Return a constant with its axes in an order.

    Axes that it lacks are put before its first one, as broadcasting does.
    """
    data, info = np.asarray(value.constant), value.info
    if info.static_shape and len(info.static_shape) < len(order):
        missing = len(order) - len(info.static_shape)
        axis = None if info.axis is None else info.axis + missing
        shape = (1,) * missing + info.static_shape
        info = TensorInfo(shape, info.data_type, info.scales, info.zero_points, axis)
    wide = data.reshape(info.static_shape)
    return np.ascontiguousarray(wide.transpose(order)), transposed_info(info, order)


def keeps_elements(shape: Sequence[int], order: Order) -> bool:
    """Return whether a permutation leaves the elements in place."""
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def add_form(
    network: Network,
    layer: Layer,
    form: Transposed,
    order: Order,
    inputs: Sequence[Value | None],
    name: str,
) -> Layer:
    """Add a layer's form to a network."""
    infos = layer.output_infos
    outputs = [transposed_info(info, order) for info in infos] if form.output else infos
    new = network.add(layer.type, inputs, form.descriptor, name=name, outputs=outputs)
    new.backend_hint, new.origin = layer.backend_hint, layer.origin
    return new


def twin_of(
    layer: Layer, form: Transposed, order: Order, scratch: Network, constants: Constants
) -> Layer:
    """Add a layer's form to a network for questions.

    Args:
        layer: The layer, which stays where it is.
        form: What it is in the order.
        order: The order.
        scratch: Gets the form, and inputs of its own for it.
        constants: Gets the transposed constants, by their values.
    """
    inputs: list[Value | None] = []
    for index, value in enumerate(layer.inputs):
        moves = index in form.inputs
        if value is None:
            inputs.append(None)
        elif value.constant is None:
            info = transposed_info(value.info, order) if moves else value.info
            inputs.append(scratch.add_input(f"{index} of {layer.name}", info))
        elif moves:
            if value not in constants:
                constants[value] = transposed_constant(value, order)
            inputs.append(scratch.add_constant(*constants[value]))
        else:
            inputs.append(scratch.add_constant(value.constant, value.info))
    return add_form(scratch, layer, form, order, inputs, layer.name)


def undoes(layer: Layer, order: Order) -> bool:
    """Return whether a layer undoes a permutation, and nothing else."""
    own = axis_order(layer)
    if own is None or own != inverse(order):
        return False
    return first_input(layer).info.is_type_space_match(layer.output.info)


def add_transpose(network: Network, value: Value, order: Order, name: str | None = None) -> Layer:
    """Add a Transpose, or a Reshape if elements stay."""
    info = transposed_info(value.info, order)
    kind, descriptor = "Transpose", cast("Descriptor", TransposeDescriptor(dim_mappings=order))
    if keeps_elements(value.info.static_shape, order):
        kind, descriptor = "Reshape", ReshapeDescriptor(target_shape=info.static_shape)
    return network.add(kind, [value], descriptor, name=name, outputs=[info])


def _image(layer: Layer, order: Order, layout: DataLayout) -> Transposed | None:
    descriptor = cast("Any", layer.descriptor)
    if order_to(descriptor.data_layout) == order or len(descriptor.data_layout.name) != len(order):
        return None
    changes: dict[str, Any] = {"data_layout": layout}
    if getattr(descriptor, "output_shape", ()):
        changes["output_shape"] = tuple(descriptor.output_shape[old] for old in order)
    inputs = {0, 1} if layer.type in _WITH_IMAGE_WEIGHTS else {0}
    return Transposed(replace(descriptor, **changes), frozenset(inputs))


def _pointwise(layer: Layer, rank: int) -> Transposed | None:
    positions = []
    for index, value in enumerate(layer.inputs):
        if value is None or (value.info.num_elements == 1 and value.info.rank != rank):
            continue
        if value.info.rank != rank and value.constant is None:
            return None
        positions.append(index)
    if any(info.rank != rank for info in layer.output_infos):
        return None
    return Transposed(layer.descriptor, frozenset(positions))


def _along_axis(layer: Layer, order: Order) -> Transposed:
    descriptor = cast("ConcatDescriptor | SoftmaxDescriptor", layer.descriptor)
    axis = order.index(descriptor.axis % len(order))
    return Transposed(replace(descriptor, axis=axis), frozenset(range(len(layer.inputs))))


def _padded(layer: Layer, order: Order) -> Transposed | None:
    descriptor = cast("PadDescriptor", layer.descriptor)
    if len(descriptor.pad_list) != len(order):
        return None
    pads = tuple(descriptor.pad_list[old] for old in order)
    return Transposed(replace(descriptor, pad_list=pads), frozenset({0}))


def _reduced(layer: Layer, order: Order) -> Transposed | None:
    """Return a reduction whose other axes keep their order."""
    descriptor = cast("MeanDescriptor | ReduceDescriptor", layer.descriptor)
    old = {axis % len(order) for axis in descriptor.axis} or set(range(len(order)))
    left = [axis for axis in order if axis not in old]
    if not descriptor.keep_dims and left != sorted(left):
        return None
    axes = tuple(sorted(order.index(axis) for axis in old))
    return Transposed(replace(descriptor, axis=axes), frozenset({0}), descriptor.keep_dims)


_BY_DESCRIPTOR: dict[type, Callable[[Layer, Order], Transposed | None]] = {
    ConcatDescriptor: _along_axis,
    SoftmaxDescriptor: _along_axis,
    LogSoftmaxDescriptor: _along_axis,
    PadDescriptor: _padded,
    MeanDescriptor: _reduced,
    ReduceDescriptor: _reduced,
}
