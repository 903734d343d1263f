# SPDX-License-Identifier: MIT
"""Protocol Buffers' wire format, read without the package ``protobuf``.

A message class declares its fields by :func:`text`, :func:`integers` and the like. It is decoded on
the first use of a field. Large fields stay in the file; unknown fields are skipped.

A message may stand in several parts: its fields are those of all parts in their order, which is how
Protocol Buffers merges messages.

Source: Protocol Buffers, "Encoding". The bounds are those of its C implementation.
"""

from __future__ import annotations

import os
import stat
import struct
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, BinaryIO, ClassVar, Final, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.parsing.conversion import HugePages, map_file, unreadable


class MalformedError(Exception):
    """The bytes are not in the wire format, or incomplete."""


VARINT, EIGHT_BYTES, LENGTH, START_GROUP, END_GROUP, FOUR_BYTES = range(6)
"""The wire type: the kind of value that follows a tag, by its lowest three bits."""

_MOST_DEPTH: Final = 100
"""How deep messages and groups are nested at most."""

_LARGEST_TAG = 2**32 - 1
_MASK_64 = 2**64 - 1
_LARGEST_LENGTH = 2**31 - 1
_FEW_BYTES = 64
"""Up to so many bytes of packed numbers are decoded one by one."""

_BLOCK = 1 << 16
"""How many packed numbers are decoded at once."""


def _tag_at(data: bytes, pos: int) -> tuple[int, int]:
    """Return a tag, and where its content begins.

    Raises:
        MalformedError: The number of the field is 0 or takes more than 32 bits.
        IndexError: The bytes end.
    """
    first = data[pos]
    if first < 128:
        tag, pos = first, pos + 1
    elif data[pos + 1] < 128:  # as of fields from 16 on
        tag, pos = first & 127 | data[pos + 1] << 7, pos + 2
    else:
        tag, pos = _any_tag_at(data, pos)
    if tag < 8:
        raise MalformedError
    return tag, pos


def _any_tag_at(data: bytes, pos: int) -> tuple[int, int]:
    tag, pos = _number_at(data, pos, 5)
    if tag > _LARGEST_TAG:
        raise MalformedError
    return tag, pos


def _length_at(data: bytes, pos: int) -> tuple[int, int]:
    """Return a length, and where the content begins.

    Raises:
        MalformedError: It is more than any message can have.
        IndexError: The bytes end.
    """
    first = data[pos]
    if first > 127 and data[pos + 1] < 128:  # as most that are asked for here
        return first & 127 | data[pos + 1] << 7, pos + 2
    length, pos = _number_at(data, pos, 5)
    if length > _LARGEST_LENGTH:
        raise MalformedError
    return length, pos


def _varint_at(data: bytes, pos: int) -> tuple[int, int]:
    """Return a number's lowest 64 bits, and where it ends.

    Raises:
        MalformedError: It takes more than ten bytes.
        IndexError: The bytes end.
    """
    value, pos = _number_at(data, pos, 10)
    return value & _MASK_64, pos


def _number_at(data: bytes, pos: int, longest: int) -> tuple[int, int]:
    value = data[pos]
    if value < 128:
        return value, pos + 1
    value &= 127
    for place in range(1, longest):
        byte = data[pos + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, pos + place + 1
    raise MalformedError


def _signed(number: int, bits: int) -> int:
    """Return the two's complement of a number's lowest bits."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _packed_varints(data: bytes) -> NDArray[np.uint64]:
    """Return the lowest 64 bits of consecutive numbers.

    Raises:
        MalformedError: The last one is cut short, or one takes more than ten bytes.
    """
    if len(data) <= _FEW_BYTES:
        return np.array(_few(data), np.uint64)
    coded = np.frombuffer(data, np.uint8)
    if coded[-1] > 127:
        raise MalformedError
    ends = np.flatnonzero(coded < 128)
    made = np.empty(len(ends), np.uint64)
    begin = 0
    for first in range(0, len(ends), _BLOCK):
        block = ends[first : first + _BLOCK]
        made[first : first + len(block)] = _block(coded, begin, block)
        begin = int(block[-1]) + 1
    return made


def _few(data: bytes) -> list[int]:
    if data.isascii():  # each is one byte
        return list(data)
    values, pos = [], 0
    while pos < len(data):
        try:
            value, pos = _varint_at(data, pos)
        except IndexError:
            raise MalformedError from None
        values.append(value)
    return values


def _block(coded: NDArray[np.uint8], begin: int, ends: NDArray[Any]) -> NDArray[np.uint64]:
    """Return consecutive numbers, given where each ends."""
    begins = np.concatenate([[begin], ends[:-1] + 1])
    sizes = ends - begins + 1
    longest = int(sizes.max())
    if longest > 10:
        raise MalformedError
    values = np.zeros(len(ends), np.uint64)
    for place in range(longest):
        reaching = sizes > place
        bits = (coded[begins[reaching] + place] & 127).astype(np.uint64)
        values[reaching] |= bits << np.uint64(7 * place)
    return values


def _skipped(data: bytes, pos: int, tag: int, depth: int = 0) -> int:
    """Return where an unknown field ends.

    Args:
        data: Holds it.
        pos: Where its content begins.
        tag: Its tag.
        depth: In how many messages and groups it is.

    Raises:
        MalformedError: It is a group without end, or of no known kind.
        IndexError: The bytes end.
    """
    kind = tag & 7
    if kind == VARINT:
        return _varint_at(data, pos)[1]
    if kind in (EIGHT_BYTES, FOUR_BYTES):
        return pos + (8 if kind == EIGHT_BYTES else 4)
    if kind == LENGTH:
        length, pos = _length_at(data, pos)
        return pos + length
    if kind != START_GROUP or depth >= _MOST_DEPTH:
        raise MalformedError
    while True:
        inner, pos = _any_tag_at(data, pos)  # a field in a group may have the number 0
        if inner & 7 == END_GROUP:
            if inner >> 3 != tag >> 3:
                raise MalformedError
            return pos
        pos = _skipped(data, pos, inner, depth + 1)


LARGE: Final = 16384
"""Bytes of a field from which on its content is left where it is."""

_FIRST_WINDOW = 4096
_LARGEST_WINDOW = 1 << 18


class SourceFile:
    """A file that any number of threads read in parts.

    Args:
        file: The file, which is closed with the last reference to this object.
        is_mapped: Whether buffers are where they are in the file: no program may overwrite it.
    """

    def __init__(self, file: BinaryIO, *, is_mapped: bool = False) -> None:
        self.name: str = file.name
        self._is_mapped = is_mapped
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
            what: Their name in error messages.

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

    def buffer(self, start: int, size: int, what: str, alignment: int = 0) -> memoryview:
        """Return bytes as :meth:`read` does, aligned as arrays are, or to so many bytes."""
        self._check(start, size, what)
        done = 0
        try:
            if self._is_mapped and size >= LARGE and alignment and start % alignment == 0:
                return map_file(self._descriptor, start, size)
            data = self._new_buffer(size)
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

    def buffer(self, what: str, alignment: int = 0) -> bytes | memoryview:
        """Return the bytes as :meth:`read` does, aligned as arrays are.

        Args:
            what: Their name in error messages.
            alignment: To how many bytes they need to be aligned, if that is known; 0 if not.

        Raises:
            ParseError: The file was cut short since it was opened.
        """
        if isinstance(self.data, bytes):
            return self.data[self.start : self.stop]
        return self.data.buffer(self.start, self.stop - self.start, what, alignment)


_Piece: TypeAlias = "bytes | tuple[int, Span]"
"""Whole fields in memory, or a large field: its tag and its content."""


def _pieces(file: SourceFile, start: int, stop: int, depth: int) -> Iterator[_Piece]:
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
                tag, pos = _tag_at(data, end)
            if tag & 7 == LENGTH:
                length, pos = data[pos], pos + 1
                if length > 127:
                    length, pos = _length_at(data, pos - 1)
                stop = pos + length
                if stop > left:
                    raise MalformedError
                if length >= LARGE:
                    return end, (tag, pos, stop)
            else:
                stop = _skipped(data, pos, tag, depth)
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
        what: The data's name in error messages.

    Raises:
        ParseError: It is not a regular file, or too short.
    """
    if not stat.S_ISREG(status.st_mode):
        raise ParseError(f"{what} is not in a regular file")
    if offset + size > status.st_size:
        raise ParseError(
            f"{what} spans the bytes {offset} to {offset + size}, but the file has {status.st_size}"
        )


_Content: TypeAlias = "Callable[[Any], Any]"
"""Makes the value of a field from the bytes or the unsigned number behind its tag."""

_Forms: TypeAlias = Mapping[int, tuple[int, "_Content | None"]]

_IGNORED: Final = object()
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
        forms: _Forms,
        default: Any = None,
        repeated: bool = False,
        kind: str = "",
        others: tuple[str, ...] = (),
        finish: _Content | None = None,
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
        made = value if value < 1 << 31 else _signed(value, 32)
        return made if made in allowed else _IGNORED

    return Field(number, {VARINT: (ONE, chosen)}, 0)


def integers(number: int) -> Any:
    """Declare a list of signed numbers of 64 bits."""
    forms: _Forms = {VARINT: (MANY, _signed64), LENGTH: (EXTENDING, _all_signed64)}
    return Field(number, forms, repeated=True)


def real(number: int) -> Any:
    """Declare a number of type float32."""
    return Field(number, {FOUR_BYTES: (ONE, _real)}, 0.0)


def reals(number: int) -> Any:
    """Declare a list of numbers of type float32."""
    forms: _Forms = {FOUR_BYTES: (MANY, _real), LENGTH: (EXTENDING, _all_reals)}
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

        forms: _Forms = {
            FOUR_BYTES if size == 4 else EIGHT_BYTES: (MANY, floats),
            LENGTH: (MANY, floats),
        }
    else:

        def packed(data: bytes) -> Any:
            return _packed_varints(data).astype(made)  # the lowest bits, as C's conversion does

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
    return value if value < 1 << 31 else _signed(value, 32)


_PLAIN: Final = (_signed64, _signed32)
"""The casts that leave a number of few bits as it is."""


def _all_signed64(data: bytes) -> list[int]:
    made: list[int] = _packed_varints(data).view(np.int64).tolist()
    return made


def _real(data: bytes) -> float:
    made: float = struct.unpack("<f", data)[0]
    return made


def _all_reals(data: bytes) -> list[float]:
    if len(data) % 4:
        raise MalformedError
    made: list[float] = np.frombuffer(data, "<f4").tolist()
    return made


_Part: TypeAlias = tuple[bytes | SourceFile, int, int]
"""Where a part of a message is; a :class:`Span`, or one that is made faster."""

_ALONE: Final = 3
"""Changes a message as ONE does, where nothing else goes."""

_KINDS: dict[str, type[Message]] = {}
"""The messages by the names of their classes."""


class Message:
    """A message of ONNX; its fields are attributes.

    Args:
        fields: Values of fields; the others are absent.
    """

    FIELDS: ClassVar[dict[str, Field]] = {}
    _absent: ClassVar[dict[str, Any]] = {}
    _finished: ClassVar[list[tuple[str, _Content]]]
    _readers: ClassVar[dict[int, tuple[int, str, _Content | None, Field]]]
    _numbers: ClassVar[list[tuple[str, bool] | None]]
    _short: ClassVar[list[tuple[str, _Content | None, str, bool] | None]]

    __slots__ = ("__dict__", "_depth", "_model", "_spans")
    _spans: list[Span | _Part]
    _model: str
    _depth: int

    def __init_subclass__(cls) -> None:
        cls.FIELDS = {key: each for key, each in vars(cls).items() if isinstance(each, Field)}
        for name in cls.FIELDS:
            delattr(cls, name)  # so that the first use comes to __getattr__
        cls._absent = {
            name: () if field.repeated and field.finish is None else field.default
            for name, field in cls.FIELDS.items()
        }
        cls._finished = [
            (name, field.finish) for name, field in cls.FIELDS.items() if field.finish is not None
        ]
        cls._short, cls._numbers = [None] * 256, [None] * 256
        cls._readers = {
            field.number << 3 | kind: (_change(how, field), name, make, field)
            for name, field in cls.FIELDS.items()
            for kind, (how, make) in field.forms.items()
        }
        for tag, (how, name, make, field) in cls._readers.items():
            is_content = make is not None and how in (_ALONE, MANY)
            is_usual = is_content or (field.kind and field.repeated)
            if is_usual and tag < 128 and tag & 7 == LENGTH:
                cls._short[tag] = name, make, field.kind, not field.repeated
            if tag < 128 and make in _PLAIN and how in (_ALONE, MANY):
                cls._numbers[tag] = name, how == _ALONE
        _KINDS[cls.__name__] = cls

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(self._absent)
        self.__dict__.update(fields)

    @classmethod
    def at(cls, span: Span | _Part, model: str, depth: int = 0) -> Self:
        """Return the message in a span.

        Args:
            span: Where it is.
            model: The model's name in error messages.
            depth: In how many messages it is.
        """
        made = cls.__new__(cls)
        made._spans, made._model, made._depth = [span], model, depth
        return made

    def __getattr__(self, name: str) -> Any:
        """Return a field; the message is decoded with the first.

        Raises:
            ParseError: It is malformed.
        """
        if name not in self.FIELDS:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        self.decode()
        return self.__dict__[name]

    @property
    def is_empty(self) -> bool:
        """Whether all fields are absent."""
        values = ((getattr(self, name), field) for name, field in self.FIELDS.items())
        return not any(
            len(value) if field.repeated else value != field.default for value, field in values
        )

    def decode(self) -> None:
        """Decode the message if it is not yet.

        Raises:
            ParseError: It is malformed.
        """
        if self.__dict__:
            return
        try:
            self.__dict__ = self._decoded()
        except UnicodeDecodeError:
            raise ParseError(
                f"the model {self._model!r} has a name that is not text in UTF-8"
            ) from None
        except (MalformedError, IndexError):
            raise ParseError(
                f"the model {self._model!r} is not an ONNX file or is cut short"
            ) from None
        del self._spans

    @staticmethod
    def kind_of(field: Field) -> type[Message]:
        """Return the class of the messages in a field."""
        return _KINDS[field.kind]

    def check(self) -> None:
        """Decode the message and all that are in it.

        Raises:
            ParseError: One is malformed.
        """
        for name, field in self.FIELDS.items():
            value = getattr(self, name)
            if field.kind and value is not None:
                for inner in value if field.repeated else (value,):
                    inner.check()

    def replaced(self, **fields: Any) -> Self:
        """Return a copy with other values of some fields."""
        self.decode()
        made = type(self).__new__(type(self))
        made.__dict__ = {**self.__dict__, **fields}
        return made

    def _decoded(self) -> dict[str, Any]:
        values = self._absent.copy()
        for data, start, stop in self._spans:
            if isinstance(data, bytes):
                self._read(values, data, start, stop)
                continue
            for piece in _pieces(data, start, stop, self._depth):
                if isinstance(piece, bytes):
                    self._read(values, piece, 0, len(piece))
                else:
                    self._read_large(values, *piece)
        for name, finish in self._finished:
            if isinstance(values[name], list):
                values[name] = finish(values[name])
        return values

    def _read(self, values: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        """Add the fields of a part in memory."""
        readers, short, numbers = self._readers, self._short, self._numbers
        while pos < stop:
            tag = data[pos]
            known = short[tag]
            if known is not None:  # most of a model is texts, numbers and messages of many
                size, begin = data[pos + 1], pos + 2
                if size > 127:
                    size, begin = _length_at(data, pos + 1)
                pos = begin + size
                if pos > stop:
                    raise MalformedError
                name, of_bytes, kind, is_alone = known
                made: Any = (
                    self._inner(kind, (data, begin, pos))
                    if of_bytes is None
                    else of_bytes(data[begin:pos])
                )
                if is_alone:
                    values[name] = made
                elif type(values[name]) is list:
                    values[name].append(made)
                else:
                    values[name] = [made]
                continue
            plain = numbers[tag]
            if plain is not None and data[pos + 1] < 128:  # nearly all others are small numbers
                name, is_alone = plain
                if is_alone:
                    values[name] = data[pos + 1]
                elif values[name]:
                    values[name].append(data[pos + 1])
                else:
                    values[name] = [data[pos + 1]]
                pos += 2
                continue
            pos += 1
            if not 8 <= tag < 128:
                tag, pos = _tag_at(data, pos - 1)
            reader = readers.get(tag)
            if reader is None:
                pos = _skipped(data, pos, tag, self._depth)
                continue
            how, name, make, field = reader
            form = tag & 7
            if form == LENGTH:
                end = data[pos]
                pos += 1
                if end > 127:
                    end, pos = _length_at(data, pos - 1)
                end += pos
                if end > stop:
                    raise MalformedError
                if make is None:
                    if field.kind or end - pos >= LARGE:
                        self._add_part(values, name, field, (data, pos, end))
                    else:
                        values[name] = data[pos:end]
                    pos = end
                    continue
                made = make(data[pos:end])
                pos = end
            elif form == VARINT:
                number = data[pos]
                pos += 1
                if number > 127:
                    number, pos = _varint_at(data, pos - 1)
                made = make(number) if make is not None else number
            else:
                end = pos + (4 if form == FOUR_BYTES else 8)
                if end > stop or make is None:
                    raise MalformedError
                made = make(data[pos:end])
                pos = end
            if how == _ALONE:  # what most are: a call of a function counts
                if made is not _IGNORED:
                    values[name] = made
            elif how == MANY and type(values[name]) is list:
                values[name].append(made)
            else:
                _set(values, name, how, made, field)
        if pos > stop:
            raise MalformedError

    def _read_large(self, values: dict[str, Any], tag: int, span: Span) -> None:
        """Add a field whose content is left where it is."""
        if tag not in self._readers:
            return
        how, name, make, field = self._readers[tag]
        if make is None:
            self._add_part(values, name, field, span)
        else:
            _set(values, name, how, make(span.read(f"the field {name!r}")), field)

    def _add_part(
        self, values: dict[str, Any], name: str, field: Field, part: Span | _Part
    ) -> None:
        """Add a message, or raw data that stays."""
        if not field.kind:
            data, start, stop = part
            values[name] = Span(data, start, stop)
            return
        made = self._inner(field.kind, part)
        if not field.repeated:
            _clear(values, field.others)
            if values[name] is not None:
                values[name]._spans.append(part)
            else:
                values[name] = made
        elif values[name]:
            values[name].append(made)
        else:
            values[name] = [made]

    def _inner(self, kind: str, part: Span | _Part) -> Message:
        """Return a message in this one, as :meth:`at` does."""
        if self._depth >= _MOST_DEPTH:
            raise MalformedError
        cls = _KINDS[kind]
        made = cls.__new__(cls)
        made._spans, made._model, made._depth = [part], self._model, self._depth + 1
        return made


def _change(how: int, field: Field) -> int:
    return _ALONE if how == ONE and not field.others else how


def _set(values: dict[str, Any], name: str, how: int, made: Any, field: Field) -> None:
    if how in (ONE, _ALONE):
        if made is not _IGNORED:
            _clear(values, field.others)
            values[name] = made
    elif not isinstance(values[name], list):
        values[name] = made if how == EXTENDING else [made]
    elif how == EXTENDING:
        values[name].extend(made)
    else:
        values[name].append(made)


def _clear(values: dict[str, Any], names: tuple[str, ...]) -> None:
    """Check and remove the other members of a choice."""
    for name in names:
        if isinstance(values[name], Message):
            values[name].check()
        values[name] = None
