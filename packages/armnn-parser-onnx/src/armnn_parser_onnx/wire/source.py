# SPDX-License-Identifier: MIT
"""A model's bytes: in memory, or in a file."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from armnn.errors import ParseError
from armnn.parsing.conversion import HugePages, unreadable
from armnn_parser_onnx.wire.errors import MalformedError
from armnn_parser_onnx.wire.varints import LENGTH, length_at, skipped, tag_at

LARGE: Final = 16384
"""Bytes of a field from which on its content is left where it is."""

_FIRST_WINDOW = 4096
_LARGEST_WINDOW = 1 << 18


class SourceFile:
    """A file that any number of threads read in parts.

    Args:
        file: The file, which is closed with the last reference to this object.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.name: str = file.name
        self._descriptor = file.fileno()
        self._new_buffer = HugePages().empty
        weakref.finalize(self, file.close)

    def size(self) -> int:
        """Return the bytes of the file now."""
        return os.fstat(self._descriptor).st_size

    def read(self, start: int, size: int, what: str) -> bytes:
        """Return bytes of the file.

        Args:
            start: Where they begin.
            size: How many they are.
            what: What error messages call them.

        Raises:
            ParseError: The file is shorter by now.
            ModelFileError: It cannot be read.
        """
        self._check(start, size, what)
        try:
            data = os.pread(self._descriptor, size, start)
        except OSError as error:
            raise unreadable(self.name, error) from error
        return data if len(data) == size else bytes(self.buffer(start, size, what))

    def buffer(self, start: int, size: int, what: str) -> memoryview:
        """Return bytes as :meth:`read` does, aligned as arrays are."""
        self._check(start, size, what)
        data = self._new_buffer(size)
        done = 0
        try:
            while done < size:
                count = os.preadv(self._descriptor, [data[done:]], start + done)
                if not count:
                    raise ParseError(f"the file {self.name!r} ends while {what} is read")
                done += count
        except OSError as error:
            raise unreadable(self.name, error) from error
        return data.toreadonly()

    def _check(self, start: int, size: int, what: str) -> None:
        check_span(os.fstat(self._descriptor), start, size, f"{what} in {self.name!r}")


class Span(NamedTuple):
    """A part of a model's bytes.

    Attributes:
        data: Holds it.
        start: Its first byte.
        stop: The byte behind it.
    """

    data: bytes | SourceFile
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def read(self, what: str) -> bytes:
        """Return the bytes.

        Raises:
            ParseError: The file was cut short since it was opened.
        """
        if isinstance(self.data, bytes):
            return self.data[self.start : self.stop]
        return self.data.read(self.start, self.stop - self.start, what)

    def buffer(self, what: str) -> bytes | memoryview:
        """Return the bytes as :meth:`read` does, aligned as arrays are.

        Raises:
            ParseError: The file was cut short since it was opened.
        """
        if isinstance(self.data, bytes):
            return self.data[self.start : self.stop]
        return self.data.buffer(self.start, self.stop - self.start, what)


Piece: TypeAlias = "bytes | tuple[int, Span]"
"""Whole fields in memory, or a large field: its tag and its content."""


def pieces(file: SourceFile, start: int, stop: int, depth: int) -> Iterator[Piece]:
    """Yield the fields of a message in a file.

    Args:
        file: The file.
        start: The message's first byte.
        stop: The byte behind it.
        depth: In how many messages it is.

    Raises:
        MalformedError: They are not in the wire format.
        ParseError: The file was cut short since it was opened.
    """
    window = _FIRST_WINDOW
    while start < stop:
        size = min(window, stop - start)
        data = file.read(start, size, "the model")
        whole, large = _whole_fields(data, stop - start, depth)
        if whole:
            yield data[:whole]
        if large is not None:
            tag, begin, end = large
            yield tag, Span(file, start + begin, start + end)
            start, window = start + end, _FIRST_WINDOW
            continue
        if not whole and size == stop - start:
            raise MalformedError
        start += whole
        window = min(2 * window, _LARGEST_WINDOW) if whole else 2 * window


def _whole_fields(data: bytes, left: int, depth: int) -> tuple[int, tuple[int, int, int] | None]:
    """Return where whole fields end, and the large one behind.

    Args:
        data: The window.
        left: The bytes of the message from the window's beginning on.
        depth: In how many messages they are.

    Returns:
        The large field is its tag and where its content begins and ends.
    """
    end = 0
    try:
        while end < len(data):
            tag, pos = data[end], end + 1
            if not 8 <= tag < 128:  # as in Message._read: a call of a function counts
                tag, pos = tag_at(data, end)
            if tag & 7 == LENGTH:
                length, pos = data[pos], pos + 1
                if length > 127:
                    length, pos = length_at(data, pos - 1)
                stop = pos + length
                if stop > left:
                    raise MalformedError
                if length >= LARGE:
                    return end, (tag, pos, stop)
            else:
                stop = skipped(data, pos, tag, depth)
            if stop > len(data):
                break
            end = stop
    except IndexError:  # the field goes on behind the window
        pass
    return end, None


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
