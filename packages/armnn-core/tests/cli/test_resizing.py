# SPDX-License-Identifier: MIT
"""The sizes of pictures, through the inputs they become."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from armnn import DataType, TensorInfo
from armnn.cli import resizing as module
from armnn.cli.pictures import PictureOptions, read_picture
from armnn.cli.resizing import Resize
from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """Write a picture of three columns and two rows."""
    path = tmp_path / "small.png"
    Image.new("RGB", (3, 2)).save(path)
    return path


def read(path: Path, info: TensorInfo, resize: Resize | None = None) -> NDArray[np.generic]:
    array, _ = read_picture(path, info, PictureOptions(resize=resize))
    return array


def test_a_picture_is_stretched_to_the_input_and_that_is_said(picture: Path) -> None:
    info = TensorInfo((1, 3, 4, 8), DataType.FLOAT32)
    array, notes = read_picture(picture, info, PictureOptions())
    assert array.shape == (1, 3, 4, 8)
    assert "stretched to 8x4 (assumed)" in notes


def stripes(path: Path, width: int, height: int) -> Path:
    """Write a gray picture with columns 0, 10, 20, ..."""
    row = (np.arange(width) * 10).astype(np.uint8)
    Image.fromarray(np.tile(row, (height, 1))).save(path)
    return path


def test_the_middle_is_cut_out_after_the_shorter_side_was_scaled(tmp_path: Path) -> None:
    path = stripes(tmp_path / "a.png", 8, 4)
    info = TensorInfo((1, 1, 2, 4), DataType.FLOAT32)
    resize = Resize(shortest=4, crop=True)
    array, notes = read_picture(path, info, PictureOptions(resize=resize, scale=1.0))
    np.testing.assert_array_equal(array[0, 0], [[20, 30, 40, 50]] * 2)
    assert "the middle 4x2 cut out" in notes


def test_the_shorter_side_is_scaled_in_proportion(tmp_path: Path) -> None:
    path = stripes(tmp_path / "a.png", 12, 4)
    info = TensorInfo((1, 1, None, None), DataType.FLOAT32)
    assert read(path, info, Resize(shortest=8)).shape == (1, 1, 8, 24)
    tall = tmp_path / "b.png"
    Image.new("L", (3, 10)).save(tall)
    assert read(tall, info, Resize(shortest=6)).shape == (1, 1, 20, 6)
    assert read(tall, info, Resize(shortest=6, crop=True)).shape == (1, 1, 6, 6)


def test_a_middle_larger_than_the_picture_cannot_be_cut_out(tmp_path: Path) -> None:
    path = stripes(tmp_path / "a.png", 8, 4)
    info = TensorInfo((1, 1, 6, 6), DataType.FLOAT32)
    message = "--resize leaves 8x4 pixels of .*, expected at least the 6x6 that are cut out"
    with pytest.raises(InvalidArgumentError, match=message):
        read(path, info, Resize(shortest=4, crop=True))


def test_a_resize_to_another_size_than_the_inputs_is_refused(picture: Path) -> None:
    info = TensorInfo((1, 3, 4, 8), DataType.FLOAT32)
    with pytest.raises(InvalidArgumentError, match=r"became \[1,3,5,6\] .* expected \[1,3,4,8\]"):
        read(picture, info, Resize(width=6, height=5))


@pytest.mark.parametrize(
    ("text", "resize"),
    [
        ("224x192", Resize(width=224, height=192)),
        ("shortest:256", Resize(shortest=256)),
        ("shortest:256+crop", Resize(shortest=256, crop=True)),
    ],
)
def test_a_resize_is_read(text: str, resize: Resize) -> None:
    assert Resize.parse(text) == resize


@pytest.mark.parametrize(
    "text", ["", "224", "0x4", "4x0", "-4x4", "shortest:0", "shortest", "4x4+crop"]
)
def test_a_resize_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="expected WIDTHxHEIGHT, shortest:N or shortest"):
        Resize.parse(text)


@pytest.mark.parametrize("shape", [(1, 3, 10000, 10000), (1, 3, 0, 5)])
def test_a_size_without_pixels_or_with_too_many_is_refused(
    shape: tuple[int, ...], picture: Path
) -> None:
    message = f"would be resized to {shape[3]}x{shape[2]} pixels, expected 1 to 67108864 in all"
    with pytest.raises(InvalidArgumentError, match=message):
        read(picture, TensorInfo(shape, DataType.FLOAT32))


def test_a_resize_to_too_many_pixels_is_refused(
    picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = TensorInfo((1, 3, None, None), DataType.FLOAT32)
    monkeypatch.setattr(module, "PIXEL_LIMIT", 24)
    assert read(picture, info, Resize(shortest=4)).shape == (1, 3, 4, 6)
    monkeypatch.setattr(module, "PIXEL_LIMIT", 23)
    with pytest.raises(InvalidArgumentError, match="would be resized to 6x4 pixels"):
        read(picture, info, Resize(shortest=4))
    with pytest.raises(InvalidArgumentError, match="would be resized to 4x6 pixels"):
        read(picture, info, Resize(width=4, height=6))
