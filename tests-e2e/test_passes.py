# SPDX-License-Identifier: MIT
"""Networks compute the same on CpuRef with and without passes.

They are the backend-independent ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import ActivationFunction, DataLayout, DataType, Network, PoolingAlgorithm, TensorInfo

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = REPOSITORY / "docs" / "passes.md"
RANDOM = np.random.default_rng(23)
AROUND = ((0, 0), (1, 2), (2, 1), (0, 0))


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.5, 2, shape).astype(np.float32)


def channels_first_copy(network: Network) -> None:
    """Return an NHWC model as an NCHW exporter writes it."""
    x = network.add_input("x", TensorInfo(("N", 6, 5, 3)))
    value = network.add_transpose(x, dim_mappings=(0, 3, 1, 2))
    value = network.add_pad(value, pad_list=((0, 0), (0, 0), (1, 1), (1, 1)))
    weights = network.add_transpose(numbers(3, 3, 3, 4), dim_mappings=(3, 2, 0, 1))
    value = network.add_convolution2d(value, weights)
    value = network.add_batch_normalization(value, *(numbers(4) for _ in range(4)))
    value = network.add_activation(value, function=ActivationFunction.TANH, a=1, b=1)
    value = network.add_transpose(value, dim_mappings=(0, 2, 3, 1))
    value = network.add_multiplication(value, numbers(4))
    value = network.add_transpose(value, dim_mappings=(0, 3, 1, 2))
    value = network.add_reshape(value, target_shape=(-1, 4, 30))
    network.add_output("y", network.add_reshape(value, target_shape=(-1, 2, 60)))


def written_out(network: Network) -> None:
    """Add biases, scales, clips and activations as arithmetic."""
    x = network.add_input("x", TensorInfo(("N", 5, 5, 3)))
    layout = DataLayout.NHWC
    value = network.add_convolution2d(x, numbers(4, 2, 2, 3), data_layout=layout)
    value = network.add_addition(value, numbers(1, 1, 1, 4))
    shifted = network.add_addition(value, np.array(3, np.float32))
    low = network.add_maximum(shifted, np.array(0, np.float32))
    gate = network.add_minimum(low, np.array(6, np.float32))
    product = network.add_multiplication(value, gate)
    value = network.add_division(product, np.array(6, np.float32))
    value = network.add_depthwise_convolution2d(value, numbers(1, 2, 2, 8), data_layout=layout)
    value = network.add_subtraction(numbers(8), value)
    pool = {"pool_width": 2, "pool_height": 3, "stride_x": 1, "stride_y": 2}
    padded = network.add_pad(value, pad_list=AROUND)
    network.add_output(
        "y",
        network.add_pooling2d(
            padded, pool_type=PoolingAlgorithm.AVERAGE, data_layout=layout, **pool
        ),
    )


def quantized(network: Network) -> None:
    """Return pads, permutations and reshapes of stored values.

    Pads write the zero point.
    """
    info = TensorInfo(("N", 4, 5, 2), DataType.QASYMM_U8, 0.5, 100)
    x = network.add_input("x", info)
    value = network.add_transpose(x, dim_mappings=(0, 3, 1, 2))
    value = network.add_transpose(value, dim_mappings=(0, 2, 3, 1))
    value = network.add_pad(value, pad_list=AROUND)
    weights = network.add_constant(
        RANDOM.integers(-9, 9, (3, 2, 2, 2), np.int8),
        TensorInfo((3, 2, 2, 2), DataType.QSYMM_S8, (0.25, 0.5, 0.125), axis=0),
    )
    value = network.add_convolution2d(
        value,
        weights,
        data_layout=DataLayout.NHWC,
        output=TensorInfo(None, DataType.QASYMM_U8, 1.5, 120),
    )
    value = network.add_pad(value, pad_list=AROUND)
    value = network.add_pooling2d(
        value,
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_width=2,
        pool_height=2,
        stride_x=2,
        stride_y=1,
        data_layout=DataLayout.NHWC,
    )
    network.add_output("y", network.add_reshape(value, target_shape=(0, -1), zero_copies=True))


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("build", [channels_first_copy, written_out, quantized])
def test_the_passes_change_no_result(
    build: Callable[[Network], None], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = Network(build.__name__)
    build(network)
    info = network.inputs[0].output.info
    shape = [batch if dim == "N" else dim for dim in info.shape]
    low, high = (0, 255) if info.is_quantized else (-9, 9)
    x = RANDOM.uniform(low, high, shape).astype(info.data_type.numpy_dtype)
    rewritten = armnn.load_model(network, backends=["CpuRef"])
    y = rewritten.run({"x": x})["y"]
    monkeypatch.setattr("armnn.optimizer.phases.rewrite", lambda *_: 0)
    as_written = armnn.load_model(network, backends=["CpuRef"])
    np.testing.assert_allclose(y, as_written.run({"x": x})["y"], rtol=1e-4, atol=1e-4)
    layers = [len(loaded.report.rows) for loaded in (rewritten, as_written)]
    assert layers[0] < layers[1]


def test_the_documented_example_is_a_pass() -> None:
    (example,) = re.findall(
        r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL
    )
    module: dict[str, Any] = {}
    exec(example, module)
    network = Network("example")
    x = network.add_input("x", TensorInfo((2,)))
    linear = ActivationFunction.LINEAR
    kept = network.add_activation(x, function=linear, a=2.0)
    network.add_output("y", network.add_activation(kept, function=linear, a=1.0))
    assert module["remove_identity_activations"](network) == 1
    assert network.outputs[0].inputs == (kept,)
