# SPDX-License-Identifier: MIT
"""Float layers between Dequantize and Quantize, computed in stored values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from armnn.errors import InvalidArgumentError
from armnn.graph import Network
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._pattern import (
    awaits_parameters,
    binary_operation,
    bypass,
    discard_unread,
    first_input,
    may_absorb,
    only_reader,
    walk,
)
from armnn.optimizer.passes._stored import Stored, stored_bias, stored_number, stored_value
from armnn.quantization import dequantize
from armnn.types import ActivationFunction, DataType, QuantizedArithmetic

if TYPE_CHECKING:
    from armnn.graph import Layer, Value
    from armnn.tensor import TensorInfo

Accepts: TypeAlias = Callable[["Layer", Callable[[], "Layer"]], bool]
"""Whether a layer may replace another one, which is made only if need be."""

_FOLDED = frozenset(
    {
        "Activation",
        "Addition",
        "BatchMatMul",
        "BatchToSpaceNd",
        "Concat",
        "Convolution2d",
        "DepthToSpace",
        "DepthwiseConvolution2d",
        "Division",
        "ElementwiseBinary",
        "ElementwiseUnary",
        "FullyConnected",
        "Gather",
        "LogSoftmax",
        "Maximum",
        "Mean",
        "Minimum",
        "Multiplication",
        "Permute",
        "Pooling2d",
        "Prelu",
        "Reduce",
        "Reshape",
        "Resize",
        "Slice",
        "Softmax",
        "SpaceToBatchNd",
        "SpaceToDepth",
        "StridedSlice",
        "Subtraction",
        "Tile",
        "Transpose",
        "TransposeConvolution2d",
    }
)
"""Layers that mean the same of real values however these are stored."""

_BOUNDING = (ActivationFunction.RELU, ActivationFunction.BOUNDED_RELU)


def fold_quantization(network: Network, accepts: Accepts) -> int:
    """Let layers between Dequantize and Quantize compute stored values.

    (ONNX: models with QuantizeLinear and DequantizeLinear pairs.) A layer on quantised values
    means: decode, compute in real numbers, encode; so nothing changes. Constant weights may have
    scales per axis; a bias must be a whole number of steps of data times weights. A Quantize behind
    a bounding activation moves in front of it, as rounding keeps the order of numbers. Networks
    whose quantised layers round as TensorFlow Lite does are left alone: there a layer of floats is
    not the same.

    Args:
        network: The network.
        accepts: Whether a layer on stored values may replace the layer on floats.

    Returns:
        How many Quantize layers went or moved.
    """
    if network.quantized_arithmetic is not QuantizedArithmetic.REAL:
        return 0
    return sum(
        _fold(network, layer, accepts) for layer in walk(network) if layer.type == "Quantize"
    )


def _fold(network: Network, quantize: Layer, accepts: Accepts) -> bool:
    info = quantize.output.info
    if info.axis is not None or len(info.scales) != 1:
        return False
    value = first_input(quantize)
    maker = value.producer
    if maker.type == "Dequantize":
        return _skip_dequantize(network, quantize, maker, accepts)
    if only_reader(value) is not quantize or not may_absorb(maker, quantize):
        return False
    if _bounds(maker) and stored_value(first_input(maker)) is None:
        return _move_up(network, quantize, maker, accepts)
    return _fold_between(network, maker, quantize, accepts)


def _skip_dequantize(
    network: Network, quantize: Layer, dequantize: Layer, accepts: Accepts
) -> bool:
    """Read the stored values before a Dequantize.

    The layer is the one between it and the Quantize.
    """
    stored = first_input(dequantize)
    if not stored.info.scales or not may_absorb(quantize, dequantize):
        return False
    if stored.info == quantize.output.info and quantize.backend_hint is None:
        bypass(network, quantize, stored)
        return True
    read = [Stored(stored.info, stored, stored.constant)]
    if not _accepted(quantize, read, quantize.output.info, accepts):
        return False
    before = quantize.inputs
    network.replace_inputs(quantize, [stored])
    discard_unread(network, before)
    return True


def _bounds(layer: Layer) -> bool:
    d = layer.descriptor
    return isinstance(d, ActivationDescriptor) and d.function in _BOUNDING


def _move_up(network: Network, quantize: Layer, bounding: Layer, accepts: Accepts) -> bool:
    """Quantise before a bounding activation.

    A layer on stored values must be able to make its input.
    """
    real = first_input(bounding)
    maker = real.producer
    if only_reader(real) is not bounding or not may_absorb(maker, bounding):
        return False
    info = quantize.output.info
    read = _operands(maker, info.data_type)
    between = [Stored(info, None, None)]
    if read is None or not _accepted(maker, read, info, accepts):
        return False
    if not _accepted(bounding, between, info, accepts):
        return False
    early = network.add("Quantize", [real], name=network.unique_name(quantize.name), outputs=[info])
    early.backend_hint = quantize.backend_hint
    _replace(network, bounding, [early.output], quantize)
    return True


def _fold_between(network: Network, layer: Layer, quantize: Layer, accepts: Accepts) -> bool:
    info = quantize.output.info
    read = _operands(layer, info.data_type)
    if read is None or not _accepted(layer, read, info, accepts):
        return False
    _replace(network, layer, [_enter(network, layer, operand) for operand in read], quantize)
    return True


def _operands(layer: Layer, data_type: DataType) -> list[Stored | None] | None:
    """Return the stored operands, None if some are not stored."""
    if layer.type not in _FOLDED or awaits_parameters(layer):
        return None
    read: dict[str, Stored | None] = {}
    for index, value in enumerate(layer.inputs):
        name = layer.spec.input_slot(index).name
        slot = f"{name}{index}" if layer.spec.is_variadic else name
        if value is None:
            read[slot] = None
            continue
        operand = _operand(layer, value, name, read, data_type)
        if operand is None:
            return None
        read[slot] = operand
    if all(operand is None or operand.data is not None for operand in read.values()):
        return None  # constants are computed once
    return list(read.values())


def _operand(
    layer: Layer, value: Value, name: str, read: dict[str, Stored | None], data_type: DataType
) -> Stored | None:
    if not (value.info.data_type.is_float or value.info.is_quantized):
        return Stored(value.info, value, value.constant)  # indices
    if name == "bias":
        data, weights = read["input"], read["weights"]
        if data is None or weights is None:
            return None
        return stored_bias(value, data.info, weights.info)
    stored = stored_value(value)
    if stored is None and binary_operation(layer) is not None:
        stored = stored_number(value, data_type)
    may_have_scales = stored is not None and stored.data is not None  # weights
    if stored is None or not (stored.info.axis is None or may_have_scales):
        return None
    maker = value.producer
    return stored if maker.type != "Dequantize" or may_absorb(layer, maker) else None


def _accepted(
    layer: Layer, read: Sequence[Stored | None], info: TensorInfo, accepts: Accepts
) -> bool:
    """Return whether the layer is accepted, unknown dimensions being 1.

    The query is about networks made for it.
    """
    try:
        stored = _alone(layer, read, info)
    except InvalidArgumentError:
        return False
    return accepts(stored, lambda: _alone(layer, _real(layer, read), layer.output.info))


def _alone(layer: Layer, read: Sequence[Stored | None], info: TensorInfo) -> Layer:
    network = Network("")
    inputs: list[Value | None] = []
    for index, operand in enumerate(read):
        if operand is None:
            inputs.append(None)
        elif operand.data is not None:
            inputs.append(network.add_constant(operand.data, operand.info))
        else:
            inputs.append(network.add_input(f"{index}", _static(operand.info)))
    alone = network.add(
        layer.type, inputs, layer.descriptor, name=layer.name, outputs=[_static(info)]
    )
    alone.backend_hint = layer.backend_hint
    return alone


def _static(info: TensorInfo) -> TensorInfo:
    if info.shape is None:
        return info
    return info.with_shape(size if isinstance(size, int) else 1 for size in info.shape)


def _real(layer: Layer, read: Sequence[Stored | None]) -> list[Stored | None]:
    """Return what the layer on floats reads, constants as such."""
    real: list[Stored | None] = []
    for value, operand in zip(layer.inputs, read, strict=True):
        if value is None or operand is None:
            real.append(None)
            continue
        data = value.constant
        if data is None and operand.data is not None:
            data = dequantize(np.asarray(operand.data), operand.info)
        real.append(Stored(value.info, None, data))
    return real


def _enter(network: Network, layer: Layer, operand: Stored | None) -> Value | None:
    if operand is None or operand.value is not None:
        return None if operand is None else operand.value
    name = network.unique_name(f"{layer.name}/stored")
    return network.add_constant(np.asarray(operand.data), operand.info, name=name)


def _replace(
    network: Network, layer: Layer, inputs: Sequence[Value | None], quantize: Layer
) -> None:
    """Replace a float layer and its Quantize by stored arithmetic."""
    name = layer.name
    stored = network.add(
        layer.type,
        inputs,
        layer.descriptor,
        name=network.unique_name(name),
        outputs=[quantize.output.info],
    )
    stored.backend_hint = layer.backend_hint
    network.replace_uses(quantize.output, stored.output)
    discard_unread(network, quantize.outputs)
    network.rename(stored, name)
