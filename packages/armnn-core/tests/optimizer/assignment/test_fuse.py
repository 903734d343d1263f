# SPDX-License-Identifier: MIT
"""Addition, multiplication and addition become one layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn.optimizer import OptimizedNetwork, OptimizerOptions

RANDOM = np.random.default_rng(3)
X = {name: RANDOM.normal(size=(2, 3)).astype(np.float32) for name in ("a", "b")}


@pytest.fixture(autouse=True)
def fused_meaning(meanings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fused(_layer: Any, x: Any, y: Any, factor: Any, offset: Any) -> Any:
        return (x + y) * factor + offset

    monkeypatch.setitem(meanings, "Fused", fused)


def pattern(
    *, swap: bool = False, data_type: DataType = DataType.FLOAT32, wide: bool = False
) -> Network:
    network = Network("pattern")
    a, b = (network.add_input(name, TensorInfo((2, 3), data_type)) for name in ("a", "b"))
    dtype = data_type.numpy_dtype
    factor = network.add_constant(RANDOM.normal(size=(2, 2, 3) if wide else 3).astype(dtype))
    offset = network.add_constant(RANDOM.normal(size=3).astype(dtype))
    value = network.add_addition(a, b, name="sum")
    pair = (factor, value) if swap else (value, factor)
    value = network.add_multiplication(*pair, name="product")
    pair = (offset, value) if swap else (value, offset)
    value = network.add_elementwise_binary(*pair, operation="Add", name="last")
    network.add_output("y", value)
    return network


def types(optimized: OptimizedNetwork) -> list[str]:
    return [row.type for row in optimized.report]


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_the_pattern_is_fused(
    swap: bool, wide: bool, participants, make_backend, make_runtime, compute
) -> None:
    network = pattern(swap=swap, wide=wide)
    expected = compute(network, X)["y"]
    optimized = OptimizedNetwork(network, participants(make_backend("A")), OptimizerOptions())
    (row,) = optimized.report
    assert (row.layer, row.type, row.backend) == ("last", "Fused", "A")
    y = make_runtime(make_backend("A")).load_model(network, ["A"]).run(X)["y"]
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_a_backend_without_fused_keeps_the_layers(participants, make_backend) -> None:
    backend = make_backend("A", {"Fused": "no"})
    optimized = OptimizedNetwork(pattern(), participants(backend), OptimizerOptions())
    assert types(optimized) == ["Addition", "Multiplication", "ElementwiseBinary"]
    optimized = OptimizedNetwork(
        pattern(), participants(make_backend("A")), OptimizerOptions(rewrite=False)
    )
    assert len(types(optimized)) == 3


def test_layers_of_several_backends_stay(participants, make_backend) -> None:
    parties = participants(make_backend("A", {"product": "no"}), make_backend("B"))
    optimized = OptimizedNetwork(pattern(), parties, OptimizerOptions())
    assert types(optimized) == ["Addition", "Multiplication", "ElementwiseBinary"]


def test_refusals_of_the_last_layer_are_kept(participants, make_backend) -> None:
    refused = {"sum": "no", "product": "no", "last": "not here"}
    parties = participants(make_backend("A", refused), make_backend("B"))
    (row,) = OptimizedNetwork(pattern(), parties, OptimizerOptions()).report
    assert (row.type, row.backend, row.reason) == ("Fused", "B", "A: not here")


@pytest.mark.parametrize("layer", ["product", "last"])
def test_a_product_that_others_read_stays(layer: str, participants, make_backend) -> None:
    network = pattern()
    network.add_output("product", network.find("product").output)
    optimized = OptimizedNetwork(network, participants(make_backend("A")), OptimizerOptions())
    assert "Fused" not in types(optimized)
    assert layer in [row.layer for row in optimized.report]


@pytest.mark.parametrize("wide", [False, True])
def test_an_inner_sum_that_others_read_is_a_second_output(
    wide: bool, participants, make_backend
) -> None:
    network = pattern(wide=wide)
    network.add_output("sum", network.find("sum").output)
    optimized = OptimizedNetwork(network, participants(make_backend("A")), OptimizerOptions())
    if wide:  # the second output of Fused has the shape of the first
        assert "Fused" not in types(optimized)
        return
    (fused,) = (layer for layer in optimized.network.layers if layer.type == "Fused")
    by_name = {layer.name: layer.inputs[0] for layer in optimized.network.outputs}
    assert (by_name["sum"], by_name["y"]) == fused.outputs


def test_integers_are_not_fused(participants, make_backend) -> None:
    network = pattern(data_type=DataType.SIGNED32)
    optimized = OptimizedNetwork(network, participants(make_backend("A")), OptimizerOptions())
    assert "Fused" not in types(optimized)


def test_layers_with_other_hints_stay(participants, make_backend) -> None:
    network = pattern()
    network.find("sum").backend_hint = "A"
    optimized = OptimizedNetwork(network, participants(make_backend("A")), OptimizerOptions())
    assert "Fused" not in types(optimized)


def test_a_second_run_changes_nothing(participants, make_backend) -> None:
    parties = participants(make_backend("A"))
    once = OptimizedNetwork(pattern(), parties, OptimizerOptions()).network
    for layer in once.layers:
        layer.backend = None
    again = OptimizedNetwork(once, parties, OptimizerOptions())
    assert types(again) == ["Fused"]


def test_an_offset_made_of_the_inner_sum_is_not_fused_with_it(
    participants, make_backend, make_runtime, compute
) -> None:
    network = Network("residual")
    a, b = (network.add_input(name, TensorInfo((2, 3))) for name in ("a", "b"))
    total = network.add_addition(a, b, name="sum")
    product = network.add_multiplication(total, network.add_constant(np.float32([2, 3, 4])))
    offset = network.add_activation(total, function="ReLu", name="offset")
    network.add_output("y", network.add_addition(product, offset, name="last"))
    expected = compute(network, X)["y"]
    optimized = OptimizedNetwork(network, participants(make_backend("A")), OptimizerOptions())
    assert "Fused" not in types(optimized)
    y = make_runtime(make_backend("A")).load_model(network, ["A"]).run(X)["y"]
    np.testing.assert_allclose(y, expected, rtol=1e-6)
