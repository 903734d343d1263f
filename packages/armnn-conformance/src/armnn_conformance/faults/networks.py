# SPDX-License-Identifier: MIT
"""Small networks, each with the layer of a fault.

The layer stands between a product and a sum, so that its inputs are computed and its outputs read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Value

IMAGE = (2, 4, 6, 6)
ROWS = (4, 16)
STEPS = TensorInfo((2, 4, 6, 6), DataType.QASYMM_S8, 0.05, 3)
"""A quantised image."""


class _Family(NamedTuple):
    shape: tuple[int, ...]
    add: Callable[[Network, Value], Value]


def planted_network(name: str, layer: str) -> Network:
    """Return a small network; layers of one type are "planted".

    Raises:
        KeyError: There is none of that name.
    """
    family = _FAMILIES[name]
    network = Network(name)
    x = network.add_input("x", TensorInfo(family.shape))
    factor = network.add_constant(np.array([1.25], np.float32).reshape((1,) * len(family.shape)))
    value = family.add(network, network.add_multiplication(x, factor, name="before"))
    _end(network, value, "y")
    _name_planted(network, layer)
    return network


def pair_of(first: tuple[str, str], second: tuple[str, str]) -> Network:
    """Return a network with the layers of two faults.

    Args:
        first: The name of a network and the layer type of a fault.
        second: The same of the other fault.
    """
    network = Network(f"{first[0]} and {second[0]}")
    for at, (name, _) in enumerate((first, second)):
        family = _FAMILIES[name]
        x = network.add_input(f"x{at}", TensorInfo(family.shape))
        _end(
            network,
            family.add(network, network.add_elementwise_unary(x, operation="Neg")),
            f"y{at}",
        )
    for _, layer in (first, second):
        _name_planted(network, layer)
    return network


def _end(network: Network, value: Value, name: str) -> None:
    if value.info.data_type is DataType.FLOAT32:
        offset = network.add_constant(
            np.array([0.5], np.float32).reshape((1,) * len(value.info.static_shape))
        )
        value = network.add_subtraction(value, offset, name=f"after {name}")
    network.add_output(name, value)


def _name_planted(network: Network, layer: str) -> None:
    for each in network.layers:
        if each.type == layer and not each.name.startswith(("before", "after")):
            network.rename(each, f"planted {layer}")


def _random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _activation(function: str, **parameters: Any) -> _Family:
    return _Family(
        IMAGE, lambda n, x: n.add_activation(x, function=function, name="layer", **parameters)
    )


def _convolution(n: Network, x: Value, **parameters: Any) -> Value:
    weights, bias = n.add_constant(_random(5, 4, 3, 3)), n.add_constant(_random(5, seed=1))
    padding = {f"pad_{side}": 1 for side in ("left", "right", "top", "bottom")}
    return n.add_convolution2d(x, weights, bias, **{**padding, **parameters})


def _fused(n: Network, x: Value) -> Value:
    made = n.add_activation(_convolution(n, x), function="ReLu")
    return n.add_addition(made, n.add_constant(_random(1, 5, 6, 6, seed=2)))


def _depthwise(n: Network, x: Value) -> Value:
    weights, bias = n.add_constant(_random(1, 3, 3, 4)), n.add_constant(_random(4, seed=1))
    nhwc = n.add_transpose(x, dim_mappings=(0, 2, 3, 1))
    return n.add_depthwise_convolution2d(nhwc, weights, bias, data_layout="NHWC")


def _transposed(n: Network, x: Value) -> Value:
    weights = n.add_constant(_random(3, 4, 2, 2))
    return n.add_transpose_convolution2d(x, weights, stride_x=2, stride_y=2)


def _dense(n: Network, x: Value) -> Value:
    weights, bias = n.add_constant(_random(16, 16)), n.add_constant(_random(16, seed=1))
    return n.add_fully_connected(x, weights, bias)


def _quantised(n: Network, x: Value) -> Value:
    return n.add_quantize(x, output=STEPS)


def _quantised_sum(n: Network, x: Value) -> Value:
    q = _quantised(n, x)
    added = n.add_addition(q, q, output=TensorInfo(IMAGE, DataType.QASYMM_S8, 0.04, 3))
    return n.add_dequantize(added)


def _quantised_convolution(n: Network, x: Value) -> Value:
    q = _quantised(n, x)
    stored = np.random.default_rng(3).integers(-100, 100, (5, 4, 3, 3)).astype(np.int8)
    weights = n.add_constant(stored, TensorInfo(stored.shape, DataType.QSYMM_S8, 0.01))
    bias = n.add_constant(np.array([10, -20, 30, 0, 5], np.int32))
    made = n.add_convolution2d(
        q, weights, bias, output=TensorInfo((2, 5, 4, 4), DataType.QASYMM_S8, 0.08, -5)
    )
    return n.add_dequantize(made)


def _normalised(n: Network, x: Value) -> Value:
    numbers = [n.add_constant(np.abs(_random(4, seed=each)) + 0.1) for each in range(4)]
    return n.add_batch_normalization(x, *numbers, eps=1e-2)


def _picked(n: Network, x: Value) -> Value:
    return n.add_cast(n.add_arg_min_max(x, function="Max", axis=1), output=DataType.FLOAT32)


def _compared(n: Network, x: Value) -> Value:
    chosen = n.add_comparison(
        n.add_floor(x), n.add_constant(np.array([[-1.0]], np.float32)), operation="Greater"
    )
    return n.add_where(chosen, x, n.add_constant(np.array([[2.0]], np.float32)))


def _attention(n: Network, x: Value) -> Value:
    key = n.add_constant(_random(1, 2, 5, 8))
    return n.add_attention(x, key, n.add_constant(_random(1, 2, 5, 8, seed=4)))


def _gru(n: Network, x: Value) -> Value:
    weights, recurrent = (n.add_constant(_random(1, 12, size, seed=size)) for size in (3, 4))
    return n.add_gru(x, weights, recurrent, n.add_constant(_random(1, 24, seed=9)))[0]


_FAMILIES: dict[str, _Family] = {
    "leaky": _activation("LeakyReLu", a=0.1),
    "relu6": _activation("BoundedReLu", a=1.0, b=0.0),
    "sigmoid": _activation("Sigmoid"),
    "tanh": _activation("TanH", a=1.0, b=1.0),
    "elu": _activation("Elu", a=0.7),
    "gelu": _activation("Gelu"),
    "prelu": _Family(IMAGE, lambda n, x: n.add_prelu(x, n.add_constant(_random(1, 4, 1, 1)))),
    "softmax": _Family(ROWS, lambda n, x: n.add_softmax(x, beta=1.5, axis=1)),
    "log softmax": _Family(ROWS, lambda n, x: n.add_log_softmax(x)),
    "convolution": _Family(IMAGE, _convolution),
    "dilated": _Family(
        IMAGE,
        lambda n, x: _convolution(
            n, x, dilation_x=2, dilation_y=2, pad_left=2, pad_right=2, pad_top=2, pad_bottom=2
        ),
    ),
    "fused": _Family(IMAGE, _fused),
    "depthwise": _Family(IMAGE, _depthwise),
    "transposed": _Family(IMAGE, _transposed),
    "dense": _Family((16, 16), _dense),
    "matmul": _Family(
        (2, 4, 4), lambda n, x: n.add_batch_mat_mul(x, n.add_constant(_random(2, 4, 4)))
    ),
    "max pool": _Family(
        IMAGE,
        lambda n, x: n.add_pooling2d(
            n.add_elementwise_unary(n.add_activation(x, function="Abs"), operation="Neg"),
            pool_width=3,
            pool_height=3,
            stride_x=1,
            stride_y=1,
            pad_left=1,
            pad_top=1,
        ),
    ),
    "average pool": _Family(
        IMAGE,
        lambda n, x: n.add_pooling2d(
            x,
            pool_type="Average",
            pool_width=3,
            pool_height=3,
            stride_x=1,
            stride_y=1,
            pad_left=1,
            pad_top=1,
            pad_right=1,
            pad_bottom=1,
            padding_method="Exclude",
        ),
    ),
    "batch normalisation": _Family(IMAGE, _normalised),
    "layer normalisation": _Family(
        ROWS,
        lambda n, x: n.add_layer_normalization(
            x, n.add_constant(_random(16)), n.add_constant(_random(16, seed=1)), axis=1
        ),
    ),
    "instance normalisation": _Family(
        IMAGE, lambda n, x: n.add_instance_normalization(x, gamma=1.5, beta=0.5, eps=1e-3)
    ),
    "mean": _Family(ROWS, lambda n, x: n.add_mean(x, axis=(1,), keep_dims=True)),
    "reduce": _Family(
        ROWS,
        lambda n, x: n.add_reduce(
            n.add_elementwise_unary(n.add_activation(x, function="Abs"), operation="Neg"),
            axis=(1,),
            keep_dims=True,
            reduce_operation="Max",
        ),
    ),
    "arg max": _Family(ROWS, _picked),
    "resize": _Family(
        IMAGE,
        lambda n, x: n.add_resize(
            x, target_width=9, target_height=9, method="Bilinear", half_pixel_centers=True
        ),
    ),
    "concat": _Family(IMAGE, lambda n, x: n.add_concat([x, n.add_floor(x)], axis=1)),
    "slice": _Family(IMAGE, lambda n, x: n.add_slice(x, begin=(0, 1, 1, 1), size=(2, 2, 3, 3))),
    "transpose": _Family((2, 4, 4), lambda n, x: n.add_transpose(x, dim_mappings=(0, 2, 1))),
    "gather": _Family(
        ROWS, lambda n, x: n.add_gather(x, n.add_constant(np.array([0, 2, 1], np.int32)), axis=1)
    ),
    "pad": _Family(ROWS, lambda n, x: n.add_pad(x, pad_list=((1, 1), (0, 2)), pad_value=2.0)),
    "addition": _Family((4, 4), lambda n, x: n.add_addition(x, n.add_constant(_random(4)[None]))),
    "division": _Family(
        ROWS, lambda n, x: n.add_division(x, n.add_constant(np.abs(_random(4, 16)) + 0.5))
    ),
    "maximum": _Family(ROWS, lambda n, x: n.add_maximum(x, n.add_constant(_random(4, 16)))),
    "exp": _Family(ROWS, lambda n, x: n.add_elementwise_unary(x, operation="Exp")),
    "sqrt": _Family(
        ROWS,
        lambda n, x: n.add_elementwise_unary(n.add_activation(x, function="Abs"), operation="Sqrt"),
    ),
    "compare": _Family(ROWS, _compared),
    "cumulative sum": _Family(ROWS, lambda n, x: n.add_cum_sum(x, axis=1)),
    "depth to space": _Family(
        (1, 8, 3, 3), lambda n, x: n.add_depth_to_space(x, block_size=2, data_layout="NCHW")
    ),
    "top": _Family(ROWS, lambda n, x: n.add_top_k(x, k=3)[0]),
    "attention": _Family((1, 2, 3, 8), _attention),
    "gru": _Family((5, 2, 3), _gru),
    "quantised sum": _Family(IMAGE, _quantised_sum),
    "quantised convolution": _Family(IMAGE, _quantised_convolution),
}
