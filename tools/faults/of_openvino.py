# SPDX-License-Identifier: MIT
"""Published faults of OpenVINO: versions, models, wrong layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tools.faults.fault import Fault, Model, numbers, surrounded, whole

if TYPE_CHECKING:
    import armnn

BEYOND = np.array([2**24 + 1, 2**24 + 2, 2**30 - 1, -(2**30) - 1], np.int32)
"""Integers of which Float32 holds neighbors only."""


def soft_sign_of_averages() -> Model:
    """Compute SoftSign and what is before it in a pooling."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        sizes = {"pool_width": 2, "pool_height": 2, "stride_x": 1, "stride_y": 1}
        value = net.add_pooling2d(
            x, pool_type="Average", data_layout="NCHW", name="average", **sizes
        )
        value = net.add_activation(value, function="ReLu", name="relu")
        return net.add_activation(value, function="SoftSign", name="softsign")

    return surrounded((1, 3, 4, 4), fault), {"x": numbers(1, 3, 4, 4)}


def slices_from_the_end() -> Model:
    """Gather slices with negative indices."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        places = net.add_constant(np.array([[0, -1], [-1, 2]], np.int32))
        return net.add_gather_nd(x, places, name="gather")

    return surrounded((2, 3, 4), fault), {"x": numbers(2, 3, 4)}


def elements_from_the_end() -> Model:
    """Gather elements with negative indices."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        places = net.add_constant(np.array([[-1, 0, -2], [0, -1, 1]], np.int32))
        return net.add_gather_elements(x, places, axis=1, name="gather")

    return surrounded((2, 3), fault), {"x": numbers(2, 3)}


def equal_integers() -> Model:
    """Compare integers that Float32 does not tell apart."""

    def fault(net: armnn.Network, values: list[armnn.Value]) -> armnn.Value:
        return net.add_comparison(*values, operation="Equal", name="equal")

    return whole({"x": (4,), "z": (4,)}, fault), {"x": BEYOND, "z": BEYOND + np.int32(2)}


def quotients_of_integers() -> Model:
    """Divide integers."""

    def fault(net: armnn.Network, values: list[armnn.Value]) -> armnn.Value:
        return net.add_division(*values, name="quotient")

    return whole({"x": (4,), "z": (4,)}, fault), {"x": BEYOND, "z": np.full(4, 3, np.int32)}


def products_of_matrices() -> Model:
    """Multiply matrices of integers."""

    def fault(net: armnn.Network, values: list[armnn.Value]) -> armnn.Value:
        factors = net.add_constant(np.array([[1, 2], [3, 5]], np.int32))
        return net.add_batch_mat_mul(values[0], factors, name="product")

    return whole({"x": (2, 2)}, fault), {"x": BEYOND.reshape(2, 2) // 8 + np.int32(1)}


_ISSUES = "https://github.com/openvinotoolkit/openvino/issues/"
_NAME, _VERSION = "openvino", "2025.2.0"

FAULTS = tuple(
    Fault(name, f"{_ISSUES}{number}", _NAME, _VERSION, build, wrong)
    for name, number, build, wrong in (
        ("SoftSign in a pooling", 31252, soft_sign_of_averages, ("softsign",)),
        ("GatherND with negative indices", 30764, slices_from_the_end, ("gather",)),
        ("GatherElements with negative indices", 30800, elements_from_the_end, ("gather",)),
        ("Equal of Signed32", 24734, equal_integers, ("equal",)),
        ("Division of Signed32", 35830, quotients_of_integers, ("quotient",)),
        ("MatMul of Signed32", 37956, products_of_matrices, ("product",)),
    )
)
"""The last three are faults of the newest release, 2026.4.1, too."""
