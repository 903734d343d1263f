# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import armnn
from armnn.types import DataType
from armnn_conformance.card import make_card, write_card
from armnn_tools.cli.main import main
from armnn_tools.cli.schema import SCHEMAS
from fakes import misbehaving
from fakes.plugins import backend_plugin, installed

if TYPE_CHECKING:
    from pathlib import Path

Install = Callable[[type], str]
CELL = {"layer": "Softmax", "passed": ["a"], "not_supported": {}}


def checked(text: str) -> Any:
    """Return a document, which has the schema of the command."""
    found = json.loads(text)
    jsonschema.validate(found, SCHEMAS["backends"])
    return found


@pytest.fixture
def two_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the questions to two layer types, for speed."""
    name = "armnn_conformance.support_table.layers_with_kernels"
    monkeypatch.setattr(name, lambda: ("Softmax", "Pad"))


def line_of(text: str, layer: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [layer])


def test_the_support_of_a_named_backend_is_shown(
    install_backend: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backends", "--layers", install_backend(misbehaving.SmallBackend)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("Small says that it supports\n")
    assert line_of(output, "layer") == ["layer", "supported", "not", "supported"]
    softmax = " ".join(line_of(output, "Softmax"))
    assert softmax == "Softmax Float32 Float16, quantized, BFloat16, Float64"
    assert "  unsigned: Unsigned8, Unsigned16, Unsigned32, Unsigned64\n" in output
    assert "Asked about the first sample of each kind of case" in output


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_fits_a_terminal(
    install_backend: Install,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    rows = {
        "UnidirectionalSequenceLstm": {"Float32": {"claimed": ["a"], "not_supported": {}}},
        "Cast": {
            each.arm_name: {"claimed": ["a"][each % 2 :], "not_supported": {"b": "no"}}
            for each in DataType
        },
    }
    monkeypatch.setattr("armnn_conformance.support_table.support_rows", lambda *_, **__: rows)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")  # which has no colors
    backend_id = install_backend(misbehaving.SmallBackend)
    assert main(["backends", "--layers", backend_id, "--every-case"]) == 0
    output = capsys.readouterr().out
    table, _, note = output.partition("A group means")
    assert {"UnidirectionalSequenceLstm", "Float8E4M3FNUZ", "Unsigned64"} <= set(
        re.findall(r"\w+", table)
    )
    assert max(map(len, table.splitlines()[1:])) <= width
    assert "Asked about every sample case" in note


@pytest.mark.usefixtures("two_layers")
def test_without_names_every_backend_that_can_be_loaded_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugins = [
        backend_plugin("Acme", distribution="a-good"),
        backend_plugin("Broken", distribution="b-broken", source="raise RuntimeError('no')\n"),
    ]
    with installed(tmp_path, *plugins, alone=True):
        assert main(["backends", "--layers", "--json"]) == 0
    found = checked(capsys.readouterr().out)
    assert list(found) == ["Acme"]
    assert found["Acme"]["Softmax"]["Float32"]["not_supported"] == {}


@pytest.mark.usefixtures("two_layers")
def test_the_reasons_are_in_the_json(
    install_backend: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    backend_id = install_backend(misbehaving.SmallBackend)
    assert main(["backends", "--layers", backend_id, "--json"]) == 0
    cell = checked(capsys.readouterr().out)["Small"]["Softmax"]["Float16"]
    assert set(cell["not_supported"].values()) == {"tensor 0 is Float16, expected Float32"}


def test_a_backend_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backends", "--layers", "Nowhere"]) != 0
    assert "There is no backend 'Nowhere'" in capsys.readouterr().err


def test_a_card_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backend = {"id": "Acme", "api_version": "1.0", "distribution": "acme", "version": "2.1"}
    cells = [
        {**CELL, "data_type": "Float32", "verdict": "passed", "failed": {}},
        {**CELL, "data_type": "QAsymmU8", "verdict": "failed", "failed": {"b": "wrong"}},
    ]
    path = str(tmp_path / "card.json")
    write_card(path, make_card(backend, cells, {"loads": ["passed"], "correct": ["failed"]}))
    assert main(["backends", "--card", path]) == 0
    output = capsys.readouterr().out
    assert output.startswith("Acme (acme 2.1): loads passed, correct failed\n")
    assert line_of(output, "layer") == ["layer", "supported", "failed"]
    assert line_of(output, "Softmax") == ["Softmax", "Float32", "QAsymmU8"]
    assert f"Tested with armnn-core {armnn.__version__}, " in output
    assert main(["backends", "--card", path, "--json"]) == 0
    assert checked(capsys.readouterr().out)["backend"] == backend


def test_a_card_that_cannot_be_read_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backends", "--card", "nowhere.json"]) != 0
    assert "the card 'nowhere.json' cannot be read" in capsys.readouterr().err
