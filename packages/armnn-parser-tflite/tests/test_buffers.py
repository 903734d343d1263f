# SPDX-License-Identifier: MIT
"""Data behind the tables and in other, untrusted files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse

DATA = np.float32([1, 2, 3, 4])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    (inside / "data.bin").write_bytes(b"pad!" + DATA.tobytes())
    (inside / "sub" / "data.bin").write_bytes(b"pad!" + DATA.tobytes())
    (tmp_path / "secret.bin").write_bytes(b"pad!" + DATA.tobytes())
    return inside


def _added(lite: Any, edit: Any) -> bytes:
    data: bytes = lite.build(
        lite.Op("ADD", ["x", "w"]),
        {
            "x": lite.Tensor(shape=(4,)),
            "w": lite.constant(DATA),
            "y": lite.Tensor(shape=(4,)),
        },
        edit=edit,
    )
    return data


def _external(lite: Any, location: str = "data.bin", **fields: Any) -> bytes:
    """Return a model whose weights are in another file."""

    def edit(model: Any) -> None:
        group, buffer = lite.schema.ExternalBufferGroupT(), lite.schema.ExternalBufferT()
        group.name = location
        buffer.id, buffer.group, buffer.offset, buffer.length = 7, 0, 4, 16
        buffer.packing = "unpacked"
        for name, value in fields.items():
            setattr(buffer, name, value)
        model.externalBufferGroups, model.externalBuffers = [group], [buffer]
        model.subgraphs[0].tensors[1].externalBuffer = 7
        model.subgraphs[0].tensors[1].buffer = 0

    return _added(lite, edit)


@pytest.mark.parametrize(("count", "is_view"), [(4096, False), (4097, True)])
def test_only_large_data_keeps_the_file(lite: Any, count: int, is_view: bool) -> None:
    data = np.arange(count, dtype=np.float32)
    info = {"x": lite.Tensor(shape=(count,)), "w": lite.constant(data)}
    source = lite.build(lite.Op("ADD", ["x", "w"]), {**info, "y": lite.Tensor(shape=(count,))})
    constant = parse(source).find("w").data
    assert constant is not None
    assert np.array_equal(constant, data)
    assert np.shares_memory(constant, np.frombuffer(source, np.uint8)) == is_view


def _weights(source: Any) -> list[float]:
    constant = parse(source).find("w").data
    assert constant is not None
    numbers: list[float] = constant.tolist()
    return numbers


def _behind(lite: Any, offset: int, size: int = 16) -> bytes:
    """Return a model with weights placed behind its tables."""

    def edit(model: Any) -> None:
        model.buffers[1].data = None
        model.buffers[1].offset, model.buffers[1].size = offset, size

    return _added(lite, edit)


def test_data_behind_the_tables(lite: Any) -> None:
    length = len(_behind(lite, 1 << 20))
    data = _behind(lite, length + 8) + bytes(8) + DATA.tobytes()
    assert _weights(data) == [1, 2, 3, 4]
    with pytest.raises(ParseError, match=rf"buffer 1 spans the bytes {length + 8} to"):
        parse(data[:-1])


def test_unaligned_data_is_copied(lite: Any) -> None:
    length = len(_behind(lite, 1 << 20))
    data = _behind(lite, length + 1) + bytes(1) + DATA.tobytes()
    assert _weights(data) == [1, 2, 3, 4]


def test_data_in_another_file(lite: Any, folder: Path) -> None:
    for location in ("data.bin", "sub/data.bin"):
        path = folder / "m.tflite"
        path.write_bytes(_external(lite, location))
        assert _weights(path) == [1, 2, 3, 4]
        read = {name: status.st_ino for name, status in parse(path).external_files.items()}
        assert read == {location: (folder / location).stat().st_ino}


def test_a_cached_model_is_not_parsed_until_data_in_another_file_changes(
    lite: Any, folder: Path
) -> None:
    path = folder / "m.tflite"
    path.write_bytes(_external(lite))
    for factor, is_new in (1, True), (1, False), (2, True), (2, False):
        if is_new:
            (folder / "data.bin").write_bytes(b"pad!" + (factor * DATA).tobytes())
        loaded = armnn.load_model(path, backends=["CpuRef"], cache_dir=folder / "cache")
        made = loaded.run({"x": np.zeros(4, np.float32)})["y"]
        np.testing.assert_array_equal(made, factor * DATA)
        assert (loaded.load_times["parse"] > 0) == is_new


@pytest.mark.parametrize(
    ("location", "fields", "message"),
    [
        ("data.bin", {"length": 8}, "'w' has 8 bytes of data: expected 16"),
        ("data.bin", {"offset": 8}, "'w' spans the bytes 8 to 24 of '.*data.bin', which has 20"),
        ("data.bin", {"offset": 2**63}, "'w' spans the bytes 9223372036854775808 to"),
        ("data.bin", {"packing": "int4"}, "'w' is packed as 'int4': expected unpacked data"),
        ("data.bin", {"id": 8}, "'w' is in the external buffer 7, which the file lacks"),
        ("data.bin", {"group": 1}, "it names the external group 1 of 1"),
        ("absent.bin", {}, "'w' cannot be read from '.*absent.bin'"),
        ("sub", {}, "'w' cannot be read from|'w' is not in a regular file"),
        ("../secret.bin", {}, r"'w' has the location '../secret.bin': expected a path below"),
        (r"..\secret.bin", {}, "expected a path below the model's folder"),
        ("sub/../../secret.bin", {}, "expected a path below the model's folder"),
        ("/etc/passwd", {}, "expected a path below the model's folder"),
        (r"C:\data.bin", {}, "expected a path below the model's folder"),
        ("", {}, "expected a path below the model's folder"),
        ("a\0b", {}, "expected a path below the model's folder"),
    ],
)
def test_what_does_not_lead_to_data_is_refused(
    lite: Any, folder: Path, location: str, fields: dict[str, Any], message: str
) -> None:
    path = folder / "m.tflite"
    path.write_bytes(_external(lite, location, **fields))
    with pytest.raises(ParseError, match=message):
        parse(path)


def test_links_out_of_the_folder_are_refused(lite: Any, folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    path = folder / "m.tflite"
    path.write_bytes(_external(lite, "link.bin"))
    with pytest.raises(ParseError, match=r"'link\.bin', which leads out of the model's folder"):
        parse(path)


def test_bytes_have_no_folder(lite: Any) -> None:
    with pytest.raises(ParseError, match="a model given as bytes has no folder: pass the model's"):
        parse(_external(lite))


def test_tensors_that_share_unaligned_data_do_not_fill_the_memory(lite: Any) -> None:
    """Each copy counts against the size of the file."""
    elements = 25_000
    names = [f"w{index}" for index in range(400)]
    tensors = {name: lite.Tensor("float32", (elements,)) for name in ("x", *names, "y")}

    def tables(offset: int) -> bytes:
        def edit(model: Any) -> None:
            buffer = lite.schema.BufferT()
            buffer.offset, buffer.size = offset, 4 * elements
            model.buffers.append(buffer)
            for tensor in model.subgraphs[0].tensors[1:-1]:
                tensor.buffer = 1

        data: bytes = lite.build(lite.Op("ADD_N", ["x", *names]), tensors, edit=edit)
        return data

    length = len(tables(1 << 20))
    with pytest.raises(ParseError, match="its vectors are longer than the file"):
        parse(tables(length + 1) + bytes(1 + 4 * elements))
