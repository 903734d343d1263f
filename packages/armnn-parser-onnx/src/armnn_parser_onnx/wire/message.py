# SPDX-License-Identifier: MIT
"""The base of messages, which are decoded on first use.

A message may stand in several parts: its fields are those of all parts in their order, which is how
Protocol Buffers merges messages.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self, TypeAlias

from armnn.errors import ParseError
from armnn_parser_onnx.wire.errors import MalformedError
from armnn_parser_onnx.wire.fields import (
    EXTENDING,
    IGNORED,
    MANY,
    ONE,
    PLAIN,
    Content,
    Field,
)
from armnn_parser_onnx.wire.source import LARGE, SourceFile, Span, pieces
from armnn_parser_onnx.wire.varints import (
    FOUR_BYTES,
    LENGTH,
    MOST_DEPTH,
    VARINT,
    length_at,
    skipped,
    tag_at,
    varint_at,
)

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
    _finished: ClassVar[list[tuple[str, Content]]]
    _readers: ClassVar[dict[int, tuple[int, str, Content | None, Field]]]
    _numbers: ClassVar[list[tuple[str, bool] | None]]
    _short: ClassVar[list[tuple[str, Content | None, str, bool] | None]]

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
            if tag < 128 and make in PLAIN and how in (_ALONE, MANY):
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
            model: What error messages call the model.
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
            for piece in pieces(data, start, stop, self._depth):
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
                    size, begin = length_at(data, pos + 1)
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
                tag, pos = tag_at(data, pos - 1)
            reader = readers.get(tag)
            if reader is None:
                pos = skipped(data, pos, tag, self._depth)
                continue
            how, name, make, field = reader
            form = tag & 7
            if form == LENGTH:
                end = data[pos]
                pos += 1
                if end > 127:
                    end, pos = length_at(data, pos - 1)
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
                    number, pos = varint_at(data, pos - 1)
                made = make(number) if make is not None else number
            else:
                end = pos + (4 if form == FOUR_BYTES else 8)
                if end > stop or make is None:
                    raise MalformedError
                made = make(data[pos:end])
                pos = end
            if how == _ALONE:  # what most are: a call of a function counts
                if made is not IGNORED:
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
        if self._depth >= MOST_DEPTH:
            raise MalformedError
        cls = _KINDS[kind]
        made = cls.__new__(cls)
        made._spans, made._model, made._depth = [part], self._model, self._depth + 1
        return made


def _change(how: int, field: Field) -> int:
    return _ALONE if how == ONE and not field.others else how


def _set(values: dict[str, Any], name: str, how: int, made: Any, field: Field) -> None:
    if how in (ONE, _ALONE):
        if made is not IGNORED:
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
