# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.layers.matmul import (
    BatchMatMulDescriptor,
    DeterminantDescriptor,
    EinsumDescriptor,
    FullyConnectedDescriptor,
    MatMulIntegerDescriptor,
    MatMulNBitsDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType

Array = NDArray[Any]
RunLayer = Callable[..., tuple[Array, ...]]


def random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("shape", [(2, 12), (2, 3, 4), (2, 3, 2, 2), (0, 12), (1, 12)])
@pytest.mark.parametrize("transposed", [False, True])
def test_fully_connected_flattens_all_but_the_batch(
    run_layer: RunLayer, shape: tuple[int, ...], transposed: bool
) -> None:
    x, weights, bias = random(0, *shape), random(1, 12, 5), random(2, 5)
    expected = np.einsum("ni,io->no", x.reshape(shape[0], 12).astype(np.float64), weights) + bias
    stored = np.ascontiguousarray(weights.T) if transposed else weights
    d = FullyConnectedDescriptor(transpose_weight_matrix=transposed)
    (y,) = run_layer("FullyConnected", [x], d, constants=[stored, bias])
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_fully_connected_without_inputs_gives_the_bias(run_layer: RunLayer) -> None:
    bias = np.array([1, 2], np.float32)
    operands = [np.zeros((3, 0), np.float32), np.zeros((0, 2), np.float32), bias]
    (y,) = run_layer("FullyConnected", operands)
    assert y.tolist() == [[1, 2]] * 3


def test_quantized_fully_connected_by_hand(run_layer: RunLayer) -> None:
    x_info = TensorInfo((1, 2), DataType.QASYMM_S8, 0.5, -10)
    w_info = TensorInfo((2, 2), DataType.QSYMM_S8, (0.5, 0.25), axis=1)
    y_info = TensorInfo((1, 2), DataType.QASYMM_S8, 0.25, 1)
    x, weights = np.array([[-8, -4]], np.int8), np.array([[2, 4], [-1, 8]], np.int8)
    bias = np.array([4, -8], np.int32)
    # [1, 3] @ [[1, 1], [-0.5, 2]] + [4 * 0.25, -8 * 0.125] = [0.5, 6]
    (y,) = run_layer(
        "FullyConnected", [(x, x_info)], constants=[(weights, w_info), bias], outputs=[y_info]
    )
    assert y.tolist() == [[3, 25]]


def test_a_bias_of_fully_connected_may_have_a_scale_of_its_own(run_layer: RunLayer) -> None:
    x_info = TensorInfo((1, 1), DataType.QASYMM_S8, 0.5)
    bias_info = TensorInfo((1,), DataType.QASYMM_S8, 0.25, 2)
    operands = [(np.int8([[4]]), x_info), (np.int8([[3]]), x_info), (np.int8([10]), bias_info)]
    (y,) = run_layer("FullyConnected", operands)
    assert y.tolist() == [[10]]  # 2 * 1.5 + 8 * 0.25 = 5


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((2, 3), (7, 3, 4)),
        ((2, 0), (0, 4)),
    ],
)
def test_batch_mat_mul_broadcasts_matrices(
    run_layer: RunLayer, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    x, y = random(0, *left), random(1, *right)
    expected = np.einsum("...ij,...jk->...ik", x.astype(np.float64), y.astype(np.float64))
    (product,) = run_layer("BatchMatMul", [x, y])
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-5)


def test_batch_mat_mul_transposes_either_operand(run_layer: RunLayer) -> None:
    x, y = random(0, 2, 3, 4), random(1, 2, 5, 3)
    expected = np.einsum("nji,nkj->nik", x.astype(np.float64), y.astype(np.float64))
    d = BatchMatMulDescriptor(transpose_x=True, transpose_y=True)
    (product,) = run_layer("BatchMatMul", [x, y], d)
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-5)


def test_matrices_of_nhwc_stand_before_the_channels(run_layer: RunLayer) -> None:
    x, y = random(0, 2, 3, 4, 5), random(1, 2, 4, 6, 5)
    expected = np.einsum("nijc,njkc->nikc", x.astype(np.float64), y.astype(np.float64))
    d = BatchMatMulDescriptor(data_layout_x=DataLayout.NHWC, data_layout_y=DataLayout.NHWC)
    (product,) = run_layer("BatchMatMul", [x, y], d)
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_the_product_lies_as_the_operand_of_higher_rank(
    run_layer: RunLayer, layout: DataLayout
) -> None:
    x, y = random(0, 3, 4), random(1, 2, 4, 6, 5)
    expected = np.einsum("ij,njkc->nikc", x.astype(np.float64), y.astype(np.float64))
    if layout is DataLayout.NCHW:
        y, expected = np.moveaxis(y, -1, 1), np.moveaxis(expected, -1, 1)
    d = BatchMatMulDescriptor(data_layout_y=layout)
    (product,) = run_layer("BatchMatMul", [x, np.ascontiguousarray(y)], d)
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_adjoint_of_a_regular_matrix_is_its_inverse_times_its_determinant(
    run_layer: RunLayer, size: int
) -> None:
    x = random(size, 2, size, size)
    identity = np.broadcast_to(np.eye(size, dtype=np.float32), x.shape)
    exact = x.astype(np.float64)
    expected = np.linalg.inv(exact) * np.linalg.det(exact)[:, None, None]
    for d, operands in (
        (BatchMatMulDescriptor(adjoint_x=True), [x, identity]),
        (BatchMatMulDescriptor(adjoint_y=True), [identity, x]),
    ):
        (y,) = run_layer("BatchMatMul", operands, d)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_the_adjoint_of_a_singular_matrix_is_finite(run_layer: RunLayer) -> None:
    x = np.array([[1, 2], [2, 4]], np.float32)
    (y,) = run_layer(
        "BatchMatMul", [x, np.eye(2, dtype=np.float32)], BatchMatMulDescriptor(adjoint_x=True)
    )
    assert y.tolist() == [[4, -2], [-2, 1]]


def test_integers_are_multiplied_exactly(run_layer: RunLayer) -> None:
    x = np.array([[2**62 - 1, 1]], np.int64)
    y = np.array([[1], [5]], np.int64)
    (product,) = run_layer("BatchMatMul", [x, y])
    assert product.item() == 2**62 + 4


def test_a_quantized_product_by_hand(run_layer: RunLayer) -> None:
    x_info = TensorInfo((1, 2), DataType.QASYMM_S8, 0.5, 1)
    y_info = TensorInfo((2, 1), DataType.QASYMM_S8, 0.25, 0)
    out_info = TensorInfo((1, 1), DataType.QASYMM_S8, 1.0, 0)
    x, y = np.array([[3, 5]], np.int8), np.array([[4], [8]], np.int8)  # [1, 2] and [1, 2]
    (product,) = run_layer("BatchMatMul", [(x, x_info), (y, y_info)], outputs=[out_info])
    assert product.item() == 5


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("", [()]),
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("...ij,...jk->...ik", [(5, 6, 2, 3), (5, 6, 3, 4)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("ij,j->", [(2, 0), (0,)]),
    ],
)
def test_einsum_agrees_with_onnxruntime(compute, onnx_run, equation, shapes):
    rng = np.random.default_rng(21)
    inputs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    y = compute(EinsumDescriptor(equation=equation), *inputs)
    # onnxruntime wants an output to be named where there is none to name.
    expected = inputs[0] if not equation else onnx_run("Einsum", *inputs, equation=equation)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_an_ellipsis_broadcasts(compute):
    x, y = random(23, 5, 1, 2, 3), random(24, 6, 3, 4)
    z = compute(EinsumDescriptor(equation="...ij,...jk->...ik"), x, y)
    np.testing.assert_allclose(z, x.astype(np.float64) @ y, rtol=1e-5, atol=1e-6)


def test_einsum_keeps_long_integers_exact(compute):
    x, y = np.int64([[2**53 + 1, 1]]), np.int64([1, 2])
    assert compute(EinsumDescriptor(equation="ij,j->i"), x, y).tolist() == [2**53 + 3]


@pytest.mark.parametrize("types", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
def test_products_of_small_integers_agree_with_onnxruntime(compute, onnx_run, types):
    """Weights have seven bits.

    onnxruntime adds two products in 16 bits where the CPU has AVX2 alone.
    """
    rng = np.random.default_rng(22)
    x = rng.integers(np.iinfo(types[0]).min, np.iinfo(types[0]).max, (2, 3, 300), types[0], True)
    y = rng.integers(-64 if types[1] == np.int8 else 0, 64, (300, 5), types[1])
    x_zero, y_zero = np.array(7, types[0]), np.array([1, 0, 100, 50, 3], types[1])
    result = compute(MatMulIntegerDescriptor(), x, y, x_zero, y_zero)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, onnx_run("MatMulInteger", x, y, x_zero, y_zero))
    result = compute(MatMulIntegerDescriptor(), x, y, None, None)
    np.testing.assert_array_equal(result, onnx_run("MatMulInteger", x, y))


@pytest.mark.parametrize("types", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
def test_products_of_small_integers_are_exact(compute, types):
    rng = np.random.default_rng(26)
    limits = [np.iinfo(kind) for kind in types]
    x = rng.integers(limits[0].min, limits[0].max, (2, 3, 300), types[0], True)
    y = rng.integers(limits[1].min, limits[1].max, (300, 5), types[1], True)
    x[0, 0], y[:, 0] = limits[0].max, limits[1].max
    x_zero, y_zero = np.array(7, types[0]), np.array([1, 0, 100, 50, 3], types[1])
    result = compute(MatMulIntegerDescriptor(), x, y, x_zero, y_zero)
    exact = (x.astype(np.int64) - 7) @ (y.astype(np.int64) - y_zero)
    np.testing.assert_array_equal(result, exact)


def test_zero_points_of_rows_are_taken_off_rows(compute):
    x, y = np.uint8([[1, 2], [3, 4]]), np.int8([[1, 0], [0, 1]])
    result = compute(MatMulIntegerDescriptor(), x, y, np.uint8([1, 3]), None)
    assert result.tolist() == [[0, 1], [0, 1]]
    result = compute(MatMulIntegerDescriptor(), x[None], y, np.uint8([[[1], [3]]]), None)
    assert result.tolist() == [[[0, 1], [0, 1]]]


def test_determinants_agree_with_onnxruntime(compute, onnx_run):
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32)
    np.testing.assert_allclose(compute(DeterminantDescriptor(), x), onnx_run("Det", x), 1e-4)


def test_the_adjoint_of_a_matrix_without_elements_has_none(compute: Callable[..., Array]) -> None:
    x, y = np.zeros((0, 0), np.float32), np.zeros((0, 3), np.float32)
    assert compute(BatchMatMulDescriptor(adjoint_x=True), x, y).shape == (0, 3)


@pytest.mark.parametrize("points", [None, np.float32([[7.5, 1], [0, 9]])])
def test_weights_of_few_bits_are_rows_that_are_multiplied(compute, points):
    weights, scales = (
        np.uint8([[0x21, 0x43, 0xF5, 0x06], [0, 0x88, 0x99, 0]]),
        np.float32([[2, 3], [1, 4]]),
    )
    x, bias = np.float32([[[1, 2, 3, 4, 5, 6, 7]]]), np.float32([0.5, -1])
    # 8, the zero point of 4 bits, where none is given
    zero = np.full((2, 2), 8) if points is None else points
    numbers = np.array([[1, 2, 3, 4, 5, 15, 6], [0, 0, 8, 8, 9, 9, 0]])
    right = np.repeat(scales, [4, 4], 1)[:, :7] * (numbers - np.repeat(zero, [4, 4], 1)[:, :7])
    d = MatMulNBitsDescriptor(bits=4, block_size=4)
    y = compute(d, x, weights, scales, points, bias)
    np.testing.assert_allclose(y, (x @ right.T) + bias)
