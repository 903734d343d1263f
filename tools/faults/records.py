# SPDX-License-Identifier: MIT
"""Published faults of onnxruntime: versions, models, wrong layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import armnn
from armnn.types import DataType

Model: TypeAlias = tuple[armnn.Network, Mapping[str, NDArray[Any]]]
"""A network, and the inputs that show its fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a released version.

    Attributes:
        name: A few words.
        where: The public report.
        version: Of onnxruntime, which has the fault.
        build: Makes the model.
        wrong: The layers that have to be named.
    """

    name: str
    where: str
    version: str
    build: Callable[[], Model]
    wrong: tuple[str, ...]


def pad_and_average() -> Model:
    """Pad with zeros, then average without padding."""
    net, x = _network((1, 1, 6, 6))
    value = net.add_pad(x, pad_list=((0, 0), (0, 0), (1, 1), (1, 1)), name="border")
    sizes = {"pool_width": 3, "pool_height": 3, "stride_x": 1, "stride_y": 1}
    value = net.add_pooling2d(
        value,
        pool_type="Average",
        padding_method="Exclude",
        data_layout="NCHW",
        name="average",
        **sizes,
    )
    net.add_output("y", net.add_activation(value, function="Sigmoid", name="squash"))
    return net, {"x": _numbers(1, 1, 6, 6)}


def nan_in_float16() -> Model:
    """Compute a maximum of Float16 with NaN on either side."""
    net, x = _network((4,), DataType.FLOAT16)
    z = net.add_input("z", armnn.TensorInfo((4,), DataType.FLOAT16))
    net.add_output("y", net.add_floor(net.add_maximum(x, z, name="highest"), name="floor"))
    return net, {
        "x": np.array([1, np.nan, 2, 3], np.float16),
        "z": np.array([np.nan, 1, 3, 2], np.float16),
    }


def norm_of_one_number() -> Model:
    """Normalise along an axis of size 1."""
    net, x = _network((2, 3, 1))
    gamma, beta = (net.add_constant(np.array([value], np.float32)) for value in (2.0, 0.5))
    value = net.add_layer_normalization(x, gamma, beta, axis=2, name="norm")
    net.add_output("y", net.add_activation(value, function="Sigmoid", name="squash"))
    return net, {"x": _numbers(2, 3, 1)}


def cubic_between_transposes() -> Model:
    """Resize cubically to a smaller picture, between two transposes."""
    net, x = _network((1, 6, 6, 2))
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
    net.add_output("y", net.add_transpose(value, dim_mappings=(0, 2, 3, 1), name="last"))
    return net, {"x": _numbers(1, 6, 6, 2)}


def _network(
    shape: tuple[int, ...], data_type: DataType = DataType.FLOAT32
) -> tuple[armnn.Network, armnn.Value]:
    net = armnn.Network("fault")
    return net, net.add_input("x", armnn.TensorInfo(shape, data_type))


def _numbers(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


_ISSUES = "https://github.com/microsoft/onnxruntime/issues/"

FAULTS = (
    Fault(
        "Pad and AveragePool", f"{_ISSUES}22177", "1.19.2", pad_and_average, ("border", "average")
    ),
    Fault("Max of Float16 NaN", f"{_ISSUES}22161", "1.19.2", nan_in_float16, ("highest",)),
    Fault(
        "LayerNormalization of size 1", f"{_ISSUES}25896", "1.23.0", norm_of_one_number, ("norm",)
    ),
    Fault(
        "cubic Resize between transposes",
        f"{_ISSUES}12302",
        "1.32.0",
        cubic_between_transposes,
        ("cubic",),
    ),
)
