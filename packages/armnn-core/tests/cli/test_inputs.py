# SPDX-License-Identifier: MIT
"""Inputs of a network made from a run's options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from armnn import DataType, TensorInfo
from armnn.cli.inputs import Feed, InputOptions, make_feeds, split_named, with_shapes
from armnn.debugging.samples import random_array
from armnn.errors import InvalidArgumentError

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
    assert ids.notes == ("not given", "seed 7", "unknown dimensions of [batch,4] taken as 1")
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


def test_zeros_of_a_quantised_input_are_its_zero_point() -> None:
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
    infos = with_shapes(TWO, ["image=2x3x8x8", "ids=5x4"])
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
        ("image=2,3,8,8", "--shape got '2,3,8,8' for the input 'image', expected numbers as in"),
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
        ("1,2", (None, None), "got 2 numbers"),
        ("0.5", (1,), "'x', 0.5: got float64, expected int64, which cannot hold all"),
        ("9" * 30, (1,), "got object, expected int64"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(text: str, shape: tuple, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        feed_of(text, TensorInfo(shape, DataType.SIGNED64))
