# SPDX-License-Identifier: MIT
"""Pictures become inputs, and what was assumed is said."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from armnn import DataType, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn_tools.cli import pictures as module
from armnn_tools.cli.pictures import PictureOptions, Resize, read_picture

# Two rows of three pixels; each channel of each pixel is different.
PIXELS = np.array(
    [[[0, 51, 102], [10, 60, 110], [20, 70, 120]], [[30, 80, 130], [40, 90, 140], [255, 100, 150]]],
    np.uint8,
)
NCHW = TensorInfo((1, 3, None, None), DataType.FLOAT32)
NHWC = TensorInfo((None, None, None, 3), DataType.FLOAT32)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "small.png"
    Image.fromarray(PIXELS).save(path)
    return path


def read(path: Path, info: TensorInfo, **options: object) -> NDArray[np.generic]:
    array, _ = read_picture(path, info, PictureOptions(**options))  # type: ignore[arg-type]  # of several types
    assert array.dtype == info.data_type.numpy_dtype
    assert array.flags.c_contiguous
    return array


def test_pixels_become_nchw_divided_by_255(picture: Path) -> None:
    array, notes = read_picture(picture, NCHW, PictureOptions())
    expected = PIXELS.transpose(2, 0, 1)[np.newaxis] / 255
    np.testing.assert_allclose(array, expected, rtol=1e-6)
    assert notes == [
        "3x2 RGB",
        "layout nchw (guessed from [1,3,?,?])",
        "rgb (assumed)",
        "pixels divided by 255 (assumed)",
        "no mean, no std (assumed)",
    ]


def test_pixels_become_nhwc(picture: Path) -> None:
    np.testing.assert_allclose(read(picture, NHWC), PIXELS[np.newaxis] / 255, rtol=1e-6)


def test_what_is_said_is_not_said_to_be_assumed(picture: Path) -> None:
    options = PictureOptions("nchw", Resize(width=3, height=2), (0.0,), (1.0,), 1.0, "rgb")
    array, notes = read_picture(picture, NCHW, options)
    np.testing.assert_array_equal(array[0], PIXELS.transpose(2, 0, 1))
    assert notes == ["3x2 RGB"]


def test_scale_comes_before_mean_and_mean_before_std(picture: Path) -> None:
    array = read(picture, NHWC, scale=0.5, mean=(10.0,), std=(4.0,))
    np.testing.assert_array_equal(array[0], (PIXELS * 0.5 - 10) / 4)


def test_mean_and_std_of_each_channel_go_with_the_order_of_color(picture: Path) -> None:
    array = read(picture, NHWC, scale=1.0, mean=(1.0, 2.0, 3.0), std=(1.0, 2.0, 4.0), color="bgr")
    blue, green, red = (PIXELS[..., channel].astype(np.float32) for channel in (2, 1, 0))
    np.testing.assert_array_equal(
        array[0], np.stack([blue - 1, (green - 2) / 2, (red - 3) / 4], axis=-1)
    )


def test_gray_is_assumed_where_there_is_one_channel(picture: Path) -> None:
    array = read(picture, TensorInfo((1, 1, 2, 3), DataType.FLOAT32), scale=1.0, layout="nchw")
    # ITU-R 601-2: L = 0.299 R + 0.587 G + 0.114 B, within the rounding to a whole number.
    luma = PIXELS @ np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(array[0, 0], luma, atol=0.51)


def test_an_input_without_batch_takes_a_picture(picture: Path) -> None:
    assert read(picture, TensorInfo((3, 2, 3), DataType.FLOAT32), layout="nchw").shape == (3, 2, 3)


def test_a_batch_of_more_than_one_cannot_be_filled(picture: Path) -> None:
    message = r"became \[1,3,2,3\] \(layout nchw\), expected \[4,3,\?,\?\]"
    with pytest.raises(InvalidArgumentError, match=message):
        read(picture, TensorInfo((4, 3, None, None), DataType.FLOAT32))


@pytest.mark.parametrize("shape", [(2, 3), (1, 1, 3, 2, 3), None])
def test_an_input_of_another_rank_cannot_be_a_picture(
    shape: tuple[int, ...] | None, picture: Path
) -> None:
    with pytest.raises(InvalidArgumentError, match="needs three axes, or four with a batch of one"):
        read(picture, TensorInfo(shape, DataType.FLOAT32))


@pytest.mark.parametrize("shape", [(1, 3, 8, 3), (1, 8, 8, 8), (1, None, None, None)])
def test_a_shape_that_does_not_tell_the_layout_must_be_helped(
    shape: tuple[int | None, ...], picture: Path
) -> None:
    with pytest.raises(InvalidArgumentError, match="say --layout nchw or --layout nhwc"):
        read(picture, TensorInfo(shape, DataType.FLOAT32))


def test_pixels_of_an_integer_input_stay_as_they_are(picture: Path) -> None:
    info = TensorInfo((1, 2, 3, 3), DataType.UNSIGNED8)
    array, notes = read_picture(picture, info, PictureOptions(layout="nhwc"))
    np.testing.assert_array_equal(array[0], PIXELS)
    assert "pixels as they are (assumed)" in notes


def test_an_integer_input_takes_no_fractions(picture: Path) -> None:
    info = TensorInfo((1, 2, 3, 3), DataType.UNSIGNED8)
    with pytest.raises(InvalidArgumentError, match="--mean makes fractions, but the input is Unsi"):
        read(picture, info, layout="nhwc", mean=(1.0,))


def test_bright_pixels_do_not_wrap_around_in_a_signed_input(picture: Path) -> None:
    info = TensorInfo((1, 2, 3, 3), DataType.SIGNED8)
    with pytest.raises(InvalidArgumentError, match="has pixels up to 255, expected at most 127"):
        read(picture, info, layout="nhwc")


def test_a_boolean_input_takes_no_picture(picture: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot become an input of type Boolean"):
        read(picture, TensorInfo((1, 3, 2, 3), DataType.BOOLEAN), layout="nchw")


def test_a_quantized_input_stores_the_real_values(picture: Path) -> None:
    info = TensorInfo((1, 2, 3, 3), DataType.QASYMM_S8, 1 / 255, -128)
    np.testing.assert_array_equal(
        read(picture, info, layout="nhwc")[0], PIXELS.astype(np.int16) - 128
    )
    coarse = TensorInfo((1, 2, 3, 3), DataType.QASYMM_U8, 3 / 255, 10)
    expected = np.rint(PIXELS / 3) + 10  # no third of a whole number is halfway
    np.testing.assert_array_equal(read(picture, coarse, layout="nhwc")[0], expected)


def test_bfloat16_inputs_are_rounded(picture: Path) -> None:
    info = TensorInfo((1, 2, 3, 3), DataType.BFLOAT16)
    array = read(picture, info, layout="nhwc").astype(np.float32)
    np.testing.assert_allclose(array[0], PIXELS / 255, rtol=2**-8)


@pytest.mark.parametrize("option", ["mean", "std"])
def test_numbers_for_another_count_of_channels_are_refused(option: str, picture: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=f"--{option} got 2 numbers, expected one, or 3"):
        read(picture, NHWC, **{option: (1.0, 2.0)})


def test_transparent_parts_become_white(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(np.array([[[9, 9, 9, 0], [9, 8, 7, 255]]], np.uint8)).save(path)
    array, notes = read_picture(path, NHWC, PictureOptions(scale=1.0))
    np.testing.assert_array_equal(array[0, 0], [[255, 255, 255], [9, 8, 7]])
    assert "transparent parts made white" in notes


def test_a_photograph_that_was_turned_by_the_camera_stands_upright(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: to be turned clockwise by a quarter
    Image.fromarray(PIXELS).save(path, exif=exif)
    array = read(path, NHWC, scale=1.0)
    np.testing.assert_array_equal(array[0], np.rot90(PIXELS, -1))


def test_jpegs_and_palettes_are_read(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8), (200, 100, 50)).save(tmp_path / "a.jpg", quality=95)
    np.testing.assert_allclose(
        read(tmp_path / "a.jpg", NHWC, scale=1.0)[0, 4, 4], (200, 100, 50), atol=3
    )
    Image.fromarray(PIXELS).quantize(8).save(tmp_path / "b.png")
    assert read(tmp_path / "b.png", NHWC).shape == (1, 2, 3, 3)


def test_sixteen_bits_a_channel_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((2, 2), np.uint16)).save(tmp_path / "a.png")
    with pytest.raises(InvalidArgumentError, match="mode 'I;16', expected 8 bits a channel"):
        read(tmp_path / "a.png", NHWC)


def test_a_missing_picture_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"there is no picture '.*none.png'"):
        read(tmp_path / "none.png", NHWC)


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("hello")
    with pytest.raises(InvalidArgumentError, match=r"a.png' cannot be read as a picture"):
        read(tmp_path / "a.png", NHWC)
    Image.fromarray(PIXELS).save(tmp_path / "b.eps")  # Ghostscript would run the program in it
    (tmp_path / "b.eps").rename(tmp_path / "b.png")
    with pytest.raises(InvalidArgumentError, match=r"b.png' cannot be read as a picture"):
        read(tmp_path / "b.png", NHWC)


def test_the_suffixes_are_those_of_formats_that_pillow_reads() -> None:
    known = Image.registered_extensions()
    for suffix in module.PICTURE_SUFFIXES:
        assert known[suffix] in Image.OPEN
        assert known[suffix] not in module._REFUSED


@pytest.mark.parametrize("suffix", ["webp", "bmp", "gif", "tiff", "ppm", "tga", "jp2"])
def test_the_formats_of_pillow_are_read(suffix: str, tmp_path: Path) -> None:
    options = {"webp": {"lossless": True}}.get(suffix, {})
    Image.fromarray(PIXELS).save(tmp_path / f"a.{suffix}", **options)
    array = read(tmp_path / f"a.{suffix}", NHWC, scale=1.0)
    np.testing.assert_array_equal(array[0], PIXELS)
    (tmp_path / f"a.{suffix}").rename(tmp_path / "b.jpg")  # as downloads often are called
    np.testing.assert_array_equal(read(tmp_path / "b.jpg", NHWC, scale=1.0), array)


def test_of_several_frames_the_first_counts(tmp_path: Path) -> None:
    first = Image.fromarray(PIXELS)
    first.save(tmp_path / "a.gif", save_all=True, append_images=[Image.new("RGB", (3, 2))])
    array, notes = read_picture(tmp_path / "a.gif", NHWC, PictureOptions(scale=1.0))
    np.testing.assert_array_equal(array[0], PIXELS)
    assert "the first of its frames" in notes


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "gif", "tiff"])
def test_a_truncated_picture_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(path)
    content = path.read_bytes()
    for kept in (10, 40, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:kept])
        with pytest.raises(InvalidArgumentError, match="cannot be read as a picture"):
            read(path, NHWC)


def test_too_many_pixels_are_refused_before_they_are_unpacked(
    picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIXEL_LIMIT", 5)
    with pytest.raises(InvalidArgumentError, match="has 3x2 pixels, expected at most 5 in all"):
        read(picture, NHWC)
    monkeypatch.setattr(module, "PIXEL_LIMIT", 6)
    assert read(picture, NHWC).shape == (1, 2, 3, 3)


def test_pillow_s_own_warning_of_large_pictures_stays_out_of_the_way(
    picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 5)
    assert read(picture, NHWC).shape == (1, 2, 3, 3)


def test_without_pillow_the_error_says_what_to_install(
    picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InvalidArgumentError, match=r"not installed: pip install pillow$"):
        read(picture, NHWC)


@pytest.fixture
def blank_picture(tmp_path: Path) -> Path:
    """Write a picture of three columns and two rows."""
    path = tmp_path / "small.png"
    Image.new("RGB", (3, 2)).save(path)
    return path


def read_resized(path: Path, info: TensorInfo, resize: Resize | None = None) -> NDArray[np.generic]:
    array, _ = read_picture(path, info, PictureOptions(resize=resize))
    return array


def test_a_picture_is_stretched_to_the_input_and_that_is_said(blank_picture: Path) -> None:
    info = TensorInfo((1, 3, 4, 8), DataType.FLOAT32)
    array, notes = read_picture(blank_picture, info, PictureOptions())
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
    assert read_resized(path, info, Resize(shortest=8)).shape == (1, 1, 8, 24)
    tall = tmp_path / "b.png"
    Image.new("L", (3, 10)).save(tall)
    assert read_resized(tall, info, Resize(shortest=6)).shape == (1, 1, 20, 6)
    assert read_resized(tall, info, Resize(shortest=6, crop=True)).shape == (1, 1, 6, 6)


def test_a_middle_larger_than_the_picture_cannot_be_cut_out(tmp_path: Path) -> None:
    path = stripes(tmp_path / "a.png", 8, 4)
    info = TensorInfo((1, 1, 6, 6), DataType.FLOAT32)
    message = "--resize leaves 8x4 pixels of .*, expected at least the 6x6 that are cut out"
    with pytest.raises(InvalidArgumentError, match=message):
        read_resized(path, info, Resize(shortest=4, crop=True))


def test_a_resize_to_another_size_than_the_inputs_is_refused(blank_picture: Path) -> None:
    info = TensorInfo((1, 3, 4, 8), DataType.FLOAT32)
    with pytest.raises(InvalidArgumentError, match=r"became \[1,3,5,6\] .* expected \[1,3,4,8\]"):
        read_resized(blank_picture, info, Resize(width=6, height=5))


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
    shape: tuple[int, ...], blank_picture: Path
) -> None:
    message = f"would be resized to {shape[3]}x{shape[2]} pixels, expected 1 to 67108864 in all"
    with pytest.raises(InvalidArgumentError, match=message):
        read_resized(blank_picture, TensorInfo(shape, DataType.FLOAT32))


def test_a_resize_to_too_many_pixels_is_refused(
    blank_picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = TensorInfo((1, 3, None, None), DataType.FLOAT32)
    monkeypatch.setattr(module, "PIXEL_LIMIT", 24)
    assert read_resized(blank_picture, info, Resize(shortest=4)).shape == (1, 3, 4, 6)
    monkeypatch.setattr(module, "PIXEL_LIMIT", 23)
    with pytest.raises(InvalidArgumentError, match="would be resized to 6x4 pixels"):
        read_resized(blank_picture, info, Resize(shortest=4))
    with pytest.raises(InvalidArgumentError, match="would be resized to 4x6 pixels"):
        read_resized(blank_picture, info, Resize(width=4, height=6))
