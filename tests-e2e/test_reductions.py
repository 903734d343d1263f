# SPDX-License-Identifier: MIT
"""Networks in 16 bits come close to their float32 results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import DataType, Network, TensorInfo
from armnn_parser_onnx.export import to_onnx
from armnn_tools.cli.main import main

PRECISION = {"reduce_fp32_to_fp16": 2**-10, "reduce_fp32_to_bf16": 2**-7}


def pictures(network: Network, numbers: Callable[..., np.ndarray]) -> None:
    """Add convolutions, a residual connection, pooling and a softmax."""
    x = network.add_input("x", TensorInfo(("N", 3, 12, 12)))
    pads = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}
    value = network.add_convolution2d(x, numbers(8, 3, 3, 3), numbers(8), **pads)
    value = network.add_batch_normalization(
        value, numbers(8), np.abs(numbers(8)) + 1, numbers(8), numbers(8)
    )
    value = network.add_activation(value, function="ReLu")
    other = network.add_convolution2d(value, numbers(8, 8, 1, 1))
    value = network.add_addition(value, other)
    value = network.add_pooling2d(
        value, pool_type="Average", pool_width=3, pool_height=3, stride_x=3, stride_y=3
    )
    value = network.add_reshape(value, target_shape=(0, -1), zero_copies=True)
    value = network.add_fully_connected(value, numbers(128, 10), numbers(10))
    network.add_output("scores", value)
    network.add_output("y", network.add_softmax(value))


def sequences(network: Network, numbers: Callable[..., np.ndarray]) -> None:
    """Add an embedding, attention, a normalization and reductions."""
    x = network.add_input("x", TensorInfo(("N", 6, 16)))
    query, key, value = (network.add_batch_mat_mul(x, numbers(16, 16)) for _ in range(3))
    scores = network.add_batch_mat_mul(query, network.add_transpose(key, dim_mappings=(0, 2, 1)))
    mask = np.where(np.tri(6, dtype=bool), 0, -1e9).astype(np.float32)
    weights = network.add_softmax(network.add_addition(scores, mask))
    value = network.add_addition(x, network.add_batch_mat_mul(weights, value))
    value = network.add_layer_normalization(value, numbers(16), numbers(16), axis=-1)
    network.add_output("y", value)
    network.add_output("mean", network.add_mean(value, axis=(1,), keep_dims=False))


@pytest.mark.parametrize("option", PRECISION)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("build", [pictures, sequences])
@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc", "CpuRef"]])
def test_results_come_close(
    backends: list[str], build: Callable[..., None], seed: int, option: str
) -> None:
    random = np.random.default_rng(seed)
    network = Network(build.__name__)
    build(network, lambda *shape: (random.normal(size=shape) / 4).astype(np.float32))
    shape = [2 if size == "N" else size for size in network.inputs[0].output.info.shape]
    feeds = {"x": random.normal(size=shape).astype(np.float32)}
    exact = armnn.load_model(network, ["CpuRef"]).run(feeds)
    reduced = armnn.load_model(network, backends, **{option: True})
    outputs = reduced.run(feeds)
    for name, expected in exact.items():
        assert outputs[name].dtype == np.float32
        error = np.abs(outputs[name] - expected).max() / np.abs(expected).max()
        assert 0 < error < 16 * PRECISION[option], name
    names = [row.layer for row in reduced.report if row.layer.startswith("convert_")]
    assert len(names) == 1 + len(exact)


def test_a_model_in_bfloat16_runs_where_only_float32_is_taken() -> None:
    network = Network("half")
    x = network.add_input("x", TensorInfo((2, 3), DataType.BFLOAT16))
    network.add_output("y", network.add_activation(x, function="TanH", a=1, b=1))
    data = np.float32([[0.5, -1, 2], [3, -0.25, 0]]).astype(DataType.BFLOAT16.numpy_dtype)
    y = armnn.load_model(network, ["CpuAcc", "CpuRef"]).run({"x": data})["y"]
    expected = np.tanh(data.astype(np.float64))
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=2**-8)


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_the_command_shows_the_conversions(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = Network("net")
    x = network.add_input("x", TensorInfo((2, 3)))
    network.add_output("y", network.add_multiplication(x, np.float32([2]), name="twice"))
    file = tmp_path / "net.onnx"
    file.write_bytes(to_onnx(network))
    options = ["--backends", "CpuRef", "--reduce-fp32-to-fp16", "--json"]
    further = ["--layers"] if command == "inspect" else ["--report"]
    assert main([command, str(file), *options, *further]) == 0
    shown = json.loads(capsys.readouterr().out)
    layers = shown["layer_list" if command == "inspect" else "report"]
    kinds = [layer["type"] for layer in layers]
    assert kinds[0] == "ConvertFp32ToFp16"
    assert kinds[-1] == "ConvertFp16ToFp32"
