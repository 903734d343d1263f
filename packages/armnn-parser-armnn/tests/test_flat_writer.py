# SPDX-License-Identifier: MIT
"""Reader and writer against each other and Google's package."""

from __future__ import annotations

import math
import struct
from typing import Any

import flatbuffers  # type: ignore[import-untyped]  # it has no stubs
import numpy as np
from flatbuffers import number_types
from hypothesis import given
from hypothesis import strategies as st

from armnn.parsing.flatbuffers import FlatFile, FlatTable, Tables
from armnn_parser_armnn.flat_writer import FlatRecord, flat_pieces

NUMBERS = {
    "Bool": (number_types.BoolFlags, 0, 1),
    "Int8": (number_types.Int8Flags, -128, 127),
    "Uint8": (number_types.Uint8Flags, 0, 255),
    "Int16": (number_types.Int16Flags, -(2**15), 2**15 - 1),
    "Uint16": (number_types.Uint16Flags, 0, 2**16 - 1),
    "Int32": (number_types.Int32Flags, -(2**31), 2**31 - 1),
    "Uint32": (number_types.Uint32Flags, 0, 2**32 - 1),
    "Int64": (number_types.Int64Flags, -(2**63), 2**63 - 1),
    "Uint64": (number_types.Uint64Flags, 0, 2**64 - 1),
}
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
        "member": (20, "Uint8", 0),
        "any": (22, "Union", 0),
        "flag": (24, "Bool", 0),
        "far": (124, "Text", 0),
    },
    "Child": {"index": (4, "Uint32", 0), "reals": (6, "[Float32]", 0)},
}


def written(root: FlatRecord) -> bytes:
    return b"".join(bytes(piece) for piece in flat_pieces(root, TABLES, b"TEST"))


def read(data: bytes) -> FlatTable:
    return FlatTable.at("Root", int.from_bytes(data[:4], "little"), FlatFile(data, "m", TABLES))


def theirs(data: bytes) -> Any:
    place = flatbuffers.encode.Get(flatbuffers.packer.uoffset, data, 0)
    return flatbuffers.table.Table(data, place)


def example() -> FlatRecord:
    children = [FlatRecord("Child", {"index": n, "reals": [n / 2] * n}) for n in range(3)]
    return FlatRecord(
        "Root",
        {
            "name": "ein Gewächs",
            "count": -3,
            "ratio": 0.25,
            "place": (5, 2**32 - 1),
            "child": FlatRecord("Child", {"index": 9}),
            "children": children,
            "values": np.array([-1, 2**62], np.int64),
            "shorts": [1, 2, 3],
            "member": 4,
            "any": FlatRecord("Child", {"reals": [math.inf]}),
            "flag": True,
            "far": "beyond",
        },
    )


def test_everything_that_is_written_is_read() -> None:
    root = read(written(example()))
    assert (root.text("name"), root.integer("count"), root.real("ratio")) == (
        "ein Gewächs",
        -3,
        0.25,
    )
    assert root.pair("place") == (5, 2**32 - 1)
    child = root.table("child")
    assert child is not None
    assert child.integer("index") == 9
    assert child.reals("reals") == ()
    assert [(each.integer("index"), each.reals("reals")) for each in root.tables("children")] == [
        (0, ()),
        (1, (0.5,)),
        (2, (1.0, 1.0)),
    ]
    assert root.integers("values") == (-1, 2**62)
    assert root.array("shorts").dtype == np.int16
    assert root.integer("member") == 4
    assert root.flag("flag") is True
    member = root.union("any", "Child")
    assert member is not None
    assert member.reals("reals") == (math.inf,)
    assert root.text("far") == "beyond"
    assert root.slot_text(124) == "beyond"


def test_another_reader_finds_the_same() -> None:
    data = written(example())
    assert data[4:8] == b"TEST"
    table = theirs(data)
    assert table.String(table.Offset(4) + table.Pos) == "ein Gewächs".encode()
    assert table.Get(number_types.Int32Flags, table.Pos + table.Offset(6)) == -3
    assert table.Get(number_types.Float32Flags, table.Pos + table.Offset(8)) == 0.25
    values = table.GetVectorAsNumpy(number_types.Int64Flags, table.Offset(16))
    assert values.tolist() == [-1, 2**62]
    assert table.VectorLen(table.Offset(14)) == 3
    assert table.Offset(126) == 0


def test_absent_fields_have_defaults_and_take_no_place() -> None:
    data = written(FlatRecord("Root", {"count": 7, "name": None, "flag": False}))
    assert len(data) == len(written(FlatRecord("Root")))
    root = read(data)
    assert (root.integer("count"), root.real("ratio"), root.text("name")) == (7, 0.5, "")
    assert root.pair("place") is None
    assert root.table("child") is None
    assert root.tables("children") == []
    assert root.array("values").size == 0
    assert (root.slot_integer(90), root.slot_text(90), root.slot_tables(90)) == (0, "", [])


@given(st.data())
def test_a_random_table_is_aligned_and_the_same_for_both_readers(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from([*NUMBERS, "[Int64]", "[Int16]", "Text"])))
    schema = {f"f{at}": (4 + 2 * at, kind, 0.0) for at, kind in enumerate(kinds)}
    values: dict[str, Any] = {}
    for name, (_, kind, _) in schema.items():
        if kind in NUMBERS:
            _, low, high = NUMBERS[kind]
            values[name] = data.draw(st.integers(low, high))
        elif kind == "Text":
            values[name] = data.draw(st.text(st.characters(codec="utf-8"), max_size=5))
        else:
            _, low, high = NUMBERS[kind.strip("[]")]
            values[name] = data.draw(st.lists(st.integers(low, high), max_size=4))
    tables = {"T": schema}
    record = FlatRecord("T", values)
    content = b"".join(bytes(piece) for piece in flat_pieces(record, tables, b"TEST"))
    ours = FlatTable.at("T", struct.unpack_from("<I", content)[0], FlatFile(content, "m", tables))
    table = theirs(content)
    assert table.Pos % 4 == 0
    for name, (slot, kind, _) in schema.items():
        place = table.Offset(slot)
        if kind in NUMBERS:
            flags = NUMBERS[kind][0]
            assert not place or (table.Pos + place) % flags.bytewidth == 0
            assert ours.integer(name) == values[name]
            assert (table.Get(flags, table.Pos + place) if place else 0) == values[name]
        elif kind == "Text":
            assert ours.text(name) == values[name]
            assert table.String(table.Pos + place).decode() == values[name]
        else:
            start, size = ours.vector_place(name)
            assert start % np.dtype(kind.strip("[]").lower()).itemsize == 0
            assert size == len(values[name])
            assert list(ours.integers(name)) == values[name]
            assert table.VectorLen(place) == len(values[name])


def test_arrays_are_not_copied() -> None:
    values = np.arange(1000, dtype=np.int64)
    pieces = flat_pieces(FlatRecord("Root", {"values": values}), TABLES, b"TEST")
    (large,) = [piece for piece in pieces if len(piece) == 8000]
    assert np.shares_memory(np.frombuffer(large, np.int64), values)


def test_text_that_is_not_utf8_is_escaped() -> None:
    assert read(written(FlatRecord("Root", {"name": "\udcff"}))).text("name") == "\\udcff"
