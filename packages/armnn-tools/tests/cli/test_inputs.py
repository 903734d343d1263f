# SPDX-License-Identifier: MIT
"""The data of inputs: files, numbers, made-up values, and shapes that are open."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from armnn import DataType, TensorInfo
from armnn.errors import InvalidArgumentError, ShapeError
from armnn_tools.cli import inputs as module
from armnn_tools.cli.inputs import (
    Feed,
    InputOptions,
    explaining_open_shapes,
    fitted,
    make_feeds,
    npz_names,
    read_npy,
    read_npz,
    split_named,
    with_shapes,
)
from armnn_tools.debugging.samples import random_array

ONE = {"x": TensorInfo((2, 3), DataType.FLOAT32)}
TWO = {
    "ids": TensorInfo(("batch", 4), DataType.SIGNED64),
    "image": TensorInfo((None, 3, 8, 8), DataType.FLOAT32),
}


def feed_of(source: str | None, info: TensorInfo, seed: int = 0) -> Feed:
    (feed,) = make_feeds({"x": info}, InputOptions([] if source is None else [source], (), seed))
    return feed


def test_inputs_that_are_not_given_are_random_and_say_so() -> None:
    ids, image = make_feeds(TWO, InputOptions(seed=7))
    assert (ids.name, ids.source) == ("ids", "random")
    assert ids.notes == ("not given", "seed 7", "unknown dimensions of [batch,4] assumed to be 1")
    assert (ids.array.shape, ids.array.dtype) == ((1, 4), np.int64)
    assert (image.array.shape, image.array.dtype) == ((1, 3, 8, 8), np.float32)


def test_random_data_depends_on_name_and_seed_only() -> None:
    info = TensorInfo((100,), DataType.FLOAT32)
    assert np.array_equal(random_array("x", info, 3), random_array("x", info, 3))
    assert not np.array_equal(random_array("x", info, 3), random_array("x", info, 4))
    assert not np.array_equal(random_array("x", info, 3), random_array("y", info, 3))


@pytest.mark.parametrize("data_type", list(DataType), ids=lambda data_type: data_type.arm_name)
def test_random_data_has_the_type_of_the_input(data_type: DataType) -> None:
    array = random_array("x", TensorInfo((50, 40), data_type), 0)
    assert (array.dtype, array.shape) == (data_type.numpy_dtype, (50, 40))
    values = array.astype(np.float64)
    if data_type.is_quantized:
        limits = np.iinfo(array.dtype)
        assert values.max() - values.min() > 0.9 * (float(limits.max) - limits.min)
    elif not data_type.is_float:
        assert set(values.ravel()) == {0.0, 1.0}
    elif not data_type.is_storage_only:
        assert abs(values.mean()) < 0.1
        assert abs(values.std() - 1) < 0.1


def test_zeros_of_a_quantized_input_are_its_zero_point() -> None:
    info = TensorInfo((2,), DataType.QASYMM_S8, 0.5, -7)
    np.testing.assert_array_equal(feed_of("zeros", info).array, np.array([-7, -7], np.int8))
    plain = feed_of("x=zeros", TensorInfo((2,), DataType.FLOAT32))
    np.testing.assert_array_equal(plain.array, np.zeros(2, np.float32))
    assert (plain.source, plain.notes) == ("zeros", ())


def test_a_rank_that_is_not_known_must_be_said() -> None:
    with pytest.raises(InvalidArgumentError, match="shape of the input 'x'; say it with --shape"):
        feed_of("random", TensorInfo(None, DataType.FLOAT32))


def test_made_up_data_cannot_fill_the_memory() -> None:
    with pytest.raises(InvalidArgumentError, match=r"'x' of shape \[99999,99999\] is too large"):
        feed_of("zeros", TensorInfo((99999, 99999), DataType.FLOAT32))


def test_an_npy_file_becomes_the_input(tmp_path: Path) -> None:
    path = tmp_path / "a=b.npy"
    np.save(path, np.arange(6.0).reshape(2, 3))
    for text in (str(path), f"x={path}"):
        feed = feed_of(text, ONE["x"])
        np.testing.assert_array_equal(feed.array, np.arange(6, dtype=np.float32).reshape(2, 3))
        assert (feed.source, feed.notes) == (str(path), ("float64 converted to float32",))


def test_the_count_of_nan_in_a_file_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.float32([[0, np.nan, 2], [np.inf, np.nan, 5]]))
    assert feed_of(str(path), ONE["x"]).notes == ("2 of its 6 numbers are NaN",)


def test_an_npz_file_alone_gives_all_inputs_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "both.npz"
    image = np.ones((2, 3, 8, 8), np.float32)
    np.savez(path, ids=np.arange(8).reshape(2, 4), image=image)
    ids, pictures = make_feeds(TWO, InputOptions([str(path)]))
    np.testing.assert_array_equal(ids.array, np.arange(8).reshape(2, 4))
    np.testing.assert_array_equal(pictures.array, image)


def test_an_npz_file_with_an_array_for_no_input_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", ids=np.zeros((1, 4), np.int64), imag=np.zeros(1))
    with pytest.raises(InvalidArgumentError, match=r"the name 'imag'.*did you mean 'image'\?"):
        make_feeds(TWO, InputOptions([str(tmp_path / "a.npz")]))


def test_a_file_that_does_not_fit_names_file_and_input(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2), np.float32))
    message = r"the input 'x' from '.*a.npy': got shape \[3,2\], expected \[2,3\]"
    with pytest.raises(InvalidArgumentError, match=message):
        feed_of(str(tmp_path / "a.npy"), ONE["x"])


@pytest.mark.parametrize("source", ["data.csv", "data", "ones"])
def test_what_is_neither_a_known_file_nor_a_word_is_refused(source: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"expected a file ending in .npy, .npz, .png"):
        feed_of(f"x={source}", ONE["x"])


@pytest.mark.parametrize(
    ("texts", "names", "found"),
    [
        (["x=a"], ["x"], {"x": "a"}),
        (["a"], ["x"], {"x": "a"}),
        (["x=a=b"], ["x"], {"x": "a=b"}),
        (["x=a", "y=b"], ["y", "x"], {"x": "a", "y": "b"}),
        (["x=1=a"], ["x", "x=1"], {"x=1": "a"}),
        (["in:0=a"], ["in:0", "in:1"], {"in:0": "a"}),
        (["x="], ["x"], {"x": ""}),
        ([], [], {}),
    ],
)
def test_names_and_values_are_split(
    texts: Sequence[str], names: Sequence[str], found: dict[str, str]
) -> None:
    assert split_named(texts, names, "--input") == found


@pytest.mark.parametrize(
    ("texts", "names", "message"),
    [
        (["a"], ["x", "y"], "'a' without a name, expected NAME=... with one of 'x', 'y'"),
        (["imagee=a"], ["ids", "image"], r"'imagee', expected one of .*did you mean 'image'\?"),
        (["zzz=a"], ["ids"], "got the name 'zzz', expected one of 'ids'$"),
        (["x=a", "x=b"], ["x"], "--input was given twice for 'x'"),
        (["a", "b"], ["x"], "--input was given twice for 'x'"),
        (["a"], [], "expected NAME=... with one of none"),
    ],
)  # fmt: skip
def test_names_that_are_wrong_are_refused(
    texts: Sequence[str], names: Sequence[str], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        split_named(texts, names, "--input")


def test_a_shape_fills_open_dimensions() -> None:
    infos = with_shapes(TWO, ["image=2,3,8,8", "ids=5x4"])
    assert infos["image"].shape == (2, 3, 8, 8)
    assert infos["ids"].shape == (5, 4)
    scalar = with_shapes({"s": TensorInfo(None, DataType.FLOAT32)}, ["scalar"])
    assert scalar["s"].shape == ()
    assert with_shapes(TWO, []) == TWO


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image=2x3x9x8", r"--shape got \[2,3,9,8\] for the input 'image', expected \[\?,3,8,8\]"),
        ("image=2x3", r"--shape got \[2,3\]"),
        ("image=2,3,8,", "--shape got '2,3,8,' for the input 'image', expected numbers as in"),
        ("image=-1x3x8x8", "expected numbers as in 1x3x224x224"),
        ("image=", "expected numbers as in 1x3x224x224"),
        ("imag=1x3x8x8", r"did you mean 'image'\?"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        with_shapes(TWO, [text])


def test_a_shape_decides_what_random_data_looks_like() -> None:
    (feed,) = make_feeds({"x": TWO["image"]}, InputOptions(["random"], ["4x3x8x8"]))
    assert feed.array.shape == (4, 3, 8, 8)
    assert feed.notes == ("seed 0",)


@pytest.mark.parametrize(
    ("text", "info", "expected"),
    [
        ("16000", TensorInfo((), DataType.SIGNED64), np.array(16000)),
        ("-0.5", TensorInfo((), DataType.FLOAT32), np.array(-0.5, np.float32)),
        ("1e3", TensorInfo((1,), DataType.SIGNED32), np.array([1000], np.int32)),
        ("True,false", TensorInfo((2,), DataType.BOOLEAN), np.array([True, False])),
        ("1,2,3,4", TensorInfo(("n", 2), DataType.UNSIGNED8), np.uint8([[1, 2], [3, 4]])),
        ("101,7592", TensorInfo(("n", "s"), DataType.SIGNED64), np.array([[101, 7592]])),
        ("5,6", TensorInfo((None, 2, None), DataType.SIGNED32), np.int32([[[5], [6]]])),
        ("7", TensorInfo(None, DataType.SIGNED64), np.array(7)),
        ("7,8", TensorInfo(None, DataType.SIGNED64), np.array([7, 8])),
    ],
)
def test_numbers_stand_on_the_command_line(
    text: str, info: TensorInfo, expected: np.ndarray
) -> None:
    feed = feed_of(text, info)
    np.testing.assert_array_equal(feed.array, expected)
    assert (feed.array.dtype, feed.array.shape) == (expected.dtype, expected.shape)
    assert feed.source == "the command line"


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("1,2,3", (2,), r"got 3 numbers for the input 'x', expected as many as \[2\] has elements"),
        ("1,2,3", (None, 2), r"as many as \[\?,2\] has elements"),
        ("1", (0, "n"), r"as many as \[0,n\] has elements"),
        ("1,2", (None, 3, None), r"as many as \[\?,3,\?\] has elements"),
        ("0.5", (1,), "'x', 0.5: got float64, expected int64, which cannot hold all"),
        ("9" * 30, (1,), "got object, expected int64"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(text: str, shape: tuple, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        feed_of(text, TensorInfo(shape, DataType.SIGNED64))


def test_numbers_of_a_batch_of_one_decide_about_other_inputs_of_its_dimensions() -> None:
    names = ("ids", "mask")
    infos = {name: TensorInfo(("batch", "length"), DataType.SIGNED64) for name in names}
    ids, mask = make_feeds(infos, InputOptions(["ids=101,7592,102"]))
    assert ids.array.tolist() == [[101, 7592, 102]]
    assert "taken as [1,3] (assumed)" in ids.notes
    assert mask.array.shape == (1, 3)


PICTURE = Feed("x", TensorInfo((1, 3, "h", "w")), np.zeros((1, 3, 5, 7)), "photo.PNG")
ARRAY = Feed("a", TensorInfo((None,)), np.zeros(4), "a.npy")
MADE_UP = Feed("r", TensorInfo((None,)), np.zeros(1), "random")
FIXED = Feed("f", TensorInfo((2,)), np.zeros(2), "f.npy")


def explained(*feeds: Feed) -> str:
    with pytest.raises(ShapeError) as raised, explaining_open_shapes(feeds):
        raise ShapeError("layer 'join' (Concat): they differ")
    return str(raised.value)


def test_a_picture_is_named_with_its_shape_and_may_be_resized() -> None:
    assert explained(PICTURE) == (
        "layer 'join' (Concat): they differ; the input 'x' has the shape [1,3,5,7] of 'photo.PNG': "
        "--resize WIDTHxHEIGHT gives the picture another size"
    )


def test_each_input_with_an_open_shape_is_named() -> None:
    assert explained(FIXED, ARRAY, MADE_UP) == (
        "layer 'join' (Concat): they differ; the input 'a' has the shape [4] of 'a.npy': the model "
        "leaves [?] open, but not for any size; the input 'r' was assumed to be [1]: --shape sets "
        "its shape"
    )


def test_without_an_open_shape_nothing_is_added() -> None:
    assert explained(FIXED) == "layer 'join' (Concat): they differ"


def saved(path: Path, array: NDArray[Any]) -> Path:
    np.save(path, array)
    return path


def npy_with_header(header: str, data: bytes = b"") -> bytes:
    """Return a .npy file of version 1 with any header."""
    text = header.encode().ljust(118 - 10 - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
        np.arange(4, dtype=">i2"),
        np.array(1.5),
        np.zeros((0, 3), np.uint8),
        np.array([True, False]),
        np.array([np.nan, np.inf, -np.inf], np.float16),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_what_numpy_saves_is_read(array: NDArray[Any], tmp_path: Path) -> None:
    read = read_npy(saved(tmp_path / "a.npy", array))
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array, strict=True)
    np.savez_compressed(tmp_path / "a.npz", x=array, y=np.zeros(1))
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz", "x"), array, strict=True)


def test_the_only_array_of_an_npz_needs_no_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", whatever=np.arange(3))
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz", "x"), np.arange(3))


def test_one_of_several_arrays_is_found_by_its_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.arange(4))
    assert npz_names(tmp_path / "a.npz") == ["x", "y"]
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz", "y"), np.arange(4))
    with pytest.raises(InvalidArgumentError, match=r"a.npz' has no array 'z': got x, y"):
        read_npz(tmp_path / "a.npz", "z")


def test_an_npz_without_arrays_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(InvalidArgumentError, match="has no array 'x': got none at all"):
        read_npz(tmp_path / "a.npz", "x")


def test_pickles_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidArgumentError, match="holds object, expected plain numbers"):
        read_npy(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not an array as numpy.save writes it"),
        (b"PK\x03\x04 and so on", "is not an array as numpy.save writes it"),
        (b"\x93NUMPY\x09\x00", "is not an array as numpy.save writes it"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "is not an array as numpy.save writes it"),
        (npy_with_header("{'descr': '<f4'}"), "is not an array as numpy.save writes it"),
        (npy_with_header("__import__('os')"), "is not an array as numpy.save writes it"),
        (
            npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", b"\0" * 8),
            "is truncated: got 8 bytes of data, expected 12",
        ),
        (
            npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
            r"holds an array of shape \[-1\]",
        ),
        (
            npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)*9}"),
            "is not an array as numpy.save writes it",
        ),
        (
            npy_with_header(
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", b"\0" * 4
            ),
            "expected at most 8 axes",
        ),
        (
            npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,)}"),
            "holds an array of shape",
        ),
        (
            npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999, 99999)}"),
            "holds 39999200004 bytes, expected at most 2147483648",
        ),
        (
            npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (10**9, 0)}"),
            "is not an array as numpy.save writes it",
        ),
        (
            npy_with_header("{'descr': '<U4', 'fortran_order': False, 'shape': ()}", b"\0" * 16),
            "holds <U4, expected plain numbers",
        ),
        (
            npy_with_header(
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", b"\0" * 4
            ),
            "expected plain numbers",
        ),
    ],
)
def test_a_damaged_or_hostile_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError, match=message):
        read_npy(path)


@pytest.mark.parametrize("keep", [0, 1, 30, 60, 150])
def test_a_truncated_npz_is_refused(keep: int, tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.savez(stream, x=np.arange(100))
    (tmp_path / "a.npz").write_bytes(stream.getvalue()[:keep])
    with pytest.raises(InvalidArgumentError, match=r"cannot read .*a.npz"):
        read_npz(tmp_path / "a.npz", "x")
    with pytest.raises(InvalidArgumentError, match=r"cannot read .*a.npz"):
        npz_names(tmp_path / "a.npz")


def test_a_damaged_member_of_an_npz_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(1000))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[100:140] = b"\xff" * 40
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InvalidArgumentError, match=r"cannot read .*a.npz"):
        read_npz(tmp_path / "a.npz", "x")


def test_a_small_npz_cannot_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ARRAY_BYTES_LIMIT", 4000)
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(500))
    assert read_npz(tmp_path / "a.npz", "x").shape == (500,)
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(501))
    with pytest.raises(InvalidArgumentError, match="holds 4008 bytes, expected at most 4000"):
        read_npz(tmp_path / "a.npz", "x")


def test_other_compressions_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.zeros(3))
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", stream.getvalue())
    with pytest.raises(InvalidArgumentError, match=r"is not packed as numpy.savez does it"):
        read_npz(tmp_path / "a.npz", "x")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"cannot read .*none.npy': No such file"):
        read_npy(tmp_path / "none.npy")
    with pytest.raises(InvalidArgumentError, match=r"cannot read .*none.npz': No such file"):
        read_npz(tmp_path / "none.npz", "x")


def test_a_folder_is_no_array(tmp_path: Path) -> None:
    (tmp_path / "a.npy").mkdir()
    with pytest.raises(InvalidArgumentError, match=r"cannot read .*a.npy': Is a directory"):
        read_npy(tmp_path / "a.npy")


def info(data_type: DataType, *shape: int | None) -> TensorInfo:
    return TensorInfo(shape, data_type)


def test_an_array_that_fits_is_left_alone() -> None:
    array = np.ones((2, 3), np.float32)
    same, notes = fitted(array, info(DataType.FLOAT32, None, 3), "x")
    assert same is array
    assert notes == []


def test_a_scalar_stays_a_scalar() -> None:
    array, _ = fitted(np.array(2.5, np.float32), info(DataType.FLOAT32), "x")
    assert array.shape == ()


def test_an_array_in_another_order_becomes_contiguous() -> None:
    array, _ = fitted(np.ones((2, 3), np.float32).T, info(DataType.FLOAT32, 3, 2), "x")
    assert array.flags.c_contiguous


def test_a_wrong_shape_says_what_was_expected() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"data.npy: got shape \[2,3\], expected \[\?,4\]"
    ):
        fitted(np.ones((2, 3), np.float32), info(DataType.FLOAT32, None, 4), "data.npy")


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        (np.array([0, 255], np.int64), DataType.UNSIGNED8),
        (np.array([1.0, -3.0]), DataType.SIGNED32),
        (np.array([0, 1], np.int32), DataType.BOOLEAN),
        (np.array([True, False]), DataType.FLOAT32),
        (np.array([1, 2], ">f4"), DataType.FLOAT32),
        (np.array([0.5, np.nan, np.inf]), DataType.FLOAT16),
        (np.array([0.5, -2.0], np.float32), DataType.BFLOAT16),
        (np.array([0.5, np.nan, -np.inf]), DataType.FLOAT32),
        (np.array([-128, 127], np.int16), DataType.QASYMM_S8),
    ],
    ids=str,
)
def test_a_conversion_that_keeps_every_value_is_done_and_said(
    values: NDArray[Any], data_type: DataType
) -> None:
    array, notes = fitted(values, info(data_type, None), "x")
    assert array.dtype == data_type.numpy_dtype
    np.testing.assert_array_equal(array.astype(np.float64), values.astype(np.float64))
    assert notes == [f"{values.dtype} converted to {data_type.numpy_dtype}"]


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        (np.array([256], np.int64), DataType.UNSIGNED8),
        (np.array([-1], np.int64), DataType.UNSIGNED64),
        (np.array([-1], np.int8), DataType.UNSIGNED8),
        (np.array([2**63], np.uint64), DataType.SIGNED64),
        (np.array([2**53 + 1]), DataType.FLOAT64),
        (np.array([2**24 + 1]), DataType.FLOAT32),
        (np.array([1.5]), DataType.SIGNED32),
        (np.array([np.nan]), DataType.SIGNED32),
        (np.array([np.inf]), DataType.SIGNED64),
        (np.array([2]), DataType.BOOLEAN),
        (np.array([0.1], np.float32), DataType.FLOAT16),
        (np.array([0.1], np.float32), DataType.BFLOAT16),
        (np.array([1e300]), DataType.FLOAT32),
        (np.array([128], np.int16), DataType.QASYMM_S8),
    ],
    ids=str,
)
def test_a_conversion_that_would_change_a_value_is_refused(
    values: NDArray[Any], data_type: DataType
) -> None:
    message = f"x: got {values.dtype}, expected {data_type.numpy_dtype}, which cannot hold all"
    with pytest.raises(InvalidArgumentError, match=message):
        fitted(values, info(data_type, None), "x")


@pytest.mark.parametrize("values", [np.array([1.0, -3.0]), np.array([2], np.float32)], ids=str)
def test_real_numbers_are_not_what_a_quantized_input_stores(values: NDArray[Any]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        fitted(values, TensorInfo(values.shape, DataType.QASYMM_S8, 0.5, -7), "x")
    assert str(caught.value) == (
        f"x: got {values.dtype}, expected the numbers that QAsymmS8[{len(values)}] with scale 0.5 "
        "and zero point -7 stores; --quantize-input takes real numbers"
    )


def test_only_float64_is_rounded_to_float32_and_that_is_said() -> None:
    array, notes = fitted(np.array([0.1, np.nan]), info(DataType.FLOAT32, 2), "x")
    np.testing.assert_array_equal(array, np.array([0.1, np.nan], np.float32))
    assert notes == ["float64 rounded to float32"]


@pytest.mark.parametrize("values", [np.array([1j]), np.array(["a"])], ids=str)
def test_what_is_no_real_number_is_refused(values: NDArray[Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"x: got {values.dtype}, expected float32"):
        fitted(values, info(DataType.FLOAT32, 1), "x")


@given(
    arrays.arrays(np.int64, 4, elements=st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)),
    st.sampled_from([DataType.UNSIGNED8, DataType.SIGNED16, DataType.UNSIGNED64, DataType.FLOAT32]),
)
def test_a_conversion_of_integers_is_exact_or_refused(
    values: NDArray[np.int64], data_type: DataType
) -> None:
    try:
        array, _ = fitted(values, info(data_type, 4), "x")
    except InvalidArgumentError:
        with np.errstate(all="ignore"):
            wrapped = values.astype(data_type.numpy_dtype)
        assert [int(value) for value in wrapped] != values.tolist()
    else:
        assert [int(value) for value in array] == values.tolist()
