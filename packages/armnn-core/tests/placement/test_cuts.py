# SPDX-License-Identifier: MIT
"""Where cuts may be, the cheapest, and a chosen one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.graph import Network
from armnn.optimizer.assignment.assign import UNASSIGNED
from armnn.placement import Trial, tune, write_verdict
from armnn.placement.cuts import MOST_SEGMENTS, Stretch, cheapest, cut, cut_trial
from armnn.tensor import TensorInfo
from armnn.verdicts.files import Verdict, read_verdicts
from fakes.plugins import backend_plugin, installed

_MOODY = """
import time

import numpy as np

from armnn_backend_ref import backend as reference

from armnn.backends import Workload as Base

class Workload(Base):
    '''Remembers one result; sleeps for layers of one type.'''

    def __init__(self, inner, is_slow):
        self.inner, self.is_slow = inner, is_slow

    def bind(self, inputs, outputs):
        step = self.inner.bind(inputs, outputs)
        known = []

        def run():
            if self.is_slow:
                time.sleep(0.004)
            read = inputs[0].map()
            if not known or not np.array_equal(known[0], read):
                step()
                known[:] = [read.copy(), outputs[0].map().copy()]
            outputs[0].map()[...] = known[1]

        return run

class backend(reference.RefBackend):
    id = {id!r}

    def create_workload(self, layer, model):
        return Workload(super().create_workload(layer, model), layer.type == {slow!r})
"""


@pytest.fixture
def moody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Install backends that are slow at one layer type."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plugins = [
        backend_plugin(each, distribution=f"armnn-backend-{each.lower()}", source=source)
        for each, source in {
            "Curves": _MOODY.format(id="Curves", slow="Softmax"),
            "Sums": _MOODY.format(id="Sums", slow="Activation"),
        }.items()
    ]
    with installed(tmp_path / "packages", *plugins):
        yield ["Curves", "Sums"]


def halves(layers: int) -> Network:
    """Return some Activations, then as many Softmaxes."""
    net = Network("halves")
    x = net.add_input("x", TensorInfo((64, 4096)))
    for at in range(layers):
        x = net.add_activation(x, function="SoftReLu", name=f"curve{at}")
    for at in range(layers):
        x = net.add_softmax(x, name=f"sum{at}")
    net.add_output("y", x)
    return net


def test_a_stretch_goes_to_the_backend_that_is_fast_there(moody: list[str], tmp_path: Path) -> None:
    network, file = halves(1), tmp_path / "verdicts.json"
    verdict = tune(network, moody, budget=600)
    alone = {each.title: each.microseconds for each in verdict.trials[1:]}
    assert (verdict.chosen.microseconds or 1e9) < min(filter(None, alone.values()))
    assert {*moody} < {*alone}
    write_verdict(file, verdict)
    assert read_verdicts(file) == (verdict,)
    x = np.linspace(0.5, 2.0, 64 * 4096, dtype=np.float32).reshape(64, 4096)
    loaded = armnn.load_model(halves(1), "auto", verdicts=str(file))
    placed = {row.layer: row.backend for row in loaded.report.rows}
    assert placed["curve0"] != "Sums"
    assert placed["sum0"] != "Curves"
    assert "(1 layer cut out for" in loaded.report.choice
    expected = armnn.load_model(halves(1), ["CpuRef"]).run({"x": x})["y"]
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], expected)


def layers_of(network: Network) -> list[Any]:
    return [each for each in network.topological_order() if each.type not in UNASSIGNED]


def test_segments_are_of_like_work_and_in_order() -> None:
    layers = layers_of(halves(4))
    segments = cut(layers)
    assert [layer for one in segments for layer in one] == layers
    assert len(segments) == MOST_SEGMENTS
    assert {len(one) for one in segments} == {1, 2}


def test_a_network_is_cut_only_where_few_tensors_cross() -> None:
    net = Network("wide")
    x = net.add_input("x", TensorInfo((8,)))
    branches = [net.add_activation(x, function="Abs", name=f"branch{at}") for at in range(6)]
    joined = net.add_concat(branches, name="joined")
    net.add_output("y", net.add_softmax(joined, name="end"))
    segments = cut(layers_of(net))
    for before, behind in pairwise(segments):
        crossing = {
            value
            for layer in before
            for value in layer.outputs
            if any(reader in behind for reader in value.consumers)
        }
        assert len(crossing) <= 3
    names = [[layer.name for layer in one] for one in segments]
    assert any(one[0] == "end" for one in names)
    assert not any(one[0] == "joined" for one in names)


@pytest.mark.parametrize(
    ("stretches", "expected"),
    [
        ([], []),
        ([(0, 1, "A", 1.0)], []),  # the second segment is on none
        ([(0, 1, "A", 3.0), (1, 2, "A", 3.0), (0, 2, "A", 5.0)], ["A"]),
        ([(0, 1, "A", 3.0), (1, 2, "B", 1.0), (0, 2, "A", 5.0)], ["A", "B"]),
        ([(0, 1, "A", 3.0), (0, 1, "B", 2.0), (1, 2, "B", 2.5), (0, 2, "B", 4.0)], ["B"]),
    ],
)
def test_the_cheapest_stretches_cover_all_segments(
    stretches: list[tuple[int, int, str, float]], expected: list[str]
) -> None:
    found = cheapest([Stretch(*each) for each in stretches], 2)
    assert [each.backend for each in found] == expected


BEST = Trial(("A", "B"), microseconds=1000.0, layers={"A": 2})
ROWS: list[dict[str, Any]] = [
    {"segments": [["one"], ["two", "three"]]},
    {"begin": 0, "end": 1, "backend": "A", "seconds": 500e-6},
    {"begin": 1, "end": 2, "backend": "A", "seconds": 500e-6},
    {"begin": 1, "end": 2, "backend": "C", "seconds": 100e-6},
]


def test_a_promising_cut_names_its_layers() -> None:
    found = cut_trial(BEST, ROWS)
    assert found == replace(
        BEST,
        backends=("A", "B", "C"),
        layer_backends={"two": "C", "three": "C"},
        microseconds=None,
        layers={},
    )
    assert found.title == "A,B,C (2 layers cut out for C)"


@pytest.mark.parametrize("rows", [[], ROWS[:3], [*ROWS[:3], {**ROWS[3], "seconds": 460e-6}]])
def test_a_cut_that_promises_little_is_not_measured(rows: list[dict[str, Any]]) -> None:
    assert cut_trial(BEST, rows) is None


def test_a_cut_holds_for_the_core_that_named_its_layers() -> None:
    trial = replace(BEST, layer_backends={"two": "B"})
    verdict = Verdict(("m",), "here", {"A": "1", "B": "1", "armnn-core": "1.0.0"}, "day", (trial,))
    assert "names layers as core 1.0.0 did" in verdict.change_since(verdict.builds)
    uncut = replace(verdict, trials=(BEST,))
    assert uncut.change_since(uncut.builds) == ""
