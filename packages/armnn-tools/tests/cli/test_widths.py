# SPDX-License-Identifier: MIT
"""Tables fit terminals of any width.

They are those of ``armnn run``, ``inspect`` and a card.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from armnn.runtime.verdicts import Trial, Verdict
from armnn_conformance.card import make_card, write_card
from armnn_tools.cli import compare, tune
from armnn_tools.cli.main import main
from fakes import Plugin, installed

# Long names everywhere. Maker compiles the convolutions, Fussy refuses them at length.
SOURCE = """\
import numpy as np
from armnn import Network, TensorInfo
from armnn.backends import SUPPORTED, OptimizationViews, Substitution, Support, Workload
from armnn.backends.cache import Footprint
from armnn.graph import Operator
from armnn.layers.convolution import Convolution2dDescriptor
from fakes import NullBackend
from armnn.types import DataLayout

def parse(path, *, survey=None):
    labels = "\\n".join(f"a label of several words, number {n}" for n in range(5))
    network = Network("wide", {"labels": labels, "author": "someone/of/a/department/of/acme"})
    x = network.add_input("images/normalized:0", TensorInfo(("batch", 8, 8, 5)))
    weights = network.add_constant(np.ones((5, 1, 1, 5), np.float32), name="shared/kernel")
    nhwc = Convolution2dDescriptor(data_layout=DataLayout.NHWC)
    def entered(kind, name):
        network.origin = Operator(kind, name)
        if survey is not None:
            survey.operators[network.origin] = ""
    for number in range(3):
        name = f"model/block_{number}/expanded/depthwise/convolution.quantized"
        entered("QuantizedDepthwiseConvolution", name)
        x = network.add("Convolution2d", [x, weights], nhwc, name=name).output
    entered("GlobalAveragePooling", "model/classifier/pooling")
    x = network.add_mean(x, axis=(1, 2))
    entered("Softmax", "model/classifier/softmax")
    y = network.add_softmax(x)
    network.add_output("model/classifier/probabilities/unmistakable:0", y)
    return network

class Program:
    footprint = Footprint(123456789, 4096, 987654321)

class Counting(Workload):
    def bind(self, inputs, outputs):
        def step():
            for each in outputs:
                array = each.map()
                array[...] = np.arange(array.size, dtype=array.dtype).reshape(array.shape)
        return step

class Fussy(NullBackend):
    id = "Fussy"

    def supports(self, layer, model):
        if layer.type == "Convolution2d":
            return Support.no("the input 'weights' is Float32[5,1,1,5], expected at most 4 of them")
        return SUPPORTED

    def create_workload(self, layer, model):
        return Counting()

class Maker(Fussy):
    id = "Maker"

    def supports(self, layer, model):
        return SUPPORTED

    def optimize_subgraph(self, view, model):
        replacement = view.replacement()
        (made,) = view.outputs
        given = [layer.output for layer in replacement.inputs]
        (value,) = replacement.add_pre_compiled(
            given, outputs=[made.info], name="everything/from/the/first/to/the/last/convolution"
        )
        value.producer.compiled = Program()
        replacement.add_output("made", value)
        return OptimizationViews(substitutions=[Substitution(view, replacement)])
"""
WIDE = Plugin(
    "armnn-backend-wide",
    "0.1",
    requires=("armnn-backend-api>=1.0,<2",),
    entry_points={
        "armnn.parsers": {"wide": "armnn_wide:parse"},
        "armnn.backends": {"Fussy": "armnn_wide:Fussy", "Maker": "armnn_wide:Maker"},
    },
    modules={"armnn_wide": SOURCE},
)
BACKEND = {"id": "Acme", "api_version": "1.0", "distribution": "acme-of-acme", "version": "2.1"}
CELL = {"data_type": "Float32", "passed": ["a"], "failed": {}, "not_supported": {}}

PLAIN = re.compile(r"(?:Input|Output) \S+: |Layers: |Parameters: |Multiply-adds: |Latency: | ?\[")
RUN = "run model.wide --shape 2x8x8x5 --backends Fussy,Maker --top-k 3 --report"
INSPECT = "inspect model.wide --layers --reasons --shape 1x8x8x5"
COMMANDS = {
    RUN: {"layer": "why", "compiled part": "weights, KiB", "row": "score"},
    f"{RUN}-all": {"layer": "why", "compiled part": "weights, KiB", "row": "score"},
    f"{INSPECT} --backends Fussy": {
        "operator": "reason",
        "type": "multiply-adds",
        "key": "value",
        "name": "tensor",
    },
    f"{INSPECT} --backends Fussy,Maker": {"part": "layers", "layer": "multiply-adds"},
    "backends --card card.json": {"layer": "supported"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """Enter a folder with a model and a card.

    Its parser and backends are all there is.
    """
    (tmp_path / "model.wide").write_text("")
    cells = [{**CELL, "layer": "UnidirectionalSequenceLstm", "verdict": "passed"}]
    levels = {"loads": ["passed"], "correct": ["passed"]}
    write_card(str(tmp_path / "card.json"), make_card(BACKEND, cells, levels))
    with installed(tmp_path, WIDE, alone=True), pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        yield tmp_path


def tables(text: str) -> str:
    """Return an output's tables with titles, other lines removed."""
    lines = text.partition("A group means")[0].splitlines()
    return "\n".join(line for line in lines if not PLAIN.match(line))


def headings(text: str) -> list[str]:
    return [line for line, below in pairwise(text.splitlines()) if below.startswith(" ──")]


def letters(text: str) -> Counter[str]:
    return Counter(re.sub(r"[\s─]", "", text))


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_letter_is_lost(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    width: int,
) -> None:
    status = int(command.endswith(" Fussy"))  # which does not run all operators
    assert main(command.split()) == status
    piped = tables(capsys.readouterr().out)
    for first, last in COMMANDS[command].items():
        assert [each for each in headings(piped) if re.match(rf" {first}\b.*\b{last}", each)]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(command.split()) == status
    shown = tables(re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out))
    expected = letters(piped)
    if command.endswith("Maker"):  # a column without cells is left out on a terminal
        expected -= letters("not supported")
    assert expected - letters(shown) == Counter()
    assert [line for line in shown.splitlines() if len(line) > width] == []


SHAPE = "--shape 2x8x8x5 --backends"
LAYER = "model/block_1/expanded/depthwise/convolution.quantized"
OTHERS = {
    f"run model.wide {SHAPE} Maker --profile --times --compare-output-with-backend Fussy,Maker": [
        "layer",
        "stage",
        "output",
    ],
    f"bench model.wide {SHAPE} Fussy,Maker --duration 0.02": ["runtime"],
    f"compare model.wide {SHAPE} Fussy,Maker --reference Maker --every-layer --repeats 2": [
        "layer"
    ],
    f"inspect model.wide {SHAPE} Fussy,Maker --layers --layer {LAYER}": [
        "layer",
        "fact",
        "input",
        "output",
    ],
    "backends --layers Fussy": ["layer"],
    "backends --verbose": ["id", "capability"],
    "cache cached": ["prepared model"],
}


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("command", OTHERS)
def test_tables_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, width: int
) -> None:
    Path("cached").mkdir()
    Path("cached/a-long-name-of-a-prepared-model-0123456789abcdef.armnn-prepared").touch()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    main(command.split())  # compare finds the values that Maker makes up wrong
    printed = capsys.readouterr()
    assert "error: " not in printed.err
    check_tables(printed.out, width, OTHERS[command])


@pytest.mark.parametrize("width", [80, 200])
def test_tables_of_measurements_in_other_processes_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    trials = [
        Trial(("CpuAcc", "CpuRef"), {"CpuAcc": {"NumberOfThreads": 2}}, 1234567.0, 1.5, 123.0),
        Trial(("Fussy", "CpuRef"), fault="the output 'probabilities' differs by 12 of the allowed"),
    ]
    verdict = Verdict(("a",), "machine", {}, "2026-11-23", tuple(trials))
    tune._show(verdict, Path("model.onnx.verdicts.json"))
    check_tables(capsys.readouterr().out, width, ["backends"])
    found = {
        "agrees": False,
        "verdicts": [{"layers": [f"layer/number/{n}"], "wrong": True} for n in range(9)],
    }
    monkeypatch.setattr(compare, "_compared_with_value", lambda *_: found)
    main(["compare", "model.wide", "--backends", "Maker", "--vary", "OMP_NUM_THREADS=1,2"])
    check_tables(capsys.readouterr().out, width, ["OMP_NUM_THREADS"])


def check_tables(printed: str, width: int, columns: list[str]) -> None:
    """Check that tables are there and fit.

    Args:
        printed: What a command printed.
        width: Of the terminal.
        columns: The first column of each table.
    """
    shown = tables(re.sub(r"\x1b\[\d*m", "", printed))
    assert [line for line in shown.splitlines() if len(line) > width] == []
    first = {re.split(r"\s{2,}", line.strip())[0] for line in shown.splitlines()}
    assert set(columns) <= first
