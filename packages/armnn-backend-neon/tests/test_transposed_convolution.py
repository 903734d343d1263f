# SPDX-License-Identifier: MIT
"""Transposed convolutions that tile, overlap or leave gaps."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import armnn
from armnn import DataLayout, DataType, Network, TensorInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Case(NamedTuple):
    """A case of [N,H,W,I] and [O,KH,KW,I].

    Longer: rows and columns that only the bias reaches.
    """

    image: tuple[int, ...]
    window: tuple[int, ...]
    stride: int
    pad: int = 0
    longer: int = 0


CASES = [
    Case((1, 4, 5, 16), (3, 2, 2, 16), 2),
    Case((3, 5, 3, 7), (17, 3, 3, 7), 3),
    Case((2, 4, 5, 3), (5, 3, 3, 3), 2, 1),
    Case((1, 6, 1, 17), (33, 4, 4, 17), 2, 1),
    Case((1, 3, 4, 2), (1, 1, 1, 2), 3),
    Case((1, 3, 4, 8), (40, 2, 2, 8), 2, 0, 1),
    Case((1, 3, 4, 8), (4, 5, 5, 8), 1, 2),
    Case((1, 2, 2, 1), (2, 5, 5, 1), 3, 2, 2),
    Case((2, 9, 31, 16), (1, 2, 2, 16), 2),
    Case((1, 40, 33, 24), (2, 2, 2, 24), 2),
    Case((1, 12, 13, 6), (3, 4, 4, 6), 2, 1),
]


def transposed(x: NDArray[Any], w: NDArray[Any], bias: NDArray[Any], case: Case) -> NDArray[Any]:
    """Return the inputs' windows added to the output."""
    n, height, width, _ = x.shape
    columns, kh, kw, _ = w.shape
    full = (
        (height - 1) * case.stride + max(kh, case.stride) + case.longer,
        (width - 1) * case.stride + max(kw, case.stride) + case.longer,
    )
    y = np.zeros((n, *full, columns))
    for i, j in product(range(height), range(width)):
        window = np.einsum("nc,ohwc->nhwo", x[:, i, j].astype(np.float64), w.astype(np.float64))
        y[:, i * case.stride : i * case.stride + kh, j * case.stride : j * case.stride + kw] += (
            window
        )
    rows = (height - 1) * case.stride + kh - 2 * case.pad + case.longer
    cols = (width - 1) * case.stride + kw - 2 * case.pad + case.longer
    inside: NDArray[Any] = y[:, case.pad :, case.pad :][:, :rows, :cols] + bias
    return inside


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("case", CASES)
def test_it_is_what_the_definition_says(
    case: Case, layout: DataLayout, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    generator = np.random.default_rng(3)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal(case.window, np.float32)
    bias = generator.standard_normal(case.window[0], np.float32)
    expected = np.maximum(transposed(x, w, bias, case), 0.0)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("transposed")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape))
    output_shape = tuple(np.transpose(np.empty(expected.shape, np.bool_), order).shape)
    made = net.add_transpose_convolution2d(
        image,
        net.add_constant(np.ascontiguousarray(w.transpose(order))),
        net.add_constant(bias),
        stride_x=case.stride,
        stride_y=case.stride,
        pad_left=case.pad,
        pad_right=case.pad,
        pad_top=case.pad,
        pad_bottom=case.pad,
        data_layout=layout,
        output_shape_enabled=True,
        output_shape=output_shape,
    )
    net.add_output("y", net.add_activation(made, function=armnn.ActivationFunction.RELU))
    with armnn.Runtime() as runtime:
        model = runtime.load_model(net, backends=["CpuAcc"])
        (y,) = model.run({"x": np.ascontiguousarray(x.transpose(order))}).values()
    np.testing.assert_allclose(y, expected.transpose(order), rtol=2e-5, atol=2e-5)


BYTE_CASES = [
    *CASES,
    Case((2, 3, 5, 6), (4, 3, 2, 6), 2),
    Case((1, 4, 4, 70), (3, 2, 2, 70), 2, 1),
]


@pytest.mark.parametrize("kind", [DataType.QASYMM_S8, DataType.QASYMM_U8])
@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("case", BYTE_CASES)
def test_bytes_are_what_the_definition_says(
    run_network: Callable[..., NDArray[Any]],
    check_bytes: Callable[..., None],
    case: Case,
    layout: DataLayout,
    kind: DataType,
) -> None:
    generator = np.random.default_rng(4)
    limits = np.iinfo(kind.numpy_dtype)
    x = generator.integers(limits.min, limits.max, case.image, kind.numpy_dtype, endpoint=True)
    w = generator.integers(-127, 128, case.window, np.int8)
    bias = generator.integers(-5000, 5000, case.window[0], np.int32)
    scales = generator.uniform(0.002, 0.02, case.window[0]).astype(np.float32)
    sums = transposed(x.astype(np.float64) - 3, w, bias, case)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("transposed")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape, kind, 0.05, 3))
    weights = np.ascontiguousarray(w.transpose(order))
    info = TensorInfo(weights.shape, DataType.QSYMM_S8, tuple(map(float, scales)), axis=0)
    made = net.add_transpose_convolution2d(
        image,
        net.add_constant(weights, info),
        net.add_constant(bias),
        stride_x=case.stride,
        stride_y=case.stride,
        **dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), case.pad),
        data_layout=layout,
        output_shape_enabled=True,
        output_shape=tuple(np.transpose(np.empty(sums.shape, np.bool_), order).shape),
        output=TensorInfo(None, kind, 0.7, 11),
    )
    net.add_output("y", made)
    y = run_network(net, x=np.ascontiguousarray(x.transpose(order)))
    step = (np.float32(0.05) * scales / np.float32(0.7)).astype(np.float64)
    check_bytes(y, (sums * step).transpose(order), 11)
