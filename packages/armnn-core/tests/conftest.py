# SPDX-License-Identifier: MIT
"""Shared fixtures: meanings of layers, and backends computing by them.

Meanings are in float64 and loops.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.backends import (
    SUPPORTED,
    Backend,
    BackendVersion,
    CreationOptions,
    ModelContext,
    Step,
    Support,
    TensorHandle,
    TensorHandleFactories,
    Workload,
)
from armnn.graph import Network
from armnn.optimizer import Candidate, Participants
from armnn.runtime import Runtime
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataType,
    PaddingMethod,
    PoolingAlgorithm,
    UnaryOperation,
)
from fakes.plugins import backend_plugin, installed

sys.path.insert(0, str(Path(__file__).parent))  # storage and native backends share the mock

from native_mock import (  # noqa: F401 # after the path; pytest looks for them here
    build,
    counts,
    make_native_runtime,
    mock,
    no_options,
)

if TYPE_CHECKING:
    from armnn.graph import Layer

Array = NDArray[Any]


@pytest.fixture
def compute() -> Callable[[Network, Mapping[str, Array]], dict[str, Array]]:
    """Return a function that computes a network's real outputs."""
    return _compute


def _compute(network: Network, feeds: Mapping[str, Array]) -> dict[str, Array]:
    values: dict[Any, Array] = {}
    outputs: dict[str, Array] = {}
    for layer in network.topological_order():
        inputs = [None if value is None else values[value] for value in layer.inputs]
        if layer.type == "Input":
            values[layer.output] = np.asarray(feeds[layer.name], np.float64)
        elif layer.type == "Constant":
            values[layer.output] = np.asarray(layer.data).astype(np.float64)
        elif layer.type == "Output":
            (outputs[layer.name],) = inputs
        else:
            result = _MEANINGS[layer.type](layer, *inputs)
            assert layer.output.info.accepts(result.shape), f"{layer}: {result.shape}"
            values[layer.output] = result
    return outputs


def _convolution2d(layer: Layer, x: Array, weights: Array, bias: Array | None = None) -> Array:
    d = layer.descriptor
    kernel = np.moveaxis(weights, d.data_layout.channel_axis, 1)
    return _in_layout(layer, x, bias, lambda x: _correlate(x, kernel, d))


def _depthwise(layer: Layer, x: Array, weights: Array, bias: Array | None = None) -> Array:
    kernel = weights[0].transpose(2, 0, 1)[:, np.newaxis]
    return _in_layout(layer, x, bias, lambda x: _correlate(x, kernel, layer.descriptor))


def _convolution3d(layer: Layer, x: Array, weights: Array, bias: Array | None = None) -> Array:
    kernel = weights.transpose(4, 3, 0, 1, 2)
    return _in_layout(layer, x, bias, lambda x: _correlate(x, kernel, layer.descriptor))


def _transposed(layer: Layer, x: Array, weights: Array, bias: Array | None = None) -> Array:
    d = layer.descriptor
    kernel = np.moveaxis(weights, d.data_layout.channel_axis, 1)

    def spread(x: Array) -> Array:
        channels, read, *window = kernel.shape
        groups = x.shape[1] // read
        room = [s * (n - 1) + k for s, n, k in zip(d.strides, x.shape[2:], window, strict=True)]
        y = np.zeros((x.shape[0], channels, *room))
        for image, channel, row, column in np.ndindex(x.shape):
            group = channel // read
            for out in range(group * channels // groups, (group + 1) * channels // groups):
                top, left = row * d.stride_y, column * d.stride_x
                y[image, out, top : top + window[0], left : left + window[1]] += (
                    x[image, channel, row, column] * kernel[out, channel % read]
                )
        return y[
            :,
            :,
            d.pad_top : y.shape[2] - d.pad_bottom,
            d.pad_left : y.shape[3] - d.pad_right,
        ]

    return _in_layout(layer, x, bias, spread)


def _correlate(x: Array, kernel: Array, d: Any) -> Array:
    """Correlate [N,C,*S] with [O,I,*K], one output element after the other."""
    x = np.pad(x, [(0, 0), (0, 0), *d.padding])
    channels, read, *window = kernel.shape
    groups = x.shape[1] // read
    reach = [(k - 1) * dilation + 1 for k, dilation in zip(window, d.dilations, strict=True)]
    size = [
        (n - r) // stride + 1 for n, r, stride in zip(x.shape[2:], reach, d.strides, strict=True)
    ]
    y = np.zeros((x.shape[0], channels, *size))
    for image, out, *place in np.ndindex(*y.shape):
        first = out // (channels // groups) * read
        taps = tuple(
            slice(p * stride, p * stride + r, dilation)
            for p, stride, r, dilation in zip(place, d.strides, reach, d.dilations, strict=True)
        )
        y[(image, out, *place)] = np.sum(
            x[(image, slice(first, first + read), *taps)] * kernel[out]
        )
    return y


def _in_layout(layer: Layer, x: Array, bias: Array | None, body: Callable[[Array], Array]) -> Array:
    """Compute with the channels as axis 1."""
    axis = layer.descriptor.data_layout.channel_axis
    y = body(np.moveaxis(x, axis, 1))
    if bias is not None:
        y = y + bias.reshape(-1, *(1,) * (y.ndim - 2))
    return np.moveaxis(y, 1, axis)


def _pool(layer: Layer, x: Array) -> Array:
    d = layer.descriptor
    shape = layer.output.info.static_shape
    axis = d.data_layout.channel_axis

    def pool(x: Array) -> Array:
        divisors = np.pad(np.ones(x.shape), [(0, 0), (0, 0), *d.padding])
        if d.padding_method is PaddingMethod.IGNORE_VALUE:
            divisors[:] = 1
        beyond = -np.inf if d.pool_type is PoolingAlgorithm.MAX else 0
        padded = np.pad(x, [(0, 0), (0, 0), *d.padding], constant_values=beyond)
        y = np.zeros([*x.shape[:2], *(shape[a] for a in d.data_layout.spatial_axes)])
        for image, channel, *place in np.ndindex(*y.shape):
            window = (
                image,
                channel,
                *(
                    slice(p * stride, p * stride + size)
                    for p, stride, size in zip(place, d.strides, d.window, strict=True)
                ),
            )
            elements, count = padded[window], max(divisors[window].sum(), 1)
            if d.pool_type is PoolingAlgorithm.L2:
                y[(image, channel, *place)] = np.sqrt(np.sum(elements**2) / count)
            elif d.pool_type is PoolingAlgorithm.AVERAGE:
                y[(image, channel, *place)] = np.sum(elements) / count
            else:
                y[(image, channel, *place)] = np.max(elements)
        return y

    return np.moveaxis(pool(np.moveaxis(x, axis, 1)), 1, axis)


def _fully_connected(layer: Layer, x: Array, weights: Array, bias: Array | None = None) -> Array:
    matrix = weights.T if layer.descriptor.transpose_weight_matrix else weights
    y = x.reshape(x.shape[0], -1) @ matrix
    return y if bias is None else y + bias


def _batch_normalization(
    layer: Layer, x: Array, mean: Array, variance: Array, beta: Array, gamma: Array
) -> Array:
    axis = layer.descriptor.channel_axis
    y = np.moveaxis(x, axis, -1)
    y = gamma * (y - mean) / np.sqrt(variance + layer.descriptor.eps) + beta
    return np.moveaxis(y, -1, axis)


def _batch_to_space(layer: Layer, x: Array) -> Array:
    (tall, wide), y = layer.descriptor.block_shape, np.empty(layer.output.info.static_shape)
    for image, row, column, channel in np.ndindex(y.shape):
        block = row % tall * wide + column % wide
        source = (block * y.shape[0] + image, row // tall, column // wide, channel)
        y[image, row, column, channel] = x[source]
    return y


def _depth_to_space(layer: Layer, x: Array) -> Array:
    size, y = layer.descriptor.block_size, np.empty(layer.output.info.static_shape)
    for image, row, column, channel in np.ndindex(y.shape):
        block = row % size * size + column % size
        source = (image, row // size, column // size, block * y.shape[3] + channel)
        y[image, row, column, channel] = x[source]
    return y


def _permute(layer: Layer, x: Array) -> Array:
    y = np.empty([n for _, n in sorted(zip(layer.descriptor.dim_mappings, x.shape, strict=True))])
    for index in np.ndindex(x.shape):
        target = [0] * x.ndim
        for axis, position in zip(layer.descriptor.dim_mappings, index, strict=True):
            target[axis] = position
        y[tuple(target)] = x[index]
    return y


def _reshape(layer: Layer, x: Array, *_shape: Array) -> Array:
    d = layer.descriptor
    target = [
        x.shape[axis] if d.zero_copies and size == 0 else size
        for axis, size in enumerate(d.target_shape)
    ]
    return x.reshape(target)


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _layer_normalization(
    layer: Layer, x: Array, gamma: Array | None = None, beta: Array | None = None
) -> Array:
    axes = tuple(range(layer.descriptor.axis % x.ndim, x.ndim))
    centered = x - x.mean(axes, keepdims=True)
    y = centered / np.sqrt((centered**2).mean(axes, keepdims=True) + layer.descriptor.eps)
    return y * (1 if gamma is None else gamma) + (0 if beta is None else beta)


_UNARY: dict[UnaryOperation, Callable[[Array], Array]] = {
    UnaryOperation.ERF: _erf,
    UnaryOperation.SQRT: np.sqrt,
    UnaryOperation.RSQRT: lambda x: 1 / np.sqrt(x),
}

_BINARY: dict[BinaryOperation, Callable[[Array, Array], Array]] = {
    BinaryOperation.ADD: np.add,
    BinaryOperation.DIV: np.divide,
    BinaryOperation.MAXIMUM: np.maximum,
    BinaryOperation.MINIMUM: np.minimum,
    BinaryOperation.MUL: np.multiply,
    BinaryOperation.POWER: np.power,
    BinaryOperation.SUB: np.subtract,
}

_ACTIVATIONS: dict[ActivationFunction, Callable[[Array, float, float], Array]] = {
    ActivationFunction.RELU: lambda x, _a, _b: np.maximum(x, 0),
    ActivationFunction.BOUNDED_RELU: lambda x, a, b: np.minimum(a, np.maximum(b, x)),
    ActivationFunction.LINEAR: lambda x, a, b: a * x + b,
    ActivationFunction.TANH: lambda x, a, b: a * np.tanh(b * x),
    ActivationFunction.SIGMOID: lambda x, _a, _b: 1 / (1 + np.exp(-x)),
    ActivationFunction.SWISH: lambda x, a, _b: x / (1 + np.exp(-a * x)),
    ActivationFunction.SQUARE: lambda x, _a, _b: x * x,
    ActivationFunction.SQRT: lambda x, _a, _b: np.sqrt(x),
    ActivationFunction.GELU: lambda x, _a, _b: x / 2 * (1 + _erf(x / math.sqrt(2))),
    ActivationFunction.HARD_SWISH: lambda x, _a, _b: x * np.minimum(np.maximum(0, x + 3), 6) / 6,
}

_MEANINGS: dict[str, Callable[..., Array]] = {
    "Activation": lambda layer, x: _ACTIVATIONS[layer.descriptor.function](
        x, layer.descriptor.a, layer.descriptor.b
    ),
    "Addition": lambda _, x, y: x + y,
    "BatchMatMul": lambda _, x, y: x @ y,
    "BatchToSpaceNd": _batch_to_space,
    "BatchNormalization": _batch_normalization,
    "Cast": lambda _, x: x,
    "ConvertFp16ToFp32": lambda _, x: x,
    "ConvertFp32ToFp16": lambda _, x: x,
    "BroadcastTo": lambda layer, x: np.broadcast_to(
        x, np.broadcast_shapes(x.shape, layer.descriptor.broadcast_to_shape)
    ),
    "Comparison": lambda _, x, y: x == y,
    "Convolution2d": _convolution2d,
    "Convolution3d": _convolution3d,
    "DepthToSpace": _depth_to_space,
    "DepthwiseConvolution2d": _depthwise,
    "Division": lambda _, x, y: x / y,
    "ElementwiseBinary": lambda layer, x, y: _BINARY[layer.descriptor.operation](x, y),
    "ElementwiseUnary": lambda layer, x: _UNARY[layer.descriptor.operation](x),
    "FullyConnected": _fully_connected,
    "Gather": lambda layer, x, at: np.take(x, at.astype(int), layer.descriptor.axis),
    "LayerNormalization": _layer_normalization,
    "Maximum": lambda _, x, y: np.maximum(x, y),
    "Mean": lambda layer, x: x.mean(layer.descriptor.axis, keepdims=layer.descriptor.keep_dims),
    "Minimum": lambda _, x, y: np.minimum(x, y),
    "Multiplication": lambda _, x, y: x * y,
    "Pad": lambda layer, x: np.pad(
        x, layer.descriptor.pad_list, constant_values=layer.descriptor.pad_value
    ),
    "Permute": _permute,
    "Pooling2d": _pool,
    "Pooling3d": _pool,
    "Reshape": _reshape,
    "Subtraction": lambda _, x, y: x - y,
    "Transpose": lambda layer, x: np.transpose(x, layer.descriptor.dim_mappings),
    "TransposeConvolution2d": _transposed,
}


class MeaningWorkload(Workload):
    """Computes a layer by its meaning above."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        def step() -> None:
            arrays = [None if handle is None else handle.map() for handle in inputs]
            result = _MEANINGS[self.layer.type](self.layer, *arrays)
            (output,) = outputs
            if output.info.is_static:
                output.map()[...] = result
                output.unmap()
            else:
                output.assign(result)

        return step


class MeaningBackend(Backend):
    """A backend that computes float32 layers by their meanings.

    Tests make kinds of it.
    """

    id: ClassVar[str] = "Fake"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 0)
    refused: ClassVar[Mapping[str, str]] = {}
    """Why layers are refused, by the name of the layer or of its type."""

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        for name in (layer.name, layer.type):
            if name in self.refused:
                return Support.no(self.refused[name])
        if layer.type not in _MEANINGS:
            return Support.no(f"no meaning for {layer.type}")
        return SUPPORTED

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        return MeaningWorkload(layer)


@pytest.fixture
def meanings() -> dict[str, Callable[..., Array]]:
    """Return the table of meanings, which tests may replace."""
    return _MEANINGS


MakeBackend = Callable[..., type[MeaningBackend]]


@pytest.fixture
def make_backend() -> MakeBackend:
    """Return a function that makes kinds of MeaningBackend.

    It takes an id, refusals, and other members.
    """

    def make(backend_id: str, refused: Mapping[str, str] | None = None, **members: Any) -> Any:
        return type(
            backend_id,
            (MeaningBackend,),
            {"id": backend_id, "refused": dict(refused or {}), **members},
        )

    return make


@pytest.fixture
def participants() -> Callable[..., Participants]:
    """Return a function that makes participants in preference order."""

    def make(*kinds: type[Backend], **arguments: Any) -> Participants:
        candidates = tuple(Candidate(kind(), ModelContext({})) for kind in kinds)
        factories = TensorHandleFactories()
        for candidate in candidates:
            candidate.backend.register_tensor_handle_factories(factories)
        return Participants(
            candidates, arguments.pop("named", ()), lambda: candidates, factories, **arguments
        )

    return make


@pytest.fixture
def make_runtime(tmp_path: Path) -> Iterator[Callable[..., Runtime]]:
    """Return a function that makes runtimes with given backends.

    Just these are installed.
    """
    with ExitStack() as stack:

        def make(*kinds: type[Backend], **options: Any) -> Runtime:
            module = ModuleType("armnn_test_kinds")
            vars(module).update({kind.id: kind for kind in kinds})
            stack.enter_context(pytest.MonkeyPatch.context()).setitem(
                sys.modules, module.__name__, module
            )
            plugins = [
                backend_plugin(
                    kind.id,
                    distribution=f"armnn-backend-test{index}",
                    source=f"from {module.__name__} import {kind.id} as backend\n",
                )
                for index, kind in enumerate(kinds)
            ]
            folder = tmp_path / "plugins"
            folder.mkdir(exist_ok=True)
            stack.enter_context(installed(folder, *plugins, alone=True))
            return stack.enter_context(Runtime(CreationOptions(**options)))

        yield make


@pytest.fixture
def two_layers() -> Network:
    """Return a network of a ReLu and a Softmax."""
    net = Network("two")
    x = net.add_input("x", TensorInfo((64, 1024), DataType.FLOAT32))
    made = net.add_activation(x, function=ActivationFunction.RELU, name="relu")
    net.add_output("y", net.add_softmax(made, name="softmax"))
    return net
