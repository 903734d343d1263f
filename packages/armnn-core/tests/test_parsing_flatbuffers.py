# SPDX-License-Identifier: MIT
"""Reading FlatBuffers files within bounds; the files are made by another library."""

from __future__ import annotations

import flatbuffers  # type: ignore[import-untyped]  # it has no stubs
import numpy as np
import pytest

from armnn.errors import ParseError
from armnn.parsing.flatbuffers import FlatFile, FlatTable, Tables

TABLES: Tables = {
    "Root": {
        "name": (4, "Text", 0),
        "count": (6, "Int32", 7),
        "ratio": (8, "Float32", 0.5),
        "place": (10, "Uint32Pair", 0),
        "child": (12, "Child", 0),
        "children": (14, "[Child]", 0),
        "values": (16, "[Int64]", 0),
        "shorts": (18, "[Int16]", 0),
        "any": (22, "Union", 0),
        "flag": (24, "Bool", 0),
    },
    "Child": {"index": (4, "Uint32", 0), "reals": (6, "[Float32]", 0)},
}


def read(data: bytes) -> FlatTable:
    return FlatTable.at("Root", int.from_bytes(data[:4], "little"), FlatFile(data, "m", TABLES))


def made(*, count: int = 7, name: str | None = None, child: int | None = None) -> bytes:
    """Return a file with some of the fields; defaults take no place in it."""
    builder = flatbuffers.Builder(0)
    text = None if name is None else builder.CreateString(name)
    values = builder.CreateNumpyVector(np.array([-1, 2**62], np.int64))
    children = []
    for index in () if child is None else (child, child + 1):
        builder.StartObject(2)
        builder.PrependUint32Slot(0, index, 0)
        children.append(builder.EndObject())
    builder.StartVector(4, len(children), 4)
    for place in reversed(children):
        builder.PrependUOffsetTRelative(place)
    several = builder.EndVector()
    builder.StartObject(61)
    builder.PrependInt32Slot(1, count, 7)
    if children:
        builder.PrependUOffsetTRelativeSlot(4, children[0], 0)
    builder.PrependUOffsetTRelativeSlot(5, several, 0)
    builder.PrependUOffsetTRelativeSlot(6, values, 0)
    if text is not None:
        builder.PrependUOffsetTRelativeSlot(0, text, 0)
        builder.PrependUOffsetTRelativeSlot(60, text, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def test_fields_are_read_by_their_names() -> None:
    root = read(made(count=-3, name="ein Gewächs", child=9))
    assert (root.text("name"), root.integer("count"), root.slot_text(124)) == (
        "ein Gewächs",
        -3,
        "ein Gewächs",
    )
    child = root.table("child")
    assert child is not None
    assert (child.integer("index"), child.reals("reals")) == (9, ())
    assert [each.integer("index") for each in root.tables("children")] == [9, 10]
    assert [each.slot_integer(4) for each in root.slot_tables(14)] == [9, 10]
    assert root.integers("values") == (-1, 2**62)
    assert root.vector_place("values")[1] == 2


def test_absent_fields_have_defaults() -> None:
    root = read(made())
    assert (root.integer("count"), root.real("ratio"), root.text("name")) == (7, 0.5, "")
    assert root.pair("place") is None
    assert root.table("child") is None
    assert root.tables("children") == []
    assert root.array("shorts").size == 0
    assert (root.slot_integer(90), root.slot_text(90), root.slot_tables(90)) == (0, "", [])


def test_an_empty_table_has_the_defaults_of_the_schema() -> None:
    table = FlatTable.empty("Root", FlatFile(b"", "m", TABLES))
    assert (table.integer("count"), table.real("ratio"), table.flag("flag")) == (7, 0.5, False)


def test_text_that_is_not_utf8_is_escaped() -> None:
    assert read(made(name="made by").replace(b"made", b"m\xff\xfee")).text("name") == (
        "m\\xff\\xfee by"
    )


@pytest.mark.parametrize("place", ["slot_integer", "slot_text", "slot_tables"])
def test_slots_outside_of_the_file_are_refused(place: str) -> None:
    table = FlatTable.at("Root", 6, FlatFile(b"\0" * 8, "m", TABLES))
    with pytest.raises(ParseError, match=r"'m' is malformed or cut short: Root\.field 4 is out"):
        getattr(table, place)(4)


def test_fields_outside_of_the_file_are_refused() -> None:
    table = FlatTable.at("Root", 6, FlatFile(b"\0" * 8, "m", TABLES))
    for method, field in (
        (table.integer, "count"),
        (table.text, "name"),
        (table.pair, "place"),
        (table.array, "values"),
        (table.tables, "children"),
        (lambda name: table.union(name, "Child"), "any"),
    ):
        with pytest.raises(
            ParseError, match=rf"'m' is malformed or cut short: Root\.{field} is outside"
        ):
            method(field)


def test_offsets_that_lead_out_of_the_file_are_refused() -> None:
    data = bytearray(made(child=1))
    at = read(bytes(data))._read(12, "child", lambda _, place: place)
    assert at is not None
    data[at : at + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(ParseError, match=r"Root\.child is outside of it"):
        read(bytes(data)).table("child")


def test_reading_is_bounded_by_the_size_of_the_file() -> None:
    file = FlatFile(bytes(1000), "m", TABLES)
    file.charge(16_000)
    with pytest.raises(ParseError, match="'m' is malformed: its vectors are longer than the file"):
        file.charge(2**16 + 1)
