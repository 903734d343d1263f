# SPDX-License-Identifier: MIT
"""The memory of a comparison beside that of a run."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn.debugging import CompareOptions, compare
from fakes.faults import FAULTS, FaultyBackend

SIZE, LAYERS, ROWS = 384, 24, 64


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write a model with weights of 14 MiB."""
    net = armnn.Network("weights")
    value = net.add_input("x", armnn.TensorInfo((ROWS, SIZE)))
    for number in range(LAYERS):
        random = np.random.default_rng(number)
        weights = random.standard_normal((SIZE, SIZE), np.float32) / 32
        value = net.add_fully_connected(value, weights, name=f"product {number}")
    net.add_output("y", value)
    path = tmp_path / "m.armnn"
    armnn.save(net, path)
    return path


@pytest.fixture
def right() -> Iterator[str]:
    """Register a backend that computes this model right."""
    armnn.register_backend("Faulty", lambda: FaultyBackend.around("CpuRef", FAULTS[0]))
    yield "Faulty"
    armnn.unregister_backend("Faulty")


def _peak(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("every_layer", [False, True])
def test_a_comparison_takes_at_most_a_third_more_than_a_run(
    model: Path, right: str, every_layer: bool
) -> None:
    inputs = {"x": np.ones((ROWS, SIZE), np.float32)}

    def run() -> None:
        with armnn.Runtime() as runtime:
            runtime.load_model(model, ["CpuRef"]).run(inputs)

    def comparison() -> None:
        how = CompareOptions(every_layer=every_layer, repeats=1)
        found = compare(model, [right], inputs=[inputs], thoroughness=how)
        assert found.agrees
        assert len(found.verdicts) == LAYERS * every_layer

    run()  # imports
    comparison()
    assert _peak(comparison) <= 1.3 * _peak(run)
