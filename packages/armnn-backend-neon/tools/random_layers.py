# SPDX-License-Identifier: MIT
"""Random layers with odd sizes.

Sizes are those that no kernel likes: 1, 3, 7 and 17 channels, images of one row or column, windows
larger than the image, strides larger than the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

import armnn
from armnn import ActivationFunction, DataLayout, Network, PoolingAlgorithm
from armnn.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Value

Array: TypeAlias = "NDArray[Any]"
Step: TypeAlias = "Callable[[Network, Value, np.random.Generator], Value]"
T = TypeVar("T")

CHANNELS = (1, 2, 3, 4, 7, 8, 16, 17, 33)
SIZES = (1, 2, 3, 5, 8, 9, 14)
WINDOWS = (1, 1, 2, 3, 3, 5, 7)
FUNCTIONS = (
    ActivationFunction.RELU,
    ActivationFunction.BOUNDED_RELU,
    ActivationFunction.SIGMOID,
    ActivationFunction.TANH,
    ActivationFunction.LEAKY_RELU,
    ActivationFunction.HARD_SWISH,
    ActivationFunction.GELU,
    ActivationFunction.MISH,
    ActivationFunction.SWISH,
    ActivationFunction.ELU,
    ActivationFunction.ABS,
)


def pick(rng: np.random.Generator, choices: Sequence[T]) -> T:
    """Return one of them."""
    return choices[int(rng.integers(len(choices)))]


def rank(value: Value) -> int:
    """Return how many axes a value has."""
    return len(value.info.static_shape)


def normal(rng: np.random.Generator, *shape: int, deviation: float = 1.0) -> Array:
    """Return float32 numbers around zero."""
    made: Array = rng.standard_normal(shape, np.float32) * np.float32(deviation)
    return made


def _image(value: Value, rng: np.random.Generator) -> tuple[DataLayout, int]:
    """Choose a layout; return it and the number of channels."""
    layout = pick(rng, (DataLayout.NHWC, DataLayout.NHWC, DataLayout.NCHW))
    if rank(value) != 4:
        raise ShapeError(f"{value!r} is no image")
    return layout, value.info.static_shape[3 if layout is DataLayout.NHWC else 1]


def _window(rng: np.random.Generator) -> tuple[int, int, dict[str, Any]]:
    height, width = pick(rng, WINDOWS), pick(rng, WINDOWS)
    geometry = {
        "pad_top": int(rng.integers(0, height)),
        "pad_bottom": int(rng.integers(0, height)),
        "pad_left": int(rng.integers(0, width)),
        "pad_right": int(rng.integers(0, width)),
        "stride_x": pick(rng, (1, 1, 2, 3, 4)),
        "stride_y": pick(rng, (1, 1, 2, 3, 4)),
    }
    return height, width, geometry


def _convolution(network: Network, x: Value, rng: np.random.Generator) -> Value:
    layout, channels = _image(x, rng)
    height, width, geometry = _window(rng)
    groups = pick(rng, [g for g in range(1, channels + 1) if channels % g == 0])
    out = groups * pick(rng, (1, 2, 3, 5, 17)) if groups > 1 else pick(rng, CHANNELS)
    depth = channels // groups
    weights = normal(rng, out, height, width, depth, deviation=(depth * height * width) ** -0.5)
    if layout is DataLayout.NCHW:
        weights = np.ascontiguousarray(weights.transpose(0, 3, 1, 2))
    geometry |= {"dilation_x": pick(rng, (1, 1, 2)), "dilation_y": pick(rng, (1, 1, 3))}
    bias = normal(rng, out) if rng.random() < 0.6 else None
    return network.add_convolution2d(x, weights, bias, **geometry, data_layout=layout)


def _depthwise(network: Network, x: Value, rng: np.random.Generator) -> Value:
    layout, channels = _image(x, rng)
    height, width, geometry = _window(rng)
    multiplier = pick(rng, (1, 1, 1, 2, 3))
    deviation = (height * width) ** -0.5
    weights = normal(rng, 1, height, width, channels * multiplier, deviation=deviation)
    geometry |= {"dilation_x": pick(rng, (1, 1, 2)), "dilation_y": pick(rng, (1, 1, 3))}
    bias = normal(rng, channels * multiplier) if rng.random() < 0.6 else None
    return network.add_depthwise_convolution2d(x, weights, bias, **geometry, data_layout=layout)


def _transposed(network: Network, x: Value, rng: np.random.Generator) -> Value:
    layout, channels = _image(x, rng)
    height, width, geometry = _window(rng)
    out = pick(rng, CHANNELS)
    weights = normal(rng, out, height, width, channels, deviation=channels**-0.5)
    if layout is DataLayout.NCHW:
        weights = np.ascontiguousarray(weights.transpose(0, 3, 1, 2))
    return network.add_transpose_convolution2d(x, weights, **geometry, data_layout=layout)


def _pooling(network: Network, x: Value, rng: np.random.Generator) -> Value:
    layout, _ = _image(x, rng)
    height, width, geometry = _window(rng)
    return network.add_pooling2d(
        x,
        pool_type=pick(rng, (PoolingAlgorithm.MAX, PoolingAlgorithm.AVERAGE)),
        pool_height=height,
        pool_width=width,
        padding_method=pick(rng, tuple(armnn.PaddingMethod)),
        data_layout=layout,
        **geometry,
    )


def _activation(network: Network, x: Value, rng: np.random.Generator) -> Value:
    return network.add_activation(x, function=pick(rng, FUNCTIONS), a=1.5, b=0.5)


def _with_constant(network: Network, x: Value, rng: np.random.Generator) -> Value:
    """Add arithmetic with a tensor that is broadcast either way."""
    shape = [1 if rng.random() < 0.5 else dim for dim in x.info.static_shape]
    shape = shape[int(rng.integers(0, len(shape) + 1)) :]
    constant = network.add_constant(normal(rng, *shape))
    add = pick(
        rng,
        (
            network.add_addition,
            network.add_multiplication,
            network.add_subtraction,
            network.add_maximum,
        ),
    )
    return add(x, constant) if rng.random() < 0.5 else add(constant, x)


def _batch_normalization(network: Network, x: Value, rng: np.random.Generator) -> Value:
    layout, channels = _image(x, rng)
    mean, beta, gamma = (normal(rng, channels) for _ in range(3))
    variance = np.abs(normal(rng, channels)) + np.float32(0.5)
    return network.add_batch_normalization(x, mean, variance, beta, gamma, data_layout=layout)


def _pad(network: Network, x: Value, rng: np.random.Generator) -> Value:
    pads = [(0, 0)] * rank(x)
    for axis in range(1, rank(x)):
        pads[axis] = (int(rng.integers(0, 3)), int(rng.integers(0, 3)))
    mode = pick(rng, (armnn.PaddingMode.CONSTANT, armnn.PaddingMode.CONSTANT, *armnn.PaddingMode))
    return network.add_pad(x, pad_list=pads, pad_value=pick(rng, (0.0, 1.0)), padding_mode=mode)


def _concat(network: Network, x: Value, rng: np.random.Generator) -> Value:
    axis = int(rng.integers(0, rank(x)))
    shape = list(x.info.static_shape)
    shape[axis] = pick(rng, (1, 3, 4))
    parts = [x, pick(rng, (x, network.add_constant(normal(rng, *shape))))]
    return network.add_concat(parts[:: pick(rng, (1, -1))], axis=axis)


def _slice(network: Network, x: Value, rng: np.random.Generator) -> Value:
    shape = x.info.static_shape
    begin = [int(rng.integers(0, dim)) for dim in shape]
    size = [int(rng.integers(1, dim - b + 1)) for dim, b in zip(shape, begin, strict=True)]
    return network.add_slice(x, begin=begin, size=size)


def _split(network: Network, x: Value, rng: np.random.Generator) -> Value:
    axis = int(rng.integers(0, rank(x)))
    whole = x.info.static_shape[axis]
    first = int(rng.integers(1, whole)) if whole > 1 else 1
    parts = network.add_splitter(x, axis=axis, sizes=[first, whole - first][: 1 + (whole > 1)])
    return pick(rng, parts)


def _transpose(network: Network, x: Value, rng: np.random.Generator) -> Value:
    order = [int(axis) for axis in rng.permutation(rank(x))]
    return network.add_transpose(x, dim_mappings=order)


def _reshape(network: Network, x: Value, rng: np.random.Generator) -> Value:
    shape = x.info.static_shape
    flat = (shape[0], int(np.prod(shape[1:])))
    return network.add_reshape(x, target_shape=pick(rng, (flat, (*shape[::-1],), (1, *flat))))


def _fully_connected(network: Network, x: Value, rng: np.random.Generator) -> Value:
    depth = x.info.static_shape[-1]
    weights = normal(rng, depth, pick(rng, CHANNELS), deviation=depth**-0.5)
    if rank(x) != 2:
        return network.add_batch_mat_mul(x, weights)
    return network.add_fully_connected(x, weights, normal(rng, weights.shape[1]))


def _self_product(network: Network, x: Value, rng: np.random.Generator) -> Value:
    made = network.add_batch_mat_mul(x, x, transpose_y=True)
    return network.add_softmax(made, axis=-1) if rng.random() < 0.7 else made


def _softmax(network: Network, x: Value, rng: np.random.Generator) -> Value:
    axis = int(rng.integers(-rank(x), rank(x)))
    return pick(rng, (network.add_softmax, network.add_log_softmax))(x, axis=axis)


def _normalization(network: Network, x: Value, rng: np.random.Generator) -> Value:
    kind = int(rng.integers(3))
    if kind == 0:
        size = x.info.static_shape[-1]
        return network.add_layer_normalization(x, normal(rng, size), normal(rng, size), eps=0.1)
    layout, _ = _image(x, rng)
    if kind == 1:
        return network.add_instance_normalization(x, eps=0.1, data_layout=layout)
    return network.add_l2_normalization(x, eps=0.1, data_layout=layout)


def _resize(network: Network, x: Value, rng: np.random.Generator) -> Value:
    layout, _ = _image(x, rng)
    height, width = pick(rng, SIZES), pick(rng, SIZES)
    corners = bool(rng.integers(2))
    return network.add_resize(
        x,
        target_height=height,
        target_width=width,
        method=pick(rng, tuple(armnn.ResizeMethod)[:2]),
        data_layout=layout,
        align_corners=corners,
        half_pixel_centers=not corners and bool(rng.integers(2)),
    )


def _reduce(network: Network, x: Value, rng: np.random.Generator) -> Value:
    axes = sorted({int(axis) for axis in rng.integers(0, rank(x), 2)})
    if rng.random() < 0.5:
        return network.add_mean(x, axis=axes, keep_dims=bool(rng.integers(2)))
    kinds = (armnn.ReduceOperation.SUM, armnn.ReduceOperation.MAX, armnn.ReduceOperation.MIN)
    return network.add_reduce(x, axis=axes, keep_dims=True, reduce_operation=pick(rng, kinds))


def _blocks(network: Network, x: Value, rng: np.random.Generator) -> Value:
    layout, _ = _image(x, rng)
    add = pick(rng, (network.add_space_to_depth, network.add_depth_to_space))
    return add(x, block_size=2, data_layout=layout)


def _gather(network: Network, x: Value, rng: np.random.Generator) -> Value:
    axis = int(rng.integers(0, rank(x)))
    dim = x.info.static_shape[axis]
    indices = rng.integers(-dim, dim, pick(rng, (1, 3, 5))).astype(np.int32)
    return network.add_gather(x, indices, axis=axis)


STEPS: tuple[Step, ...] = (
    _convolution,
    _convolution,
    _convolution,
    _depthwise,
    _depthwise,
    _transposed,
    _pooling,
    _activation,
    _activation,
    _activation,
    _with_constant,
    _with_constant,
    _batch_normalization,
    _pad,
    _concat,
    _slice,
    _split,
    _transpose,
    _reshape,
    _fully_connected,
    _self_product,
    _softmax,
    _normalization,
    _resize,
    _reduce,
    _blocks,
    _gather,
)
