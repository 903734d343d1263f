# SPDX-License-Identifier: MIT
"""Custom operators' parameters: a FlexBuffers map of numbers.

It is read within its bounds. The format is that of https://flatbuffers.dev/flexbuffers. Only what
parameters are made of is read: a map at the root, with numbers and truth values in it; other values
are left out.
"""

from __future__ import annotations

import struct

from armnn.errors import ParseError

_INT, _UINT, _FLOAT, _BOOL = 1, 2, 3, 26
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_MAP = 9
_FORMATS = {
    _INT: {1: "<b", 2: "<h", 4: "<i", 8: "<q"},
    _UINT: {1: "<B", 2: "<H", 4: "<I", 8: "<Q"},
    _FLOAT: {2: "<e", 4: "<f", 8: "<d"},
}
_LONGEST_KEY = 256


def read_numbers(data: bytes) -> dict[str, float]:
    """Return the numbers in a map by name.

    Integers stay as they are, Booleans are 0 and 1.

    Raises:
        ParseError: It is not a map, or an offset leads out of it.
    """
    if len(data) < 3:
        raise _error("it has fewer than 3 bytes")
    root_width, packed = data[-1], data[-2]
    if packed >> 2 != _MAP:
        raise _error("it is not a map")
    reader = _Reader(data)
    root = len(data) - 2 - root_width
    return reader.map(reader.follow(root, root_width), 1 << (packed & 3))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def map(self, at: int, width: int) -> dict[str, float]:
        count = self._number(at - width, width, _UINT)
        if count * (width + 1) > len(self._data):
            raise _error(f"it has {count} entries in {len(self._data)} bytes")
        keys = self.follow(at - 3 * width, width)
        key_width = self._number(at - 2 * width, width, _UINT)
        numbers: dict[str, float] = {}
        for index in range(int(count)):
            kind = self._byte(at + int(count) * width + index)
            number = self._value(at + index * width, width, kind)
            if number is not None:
                numbers[self._key(self.follow(keys + index * int(key_width), int(key_width)))] = (
                    number
                )
        return numbers

    def follow(self, at: int, width: int) -> int:
        """Return where an offset leads, which counts backwards."""
        target = at - int(self._number(at, width, _UINT))
        if target < 0:
            raise _error(f"an offset leads {-target} bytes before its start")
        return target

    def _value(self, at: int, width: int, packed: int) -> float | None:
        kind = packed >> 2
        if kind in _INDIRECT:
            return self._number(self.follow(at, width), 1 << (packed & 3), _INDIRECT[kind])
        if kind == _BOOL:
            return self._number(at, width, _UINT)
        return self._number(at, width, kind) if kind in _FORMATS else None

    def _key(self, at: int) -> str:
        end = self._data.find(b"\0", at, at + _LONGEST_KEY)
        if end < 0:
            raise _error("a name in it does not end")
        return self._data[at:end].decode("utf-8", "backslashreplace")

    def _byte(self, at: int) -> int:
        return int(self._number(at, 1, _UINT))

    def _number(self, at: int, width: int, kind: int) -> float:
        layout = _FORMATS[kind].get(width)
        if layout is None or not 0 <= at <= len(self._data) - width:
            raise _error(f"a number of {width} bytes at {at} is outside of it")
        number: float = struct.unpack_from(layout, self._data, at)[0]
        return number


def _error(what: str) -> ParseError:
    return ParseError(f"the options of a custom operator are malformed: {what}")
