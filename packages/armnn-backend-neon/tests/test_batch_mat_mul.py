# SPDX-License-Identifier: MIT
"""Adjoints, integers, Float64, and matrices before their channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.errors import ArmnnError
from armnn.profiling import Recorder

if TYPE_CHECKING:
    from armnn.graph import Value

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


def permuted(net: Network, value: Value, axes: tuple[int, ...]) -> Value:
    return net.add_transpose(value, dim_mappings=axes)


def some_matrices(draw: np.random.Generator, batch: tuple[int, ...], matrix: list[int]) -> Array:
    """Return small whole numbers, whose products are exact.

    Some axes of the batch broadcast.
    """
    some = [1 if draw.random() < 0.2 else size for size in batch]
    kept = some[draw.integers(len(batch) + 1) :] if draw.random() < 0.3 else some
    return draw.integers(-4, 5, (*kept, *matrix)).astype("f4")


@pytest.mark.parametrize("seed", range(60))
def test_permuted_matrices_are_read_and_written_where_they_are(
    seed: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Axes are permuted before and after the product."""
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", str(1 + seed % 2))
    draw = np.random.default_rng(seed)
    sizes = [1, 2, 3, 5, 12, 33, 64]
    batch = tuple(draw.choice([1, 2, 3, 32], draw.integers(1, 3)).tolist())
    rows, depth, columns = draw.choice(sizes, 3).tolist()
    turns_x, turns_y = draw.integers(0, 2, 2).astype(bool).tolist()
    x = some_matrices(draw, batch, [depth, rows] if turns_x else [rows, depth])
    y = some_matrices(draw, batch, [columns, depth] if turns_y else [depth, columns])
    net = Network("permuted")
    operands, inputs = [], {}
    for name, data in (("x", x), ("y", y)):
        order = draw.permutation(data.ndim)
        inputs[name] = np.ascontiguousarray(data.transpose(np.argsort(order)))
        value = net.add_input(name, TensorInfo(inputs[name].shape))
        operands.append(permuted(net, value, tuple(order.tolist())))
    made = net.add_batch_mat_mul(*operands, transpose_x=turns_x, transpose_y=turns_y)
    left = np.swapaxes(x, -1, -2) if turns_x else x
    expected = left @ (np.swapaxes(y, -1, -2) if turns_y else y)
    axes = tuple(draw.permutation(expected.ndim).tolist())
    made = permuted(net, made, axes)
    expected = expected.transpose(axes)
    if seed % 3 == 0:
        other = draw.integers(-4, 5, expected.shape).astype("f4")
        inputs["other"] = other
        made = net.add_addition(made, net.add_input("other", TensorInfo(other.shape)))
        expected = expected + other
    net.add_output("z", made)
    with armnn.Runtime() as runtime:
        z = runtime.load_model(net, backends=["CpuAcc"]).run(inputs)["z"]
    np.testing.assert_array_equal(z, expected)


@pytest.mark.parametrize("batch", [1, 3])
def test_rows_of_heads_are_read_where_they_are(batch: int) -> None:
    """Attention of heads copies nothing around its products."""
    net = Network("heads")
    value = net.add_input("x", TensorInfo((batch, 20, 3 * 16)))
    heads = net.add_reshape(value, target_shape=(batch, 20, 3, 16))
    queries = permuted(net, heads, (0, 2, 1, 3))
    scores = net.add_softmax(net.add_batch_mat_mul(queries, permuted(net, heads, (0, 2, 3, 1))))
    seen = permuted(net, net.add_batch_mat_mul(scores, queries), (0, 2, 1, 3))
    net.add_output("y", net.add_reshape(seen, target_shape=(batch, 20, 3 * 16)))
    recorder = Recorder()
    with armnn.Runtime() as runtime:
        model = runtime.load_model(net, backends=["CpuAcc"])
        model.run({"x": np.ones((batch, 20, 48), "f4")}, profiler=recorder)
    kernels = [each for each in recorder.events if each.details.get("category") == "kernel"]
    assert len(kernels) == 3


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
