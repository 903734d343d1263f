# SPDX-License-Identifier: MIT
"""Direct convolutions of few channels, on every level."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from armnn import ActivationFunction, DataLayout, DataType, Network, TensorInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Case(NamedTuple):
    """A case of an image [N,H,W,I] and window [O,KH,KW,I].

    Strides and dilation are down and across. Pads are those above, below, to the left and to the
    right.
    """

    image: tuple[int, int, int, int]
    window: tuple[int, int, int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation_down: int = 1


CASES = [
    Case((1, 9, 31, 3), (24, 5, 5, 3), (2, 2), (1, 2, 1, 2)),
    Case((1, 8, 40, 1), (16, 3, 3, 1)),
    Case((2, 7, 21, 3), (8, 3, 3, 3), (2, 2), (0, 1, 0, 1)),
    Case((3, 5, 17, 7), (17, 3, 3, 7), (1, 1), (1, 1, 1, 1)),
    Case((1, 6, 15, 16), (40, 2, 4, 16), (3, 1), (0, 0, 3, 5)),
    Case((1, 2, 3, 3), (12, 5, 7, 3), (1, 1), (4, 4, 6, 6)),
    Case((1, 1, 1, 1), (20, 1, 2, 1), (1, 3), (0, 0, 1, 4)),
    Case((1, 4, 9, 2), (28, 3, 2, 2), (1, 5), (2, 2, 0, 2), 2),
    Case((2, 3, 30, 4), (70, 1, 3, 4), (1, 4), (0, 0, 0, 0)),
]

HIGH = [  # small images that are higher than wide: bytes are computed by columns
    Case((1, 30, 3, 1), (8, 4, 3, 1), (1, 1), (1, 2, 1, 1)),
    Case((3, 21, 5, 3), (20, 3, 3, 3), (2, 1), (0, 1, 1, 1)),
    Case((2, 19, 4, 2), (33, 3, 5, 2), (1, 2), (3, 0, 2, 4), 2),
    Case((1, 5, 2, 1), (3, 2, 7, 1), (1, 3), (4, 4, 9, 3)),
    Case((2, 16, 9, 20), (17, 1, 2, 20), (1, 1), (0, 0, 0, 1)),
]


def convolved(x: NDArray[Any], w: NDArray[Any], case: Case) -> NDArray[Any]:
    """Return the sum over the window, tap by tap."""
    above, below, left, right = case.pads
    x = np.pad(x, ((0, 0), (above, below), (left, right), (0, 0)))
    down, across = case.strides
    height = (x.shape[1] - (w.shape[1] - 1) * case.dilation_down - 1) // down + 1
    width = (x.shape[2] - w.shape[2]) // across + 1
    y: NDArray[Any] = np.zeros((x.shape[0], height, width, w.shape[0]), x.dtype)
    for i, j in product(range(w.shape[1]), range(w.shape[2])):
        first = i * case.dilation_down
        rows = slice(first, first + (height - 1) * down + 1, down)
        columns = slice(j, j + (width - 1) * across + 1, across)
        y += x[:, rows, columns] @ w[:, i, j].T
    return y


def fields(case: Case) -> dict[str, Any]:
    """Return the fields of the layer."""
    names = ("pad_top", "pad_bottom", "pad_left", "pad_right")
    return {
        **dict(zip(names, case.pads, strict=True)),
        "stride_y": case.strides[0],
        "stride_x": case.strides[1],
        "dilation_y": case.dilation_down,
    }


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_convolution(
    run_network: Callable[..., NDArray[Any]],
    case: Case,
    layout: DataLayout,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")  # the smallest loops are split, too
    generator = np.random.default_rng(9)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal(case.window, np.float32)
    bias = generator.standard_normal(case.window[0], np.float32)
    sums = convolved(x.astype(np.float64), w.astype(np.float64), case) + bias
    other = generator.standard_normal(sums.shape, np.float32)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("shallow")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape))
    made = net.add_convolution2d(
        image,
        net.add_constant(np.ascontiguousarray(w.transpose(order))),
        net.add_constant(bias),
        data_layout=layout,
        **fields(case),
    )
    rest = net.add_constant(np.ascontiguousarray(other.transpose(order)))
    total = net.add_addition(made, rest)
    net.add_output("y", net.add_activation(total, function=ActivationFunction.RELU))
    expected = np.maximum(sums + other, 0.0).transpose(order)
    result = run_network(net, x=np.ascontiguousarray(x.transpose(order)))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [None, ActivationFunction.SIGMOID])
@pytest.mark.parametrize("columns", [1, 3, 4, 8, 9, 12, 16, 17, 24, 25, 32, 33])
@pytest.mark.parametrize("width", [1, 2, 5, 7, 30])
def test_any_number_of_columns(
    run_network: Callable[..., NDArray[Any]],
    columns: int,
    width: int,
    function: ActivationFunction | None,
) -> None:
    case = Case((1, 2, width + 1, 3), (columns, 2, 2, 3))
    generator = np.random.default_rng(columns)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal(case.window, np.float32)
    expected = convolved(x.astype(np.float64), w.astype(np.float64), case)
    net = Network("columns")
    image = net.add_input("x", TensorInfo(x.shape))
    made = net.add_convolution2d(image, net.add_constant(w), data_layout=DataLayout.NHWC)
    if function is not None:
        made = net.add_activation(made, function=function)
        expected = 1.0 / (1.0 + np.exp(-expected))
    net.add_output("y", made)
    np.testing.assert_allclose(run_network(net, x=x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("kind", [DataType.QASYMM_S8, DataType.QASYMM_U8])
@pytest.mark.parametrize(
    "case", [*CASES, *HIGH, Case((1, 9, 40, 20), (30, 3, 3, 20), (1, 1), (1, 1, 1, 1))]
)
def test_so_it_is_in_bytes(
    run_network: Callable[..., NDArray[Any]],
    check_bytes: Callable[..., None],
    case: Case,
    kind: DataType,
    layout: DataLayout,
    threads: int,
) -> None:
    generator = np.random.default_rng(7)
    limits = np.iinfo(kind.numpy_dtype)
    x = generator.integers(limits.min, limits.max, case.image, kind.numpy_dtype, endpoint=True)
    w = generator.integers(-128, 128, case.window, np.int8)
    bias = generator.integers(-9000, 9000, case.window[0], np.int32)
    zero_point = limits.min + 9
    sums = convolved(x.astype(np.int64) - zero_point, w.astype(np.int64), case) + bias
    scales = generator.uniform(0.001, 0.03, case.window[0]).astype("f4")
    out_scale = 0.01 * w[0].size
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("shallow")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape, kind, 0.25, zero_point))
    weights = np.ascontiguousarray(w.transpose(order))
    info = TensorInfo(weights.shape, DataType.QSYMM_S8, scales, axis=0)
    made = net.add_convolution2d(
        image,
        net.add_constant(weights, info),
        net.add_constant(bias),
        data_layout=layout,
        **fields(case),
        output=TensorInfo(None, kind, out_scale, zero_point + 60),
    )
    net.add_output("y", made)
    result = run_network(net, threads=threads, x=np.ascontiguousarray(x.transpose(order)))
    back = result if layout is DataLayout.NHWC else result.transpose(0, 2, 3, 1)
    multipliers = 0.25 * scales.astype(float) / np.float32(out_scale)
    check_bytes(back, sums * multipliers, zero_point + 60)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", HIGH[:3])
def test_a_function_behind_columns_is_that_of_their_bytes(
    run_network: Callable[..., NDArray[Any]], case: Case, threads: int
) -> None:
    generator = np.random.default_rng(3)
    x = generator.integers(-128, 128, case.image, np.int8)
    w = generator.integers(-128, 128, case.window, np.int8)
    info = TensorInfo(None, DataType.QASYMM_S8, 9.0, 5)
    nets = {name: Network(name) for name in ("plain", "fused", "behind")}
    for name in ("plain", "fused"):
        image = nets[name].add_input("x", TensorInfo(x.shape, DataType.QASYMM_S8, 0.5, 3))
        weights = nets[name].add_constant(w, TensorInfo(w.shape, DataType.QSYMM_S8, 0.5))
        made = nets[name].add_convolution2d(
            image, weights, data_layout=DataLayout.NHWC, **fields(case), output=info
        )
        if name == "fused":
            made = nets[name].add_activation(made, function=ActivationFunction.HARD_SWISH)
        nets[name].add_output("y", made)
    plain = run_network(nets["plain"], threads=threads, x=x)
    stored = nets["behind"].add_input("x", TensorInfo(plain.shape, DataType.QASYMM_S8, 9.0, 5))
    made = nets["behind"].add_activation(stored, function=ActivationFunction.HARD_SWISH)
    nets["behind"].add_output("y", made)
    fused = run_network(nets["fused"], threads=threads, x=x)
    assert np.array_equal(fused, run_network(nets["behind"], x=plain))


@pytest.mark.parametrize("columns", [1, 4, 7, 8, 9, 16, 17, 31, 32, 33])
@pytest.mark.parametrize("width", [1, 2, 5, 7, 30])
def test_any_number_of_columns_in_bytes(
    run_network: Callable[..., NDArray[Any]],
    check_bytes: Callable[..., None],
    columns: int,
    width: int,
) -> None:
    case = Case((1, 2, width + 1, 3), (columns, 2, 2, 3))
    generator = np.random.default_rng(columns)
    x = generator.integers(-128, 128, case.image, np.int8)
    w = generator.integers(-128, 128, case.window, np.int8)
    net = Network("columns")
    image = net.add_input("x", TensorInfo(x.shape, DataType.QASYMM_S8, 0.5, 0))
    weights = net.add_constant(w, TensorInfo(w.shape, DataType.QSYMM_S8, 0.5))
    info = TensorInfo(None, DataType.QASYMM_S8, 100.0, 5)
    net.add_output(
        "y", net.add_convolution2d(image, weights, data_layout=DataLayout.NHWC, output=info)
    )
    sums = convolved(x.astype(np.int64), w.astype(np.int64), case)
    check_bytes(run_network(net, x=x), sums * 0.0025, 5)


@pytest.mark.parametrize("columns", [3, 8, 20])
def test_a_single_channel_becomes_many(
    run_network: Callable[..., NDArray[Any]], check_bytes: Callable[..., None], columns: int
) -> None:
    case = Case((2, 9, 20, 1), (columns, 5, 4, 1), (2, 2), (1, 2, 0, 2))
    generator = np.random.default_rng(columns)
    x = generator.integers(-128, 128, case.image, np.int8)
    w = generator.integers(-128, 128, case.window, np.int8)
    sums = convolved(x.astype(np.int64), w.astype(np.int64), case)
    lying = np.ascontiguousarray(w.transpose(3, 1, 2, 0))
    floats, stored = Network("floats"), Network("bytes")
    made = floats.add_depthwise_convolution2d(
        floats.add_input("x", TensorInfo(x.shape)),
        floats.add_constant(lying.astype(np.float32)),
        data_layout=DataLayout.NHWC,
        **fields(case),
    )
    floats.add_output("y", made)
    np.testing.assert_allclose(run_network(floats, x=x.astype(np.float32)), sums, rtol=1e-6)
    scales = generator.uniform(0.01, 0.03, columns).astype("f4")
    made = stored.add_depthwise_convolution2d(
        stored.add_input("x", TensorInfo(x.shape, DataType.QASYMM_S8, 0.5, 0)),
        stored.add_constant(lying, TensorInfo(lying.shape, DataType.QSYMM_S8, scales, axis=3)),
        data_layout=DataLayout.NHWC,
        **fields(case),
        output=TensorInfo(None, DataType.QASYMM_S8, 8.0, -5),
    )
    stored.add_output("y", made)
    check_bytes(run_network(stored, x=x), sums * scales.astype(float) / 16, -5)
