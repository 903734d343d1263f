# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import pytest

from armnn.errors import ParseError
from armnn_parser_tflite.flat_table import FlatFile, FlatTable
from armnn_parser_tflite.model_file import read_model


@pytest.fixture
def root(lite: Any) -> FlatTable:
    data = lite.build(
        lite.Op("RELU", ["x"]), {"x": lite.Tensor(shape=(2, 3)), "y": lite.Tensor(shape=(2, 3))}
    )
    return read_model(data).root


def test_fields_are_read_by_name(root: FlatTable) -> None:
    assert root.integer("Version") == 3
    assert root.text("Description") == "made by a test"
    (subgraph,) = root.tables("Subgraphs")
    first, _ = subgraph.tables("Tensors")
    assert first.integers("Shape") == (2, 3)
    assert first.flag("HasRank")
    assert first.table("Quantization") is None


def test_fields_are_read_by_slot(root: FlatTable) -> None:
    assert root.slot_integer(4) == 3
    assert root.slot_text(10) == "made by a test"
    assert [table.slot_text(12) for table in root.slot_tables(8)] == ["main"]


def test_absent_fields_are_empty(root: FlatTable) -> None:
    (subgraph,) = root.tables("Subgraphs")
    first, _ = subgraph.tables("Tensors")
    assert first.integers("ShapeSignature") == ()
    assert first.array("ShapeSignature").size == 0
    assert (first.slot_integer(90), first.slot_text(90), first.slot_tables(90)) == (0, "", [])


def test_an_empty_table_has_the_defaults_of_the_schema() -> None:
    table = FlatTable.empty("Conv2DOptions", FlatFile(b"", "m"))
    assert (table.integer("DilationHFactor"), table.integer("StrideH")) == (1, 0)


def test_names_that_are_not_utf8_are_escaped(lite: Any) -> None:
    data = lite.build(
        lite.Op("RELU", ["x"]), {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor(shape=(2,))}
    ).replace(b"made by", b"m\xff\xfee by")
    assert read_model(data).root.text("Description") == "m\\xff\\xfee by a test"


@pytest.mark.parametrize("read", ["slot_integer", "slot_text", "slot_tables"])
def test_slots_outside_of_the_file_are_refused(read: str) -> None:
    table = FlatTable.at("Model", 6, FlatFile(b"\0" * 8, "m"))
    with pytest.raises(ParseError, match=r"'m' is malformed or cut short: Model\.field 4 is out"):
        getattr(table, read)(4)


def test_members_of_unions_outside_of_the_file_are_refused(lite: Any) -> None:
    data = bytearray(
        lite.build(lite.Op("ADD", ["x", "x"]), {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor()})
    )
    (subgraph,) = read_model(bytes(data)).root.tables("Subgraphs")
    (operator,) = subgraph.tables("Operators")
    at = operator._place(12)
    data[at : at + 4] = b"\xff\xff\xff\xff"
    (subgraph,) = read_model(bytes(data)).root.tables("Subgraphs")
    (operator,) = subgraph.tables("Operators")
    with pytest.raises(ParseError, match=r"Operator\.BuiltinOptions is outside of it"):
        operator.union("BuiltinOptions", "AddOptions")


def test_fields_outside_of_the_file_are_refused() -> None:
    table = FlatTable.at("Model", 6, FlatFile(b"\0" * 8, "m"))
    for read, field in (
        (table.integer, "Version"),
        (table.text, "Description"),
        (table.array, "MetadataBuffer"),
        (table.tables, "Subgraphs"),
    ):
        with pytest.raises(
            ParseError, match=rf"'m' is malformed or cut short: Model\.{field} is outside"
        ):
            read(field)


def test_reading_is_bounded_by_the_size_of_the_file() -> None:
    file = FlatFile(bytes(1000), "m")
    file.charge(16_000)
    with pytest.raises(ParseError, match="'m' is malformed: its vectors are longer than the file"):
        file.charge(2**16 + 1)
