# SPDX-License-Identifier: MIT
"""Quantized networks, rounded as TensorFlow Lite does: the bits of CpuRef, which LiteRT's are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.types import QuantizedArithmetic

S8 = DataType.QASYMM_S8


def network(batch: int | str) -> Network:
    """Return an int8 CNN with every layer that is computed in whole numbers."""
    rng = np.random.default_rng(3)
    net = Network("int8")
    net.quantized_arithmetic = QuantizedArithmetic.INTEGER

    def steps(scale: float, zero: int) -> TensorInfo:
        return TensorInfo(None, S8, scale, zero)

    def weights(shape: tuple[int, ...], axis: int) -> Any:
        scales = rng.uniform(0.002, 0.02, shape[axis]).tolist()
        info = TensorInfo(shape, DataType.QSYMM_S8, scales, [0] * shape[axis], axis)
        return net.add_constant(rng.integers(-127, 128, shape).astype(np.int8), info)

    def bias(size: int) -> Any:
        values = rng.integers(-3000, 3000, size).astype(np.int32)
        return net.add_constant(values, TensorInfo((size,), DataType.SIGNED32))

    options: dict[str, Any] = {"data_layout": "NHWC"}
    pads = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}
    x = net.add_input("x", TensorInfo((batch, 9, 9, 3), S8, 0.02, 5))
    y = net.add_convolution2d(
        x, weights((12, 3, 3, 3), 0), bias(12), stride_x=2, stride_y=2, **pads, **options,
        output=steps(0.05, -20),
    )  # fmt: skip
    z = net.add_depthwise_convolution2d(
        y, weights((1, 3, 3, 12), 3), bias(12), **pads, **options, output=steps(0.07, 3)
    )
    total = net.add_addition(z, y, output=steps(0.09, -7))
    z = net.add_multiplication(total, net.add_subtraction(y, z, output=steps(0.08, 1)),
                               output=steps(0.11, 0))  # fmt: skip
    z = net.add_pooling2d(
        z, pool_type="Average", pool_width=2, pool_height=2, stride_x=2, stride_y=2,
        padding_method="Exclude", **options, output=steps(0.11, 0),
    )  # fmt: skip
    z = net.add_mean(z, axis=(1, 2), output=steps(0.03, 11))
    z = net.add_fully_connected(
        z, weights((7, 12), 0), bias(7), transpose_weight_matrix=True, output=steps(0.06, -4)
    )
    net.add_output("y", net.add_quantize(z, output=steps(0.031, 9)))
    net.add_output("total", total)
    return net


def picture(batch: int) -> dict[str, Any]:
    values = np.random.default_rng(batch).integers(-128, 128, (batch, 9, 9, 3))
    return {"x": values.astype(np.int8)}


def test_bits_are_those_of_cpu_ref_and_another_batch_builds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = armnn.load_model(network("N"), backends=["GpuAcc"])
    right = armnn.load_model(network("N"), backends=["CpuRef"])
    built: list[Any] = []
    for batch in (2, 5):
        made, expected = (each.run(picture(batch)) for each in (model, right))
        assert len(np.unique(expected["total"])) > 50
        for name, values in expected.items():
            np.testing.assert_array_equal(made[name], values)
        monkeypatch.setattr(cl, "Program", lambda *given: built.append(given))
    assert built == []


def products(kind: DataType, arithmetic: QuantizedArithmetic) -> Network:
    """Return a transposed convolution and products of computed matrices, also of one size."""
    rng = np.random.default_rng(5)
    net = Network("products")
    net.quantized_arithmetic = arithmetic
    zero, fine = (0, 1 / 256) if kind is DataType.QSYMM_S16 else (3, 1.0)
    x = net.add_input("x", TensorInfo((2, 5, 4, 6), kind, 0.02 * fine, zero))
    info = TensorInfo((8, 3, 2, 3), DataType.QSYMM_S8, rng.uniform(0.002, 0.02, 8).tolist(),
                      [0] * 8, 0)  # fmt: skip
    weights = net.add_constant(rng.integers(-127, 128, (8, 3, 2, 3)).astype(np.int8), info)
    bias = net.add_constant(
        rng.integers(-3000, 3000, 8).astype(np.int32), TensorInfo((8,), DataType.SIGNED32)
    )
    y = net.add_transpose_convolution2d(
        x, weights, bias, stride_x=2, stride_y=3, pad_left=1, pad_top=2, pad_bottom=1,
        data_layout="NHWC", output=TensorInfo(None, kind, 0.03 * fine, -zero),
    )  # fmt: skip
    net.add_output("spread", y)
    net.add_output("products", net.add_batch_mat_mul(
        x, x, transpose_y=True, output=TensorInfo(None, kind, 0.05 * fine, -zero)
    ))  # fmt: skip
    fixed = net.add_constant(
        rng.integers(-128, 128, (6, 7)).astype(kind.numpy_dtype),
        TensorInfo((6, 7), kind, 0.01, -2 * zero),
    )
    net.add_output("by a constant", net.add_batch_mat_mul(
        x, fixed, output=TensorInfo(None, kind, 0.05 * fine, zero)
    ))  # fmt: skip
    first = net.add_slice(x, begin=(0, 0, 0, 0), size=(1, 1, 4, 1))
    net.add_output("outer", net.add_batch_mat_mul(
        x, first, transpose_x=True, output=TensorInfo(None, kind, 0.01 * fine, zero)
    ))  # fmt: skip
    return net


@pytest.mark.parametrize("arithmetic", QuantizedArithmetic)
@pytest.mark.parametrize("kind", [S8, DataType.QSYMM_S16])
def test_products_of_computed_matrices_have_the_bits_of_cpu_ref(
    kind: DataType, arithmetic: QuantizedArithmetic
) -> None:
    model = armnn.load_model(products(kind, arithmetic), backends=["GpuAcc"])
    limits = np.iinfo(kind.numpy_dtype)
    x = np.random.default_rng(6).integers(limits.min, limits.max + 1, (2, 5, 4, 6))
    given = {"x": x.astype(kind.numpy_dtype)}
    expected = armnn.load_model(products(kind, arithmetic), backends=["CpuRef"]).run(given)
    for name, made in model.run(given).items():
        assert len(np.unique(expected[name])) > 15, name
        off = made.astype(int) - expected[name]
        if arithmetic is QuantizedArithmetic.INTEGER:
            assert not off.any(), name
        else:  # CpuRef decodes first, so that real numbers between two steps may go the other way
            assert np.abs(off).max() <= 1, name
            assert (off != 0).mean() < 0.03, name
