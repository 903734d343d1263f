# SPDX-License-Identifier: MIT
"""The parts of a plan on several backends."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.backends import HOST_FACTORY_ID
from armnn.graph import Network
from armnn.placement import Trial, part_costs, tune
from armnn.placement.measuring import Contest
from armnn.placement.part_costs import Borders, measure_parts
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn.verdicts.parts import parts_from
from armnn_backend_api.processes import Channel


def rows_of(net: Network, folder: Path, **request: Any) -> list[dict[str, Any]]:
    """Return what a child says, called in this process."""
    armnn.save(net, folder / "model.armnn")
    np.savez(folder / "inputs.npz", input0=np.linspace(-1, 1, 1 << 16, dtype=np.float32))
    request = {
        "model": str(folder / "model.armnn"),
        "inputs": str(folder / "inputs.npz"),
        "parser_options": {},
        "creation_options": {},
        "options": {"model_options": {}},
        **request,
    }
    reads, writes = os.pipe()
    measure_parts(request, Channel(writes, "word"))
    os.close(writes)
    with open(reads) as lines:
        return [json.loads(line.removeprefix("word ")) for line in lines]


@pytest.fixture
def line() -> Network:
    """Return a network of a ReLu and a Softmax."""
    net = Network("line")
    x = net.add_input("x", TensorInfo((1 << 16,)))
    relu = net.add_activation(x, function="ReLu", name="relu")
    net.add_output("y", net.add_softmax(relu, name="softmax"))
    return net


def test_each_part_is_measured_on_each_backend(
    candidates: list[str], line: Network, tmp_path: Path
) -> None:
    chosen, among = ["Half", "CpuRef"], ["Wrong", "CpuRef", "Half"]
    relu, softmax = parts_from(rows_of(line, tmp_path, backends=chosen, among=among))
    assert (relu.name, relu.layers) == ("relu", 1)
    assert [each.backend for each in relu.costs] == ["Half", "Wrong", "CpuRef"]
    assert [each.backend for each in softmax.costs] == ["CpuRef", "Wrong", "Half"]
    faults = {each.backend: each.fault for each in (*relu.costs, *softmax.costs)}
    assert faults == {
        "CpuRef": "",
        "Wrong": "computes it otherwise",
        "Half": "does not run all of it",
    }
    half, _, ref = relu.costs
    assert half.microseconds > ref.microseconds > 0  # it does everything twenty times
    assert relu.costs[0].border_microseconds == 0  # both have host memory


def test_a_verdict_has_the_parts_of_a_choice_of_several_backends(
    candidates: list[str], two_layers: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = Trial(("Half", "CpuRef"), microseconds=9.0, layers={"Half": 1, "CpuRef": 1})
    crashed = Trial(("Crash",), fault="its process ended with SIGSEGV")
    monkeypatch.setattr(Contest, "run", lambda *_: [split, crashed])
    chosen = tune(two_layers, ["Half", "Crash"], budget=600).chosen
    assert [each.name for each in chosen.parts] == ["relu", "softmax"]
    assert [each.backend for each in chosen.parts[0].costs] == ["Half", "CpuRef"]


class Factory:
    """Device memory, which copies."""

    def create(self, info: TensorInfo, memory: None) -> SimpleNamespace:
        array = np.zeros(info.static_shape, info.data_type.numpy_dtype)
        return SimpleNamespace(
            map=lambda: array, unmap=lambda: None, copy_from=lambda made: np.copyto(array, made)
        )


def test_a_border_is_measured_once_per_pair_of_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[int] = []

    def seconds(source: Any, target: Any) -> float:
        target.copy_from(source.map())
        timed.append(source.map().nbytes)
        return 1e-6 * (3 + source.map().nbytes / 1024)

    monkeypatch.setattr(part_costs, "_copy_seconds", seconds)
    wishes: Mapping[str, list[str]] = {"Npu": ["npu"], "A": [], "B": ["npu", HOST_FACTORY_ID]}
    candidates = [
        SimpleNamespace(id=each, backend=SimpleNamespace(handle_factory_preferences=wish))
        for each, wish in wishes.items()
    ]
    participants: Any = SimpleNamespace(factories={"npu": Factory()}, all=candidates)
    borders = Borders(participants)
    net = Network("n")
    value = net.add_activation(net.add_input("x", TensorInfo((256, 8))), function="Abs")
    costs = {}
    for producer in wishes:
        value.producer.backend = producer
        costs.update({(producer, reader): borders.cost(value, reader) for reader in wishes})
    assert costs["A", "A"] == costs["Npu", "B"] == costs["A", "B"] == 0
    assert costs["Npu", "A"] == costs["A", "Npu"] == pytest.approx(3 + 8)
    assert sorted(set(timed)) == sorted(part_costs.SIZES)
    assert len(timed) == 2 * len(part_costs.SIZES) * part_costs._COPIES  # the number


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + 1e-3], True),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], False),
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], True),
        ([1.0, np.nan, 3.0], [1.0, 2.0, 3.0], False),
        ([0.0, 0.0], [0.0, 0.0], True),
        ([0.0, 0.0], [1.0, 0.0], False),
    ],
)
def test_rounding_is_no_other_result(one: Any, other: Any, expected: bool) -> None:
    arrays = np.array(one, np.float32), np.array(other, np.float32)
    info = TensorInfo(arrays[0].shape)
    assert part_costs._agree(*arrays, info) is expected  # the judgement


def test_a_step_of_a_quantised_output_is_rounding() -> None:
    info = TensorInfo((3,), DataType.QASYMM_S8, scales=0.5, zero_points=-10)
    made = np.array([90, -100, 20], np.int8)
    assert part_costs._agree(made, made + np.int8(1), info)  # the judgement
    assert not part_costs._agree(made, made - np.int8(28), info)  # the judgement
