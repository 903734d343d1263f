# SPDX-License-Identifier: MIT
"""The passes together: quantized weights used or dequantized."""

from __future__ import annotations

import numpy as np
import pytest

from armnn.graph import Layer, Network
from armnn.optimizer.passes import rewrite
from armnn.quantization import dequantize
from armnn.tensor import TensorInfo
from armnn.types import DataType


def evaluate(layer: Layer, _spare: object = None) -> list[np.ndarray] | None:
    if layer.type != "Dequantize":
        return None
    return [dequantize(layer.inputs[0].constant, layer.inputs[0].info)]


@pytest.mark.parametrize("is_taken", [True, False])
def test_weights_are_dequantized_only_if_nobody_takes_them(is_taken) -> None:
    network = Network()
    info = TensorInfo((2, 3), DataType.QASYMM_S8, 0.5, 1)
    x = network.add_dequantize(network.add_input("x", info))
    weights = network.add_dequantize(
        network.add_constant(np.arange(12, dtype=np.int8).reshape(3, 4), info.with_shape((3, 4)))
    )
    made = network.add_fully_connected(x, weights, name="main")
    stored = TensorInfo((2, 4), DataType.QASYMM_S8, 2.0, 0)
    network.add_output("y", network.add_quantize(made, output=stored))
    rewrite(network, evaluate, lambda stored, _: stored.layers if is_taken else ())
    weights = network.find("main").inputs[1]
    assert weights.producer.type == "Constant"
    expected = DataType.QASYMM_S8 if is_taken else DataType.FLOAT32
    assert weights.info.data_type is expected
    types = {layer.type for layer in network.layers}
    assert ("Quantize" in types) == (not is_taken)
