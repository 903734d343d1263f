# SPDX-License-Identifier: MIT
"""What rounding between layers explains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import armnn
from armnn import CreationOptions, DataType, Network, OptimizerOptions, TensorInfo
from armnn.backends.registry import BackendRegistry
from armnn_tools.debugging import CompareOptions, Findings, compare
from fakes.faults import Call, Fault, FaultyBackend

CHANNELS, OUTPUTS = 16, 24
SIGNS = np.repeat([1, -1], CHANNELS // 2)
BYTES = DataType.QASYMM_S8


def ties() -> tuple[Network, dict[str, np.ndarray[Any, Any]]]:
    """Return a mean of ties before sums that cancel them.

    The reference rounds halves away from zero; channels of both signs have the same weights. So its
    sums are exact, and those of a backend that rounds halves up are not.
    """
    weights = np.random.default_rng(5).integers(-3, 4, (OUTPUTS, CHANNELS // 2))
    network = Network("ties")
    x = network.add_input("x", TensorInfo((1, 2, 2, CHANNELS), BYTES, 1.0, 0))
    mean = network.add_mean(x, axis=(1, 2), name="mean")
    info = TensorInfo((OUTPUTS, CHANNELS), DataType.QSYMM_S8, 1.0, 0)
    constant = network.add_constant(np.tile(weights, 2).astype(np.int8), info)
    made = network.add_fully_connected(
        mean,
        constant,
        transpose_weight_matrix=True,
        name="sums",
        output=TensorInfo(None, BYTES, 1.0, 0),
    )
    network.add_output("y", made)
    sample = np.zeros((1, 2, 2, CHANNELS), np.int8)
    sample[:, 0] = SIGNS
    return network, {"x": sample}


@pytest.fixture
def found() -> Callable[..., Findings]:
    network, sample = ties()
    right = BackendRegistry(CreationOptions()).get("CpuRef")

    def by(*faults: Fault) -> Findings:
        backend = FaultyBackend(right, *faults)
        armnn.register_backend(backend.id, lambda: backend)
        try:
            return compare(
                network,
                ["Faulty"],
                inputs=[sample],
                options=OptimizerOptions(rewrite=False),
                thoroughness=CompareOptions(repeats=2),
            )
        finally:
            armnn.unregister_backend(backend.id)

    return by


def of_other_means(change: Callable[[Any], Any]) -> Fault:
    """Return a fusion that hands other means to its sums."""

    def sums(call: Call) -> list[Any]:
        means = call.operand("input")
        return call.right({"input": change(means).astype(means.dtype)})

    return Fault("other means", "", "FullyConnected", sums, is_fused=True)


def test_ties_rounded_otherwise_are_no_fault_of_a_fusion(found: Callable[..., Findings]) -> None:
    findings = found(of_other_means(lambda means: np.where(means < 0, means + 1, means)))
    assert findings.largest_border_difference > 1
    assert findings.agrees


def test_what_no_rounding_explains_is_a_fault_of_a_fusion(found: Callable[..., Findings]) -> None:
    (wrong,) = found(of_other_means(lambda means: np.where(means < 0, means, means + 2))).wrong
    assert wrong.layers == ("mean", "sums")


def cancelling(rows: int) -> tuple[Network, dict[str, np.ndarray[Any, Any]]]:
    """Return sums of products of both signs."""
    network = Network("sums")
    x = network.add_input("x", TensorInfo((rows, 64)))
    signed = network.add_multiplication(x, np.tile(np.float32([[1, -1]]), 32), name="signed")
    network.add_output("y", network.add_reduce(signed, axis=(1,), name="sums"))
    return network, {"x": 3 + np.random.default_rng(8).random((rows, 64), np.float32)}


def of_other_products(rows: int, change: Callable[[Any], Any], *, fast: bool) -> Findings:
    """Compare with a fusion that sums other products."""
    network, sample = cancelling(rows)
    right = BackendRegistry(CreationOptions()).get("CpuRef")

    def sums(call: Call) -> list[Any]:
        return call.right({"input": change(call.operand("input"))})

    backend = FaultyBackend(right, Fault("other products", "", "Reduce", sums, is_fused=True))
    model_options = {"Faulty": {"FastMathEnabled": fast}}
    with armnn.register_backend("Faulty", lambda: backend):
        return compare(
            network,
            ["Faulty"],
            inputs=[sample],
            options=OptimizerOptions(rewrite=False, model_options=model_options),
            thoroughness=CompareOptions(repeats=2),
        )


def stored(products: Any) -> Any:
    return products.astype(ml_dtypes.bfloat16).astype(np.float32)


def without_the_first(products: Any) -> Any:
    return np.concatenate([np.zeros_like(products[:, :1]), products[:, 1:]], axis=1)


@pytest.mark.parametrize("rows", [1, 4, 40])
def test_values_between_layers_may_be_stored_in_bfloat16_with_fast_math(rows: int) -> None:
    findings = of_other_products(rows, stored, fast=True)
    assert findings.largest_border_difference > 0.001
    assert findings.agrees
    (wrong,) = of_other_products(rows, stored, fast=False).wrong
    assert wrong.layers == ("signed", "sums")


@pytest.mark.parametrize("rows", [1, 4, 40])
def test_a_lost_term_is_a_fault_of_a_fusion_with_fast_math(rows: int) -> None:
    (wrong,) = of_other_products(rows, without_the_first, fast=True).wrong
    assert wrong.layers == ("signed", "sums")
