# SPDX-License-Identifier: MIT
"""Float layers between Dequantize and Quantize, computed in stored values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._edits import (
    awaits_parameters,
    binary_operation,
    bypass,
    discard_unread,
    first_input,
    may_absorb,
    only_reader,
    walk,
)
from armnn.optimizer.passes.permutes import axis_order
from armnn.quantization import dequantize
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataType, QuantizedArithmetic

_ROUNDING = 2.0**-22
"""By how much products of the same numbers may differ, relatively: each is rounded to float32."""


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """The inputs of a layer on stored values.

    Attributes:
        info: The tensor's description.
        value: The value of the network that it is; None if it is new.
        data: The data of a constant.
    """

    info: TensorInfo
    value: Value | None
    data: NDArray[Any] | None


def _stored_value(value: Value) -> _Stored | None:
    """Return a dequantized value's stored value, None without one.

    A permutation of a dequantized constant counts: the constant is permuted as it is stored.
    """
    if value.info.data_type is not DataType.FLOAT32:
        return None
    producer = value.producer
    order = axis_order(producer)
    if order is not None:
        producer = first_input(producer).producer
    if producer.type != "Dequantize":
        return None
    source = first_input(producer)
    if not source.info.scales:
        return None
    if order is None:
        return _Stored(source.info, source, source.constant)
    return None if source.constant is None else _permuted(source.constant, source.info, order)


def _permuted(data: NDArray[Any], info: TensorInfo, order: tuple[int, ...]) -> _Stored:
    data = np.ascontiguousarray(data.transpose(order))
    axis = None if info.axis is None else order.index(info.axis)
    moved = TensorInfo(data.shape, info.data_type, info.scales, info.zero_points, axis)
    return _Stored(moved, None, data)


def _stored_number(value: Value, data_type: DataType) -> _Stored | None:
    """Return a constant number as one step of its scale.

    None if it is no such number.
    """
    data = value.constant
    if data is None or data.size != 1 or value.info.data_type is not DataType.FLOAT32:
        return None
    number = float(data.reshape(()))
    if not math.isfinite(number):
        return None
    steps, zero_point = (0, 1) if number < 0 else (1 if number else 0, 0)
    info = TensorInfo(value.info.shape, data_type, abs(number) or 1.0, zero_point)
    return _Stored(info, None, np.full(data.shape, steps, data_type.numpy_dtype))


def _stored_bias(bias: Value, data: TensorInfo, weights: TensorInfo) -> _Stored | None:
    """Return a bias in steps of data times weights.

    None if it is not a whole number of them: its sum would no longer be the same.
    """
    real = bias.constant
    if real is None or bias.info.data_type is not DataType.FLOAT32:
        return None
    scales = data.scale * np.array(weights.scales, np.float64)
    if real.ndim != 1 or scales.size not in (1, real.size):
        return None
    with np.errstate(all="ignore"):  # what is not finite is refused below
        steps = np.rint(real / scales)
        whole = np.abs(steps * scales - real) <= _ROUNDING * np.abs(real)
    limits = np.iinfo(np.int32)
    if not np.all(whole & (steps >= limits.min) & (steps <= limits.max)):
        return None
    return _Stored(TensorInfo(real.shape, DataType.SIGNED32), None, steps.astype(np.int32))


EmitFloat: TypeAlias = Callable[["Layer", Network], "Layer"]
"""Adds the layer on floats that a layer on stored values would replace to a network."""

SupportQuery: TypeAlias = Callable[[Network, EmitFloat], Collection["Layer"]]
"""Returns which layers of a network may replace those on floats."""


class AcceptAll(ABC):
    """Accepts all layers on stored values."""

    @abstractmethod
    def note(self, layers: Iterable[Layer]) -> None:
        """Take note of layers that were accepted."""


FoldPolicy: TypeAlias = "SupportQuery | AcceptAll"
"""Decides which layers on stored values replace layers on floats."""

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


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """Layers on stored values that replace a Quantize layer.

    Attributes:
        quantize: The Quantize layer.
        layers: The layers that change, in order, and what each reads instead; a later one reads
            the output of the one before.
    """

    quantize: Layer
    layers: tuple[tuple[Layer, list[_Stored | None]], ...]


def fold_quantization(network: Network, accepts: FoldPolicy) -> int:
    """Let layers between Dequantize and Quantize compute stored values.

    (ONNX: models with QuantizeLinear and DequantizeLinear pairs.) A layer on quantized values
    means: decode, compute in real numbers, encode; so nothing changes. Constant weights may have
    scales per axis; a bias must be a whole number of steps of data times weights. A Quantize behind
    a bounding activation moves in front of it, as rounding keeps the order of numbers. Networks
    whose quantized layers round as TensorFlow Lite does are left alone: there a layer of floats is
    not the same.

    Args:
        network: The network.
        accepts: Which layers on stored values may replace the layers on floats; it is called once,
            with all of them in one network, where unknown dimensions are 1. Or who notes that all
            come.

    Returns:
        How many Quantize layers went.
    """
    if network.quantized_arithmetic is not QuantizedArithmetic.REAL:
        return 0
    quantizers = [layer for layer in walk(network) if layer.type == "Quantize"]
    bypassed = sum(_bypass(network, layer) for layer in quantizers)
    folds = [fold for each in quantizers if each in network and (fold := _fold_of(each))]
    replaced: dict[Value, Value] = {}
    if isinstance(accepts, AcceptAll):
        return bypassed + sum(_apply(network, fold, replaced, accepts) for fold in folds)
    accepted = _accepted(folds, accepts)
    for fold in accepted:
        _replace(network, fold, replaced)
    return bypassed + len(accepted)


def _bypass(network: Network, quantize: Layer) -> bool:
    """Remove a Quantize that makes the stored values again."""
    maker = first_input(quantize).producer
    if maker.type != "Dequantize" or not may_absorb(quantize, maker):
        return False
    stored = first_input(maker)
    if stored.info != quantize.output.info or quantize.backend_hint is not None:
        return False
    bypass(network, quantize, stored)
    return True


def _fold_of(quantize: Layer) -> _Fold | None:
    info = quantize.output.info
    if info.axis is not None or len(info.scales) != 1:
        return None
    value = first_input(quantize)
    maker = value.producer
    if maker.type == "Dequantize":
        stored = first_input(maker)
        if not stored.info.scales or not may_absorb(quantize, maker):
            return None
        return _Fold(quantize, ((quantize, [_Stored(stored.info, stored, stored.constant)]),))
    if only_reader(value) is not quantize or not may_absorb(maker, quantize):
        return None
    between: tuple[tuple[Layer, list[_Stored | None]], ...] = ()
    if _bounds(maker) and _stored_value(first_input(maker)) is None:
        # Its input is to be quantized as its output is.
        between = ((maker, [_Stored(info, None, None)]),)
        value = first_input(maker)
        if only_reader(value) is not maker or not may_absorb(value.producer, maker):
            return None
        maker = value.producer
    read = _operands(maker, info.data_type)
    return None if read is None else _Fold(quantize, ((maker, read), *between))


def _bounds(layer: Layer) -> bool:
    d = layer.descriptor
    return isinstance(d, ActivationDescriptor) and d.function in _BOUNDING


def _operands(layer: Layer, data_type: DataType) -> list[_Stored | None] | None:
    """Return the stored operands, None if some are not stored."""
    if layer.type not in _FOLDED or awaits_parameters(layer):
        return None
    read: dict[str, _Stored | None] = {}
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
    layer: Layer, value: Value, name: str, read: dict[str, _Stored | None], data_type: DataType
) -> _Stored | None:
    if not (value.info.data_type.is_float or value.info.is_quantized):
        return _Stored(value.info, value, value.constant)  # indices
    if name == "bias":
        data, weights = read["input"], read["weights"]
        if data is None or weights is None:
            return None
        return _stored_bias(value, data.info, weights.info)
    stored = _stored_value(value)
    if stored is None and binary_operation(layer) is not None:
        stored = _stored_number(value, data_type)
    may_have_scales = stored is not None and stored.data is not None  # weights
    if stored is None or not (stored.info.axis is None or may_have_scales):
        return None
    maker = value.producer
    return stored if maker.type != "Dequantize" or may_absorb(layer, maker) else None


def _apply(network: Network, fold: _Fold, replaced: dict[Value, Value], unasked: AcceptAll) -> bool:
    """Replace layers that take stored values; return whether they do."""
    known = len(network)
    try:
        came = _replace(network, fold, replaced)
    except InvalidArgumentError:
        for layer in reversed(network.layers[known:]):
            network.remove(layer)
        return False
    unasked.note(came)
    return True


def _accepted(folds: Sequence[_Fold], accepts: SupportQuery) -> list[_Fold]:
    """Return the folds whose layers are all accepted."""
    stored = Network("")
    real: dict[Layer, tuple[Layer, Sequence[_Stored | None]]] = {}
    successors: dict[_Fold, list[Layer]] = {}
    for fold in folds:
        try:
            for layer, read in fold.layers:
                successor = _add_alone(stored, layer, read, fold.quantize.output.info)
                real[successor] = layer, read
                successors.setdefault(fold, []).append(successor)
        except InvalidArgumentError:
            successors.pop(fold, None)

    def present(successor: Layer, network: Network) -> Layer:
        layer, read = real[successor]
        return _add_alone(network, layer, _real(layer, read), layer.output.info)

    accepted = accepts(stored, present) if successors else ()
    return [fold for fold, layers in successors.items() if all(each in accepted for each in layers)]


def _add_alone(
    network: Network, layer: Layer, read: Sequence[_Stored | None], info: TensorInfo
) -> Layer:
    """Add a layer that reads constants and new inputs."""
    inputs: list[Value | None] = []
    for index, operand in enumerate(read):
        if operand is None:
            inputs.append(None)
        elif operand.data is not None:
            inputs.append(network.add_constant(operand.data, operand.info))
        else:
            name = f"{layer.name}/{index}"
            inputs.append(network.add_input(name, _static(operand.info)))
    name = network.unique_name(layer.name)
    alone = network.add(layer.type, inputs, layer.descriptor, name=name, outputs=[_static(info)])
    alone.backend_hint = layer.backend_hint
    return alone


def _static(info: TensorInfo) -> TensorInfo:
    if info.shape is None:
        return info
    return info.with_shape(size if isinstance(size, int) else 1 for size in info.shape)


def _real(layer: Layer, read: Sequence[_Stored | None]) -> list[_Stored | None]:
    """Return the operands of the layer on floats, constants as such."""
    real: list[_Stored | None] = []
    for value, operand in zip(layer.inputs, read, strict=True):
        if value is None or operand is None:
            real.append(None)
            continue
        data = value.constant
        if data is None and operand.data is not None:
            data = dequantize(np.asarray(operand.data), operand.info)
        real.append(_Stored(value.info, None, data))
    return real


def _replace(network: Network, fold: _Fold, replaced: dict[Value, Value]) -> Collection[Layer]:
    """Replace float layers and their Quantize by stored arithmetic.

    Args:
        network: Is changed.
        fold: The layers that are replaced.
        replaced: The values that were replaced before, and by which; grows.

    Returns:
        The new layers.

    Raises:
        InvalidArgumentError: A layer does not take stored values; those before it are there.
    """
    stored: dict[str, Layer] = {}
    value = fold.quantize.output
    for layer, read in fold.layers:
        inputs = [_entered(network, layer, each, value, replaced) for each in read]
        new = network.add(
            layer.type,
            inputs,
            layer.descriptor,
            name=network.unique_name(layer.name),
            outputs=[fold.quantize.output.info],
        )
        new.backend_hint = layer.backend_hint
        stored[layer.name], value = new, new.output
    network.replace_uses(fold.quantize.output, value)
    replaced[fold.quantize.output] = value
    discard_unread(network, fold.quantize.outputs)
    for name, new in stored.items():
        network.rename(new, name)
    return stored.values()


def _entered(
    network: Network,
    layer: Layer,
    operand: _Stored | None,
    before: Value,
    replaced: Mapping[Value, Value],
) -> Value | None:
    """Return an operand as a value of the network."""
    if operand is None:
        return None
    if operand.value is not None:
        return replaced.get(operand.value, operand.value)
    if operand.data is None:
        return before
    name = network.unique_name(f"{layer.name}/stored")
    return network.add_constant(np.asarray(operand.data), operand.info, name=name)
