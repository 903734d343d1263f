# SPDX-License-Identifier: MIT
"""``armnn inspect --layer`` has every number of ``armnn view``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armnn.cli.layer_facts import tensor_text
from armnn.cli.main import main

QUANTIZED = {"x": [[1, 4], "QAsymmU8", 0.5, 3]}
BACKENDS = ["--backends", "Half,Toy"]


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def texts(value: Any) -> Iterator[str]:
    """Yield the texts in a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("measured", ["--profile", "--compare"])
def test_a_layer_has_the_facts_that_a_click_shows(
    model: Callable[..., str], capsys: pytest.CaptureFixture[str], measured: str
) -> None:
    given = [model(QUANTIZED), *BACKENDS]
    assert main(["run", *given, "--input", "x=random", "--profile", "trace.json"]) == 0
    verdict = {"wrong": True, "kind": "wrong values", "ratio": 9.25, "largest": 0.125}
    verdicts = [{**verdict, "layers": ["plus_x"], "unit": "steps", "note": "NaN too"}]
    Path("found.json").write_text(json.dumps({"verdicts": verdicts}))
    file = {"--profile": "trace.json", "--compare": "found.json"}[measured]
    viewed = json_of(capsys, "view", *given, measured, file)
    (node,) = [node for node in viewed["nodes"] if node["name"] == "plus_x"]
    assert main(["inspect", *given, measured, file, "--layer", "plus_x"]) == 0
    shown = capsys.readouterr().out
    assert node["refusals"] == [["Half", "it cannot add"]]
    facts = {"plus_x", "Activation", "Toy", "Half", "it cannot add", "double_x", "function"}
    assert facts <= set(texts(node))
    missing = [text for text in texts(node) if text not in shown]
    assert missing == []
    expected = {
        "--profile": lambda: [
            f"{node['time']['milliseconds']:.3f} ms",
            f"{100 * node['time']['share']:.1f} %",
        ],
        "--compare": lambda: ["0.125 steps", "9.25 times", "NaN too"],
    }[measured]()
    assert [text for text in expected if text not in shown] == []
    assert json_of(capsys, "inspect", *given, measured, file, "--layer", "plus_x")[
        "layer_facts"
    ] == [node]


def test_the_list_of_layers_has_times_verdicts_and_refusals(
    model: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [model(), *BACKENDS]
    assert main(["run", *given, "--input", "x=random", "--profile", "trace.json"]) == 0
    viewed = json_of(capsys, "view", *given, "--profile", "trace.json")
    listed = json_of(capsys, "inspect", *given, "--layers", "--profile", "trace.json")
    nodes = {node["name"]: node for node in viewed["nodes"]}
    for row in listed["layer_list"]:
        for key in ("time", "verdict", "refusals", "conversion", "multiply_adds"):
            assert row[key] == nodes[row["layer"]][key]
    assert main(["inspect", *given, "--layers", "--profile", "trace.json"]) == 0
    shown = capsys.readouterr().out
    (line,) = re.findall(r"^ plus_x .*$", shown, re.MULTILINE)
    time = nodes["plus_x"]["time"]
    assert f"{time['milliseconds']:.3f} ms   {100 * time['share']:.1f} %" in line
    assert line.endswith("Half: it cannot add")


def test_a_tensor_of_channels_lists_their_scales() -> None:
    tensor = {"text": "QSymmS8[2,3] with 2 scales along axis 0", "axis": 0}
    assert tensor_text(tensor | {"scales": [0.5, 0.25], "zero_points": [0, 1]}) == (
        "QSymmS8[2,3] with 2 scales along axis 0: scales 0.5, 0.25; zero points 0, 1; axis 0"
    )
    assert tensor_text({"text": "Float32[2]"}) == "Float32[2]"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("plus_y", "did you mean 'plus_x'[?]"), ("softmax", "--layers lists all")],
)
def test_an_unknown_layer_is_told(
    model: Callable[..., str], capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    assert main(["inspect", model(), "--layer", name]) == 1
    assert re.search(f"--layer got '{name}', which is no layer.*{hint}", capsys.readouterr().err)
