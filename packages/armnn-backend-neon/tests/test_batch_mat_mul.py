# SPDX-License-Identifier: MIT
"""Adjoints of matrices, and matrices before their channels."""

from __future__ import annotations

import numpy as np
import pytest

import armnn
from armnn import DataLayout, Network, TensorInfo


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
