# SPDX-License-Identifier: MIT
"""The generated schema against the FlatBuffers compiler's bindings."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tflite

from armnn.parsing.flatbuffers import FlatFile, FlatTable
from armnn_parser_tflite import _bindings
from armnn_parser_tflite._bindings import TABLES
from armnn_parser_tflite.schema import constants

ENUMERATIONS = [name for name, thing in vars(_bindings).items() if isinstance(thing, type)]


def numbers(kind: type) -> dict[str, int]:
    return {name: number for name, number in vars(kind).items() if name[0] != "_"}


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_enumerations_have_the_numbers_of_the_bindings(name: str) -> None:
    assert numbers(getattr(_bindings, name)) == numbers(getattr(tflite, name)) != {}


def test_what_python_adds_to_a_class_is_no_operator() -> None:
    kind = type("Kind", (), {"ADD": 3, "__firstlineno__": 3})
    assert constants(kind) == {3: "ADD"}


@pytest.mark.parametrize("name", TABLES)
def test_an_empty_table_has_the_defaults_of_the_bindings(name: str) -> None:
    theirs = getattr(tflite, name)()
    theirs.Init(b"\4\0\4\0\4\0\0\0", 4)  # a table without fields
    ours = FlatTable.empty(name, FlatFile(b"", "m", TABLES))
    for field, (_, kind, _) in TABLES[name].items():
        if kind in TABLES:
            assert ours.table(field) is getattr(theirs, field)() is None
        elif kind.startswith("["):
            assert getattr(theirs, f"{field}Length")() == 0
        elif kind == "Union":
            assert ours.union(field, "AddOptions") is getattr(theirs, field)() is None
        elif kind == "Text":
            assert ours.text(field) == (getattr(theirs, field)() or b"").decode()
        else:
            assert ours.real(field) == getattr(theirs, field)()


@pytest.mark.parametrize("name", [name for name, fields in TABLES.items() if fields])
def test_numbers_are_read_where_the_bindings_read_them(name: str) -> None:
    """A table of random fields, each at its own place."""
    count = max(slot for slot, _, _ in TABLES[name].values()) // 2 - 1
    rng = np.random.default_rng(7)
    size = 4 + 8 * count
    vtable = np.array([4 + 2 * count, size, *range(4, size, 8)], "<u2").tobytes()
    start = len(vtable)
    data = vtable + np.array([start], "<i4").tobytes() + rng.bytes(8 * count)
    theirs = getattr(tflite, name)()
    theirs.Init(data, start)
    ours = FlatTable.at(name, start, FlatFile(data, "m", TABLES))
    for field, (_, kind, _) in TABLES[name].items():
        if kind not in TABLES and kind not in ("Text", "Union") and not kind.startswith("["):
            if (name, field) == ("OperatorCode", "BuiltinCode"):
                continue  # the bindings choose between two fields there
            wanted = float(getattr(theirs, field)())
            np.testing.assert_equal(ours.real(field), wanted)


def test_parsing_imports_no_bindings() -> None:
    code = "import sys, armnn_parser_tflite.parser; print('tflite' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert run.stdout.split() == [b"False"]
