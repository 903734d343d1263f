# SPDX-License-Identifier: MIT
"""The page that maps Arm NN's public interfaces."""

from __future__ import annotations

import importlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import armnn

_DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "coming-from-arm-nn.md").read_text()
PAGE = _DOCUMENT.partition("\n## Interfaces\n")[2]
ROWS = re.findall(r"^\| ((?!Arm NN |---).+?) \| (.+?) \|(.*)\|$", PAGE, re.MULTILINE)


def exists(name: str) -> bool:
    """Return whether a dotted name is in ``armnn``."""
    parts = name.removeprefix("armnn.").split(".")
    found: object = armnn
    path = "armnn"
    for part in parts:
        path += f".{part}"
        if is_dataclass(found) and part in {each.name for each in fields(found)}:
            return True
        if not hasattr(found, part) and isinstance(found, type(armnn)):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        if not hasattr(found, part):
            return part in getattr(found, "__annotations__", {})
        found = getattr(found, part)
    return True


def test_every_row_has_a_counterpart_that_exists_or_a_reason() -> None:
    assert len(ROWS) > 70
    holes = [
        interface
        for interface, here, note in ROWS
        if not (
            note.strip()
            if here == "none"
            else (names := re.findall(r"`([\w.]+)`", here)) and all(map(exists, names))
        )
    ]
    assert holes == []


def test_the_check_knows_what_exists() -> None:
    assert exists("Runtime.load_network")
    assert exists("armnn.profiling.Recorder")
    assert exists("CreationOptions.backend_options")
    assert not exists("Runtime.enqueue_workload")
    assert not exists("armnn.nowhere.at_all")


def test_each_option_of_a_runtime_that_arm_nn_has_is_listed() -> None:
    for name in ("dynamic_backends_path", "protected_mode", "custom_allocators"):
        assert f"`CreationOptions.{name}`" in PAGE
