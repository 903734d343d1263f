# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from armnn.errors import ModelFileError, ModelFileNotFoundError, ParseError
from armnn_parser_tflite.model_file import read_model


@pytest.fixture
def model(lite: Any) -> bytes:
    data: bytes = lite.build(
        lite.Op("RELU", ["x"]), {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor(shape=(2,))}
    )
    return data


def test_a_file_and_its_bytes_are_the_same_model(model: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model)
    for source in (path, str(path)):
        read = read_model(source)
        assert (read.file.data, read.folder) == (model, tmp_path)
    assert read_model(model).folder is None


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileNotFoundError, match=r"there is no model file '.*absent.tflite'"):
        read_model(tmp_path / "absent.tflite")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is not a regular file"):
        read_model(tmp_path)


@pytest.mark.parametrize("data", [b"", b"TFL3", b"\x08\0\0\0TFL2" + bytes(40), b"PK\3\4" * 20])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(
        ParseError, match=r"'<bytes>' is not a TensorFlow Lite file: expected .*TFL3"
    ):
        read_model(data)


def test_an_offset_out_of_the_file_is_refused(model: bytes) -> None:
    with pytest.raises(ParseError, match=r"Model\.Version is outside of it"):
        read_model(b"\xff\xff\xff\x7f" + model[4:])


def test_another_version_of_the_schema_is_refused(lite: Any) -> None:
    data = lite.build(
        lite.Op("RELU", ["x"]),
        {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor(shape=(2,))},
        edit=lambda model: setattr(model, "version", 2),
    )
    with pytest.raises(ParseError, match="is of version 2 of the schema: expected 3"):
        read_model(data)
