# SPDX-License-Identifier: MIT
"""The host's constants that CpuAcc keeps or gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.backends import ModelContext, SubgraphView
from armnn.backends.capi.graph import NativeGraph
from armnn_backend_neon.backend import CpuAccBackend

if TYPE_CHECKING:
    import pytest

    from armnn.graph import Layer, Value

SIDE = 256
"""Of matrices larger than what CpuAcc copies."""


def left(network: Network) -> dict[str, bool]:
    """Return which constants are left after compiling a network."""
    network.lets_constants_go = True
    layers = [
        layer for layer in network.layers if layer.type not in ("Input", "Output", "Constant")
    ]
    views = CpuAccBackend().optimize_subgraph(SubgraphView.of(network, layers), ModelContext({}))
    assert len(views.substitutions) == 1
    return {
        layer.name: layer.data is not None for layer in network.layers if layer.type == "Constant"
    }


def matrix(network: Network, name: str) -> Value:
    data = np.random.default_rng(0).random((SIDE, SIDE), np.float32)
    return network.add_constant(data, name=name)


def test_packed_weights_go_and_what_a_run_reads_stays() -> None:
    network = Network("product")
    x = network.add_input("x", TensorInfo((SIDE, SIDE)))
    product = network.add_fully_connected(x, matrix(network, "packed"))
    network.add_output("y", network.add_maximum(product, matrix(network, "read")))
    assert left(network) == {"packed": False, "read": True}


def test_weights_that_are_packed_and_read_stay() -> None:
    network = Network("product")
    x = network.add_input("x", TensorInfo((SIDE, SIDE)))
    weights = matrix(network, "weights")
    product = network.add_fully_connected(x, weights)
    network.add_output("y", network.add_maximum(product, weights))
    assert left(network) == {"weights": True}


def test_weights_of_several_layers_go_after_the_last() -> None:
    network = Network("products")
    x = network.add_input("x", TensorInfo((SIDE, SIDE)))
    weights = matrix(network, "weights")
    product = network.add_fully_connected(x, weights)
    network.add_output("y", network.add_fully_connected(product, weights))
    assert left(network) == {"weights": False}


def test_quantized_weights_that_become_floats_go() -> None:
    network = Network("product")
    x = network.add_input("x", TensorInfo((SIDE, SIDE), DataType.QSYMM_S16, 0.01, 0))
    data = np.random.default_rng(0).integers(-127, 128, (SIDE, SIDE), np.int8)
    info = TensorInfo(data.shape, DataType.QASYMM_S8, 0.02, 3)
    out = TensorInfo((SIDE, SIDE), DataType.QSYMM_S16, 0.01, 0)
    weights = network.add_constant(data, info, name="weights")
    network.add_output("y", network.add_fully_connected(x, weights, output=out))
    assert left(network) == {"weights": False}


def test_a_small_part_that_was_read_goes_and_a_large_one_stays() -> None:
    def network_of(taps: int) -> Network:
        network = Network("volumes")
        x = network.add_input("x", TensorInfo((1, taps + 7, 1, 1, SIDE)))
        filters = np.random.default_rng(0).random((taps, 1, 1, SIDE, SIDE // 8), np.float32)
        weights = network.add_constant(filters, name="read")
        value = network.add_convolution3d(x, weights, data_layout=DataLayout.NDHWC)
        value = network.add_reshape(value, target_shape=(1, SIDE))
        network.add_output("y", network.add_fully_connected(value, matrix(network, "packed")))
        return network

    assert left(network_of(1)) == {"read": False, "packed": False}
    assert left(network_of(4)) == {"read": True, "packed": False}


def test_constants_of_more_than_a_quarter_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in memory twice while others are plain."""
    order: list[str] = []
    let_go = NativeGraph._let_go

    def noted(graph: NativeGraph, constant: Layer) -> None:
        order.append(constant.name)
        let_go(graph, constant)

    monkeypatch.setattr(NativeGraph, "_let_go", noted)
    network = Network("products")
    value = network.add_input("x", TensorInfo((SIDE, SIDE)))
    for number in range(3):
        value = network.add_fully_connected(value, matrix(network, f"small {number}"))
    large = network.add_constant(np.ones((SIDE, 4 * SIDE), np.float32), name="large")
    network.add_output("y", network.add_fully_connected(value, large))
    assert not any(left(network).values())
    assert order == ["large", "small 0", "small 1", "small 2"]
