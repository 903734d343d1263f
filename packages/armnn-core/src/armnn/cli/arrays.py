# SPDX-License-Identifier: MIT
"""Reading untrusted .npy and .npz files.

No pickles are read, and memory is bounded.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from armnn.errors import InvalidArgumentError
from armnn.tensor import MAX_RANK, TensorInfo, format_shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAY_BYTES_LIMIT = 1 << 31
"""A small .npz can unpack to any size; no input of a network is larger than this."""


def read_npy(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file.

    Raises:
        InvalidArgumentError: There is no such file, or it is not a whole array of numbers.
    """
    try:
        with path.open("rb") as file:
            return _read_array(file, path.stat().st_size, str(path))
    except OSError as error:
        raise _cannot_read(path, error) from error


def read_npz(path: Path, name: str) -> NDArray[Any]:
    """Return a .npz file's named array, or its only one.

    Raises:
        InvalidArgumentError: The file cannot be read, or has several arrays but not that one.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = _array_names(archive)
            if name not in names and len(names) != 1:
                raise InvalidArgumentError(
                    f"{str(path)!r} has no array {name!r}: got {', '.join(names) or 'none at all'}"
                )
            entry = archive.getinfo(names[name if name in names else next(iter(names))])
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InvalidArgumentError(f"{str(path)!r} is not packed as numpy.savez does it")
            with archive.open(entry) as file:
                return _read_array(file, entry.file_size, str(path))
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise _cannot_read(path, error) from error


def npz_names(path: Path) -> list[str]:
    """Return the names of the arrays in a .npz file.

    Raises:
        InvalidArgumentError: The file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return list(_array_names(archive))
    except (OSError, zipfile.BadZipFile) as error:
        raise _cannot_read(path, error) from error


def fitted(array: NDArray[Any], info: TensorInfo, what: str) -> tuple[NDArray[Any], list[str]]:
    """Return an array converted for an input, and the conversions.

    The conversions are in words. A conversion must keep every value; only float64, which is what
    Python's numbers are saved as, may be rounded to float32.

    Args:
        array: The data.
        info: The input.
        what: Where the data is from, for the message.

    Raises:
        InvalidArgumentError: The shape or the type does not fit.
    """
    if not info.accepts(array.shape):
        raise InvalidArgumentError(
            f"{what}: got shape {format_shape(array.shape)}, expected {format_shape(info.shape)}"
        )
    wanted = info.data_type.numpy_dtype
    advice = "convert it first"
    if info.is_quantized and array.dtype.kind == "f":
        advice = "--quantize-input takes real numbers"
    if array.dtype == wanted:
        return np.asarray(array, order="C"), []
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(f"{what}: got {array.dtype}, expected {wanted}")
    with np.errstate(all="ignore"):
        converted = array.astype(wanted, order="C")
        back = converted.astype(array.dtype)
    exact = np.array_equal(back, array, equal_nan=array.dtype.kind == "f") and np.array_equal(
        converted < 0, array < 0
    )
    rounds = array.dtype.newbyteorder("=") == np.float64 and wanted == np.float32
    overflows = rounds and not np.array_equal(np.isfinite(converted), np.isfinite(array))
    if not exact and (not rounds or overflows):
        raise InvalidArgumentError(
            f"{what}: got {array.dtype}, expected {wanted}, which cannot hold all of its values; "
            f"{advice}"
        )
    return converted, [f"{array.dtype} {'converted' if exact else 'rounded'} to {wanted}"]


def _array_names(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return each array's member of the archive, by array name."""
    members = (member for member in archive.namelist() if member.endswith(".npy"))
    return {member.removesuffix(".npy"): member for member in members}


def _read_array(file: IO[bytes], size_bytes: int, what: str) -> NDArray[Any]:
    """Read an array of ``size_bytes``, header included."""
    shape, is_fortran, dtype, header_bytes = _header(file, what)
    expected = math.prod(shape) * dtype.itemsize
    if expected > ARRAY_BYTES_LIMIT:
        raise InvalidArgumentError(
            f"{what!r} holds {expected} bytes, expected at most {ARRAY_BYTES_LIMIT}"
        )
    data = file.read(expected) if size_bytes - header_bytes >= expected else b""
    if len(data) != expected:
        raise InvalidArgumentError(
            f"{what!r} is truncated: got {size_bytes - header_bytes} bytes of data, expected "
            f"{expected}"
        )
    array = np.frombuffer(data, dtype)
    return array.reshape(shape, order="F" if is_fortran else "C")


def _header(file: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        # Version 3 differs in the names of structured types only, which are no tensors.
        reader = readers[np.lib.format.read_magic(file)]
        shape, is_fortran, dtype = reader(file)
    except (ValueError, KeyError) as error:
        raise InvalidArgumentError(
            f"{what!r} is not an array as numpy.save writes it: {error}"
        ) from error
    if dtype.kind not in "biufc":
        raise InvalidArgumentError(f"{what!r} holds {dtype}, expected plain numbers")
    if len(shape) > MAX_RANK or any(not 0 <= size <= ARRAY_BYTES_LIMIT for size in shape):
        raise InvalidArgumentError(
            f"{what!r} holds an array of shape {format_shape(shape)}, expected at most {MAX_RANK} "
            f"axes of at most {ARRAY_BYTES_LIMIT}"
        )
    return shape, is_fortran, dtype, file.tell()


def _cannot_read(path: Path, error: Exception) -> InvalidArgumentError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InvalidArgumentError(f"cannot read {str(path)!r}: {reason}")
