# SPDX-License-Identifier: MIT
"""Published faults of onnxruntime: versions, models, wrong layers."""

from __future__ import annotations

import numpy as np

import armnn
from armnn.types import DataType
from tools.faults.fault import Fault, Model, numbers, surrounded


def pad_and_average() -> Model:
    """Pad with zeros, then average without padding."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        value = net.add_pad(x, pad_list=((0, 0), (0, 0), (1, 1), (1, 1)), name="border")
        return _average(net, value, 3, "Exclude")

    return surrounded((1, 1, 6, 6), fault), {"x": numbers(1, 1, 6, 6)}


def average_with_padding_at_the_end() -> Model:
    """Average with padding that counts, on one side."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        return _average(net, x, 2, "IgnoreValue", pad_right=1, pad_bottom=1)

    return surrounded((1, 1, 6, 6), fault), {"x": numbers(1, 1, 6, 6)}


def product_of_a_transpose() -> Model:
    """Multiply by a transpose that moves no axis; add."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        value = net.add_transpose(x, dim_mappings=(0, 1), name="same")
        value = net.add_batch_mat_mul(value, net.add_constant(numbers(4, 4)), name="product")
        return net.add_addition(value, net.add_constant(numbers(4)), name="bias")

    return surrounded((4, 4), fault), {"x": numbers(4, 4)}


def nan_in_float16() -> Model:
    """Compute a maximum of Float16 with NaN on either side."""
    net = armnn.Network("fault")
    x, z = (net.add_input(name, armnn.TensorInfo((4,), DataType.FLOAT16)) for name in "xz")
    value = net.add_maximum(net.add_floor(x, name="before"), z, name="highest")
    net.add_output("y", net.add_floor(value, name="behind"))
    return net, {
        "x": np.array([1, np.nan, 2, 3], np.float16),
        "z": np.array([np.nan, 1, 3, 2], np.float16),
    }


def norm_of_one_number() -> Model:
    """Normalize along an axis of size 1."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        gamma, beta = (net.add_constant(np.array([value], np.float32)) for value in (2.0, 0.5))
        return net.add_layer_normalization(x, gamma, beta, axis=2, name="norm")

    return surrounded((2, 3, 1), fault), {"x": numbers(2, 3, 1)}


def cubic_between_transposes() -> Model:
    """Resize cubically to a smaller picture, between two transposes."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        value = net.add_transpose(x, dim_mappings=(0, 3, 1, 2), name="first")
        value = net.add_resize(
            value,
            target_height=3,
            target_width=4,
            method="Cubic",
            half_pixel_centers=True,
            data_layout="NCHW",
            name="cubic",
        )
        return net.add_transpose(value, dim_mappings=(0, 2, 3, 1), name="last")

    return surrounded((1, 6, 6, 2), fault), {"x": numbers(1, 6, 6, 2)}


def _average(
    net: armnn.Network, x: armnn.Value, size: int, method: str, **pads: int
) -> armnn.Value:
    return net.add_pooling2d(
        x,
        pool_type="Average",
        pool_width=size,
        pool_height=size,
        stride_x=1,
        stride_y=1,
        padding_method=method,
        data_layout="NCHW",
        name="average",
        **pads,
    )


_ISSUES = "https://github.com/microsoft/onnxruntime/issues/"
_NAME = "onnxruntime"

FAULTS = (
    Fault(
        "Pad and AveragePool",
        f"{_ISSUES}22177",
        _NAME,
        "1.19.2",
        pad_and_average,
        ("border", "average"),
    ),
    # Named by no layer: the backend states that NaN may be lost.
    Fault("Max of Float16 NaN", f"{_ISSUES}22161", _NAME, "1.19.2", nan_in_float16, ()),
    Fault(
        "AveragePool padded at the end",
        f"{_ISSUES}24681",
        _NAME,
        "1.22.0",
        average_with_padding_at_the_end,
        ("average",),
    ),
    Fault(
        "MatMul of a Transpose that moves nothing",
        f"{_ISSUES}32228",
        _NAME,
        "1.22.0",
        product_of_a_transpose,
        ("same", "product"),
    ),
    Fault(
        "LayerNormalization of size 1",
        f"{_ISSUES}25896",
        _NAME,
        "1.23.0",
        norm_of_one_number,
        ("norm",),
    ),
    Fault(
        "cubic Resize between Transposes",
        f"{_ISSUES}12302",
        _NAME,
        "1.32.0",
        cubic_between_transposes,
        ("cubic",),
    ),
)
"""In the order of the versions; the last two fail instead of giving wrong numbers."""
