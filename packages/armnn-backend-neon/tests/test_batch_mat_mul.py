# SPDX-License-Identifier: MIT
"""Adjoints, integers, Float64, and matrices before their channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.errors import ArmnnError

Array = NDArray[Any]

INTEGERS = [
    DataType.SIGNED8,
    DataType.SIGNED16,
    DataType.SIGNED32,
    DataType.SIGNED64,
    DataType.UNSIGNED8,
    DataType.UNSIGNED16,
    DataType.UNSIGNED32,
    DataType.UNSIGNED64,
]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_a_matrix_times_its_adjoint_is_its_determinant(size: int, level: str) -> None:
    x = np.random.default_rng(size).uniform(-1, 1, (3, size, size)).astype("f4")
    net = Network("adjoint")
    value = net.add_input("x", TensorInfo(x.shape))
    net.add_output("left", net.add_batch_mat_mul(value, value, adjoint_x=True))
    net.add_output("right", net.add_batch_mat_mul(value, value, adjoint_y=True))
    with armnn.Runtime() as runtime:
        made = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})
    determinants = np.linalg.det(x.astype("f8"))
    expected = determinants[:, None, None] * np.eye(size)
    np.testing.assert_allclose(made["left"], expected, atol=2e-6)
    np.testing.assert_allclose(made["right"], expected, atol=2e-6)


def test_the_adjoint_of_a_singular_matrix_is_finite() -> None:
    x = np.array([[[1, 2, 3], [2, 4, 6], [0, 0, 0]]], "f4")
    net = Network("singular")
    value = net.add_input("x", TensorInfo(x.shape))
    one = net.add_constant(np.eye(3, dtype="f4")[None])
    net.add_output("y", net.add_batch_mat_mul(value, one, adjoint_x=True))
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    np.testing.assert_array_equal(y, np.zeros((1, 3, 3), "f4"))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("ranks", [(4, 4), (4, 3), (3, 4)])
def test_channels_behind_the_matrices_are_a_batch(ranks: tuple[int, int], transpose: bool) -> None:
    shapes = {4: (2, 5, 5, 3), 3: (5, 5, 3)}
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(shapes[rank], np.float32) for rank in ranks)
    nhwc = DataLayout.NHWC
    net = Network("channels last")
    made = net.add_batch_mat_mul(
        net.add_input("x", TensorInfo(x.shape)),
        net.add_input("y", TensorInfo(y.shape)),
        transpose_x=transpose,
        transpose_y=transpose,
        data_layout_x=nhwc,
        data_layout_y=nhwc,
    )
    net.add_output("z", made)
    with armnn.Runtime() as runtime:
        z = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x, "y": y})["z"]
    equation = "...jic,...kjc->...ikc" if transpose else "...ijc,...jkc->...ikc"
    np.testing.assert_allclose(z, np.einsum(equation, x, y), rtol=1e-5, atol=1e-5)


def product(x: Array, y: Array, data_type: DataType, **parameters: Any) -> Array:
    net = Network("product")
    left = net.add_input("x", TensorInfo(x.shape, data_type))
    right = net.add_input("y", TensorInfo(y.shape, data_type))
    net.add_output("z", net.add_batch_mat_mul(left, right, **parameters))
    with armnn.Runtime() as runtime:
        return np.array(runtime.load_model(net, backends=["CpuAcc"]).run({"x": x, "y": y})["z"])


@pytest.mark.parametrize("data_type", INTEGERS)
@pytest.mark.parametrize(
    ("left", "right"),
    [((1, 1), (1, 1)), ((2, 1, 5, 33), (3, 33, 70)), ((3, 4, 0), (3, 0, 2))],
)
def test_products_of_integers_wrap_around(
    data_type: DataType,
    left: tuple[int, ...],
    right: tuple[int, ...],
) -> None:
    limits, rng = np.iinfo(data_type.numpy_dtype), np.random.default_rng(1)
    x, y = (
        rng.integers(limits.min, limits.max, shape, data_type.numpy_dtype, endpoint=True)
        for shape in (left, right)
    )
    exact = np.matmul(x.astype(object), y.astype(object)) if x.size else np.zeros((3, 4, 2), object)
    whole = 1 << limits.bits
    wrapped = (exact - int(limits.min)) % whole + int(limits.min)
    for turned in (False, True):
        given = np.ascontiguousarray(y.swapaxes(-1, -2)) if turned else y
        z = product(x, given, data_type, transpose_y=turned)
        np.testing.assert_array_equal(z, wrapped.astype(data_type.numpy_dtype))


def test_products_in_float64_keep_its_precision() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 40, 30)), rng.standard_normal((30, 50))
    expected = np.matmul(x.astype(np.longdouble), y.astype(np.longdouble)).astype(np.float64)
    np.testing.assert_allclose(product(x, y, DataType.FLOAT64), expected, rtol=1e-12, atol=1e-13)
    square = rng.standard_normal((3, 4, 4))
    made = product(square, square, DataType.FLOAT64, adjoint_x=True)
    determinants = np.linalg.det(square)[:, None, None] * np.eye(4)
    np.testing.assert_allclose(made, determinants, atol=1e-12)


def test_an_adjoint_of_integers_is_refused() -> None:
    one = np.ones((2, 2), np.int32)
    with pytest.raises(ArmnnError, match="adjoints are not computed in integers"):
        product(one, one, DataType.SIGNED32, adjoint_x=True)
