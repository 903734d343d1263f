# SPDX-License-Identifier: MIT
"""Activations, normalizations and embeddings, recognized in the arithmetic that spells them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import (
    ComparisonDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
)
from armnn.layers.indexing import GatherDescriptor
from armnn.layers.matmul import BatchMatMulDescriptor
from armnn.layers.normalization import LayerNormalizationDescriptor
from armnn.layers.quantizing import CastDescriptor
from armnn.layers.reduction import MeanDescriptor, ReduceDescriptor
from armnn.layers.reshaping import ReshapeDescriptor
from armnn.optimizer.passes._edits import (
    BINARY,
    awaits_parameters,
    binary_operation,
    first_input,
    holds,
    may_absorb,
    number_operand,
    only_reader,
    replace_layer,
    walk,
)
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataType,
    ReduceOperation,
    UnaryOperation,
)

LONGEST = 16
"""Layers of arithmetic in a row that are looked at; no pattern has as many."""


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """factor * value + offset, and the layers that compute it."""

    value: Value
    factor: float = 1.0
    offset: float = 0.0
    layers: tuple[Layer, ...] = ()


def line_of(value: Value, until: Value | None = None) -> _Line:
    """Follow a value back through additions and multiplications by numbers."""
    found = _Line(value)
    for found in lines_of(value):
        if found.value is until:
            break
    return found


def lines_of(value: Value) -> Iterator[_Line]:
    """Yield a value's lines, from itself to the arithmetic's start.

    It goes back :data:`LONGEST` layers at most: a loop that is written out may have thousands.
    """
    line = _Line(value)
    while True:
        yield line
        if len(line.layers) == LONGEST:
            return
        layer = line.value.producer
        step = _step(layer)
        if step is None:
            return
        line = _Line(
            step.value,
            line.factor * step.factor,
            line.factor * step.offset + line.offset,
            (*line.layers, layer),
        )


def _step(layer: Layer) -> _Line | None:
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor):
        if descriptor.function is not ActivationFunction.LINEAR:
            return None
        return _Line(first_input(layer), descriptor.a, descriptor.b)
    operand = number_operand(layer)
    if operand is None:
        return None
    number = operand.number
    match operand.operation:
        case BinaryOperation.ADD:
            return _Line(operand.value, 1.0, number)
        case BinaryOperation.SUB if operand.position == 0:
            return _Line(operand.value, 1.0, -number)
        case BinaryOperation.MUL:
            return _Line(operand.value, number)
        case BinaryOperation.DIV if operand.position == 0 and number != 0:
            return _Line(operand.value, 1 / number)
        case _:
            return None


def _are_private(layers: list[Layer], last: Layer) -> bool:
    """Return whether only these layers read each other.

    No hint may keep them apart.
    """
    return all(
        layer is last or (only_reader(layer.output) is not None and may_absorb(last, layer))
        for layer in layers
    )


def max_min_into_bounded_relu(network: Network) -> int:
    """Replace min(high, max(low, x)) in floating point (Arm NN: MaxMinIntoBoundedRelu).

    The other way round, max(low, min(high, x)) is the same as long as low is not above high.

    Returns:
        How many pairs were replaced.
    """
    return sum(_replace_clip(network, layer) for layer in walk(network, BINARY))


def _replace_clip(network: Network, layer: Layer) -> bool:
    if binary_operation(layer) not in (BinaryOperation.MAXIMUM, BinaryOperation.MINIMUM):
        return False  # as nearly all
    outer = number_operand(layer)
    if outer is None or not layer.output.info.data_type.is_float:
        return False
    inner_layer = outer.value.producer
    inner = number_operand(inner_layer)
    if (
        inner is None
        or only_reader(outer.value) is not layer
        or not may_absorb(layer, inner_layer)
        or not inner.value.info == outer.value.info == layer.output.info
    ):
        return False
    match inner.operation, outer.operation:
        case BinaryOperation.MAXIMUM, BinaryOperation.MINIMUM:
            low, high = inner.number, outer.number
        case BinaryOperation.MINIMUM, BinaryOperation.MAXIMUM if outer.number <= inner.number:
            low, high = outer.number, inner.number
        case _:
            return False
    descriptor = ActivationDescriptor(function=ActivationFunction.BOUNDED_RELU, a=high, b=low)
    return replace_layer(network, layer, "Activation", [inner.value], descriptor)


def recognize_embedding(network: Network) -> int:
    """Replace (indices == 0, 1, 2 ...) @ matrix by Gather.

    So JAX writes embeddings. An index without a row gets zeros, as before: the matrix is kept with
    a row of them at both ends. It must be constant, finite and in floating point, and nothing else
    may read the one-hot rows.

    Returns:
        How many products were replaced.
    """
    if not holds(network, ComparisonDescriptor):
        return 0
    return sum(_replace_product(network, layer) for layer in walk(network, BatchMatMulDescriptor))


def _replace_product(network: Network, layer: Layer) -> bool:
    hot, matrix = layer.inputs[:2]
    table = None if matrix is None else matrix.constant
    if hot is None or table is None or table.ndim != 2 or not layer.output.info.is_static:
        return False
    if layer.descriptor != BatchMatMulDescriptor() or not layer.output.info.data_type.is_float:
        return False
    indices = _indices(layer, hot, len(table))
    if indices is None or not np.isfinite(table).all():
        return False
    rows = np.zeros((len(table) + 2, table.shape[1]), table.dtype)
    rows[1:-1] = table
    place = indices
    for operation, number in (
        (BinaryOperation.MINIMUM, len(table)),  # of all indices behind the last row
        (BinaryOperation.MAXIMUM, -1),  # of all before the first one
        (BinaryOperation.ADD, 1),
    ):
        place = _binary(network, layer, place, operation, number)
    kept = network.add_constant(rows, name=network.unique_name(f"{layer.name} rows"))
    gathered = network.add(
        "Gather",
        [kept, place],
        GatherDescriptor(axis=0),
        name=network.unique_name(f"{layer.name} gathered"),
    )
    gathered.backend_hint = layer.backend_hint
    shape = ReshapeDescriptor(target_shape=layer.output.info.static_shape)
    return replace_layer(network, layer, "Reshape", [gathered.output], shape)


def _indices(layer: Layer, hot: Value, count: int) -> Value | None:
    """Return the indices behind one-hot rows, None for other rows."""
    cast = hot.producer
    if not isinstance(cast.descriptor, CastDescriptor) or only_reader(hot) is not layer:
        return None
    equal = first_input(cast).producer
    if equal.descriptor != ComparisonDescriptor(operation=ComparisonOperation.EQUAL):
        return None
    if only_reader(equal.output) is not cast:
        return None
    if not may_absorb(layer, cast) or not may_absorb(layer, equal):
        return None
    first, second = equal.inputs
    for numbers, indices in ((first, second), (second, first)):
        if indices is None or numbers is None or not _counts(numbers.constant, count):
            continue
        column = (*hot.info.static_shape[:-1], 1)
        fits = indices.info.shape == column and indices.info.data_type is DataType.SIGNED32
        return indices if fits else None
    return None


def _counts(numbers: NDArray[Any] | None, count: int) -> bool:
    """Return whether the last axis counts from 0 on."""
    if numbers is None or numbers.size != count or numbers.shape[-1:] != (count,):
        return False
    return bool((numbers.reshape(count) == np.arange(count)).all())


def _binary(
    network: Network, layer: Layer, value: Value, operation: BinaryOperation, number: int
) -> Value:
    operand = network.add_constant(
        np.full((1,) * len(value.info.static_shape), number, np.int32),
        name=network.unique_name(f"{layer.name} bound"),
    )
    made = network.add(
        "ElementwiseBinary",
        [value, operand],
        ElementwiseBinaryDescriptor(operation=operation),
        name=network.unique_name(f"{layer.name} row"),
    )
    made.backend_hint = layer.backend_hint
    return made.output


def recognize_gelu(network: Network) -> int:
    """Replace x / 2 * (1 + erf(x / sqrt(2))) by Gelu.

    It is in floating point, in any notation. The half may stand before, in or behind the product
    (Hendrycks and Gimpel 2016; ONNX: Gelu). Nothing else may read what is computed on the way.

    Returns:
        How many were replaced.
    """
    if not holds(network, ElementwiseUnaryDescriptor, _is_error_function):
        return 0
    return sum(
        _replace_gelu(network, layer) for layer in walk(network, (ActivationDescriptor, *BINARY))
    )


def _is_error_function(unary: ElementwiseUnaryDescriptor) -> bool:
    return unary.operation is UnaryOperation.ERF


def _replace_gelu(network: Network, layer: Layer) -> bool:
    if len(layer.outputs) != 1 or not layer.output.info.data_type.is_float:
        return False
    for outside in lines_of(layer.output):
        product = outside.value.producer
        if outside.offset == 0 and binary_operation(product) is BinaryOperation.MUL:
            for position, operand in enumerate(product.inputs):
                gate = product.inputs[1 - position]
                if operand is not None and gate is not None:
                    found = _root(operand, gate, outside)
                    if found is not None and _put_gelu(network, layer, product, outside, *found):
                        return True
    return False


def _root(operand: Value, gate: Value, outside: _Line) -> tuple[Value, list[Layer]] | None:
    """Return x and the layers of Gelu's product.

    None if the product is no Gelu.
    """
    behind = line_of(gate)
    error = behind.value.producer
    descriptor = error.descriptor
    if not isinstance(descriptor, ElementwiseUnaryDescriptor) or not _is_error_function(descriptor):
        return None
    for inside in lines_of(operand):
        before = line_of(first_input(error), until=inside.value)
        scale = outside.factor * inside.factor
        numbers = (scale * behind.factor, scale * behind.offset, before.factor)
        if before.value is inside.value and inside.offset == before.offset == 0:
            near = _nearness(operand.info.data_type)
            wanted = (0.5, 0.5, math.sqrt(0.5))
            if all(
                math.isclose(number, expected, rel_tol=near)
                for number, expected in zip(numbers, wanted, strict=True)
            ):
                return inside.value, [*inside.layers, *behind.layers, error, *before.layers]
    return None


def _nearness(data_type: DataType) -> float:
    """Return the tolerance of constants rounded to a data type."""
    return {DataType.FLOAT16: 1e-3, DataType.BFLOAT16: 1e-2}.get(data_type, 1e-6)


def _put_gelu(
    network: Network, layer: Layer, product: Layer, outside: _Line, x: Value, passed: list[Layer]
) -> bool:
    inside = [*outside.layers, product, *passed]
    if x.info != layer.output.info or not _are_private(inside, layer):
        return False
    descriptor = ActivationDescriptor(function=ActivationFunction.GELU)
    return replace_layer(network, layer, "Activation", [x], descriptor)


def recognize_hard_swish(network: Network) -> int:
    """Replace x * min(max(0, x + 3), 6) / 6 by HardSwish.

    It is in floating point, in any notation. The division may stand anywhere behind the clip, as a
    multiplication too, or before it: then the clip is HardSigmoid, min(max(0, x / 6 + 1/2), 1)
    (Howard et al. 2019; ONNX: HardSwish). Nothing else may read what is computed on the way.

    Returns:
        How many were replaced.
    """
    if not holds(network, ActivationDescriptor, _is_clip):
        return 0
    return sum(
        _replace_hard_swish(network, layer)
        for layer in walk(network, (ActivationDescriptor, *BINARY))
    )


def _is_clip(bounds: ActivationDescriptor) -> bool:
    return bounds.function is ActivationFunction.BOUNDED_RELU and bounds.b == 0


def _replace_hard_swish(network: Network, layer: Layer) -> bool:
    if len(layer.outputs) != 1 or not layer.output.info.data_type.is_float:
        return False
    outside = line_of(layer.output)
    product = outside.value.producer
    if outside.offset != 0 or binary_operation(product) is not BinaryOperation.MUL:
        return False
    for position, x in enumerate(product.inputs):
        gate = product.inputs[1 - position]
        if x is None or gate is None or x.info != layer.output.info:
            continue
        passed = _passed_on_the_way(x, gate, outside.factor)
        if passed is None:
            continue
        inside = [*outside.layers, product, *passed]
        if not _are_private(inside, layer):
            continue
        descriptor = ActivationDescriptor(function=ActivationFunction.HARD_SWISH)
        return replace_layer(network, layer, "Activation", [x], descriptor)
    return False


def _passed_on_the_way(x: Value, gate: Value, factor: float) -> list[Layer] | None:
    """Return the layers between ``x`` and ``gate`` in HardSwish.

    None if ``x * gate * factor`` is no HardSwish of ``x``.
    """
    behind = line_of(gate)
    clip = behind.value.producer
    bounds = clip.descriptor
    if behind.offset != 0 or not isinstance(bounds, ActivationDescriptor) or not _is_clip(bounds):
        return None
    before = line_of(first_input(clip), until=x)
    scale = behind.factor * factor
    numbers = (scale * before.factor, scale * before.offset, scale * bounds.a)
    if before.value is not x or not all(
        math.isclose(number, expected, rel_tol=1e-6)  # constants are rounded to float32
        for number, expected in zip(numbers, (1 / 6, 1 / 2, 1), strict=True)
    ):
        return None
    return [*behind.layers, clip, *before.layers]


def recognize_layer_normalization(network: Network) -> int:
    """Replace (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) over the last axes.

    A factor and then an addend for the elements of these axes become gamma and beta (Ba et al.
    2016). In floating point only; nothing else may read what is computed on the way.

    Returns:
        How many layers were replaced.
    """
    if not holds(network, _NEEDED, _may_take_part):
        return 0
    return sum(
        _replace_quotient(network, layer) or _absorb_constant(network, layer)
        for layer in walk(network, BINARY)
    )


_NEEDED = (ActivationDescriptor, ElementwiseUnaryDescriptor, LayerNormalizationDescriptor)


def _may_take_part(descriptor: Any) -> bool:
    """Return whether a layer is a root, or normalizes already."""
    if isinstance(descriptor, ActivationDescriptor):
        return descriptor.function is ActivationFunction.SQRT
    if isinstance(descriptor, ElementwiseUnaryDescriptor):
        return descriptor.operation in (UnaryOperation.SQRT, UnaryOperation.RSQRT)
    return True


def _replace_quotient(network: Network, layer: Layer) -> bool:
    """Replace the arithmetic up to the quotient.

    The quotient may be written as a product.
    """
    operation = binary_operation(layer)
    if operation is BinaryOperation.DIV:
        operands = _operands(layer, BinaryOperation.DIV)
        if operands is None:
            return False
        centered, root = operands
        shifted = _unary(root.producer, UnaryOperation.SQRT)
        return shifted is not None and _put_normalization(network, layer, centered, root, shifted)
    operands = _operands(layer, operation) if operation is BinaryOperation.MUL else None
    if operands is None:
        return False
    for centered, root in (operands, operands[::-1]):
        shifted = _unary(root.producer, UnaryOperation.RSQRT)
        if shifted is not None and _put_normalization(network, layer, centered, root, shifted):
            return True
    return False


def _put_normalization(
    network: Network, layer: Layer, centered: Value, root: Value, shifted: Value
) -> bool:
    epsilon = number_operand(shifted.producer)
    if epsilon is None or epsilon.operation is not BinaryOperation.ADD or epsilon.number < 0:
        return False
    variance = epsilon.value
    square = _mean_of(variance.producer)
    difference = _operands(centered.producer, BinaryOperation.SUB)
    if square is None or difference is None or _squared(square.producer) is not centered:
        return False
    x, mean = difference
    axis = _first_axis(mean.producer)
    if _mean_of(mean.producer) is not x or axis is None:
        return False
    if axis != _first_axis(variance.producer) or x.info != layer.output.info:
        return False
    inside = [value.producer for value in (centered, square, variance, shifted, root, mean)]
    if not _are_private_to(inside, layer):
        return False
    descriptor = LayerNormalizationDescriptor(axis=axis, eps=epsilon.number)
    return replace_layer(network, layer, "LayerNormalization", [x, None, None], descriptor)


def _operands(layer: Layer, operation: BinaryOperation) -> tuple[Value, Value] | None:
    """Return the operands of a float layer of that operation."""
    if binary_operation(layer) is not operation or not layer.output.info.data_type.is_float:
        return None
    first, second = layer.inputs
    return None if first is None or second is None else (first, second)


def _unary(layer: Layer, operation: UnaryOperation) -> Value | None:
    """Return the operand of that function, None for other layers."""
    descriptor = layer.descriptor
    if isinstance(descriptor, ElementwiseUnaryDescriptor):
        return first_input(layer) if descriptor.operation is operation else None
    root = operation is UnaryOperation.SQRT and isinstance(descriptor, ActivationDescriptor)
    if root and descriptor == ActivationDescriptor(function=ActivationFunction.SQRT):
        return first_input(layer)
    return None


def _squared(layer: Layer) -> Value | None:
    """Return the value that is squared.

    It is squared by the activation, as a power, or times itself.
    """
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor):
        return first_input(layer) if descriptor.function is ActivationFunction.SQUARE else None
    power = number_operand(layer)
    if power is not None and power.operation is BinaryOperation.POWER and power.number == 2:
        return power.value if power.position == 0 else None
    operands = _operands(layer, BinaryOperation.MUL)
    return operands[0] if operands is not None and operands[0] is operands[1] else None


def _mean_of(layer: Layer) -> Value | None:
    """Return the operand of a mean that keeps its axes."""
    descriptor = layer.descriptor
    if isinstance(descriptor, ReduceDescriptor):
        if descriptor.reduce_operation is not ReduceOperation.MEAN:
            return None
    elif not isinstance(descriptor, MeanDescriptor):
        return None
    return first_input(layer) if descriptor.keep_dims and not awaits_parameters(layer) else None


def _first_axis(layer: Layer) -> int | None:
    """Return the first axis of a mean over last axes."""
    descriptor = layer.descriptor
    shape = layer.output.info.shape
    if shape is None or not isinstance(descriptor, (MeanDescriptor, ReduceDescriptor)):
        return None
    rank = len(shape)
    axes = sorted(axis % rank for axis in descriptor.axis) if rank else []
    return axes[0] if axes and axes == list(range(axes[0], rank)) else None


def _are_private_to(inside: Sequence[Layer], last: Layer) -> bool:
    """Return whether only these layers read each other.

    No hint may keep them apart.
    """
    readers = [*inside, last]
    return all(
        may_absorb(last, layer) and all(reader in readers for reader, _ in layer.output.uses)
        for layer in inside
    )


def _absorb_constant(network: Network, layer: Layer) -> bool:
    """Make a factor gamma, or an addend beta, if possible."""
    operation = binary_operation(layer)
    if operation not in (BinaryOperation.MUL, BinaryOperation.ADD):
        return False
    for position, value in enumerate(layer.inputs):
        other = layer.inputs[1 - position]
        if value is None or other is None or other.constant is None:
            continue
        before = value.producer
        if not isinstance(before.descriptor, LayerNormalizationDescriptor):
            continue
        inputs = [*before.inputs, None, None][:3]
        place = 1 if operation is BinaryOperation.MUL else 2
        taken = any(given is not None for given in inputs[place:])
        if taken or not _lies_on_axes(other, before):
            continue
        if only_reader(value) is layer and may_absorb(layer, before):
            inputs[place] = other
            return replace_layer(network, layer, "LayerNormalization", inputs, before.descriptor)
    return False


def _lies_on_axes(constant: Value, layer: Layer) -> bool:
    """Return whether a constant varies along normalized axes only."""
    shape, data = constant.info.shape, layer.output.info
    descriptor = layer.descriptor
    if shape is None or data.shape is None:
        return False
    if not isinstance(descriptor, LayerNormalizationDescriptor):
        return False
    rank = len(data.shape)
    axes = rank - descriptor.axis % rank
    return len(shape) <= axes and constant.info.data_type is data.data_type


def recognize_swish(network: Network) -> int:
    """Replace x * sigmoid(x) in floating point by Swish.

    Ramachandran et al. 2017; also called SiLU. Nothing else may read the sigmoid.

    Returns:
        How many were replaced.
    """
    if not holds(network, ActivationDescriptor, _is_sigmoid):
        return 0
    return sum(_replace_swish(network, layer) for layer in walk(network, BINARY))


def _replace_swish(network: Network, layer: Layer) -> bool:
    if binary_operation(layer) is not BinaryOperation.MUL:
        return False
    for position, gate in enumerate(layer.inputs):
        x = layer.inputs[1 - position]
        if gate is None or x is None or not _is_gate(gate, x) or x.info != layer.output.info:
            continue
        if only_reader(gate) is not layer or not may_absorb(layer, gate.producer):
            continue
        descriptor = ActivationDescriptor(function=ActivationFunction.SWISH, a=1)
        return replace_layer(network, layer, "Activation", [x], descriptor)
    return False


def _is_gate(gate: Value, x: Value) -> bool:
    maker = gate.producer
    return (
        isinstance(maker.descriptor, ActivationDescriptor)
        and _is_sigmoid(maker.descriptor)
        and first_input(maker) is x
        and x.info.data_type.is_float
    )


def _is_sigmoid(activation: ActivationDescriptor) -> bool:
    return activation.function is ActivationFunction.SIGMOID
