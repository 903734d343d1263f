# SPDX-License-Identifier: MIT
"""Reading .npy and .npz files, good, damaged and hostile."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from armnn import DataType, TensorInfo
from armnn.cli import arrays as module
from armnn.cli.arrays import fitted, npz_names, read_npy, read_npz
from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
