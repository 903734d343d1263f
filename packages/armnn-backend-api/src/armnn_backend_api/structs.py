# SPDX-License-Identifier: MIT
"""Structs of ``armnn/backend.h``: memory that C reads, copies of C's."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.memory import UnmappedError, printable, read_memory

if TYPE_CHECKING:
    from typing import TypeVar

    _S = TypeVar("_S", bound=ctypes.Structure)

__all__ = [
    "MESSAGE_LIMIT",
    "Arena",
    "copied",
    "elements_of",
    "end_of",
    "new_error",
    "reset_error",
    "shown_text",
    "struct",
    "text_of",
    "word",
]

MESSAGE_LIMIT: Final = 4096
"""Bytes of a message or a reason that are read; the rest is cut off."""

_ELEMENTS: Final[dict[int, type[Any]]] = {
    abi.ATTRIBUTE_INT64: ctypes.c_int64,
    abi.ATTRIBUTE_FLOAT64: ctypes.c_double,
    abi.ATTRIBUTE_STRING: abi.String,
}


class Arena:
    """Arrays and texts for one call or object, freed together."""

    def __init__(self) -> None:
        self._held: list[Any] = []

    def array(self, kind: type[Any], count: int) -> Any:
        """Return a zeroed array of one element at least.

        So it has an address.
        """
        made = (kind * max(count, 1))()
        self._held.append(made)
        return made

    def filled(self, kind: type[Any], elements: Iterable[Any]) -> Any:
        """Return an array of numbers."""
        numbers = tuple(elements)
        made = (kind * max(len(numbers), 1))(*numbers)
        self._held.append(made)
        return made

    def structs(self, kind: type[_S], count: int) -> Any:
        """Return an array of growable structs with their headers set."""
        made = (kind * count).from_buffer_copy(_blank(kind) * count)
        self._held.append(made)
        return made

    def text(self, text: str) -> abi.String:
        """Return a text."""
        raw = text.encode("utf-8", "replace")
        buffer = ctypes.create_string_buffer(raw)
        self._held.append(buffer)
        return abi.String(ctypes.addressof(buffer), len(raw))

    def elements(self, kind: int, elements: Iterable[Any]) -> int:
        """Return the address of an attribute's elements."""
        if kind == abi.ATTRIBUTE_STRING:
            elements = map(self.text, elements)
        return ctypes.addressof(self.filled(_ELEMENTS[kind], elements))

    def hold(self, thing: object) -> None:
        """Keep something alive as long as the arena."""
        self._held.append(thing)


@functools.cache
def word(text: str) -> abi.String:
    """Return a cached text for a layer type or parameter.

    There are few of them.
    """
    return _words.text(text)


_words = Arena()


def struct(kind: type[_S]) -> _S:
    """Return a growable struct with its header set, else zero."""
    return kind.from_buffer_copy(_blank(kind))


@functools.cache
def _blank(kind: type[ctypes.Structure]) -> bytes:
    """Return a growable struct's bytes, header set, else zero."""
    made: Any = kind()
    made.header = abi.Header(ctypes.sizeof(kind), abi.STRUCT_IDS[kind], None)
    return bytes(made)


def end_of(kind: type[ctypes.Structure], field: str) -> int:
    """Return a field's end: the struct_size without later fields."""
    place = getattr(kind, field)
    end: int = place.offset + place.size
    return end


def copied(kind: type[_S], address: int) -> _S:
    """Return a growable struct's copy; fields it lacks are zero.

    The caller has checked struct_id and the smallest struct_size that makes sense.
    """
    made = kind()
    theirs = abi.Header.from_address(address).struct_size
    ctypes.memmove(ctypes.addressof(made), address, min(theirs, ctypes.sizeof(kind)))
    return made


def elements_of(attribute: abi.Attribute) -> list[Any]:
    """Return the elements of an attribute: integers, floats or texts."""
    if not attribute.count or attribute.data is None:
        return []
    array = (_ELEMENTS[attribute.type] * attribute.count).from_address(attribute.data)
    return [text_of(each) if isinstance(each, abi.String) else each for each in array]


def new_error() -> abi.Error:
    """Return an error struct for a callee to fill."""
    return abi.Error.from_buffer_copy(_blank_error())


def reset_error(error: abi.Error) -> None:
    """Prepare a filled error struct for the next call."""
    ctypes.memmove(ctypes.addressof(error), _blank_error(), ctypes.sizeof(error))


@functools.cache
def _blank_error() -> bytes:
    """Return the bytes of an error without nodes."""
    made = struct(abi.Error)
    made.node_id = -1
    return bytes(made)


def text_of(text: abi.String) -> str:
    """Return the other side's text, cut to 4096 bytes.

    Bytes that are not UTF-8 are replaced. Where no memory is mapped, that is the text.
    """
    if not text.data or not text.size:
        return ""
    try:
        raw = read_memory(text.data, min(text.size, MESSAGE_LIMIT))
    except UnmappedError as error:
        return f"<{error}>"
    return raw.decode("utf-8", "replace")


def shown_text(text: abi.String) -> str:
    """Return a backend's text for people, with escapes."""
    return printable(text_of(text))
