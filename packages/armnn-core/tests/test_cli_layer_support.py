# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import armnn
from armnn.cli.main import main
from armnn.testing.card import make_card, write_card
from armnn.testing.fakes import misbehaving
from armnn.testing.plugin_dirs import backend_plugin, installed

if TYPE_CHECKING:
    import pytest

Install = Callable[[type], str]
CELL = {"layer": "Softmax", "passed": ["a"], "not_supported": {}}


def line_of(text: str, layer: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [layer])


def test_the_support_of_a_named_backend_is_shown(
    install_backend: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backends", "--layers", install_backend(misbehaving.SmallBackend)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("Small says that it supports\n")
    columns = line_of(output, "layer")
    softmax = dict(zip(columns, line_of(output, "Softmax"), strict=True))
    assert (softmax["Float32"], softmax["Float16"], softmax["Boolean"]) == ("yes", "no", "-")


def test_without_names_every_backend_that_can_be_loaded_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugins = [
        backend_plugin("Acme", distribution="a-good"),
        backend_plugin("Broken", distribution="b-broken", source="raise RuntimeError('no')\n"),
    ]
    with installed(tmp_path, *plugins, alone=True):
        assert main(["backends", "--layers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["Acme"]
    assert found["Acme"]["Softmax"]["Float32"]["not_supported"] == {}


def test_the_reasons_are_in_the_json(
    install_backend: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    backend_id = install_backend(misbehaving.SmallBackend)
    assert main(["backends", "--layers", backend_id, "--json"]) == 0
    cell = json.loads(capsys.readouterr().out)["Small"]["Softmax"]["Float16"]
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
    assert line_of(output, "layer") == ["layer", "Float32", "QAsymmU8"]
    assert line_of(output, "Softmax") == ["Softmax", "yes", "failed"]
    assert f"Tested with armnn-core {armnn.__version__}, " in output
    assert main(["backends", "--card", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["backend"] == backend


def test_a_card_that_cannot_be_read_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backends", "--card", "nowhere.json"]) != 0
    assert "the card 'nowhere.json' cannot be read" in capsys.readouterr().err
