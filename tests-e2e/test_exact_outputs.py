# SPDX-License-Identifier: MIT
"""The float64 truth of the speed session."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import armnn
from armnn import DataType, Network, TensorInfo
from benchmarks.models.exact_outputs import exact_outputs, in_float64
from benchmarks.models.speed_tables import latencies

RNG = np.random.default_rng(2)
X, W, B = RNG.standard_normal((2, 64)), RNG.standard_normal((5, 64)), RNG.standard_normal(5)


def network() -> Network:
    """Return a fully connected layer of float32 with a bias."""
    net = Network("exact")
    x = net.add_input("x", TensorInfo(X.shape))
    weights, bias = (net.add_constant(each.astype(np.float32)) for each in (W, B))
    net.add_output("y", net.add_fully_connected(x, weights, bias, transpose_weight_matrix=True))
    return net


def test_floats_have_64_bits_and_nothing_is_rounded() -> None:
    wide = in_float64(network())
    assert wide.inputs[0].output.info.data_type is DataType.FLOAT64
    with armnn.load_model(wide, backends=["CpuRef"]) as model:
        (y,) = model.run({"x": X}).values()
    expected = X @ W.astype(np.float32).astype(np.float64).T + B.astype(np.float32)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-13)


def test_a_file_is_computed_in_float64(tmp_path: Path) -> None:
    path = tmp_path / "net.armnn"
    armnn.save(network(), path)
    found = exact_outputs(path, {"x": X.astype(np.float32)})
    assert found is not None
    expected = X.astype(np.float32).astype(np.float64) @ W.astype(np.float32).T.astype(float)
    np.testing.assert_allclose(found[0], expected + B.astype(np.float32), rtol=1e-13, atol=1e-13)


def test_quantised_models_have_no_such_truth(tmp_path: Path) -> None:
    net = Network("steps")
    x = net.add_input("x", TensorInfo((2,), DataType.QASYMM_S8, 0.5, 1))
    net.add_output("y", net.add_addition(x, x))
    armnn.save(net, tmp_path / "steps.armnn")
    assert exact_outputs(tmp_path / "steps.armnn", {"x": np.zeros(2, np.int8)}) is None


def test_errors_stand_beside_the_times() -> None:
    rows = [
        {"runtime": "CpuAcc", "threads": 1, "median_ms": 2.0, "error_of_range": 3e-7},
        {"runtime": "onnxruntime", "threads": 1, "median_ms": 4.0},
    ]
    models = {"net": {"rows": rows, "other_cores": 0.0}}
    *_, line = latencies(models, 1)
    assert line.startswith("| net | 2 (3e-07) | 4 | - |")
    assert line.endswith("| 0.00 |")
    for at_peak, cell in (({"net": 1.5}, "75%"), ({}, "-")):
        *_, line = latencies(models, 1, at_peak)
        assert line.endswith(f"| 0.00 | {cell} |")
