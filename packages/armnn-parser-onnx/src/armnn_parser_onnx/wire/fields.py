# SPDX-License-Identifier: MIT
"""The kinds of fields that messages declare, one line each.

A kind says what becomes of the content after a tag. Every kind but ``message`` and ``one`` comes in
two forms in ONNX: alone, where the last one counts, or repeated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from armnn_parser_onnx.wire.errors import MalformedError
from armnn_parser_onnx.wire.varints import (
    EIGHT_BYTES,
    FOUR_BYTES,
    LENGTH,
    VARINT,
    packed_varints,
    signed,
)

Content: TypeAlias = "Callable[[Any], Any]"
"""Makes the value of a field of what follows its tag: bytes, or an unsigned number."""

Forms: TypeAlias = Mapping[int, tuple[int, "Content | None"]]

IGNORED: Final = object()
"""The value of a field that counts as absent."""

_text: Final = bytes.decode  # called without a function of Python's, as a model has thousands

ONE, MANY, EXTENDING = range(3)
"""How a value changes a message: it replaces the old one, is one more, or is a list of more."""


class Field:
    """A field of a message.

    Attributes:
        number: Its number.
        forms: How it is read, by what follows the tag: how its value changes the message, and
            what makes the value; None for a message, and for bytes that may be left where they are.
        default: Its value where it is absent; None for a list.
        repeated: Whether it is a list.
        kind: The name of the message's class; "" for a number or text.
        others: The fields of which only one may be present, by name.
        finish: Makes the list that is handed on.
    """

    __slots__ = ("default", "finish", "forms", "kind", "number", "others", "repeated")

    def __init__(
        self,
        number: int,
        forms: Forms,
        default: Any = None,
        repeated: bool = False,
        kind: str = "",
        others: tuple[str, ...] = (),
        finish: Content | None = None,
    ) -> None:
        self.number = number
        self.forms = forms
        self.default = default
        self.repeated = repeated
        self.kind = kind
        self.others = others
        self.finish = finish


def text(number: int, default: Any = "", others: tuple[str, ...] = ()) -> Any:
    """Declare a text; bytes that are not UTF-8 raise UnicodeDecodeError."""
    return Field(number, {LENGTH: (ONE, _text)}, default, others=others)


def texts(number: int) -> Any:
    """Declare a list of texts."""
    return Field(number, {LENGTH: (MANY, _text)}, repeated=True)


def note(number: int) -> Any:
    """Declare a text for people, in any encoding."""
    return Field(number, {LENGTH: (ONE, _note)}, "")


def content(number: int) -> Any:
    """Declare bytes, b"" if absent."""
    return Field(number, {LENGTH: (ONE, bytes)}, b"")


def contents(number: int) -> Any:
    """Declare a list of bytes."""
    return Field(number, {LENGTH: (MANY, bytes)}, repeated=True)


def span(number: int) -> Any:
    """Declare bytes, which are a :class:`Span` if they are many."""
    return Field(number, {LENGTH: (ONE, None)})


def integer(number: int, default: Any = 0, others: tuple[str, ...] = ()) -> Any:
    """Declare a signed number of 64 bits."""
    return Field(number, {VARINT: (ONE, _signed64)}, default, others=others)


def integer32(number: int) -> Any:
    """Declare a signed number of 32 bits."""
    return Field(number, {VARINT: (ONE, _signed32)}, 0)


def choice(number: int, allowed: Collection[int]) -> Any:
    """Declare an entry of an enumeration; others count as absent."""

    def chosen(value: int) -> Any:
        made = value if value < 1 << 31 else signed(value, 32)
        return made if made in allowed else IGNORED

    return Field(number, {VARINT: (ONE, chosen)}, 0)


def integers(number: int) -> Any:
    """Declare a list of signed numbers of 64 bits."""
    forms: Forms = {VARINT: (MANY, _signed64), LENGTH: (EXTENDING, _all_signed64)}
    return Field(number, forms, repeated=True)


def real(number: int) -> Any:
    """Declare a number of type float32."""
    return Field(number, {FOUR_BYTES: (ONE, _real)}, 0.0)


def reals(number: int) -> Any:
    """Declare a list of numbers of type float32."""
    forms: Forms = {FOUR_BYTES: (MANY, _real), LENGTH: (EXTENDING, _all_reals)}
    return Field(number, forms, repeated=True)


def array(number: int, dtype: str) -> Any:
    """Declare the numbers of a tensor, which become an array."""
    made = np.dtype(dtype)  # a name takes longer than the rest
    if made.kind == "f":
        size, stored = made.itemsize, made.newbyteorder("<")

        def floats(data: bytes) -> Any:
            if len(data) % size:
                raise MalformedError
            return np.frombuffer(data, stored).astype(made, copy=False)

        forms: Forms = {
            FOUR_BYTES if size == 4 else EIGHT_BYTES: (MANY, floats),
            LENGTH: (MANY, floats),
        }
    else:

        def packed(data: bytes) -> Any:
            return packed_varints(data).astype(made)  # the lowest bits, as C's conversion does

        forms = {VARINT: (MANY, int), LENGTH: (MANY, packed)}

    def joined(parts: list[Any]) -> Any:
        if len(parts) == 1 and not isinstance(parts[0], int):
            return parts[0]
        loose = (np.array([part], np.uint64) if isinstance(part, int) else part for part in parts)
        return np.concatenate([np.empty(0, made), *(part.astype(made) for part in loose)])

    absent = np.empty(0, made)
    absent.flags.writeable = False
    return Field(number, forms, absent, repeated=True, finish=joined)


def message(number: int, kind: str, others: tuple[str, ...] = ()) -> Any:
    """Declare a message, None if absent."""
    return Field(number, {LENGTH: (ONE, None)}, kind=kind, others=others)


def messages(number: int, kind: str) -> Any:
    """Declare a list of messages."""
    return Field(number, {LENGTH: (MANY, None)}, repeated=True, kind=kind)


def _note(data: bytes) -> str:
    return str(data, "utf-8", "replace")


def _signed64(value: int) -> int:
    return value if value < 1 << 63 else value - (1 << 64)


def _signed32(value: int) -> int:
    return value if value < 1 << 31 else signed(value, 32)


PLAIN: Final = (_signed64, _signed32)
"""What makes no other number of a number of few bits."""


def _all_signed64(data: bytes) -> list[int]:
    made: list[int] = packed_varints(data).view(np.int64).tolist()
    return made


def _real(data: bytes) -> float:
    made: float = struct.unpack("<f", data)[0]
    return made


def _all_reals(data: bytes) -> list[float]:
    if len(data) % 4:
        raise MalformedError
    made: list[float] = np.frombuffer(data, "<f4").tolist()
    return made
