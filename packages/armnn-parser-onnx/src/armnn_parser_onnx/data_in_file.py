# SPDX-License-Identifier: MIT
"""Tensor data left in the model's file until needed."""

from __future__ import annotations

import os
import stat
import threading
import weakref
from typing import BinaryIO

from armnn.errors import ParseError

_SECRET_BYTES = 16
_NUMBER_BYTES = 8


class DataInFile:
    """Where data was left in a model's file, by key.

    The key replaces the data. A key is as unlikely to be a tensor's real data as a guessed password
    is to be right: no model can name data by it.

    Args:
        file: The model's file, which is closed with the last reference to this object.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._secret = os.urandom(_SECRET_BYTES)
        self._spans: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        weakref.finalize(self, file.close)

    def leave(self, offset: int, length: int) -> bytes:
        """Return the key that replaces the data at an offset."""
        self._spans.append((offset, length))
        return self._secret + (len(self._spans) - 1).to_bytes(_NUMBER_BYTES, "little")

    def resolved(self, data: bytes, name: str) -> bytes:
        """Return the data of a key; other data as is.

        Args:
            data: What stands in the message.
            name: The tensor that it belongs to.

        Raises:
            ParseError: The file was cut short since it was opened.
        """
        if len(data) != _SECRET_BYTES + _NUMBER_BYTES or not data.startswith(self._secret):
            return data
        offset, length = self._spans[int.from_bytes(data[_SECRET_BYTES:], "little")]
        with self._lock:
            what = f"the data of {name!r} in {self.file.name!r}"
            check_span(os.fstat(self.file.fileno()), offset, length, what)
            self.file.seek(offset)
            return self.file.read(length)


def check_span(status: os.stat_result, offset: int, size: int, what: str) -> None:
    """Check that data is within a file.

    Args:
        status: The file's.
        offset: Where the data begins.
        size: Its bytes.
        what: What error messages call the data.

    Raises:
        ParseError: It is no regular file, or too short.
    """
    if not stat.S_ISREG(status.st_mode):
        raise ParseError(f"{what} is not in a regular file")
    if offset + size > status.st_size:
        raise ParseError(
            f"{what} spans the bytes {offset} to {offset + size}, but the file has {status.st_size}"
        )
