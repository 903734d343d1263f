# SPDX-License-Identifier: MIT
"""Checks and conversions of callers' arguments.

There is one rule for every function and every parameter:

- A whole number is an ``int``, a NumPy integer, or an array of no axes that holds one; it fits 64
  bits. ``True`` and ``2.0`` are refused, as is an array of one axis, even of one element.
- A number is any of these, a ``float`` or a NumPy float; NaN and infinities are numbers.
- A flag is ``True``, ``False``, NumPy's spelling of them, or the number 0 or 1, as ONNX has it.
- A text is a ``str``; bytes and numbers are never read as text, nor text as numbers.
- A member of an enumeration is the member, its number, or its name in Arm NN's spelling or in
  Python's (see :meth:`armnn.types.ArmnnEnum.of`).
- Several of these are a list, a tuple, an array or anything else with an order; not a single one,
  not a text, and not a set.

Each function returns the plain Python value, or raises InvalidArgumentError with the name of the
argument, what it is, and what is expected.
"""

from __future__ import annotations

import difflib
import functools
import os
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError, UnknownNameError


def closest(name: str, known: Iterable[str], likeness: float = 0.7) -> str | None:
    """Return the most similar known name, None without any.

    Args:
        name: The name as it was written; capital and small letters count as the same.
        known: The names that exist; the first of two that are equally like is taken.
        likeness: How alike the two must be, from 0 to 1.
    """
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(each.casefold(), each)
    found = difflib.get_close_matches(name.casefold(), folded, 1, likeness)
    return folded[found[0]] if found else None


_T = TypeVar("_T")


_MOST, _LEAST = 2**63 - 1, -(2**63)


def refused(what: str, value: object, expected: str) -> InvalidArgumentError:
    """Return the error of an argument that cannot be used."""
    return InvalidArgumentError(f"{what} is {shown(value)}, expected {expected}")


def unknown(
    what: str,
    name: str,
    known: Sequence[str],
    beside: Iterable[str] = (),
    *,
    removed: Mapping[str, str] = MappingProxyType({}),
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> UnknownNameError:
    """Return the error of a name that does not exist.

    Args:
        what: The kind of thing that it would name, with the mark {} in its place.
        name: The name as it was written.
        known: The names that exist.
        beside: Further ones, which are suggested and not listed.
        removed: The advice for names that existed before.
        elsewhere: The advice for names of other libraries.
    """
    if name in removed:
        return UnknownNameError(f"there is no {what.format(repr(name))} any more: {removed[name]}")
    if name in elsewhere:
        return UnknownNameError(f"there is no {what.format(repr(name))}; {elsewhere[name]}")
    meant = closest(name, (*known, *beside))
    hint = f"did you mean {meant!r}?" if meant else f"known are {', '.join(known)}"
    return UnknownNameError(f"there is no {what.format(repr(name))}; {hint}")


def with_known_names(
    what: str, *, removed: Mapping[str, str] = MappingProxyType({})
) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator: unknown keywords of a class raise UnknownNameError.

    Args:
        what: The kind of field, with the mark {} in place of its name.
        removed: The advice for names that existed before.
    """

    def decorate(kind: type[_T]) -> type[_T]:
        made: Any = kind.__init__
        known = [each.name for each in fields(kind)]  # type: ignore[arg-type]  # a data class

        @functools.wraps(made)
        def checked(self: _T, *positional: object, **named: object) -> None:
            for name in named:
                if name not in known:
                    raise unknown(what, name, known, removed=removed)
            made(self, *positional, **named)

        type.__setattr__(kind, "__init__", checked)
        return kind

    return decorate


def shown(value: object) -> str:
    """Return a short value or a long one's kind."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}[{','.join(map(str, value.shape))}]"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, (*_SHOWN, np.generic)):
        return _shortened.repr(value)
    return with_article(type(value).__name__)


def integer(value: object, what: str) -> int:
    """Return a whole number that fits 64 bits."""
    if type(value) is not int:
        symbolic = sys.modules.get("armnn._symbolic")  # few processes have such numbers
        if symbolic and type(value) is symbolic.Symbolic and isinstance(value, int):
            return value
        item = _scalar(value)
        if isinstance(item, (bool, Enum)) or not isinstance(item, int):
            raise refused(what, value, f"a whole number{_written_whole(item)}")
        value = int(item)
    if not _LEAST <= value <= _MOST:
        raise refused(what, value, "a number that fits 64 bits")
    return value


def number(value: object, what: str) -> float:
    """Return a number as a float.

    A whole one that a float cannot hold exactly is returned as it is.
    """
    if type(value) is float:
        return value
    item = _scalar(value)
    if isinstance(item, (bool, Enum)) or not isinstance(item, (int, float)):
        raise refused(what, value, "a number")
    try:
        made = float(item)
    except OverflowError:
        raise refused(what, value, "a number that a double can hold") from None
    return item if isinstance(item, int) and made != item else made


def real(value: object, what: str) -> float:
    """Return a number as a float."""
    return float(number(value, what))


def flag(value: object, what: str) -> bool:
    """Return True or False."""
    item = _scalar(value)
    if isinstance(item, Enum) or not isinstance(item, int) or item not in (0, 1):
        raise refused(what, value, "True or False")
    return bool(item)


def text(value: object, what: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise refused(what, value, "a text")
    return value if type(value) is str else str(value)


def path(value: object, what: str) -> str:
    """Return a path as a text."""
    if isinstance(value, (str, os.PathLike)):
        found = os.fspath(value)
        if isinstance(found, str):
            return found
    raise refused(what, value, "a path")


def file_path(value: object, what: str) -> str:
    """Return a path that the system accepts, as a text."""
    found = path(value, what)
    if "\0" in found:
        raise refused(what, value, "a path, which has no NUL character")
    return found


def instance(value: object, kind: type[_T], what: str, hint: str = "") -> _T:
    """Return the value itself, which must be of a class.

    Args:
        value: The value.
        kind: The class.
        what: The name of the value.
        hint: The end of the message.
    """
    if not isinstance(value, kind):
        raise refused(what, value, f"{with_article(kind.__name__)}{hint}")
    return value


def with_article(name: str) -> str:
    """Return the name of a class with "a" or "an"."""
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def mapping(value: object, what: str, expected: str = "a mapping") -> Mapping[Any, Any]:
    """Return the value itself, which must be a mapping."""
    if not isinstance(value, Mapping):
        raise refused(what, value, expected)
    return value


def items(value: object, what: str, expected: str = "a list") -> Sequence[Any]:
    """Return the items of an ordered value; arrays give Python's."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        listed: list[Any] = value.tolist()
        return listed
    unordered = (str, bytes, bytearray, memoryview, Mapping, Set, type, np.ndarray, np.generic)
    if isinstance(value, Iterable) and not isinstance(value, unordered):
        return tuple(value)
    raise refused(what, value, expected)


def each(value: object, what: str, expected: str = "a list") -> Iterator[tuple[str, Any]]:
    """Yield the name of each item for messages, and the item."""
    for index, item in enumerate(items(value, what, expected)):
        yield f"{what}, element {index},", item


def texts(value: object, what: str, expected: str = "a list of texts") -> tuple[str, ...]:
    """Return texts of a list."""
    return tuple(text(item, name) for name, item in each(value, what, expected))


def array(value: object, dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    """Return an array unchanged; convert numbers and lists.

    Numbers and lists of them become an array of one type. What the type cannot hold is refused;
    only a real number is rounded, as everywhere in NumPy.
    """
    if isinstance(value, np.ndarray):
        return value
    expected = f"an array of {dtype}"
    try:
        found = np.asarray(value)
        if found.dtype == dtype:
            return found
        is_float = dtype.name.startswith(("float", "bfloat"))
        if found.dtype.kind not in ("biuf" if is_float else "biu"):
            raise refused(what, found if found.dtype.kind == "f" else value, expected)
        with np.errstate(over="ignore"):
            made = found.astype(dtype)
        if not is_float and not np.array_equal(made.astype(found.dtype), found):
            raise refused(what, value, f"{expected}, which cannot hold some of these numbers")
    except InvalidArgumentError:
        raise
    except Exception as error:  # whatever an object's own conversion raises
        raise InvalidArgumentError(
            f"{what} cannot be converted to an array: {error}; expected {expected}"
        ) from error
    return made


def conversion(
    given: np.dtype[Any], expected: np.dtype[Any], *, is_quantized: bool, source: object = None
) -> str:
    """Return the conversion of an array to a type.

    Bits of a narrow float often come as integers. Real numbers for a quantized tensor are no
    numbers of steps, so that a cast would change what they mean.

    Args:
        given: The type that it has.
        expected: The type that it should have.
        is_quantized: Whether the tensor is quantized.
        source: The object of another library that the array is the memory of, if it is one.
    """
    if is_quantized and given.kind not in "biu":
        return "store real numbers by armnn.quantization.quantize(array, info)"
    name = f"{'ml_dtypes' if expected.kind == 'V' else 'np'}.{expected.name}"
    is_bits = given.kind in "uV" and given.itemsize == expected.itemsize
    if is_bits and expected.name.startswith(("float", "bfloat")):
        return f"if these are its bits, use .view({name}); else convert it with .astype({name})"
    if hasattr(source, "to"):  # a tensor of PyTorch
        library = type(source).__module__.partition(".")[0]
        return f"convert it with .to({library}.{expected.name})"
    return f"convert it with .astype({name})"


def _scalar(value: object) -> object:
    """Return the Python number in a scalar or axisless array."""
    if type(value) in (bool, int, float):  # as nearly all are
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, np.generic) or value.dtype.kind in "mM":  # times hold integers
        return value
    return float(value) if isinstance(value, np.longdouble) else value.item()


def _written_whole(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return f"; write {int(value)}"
    return ""


_SHOWN = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict)


class _Short(reprlib.Repr):
    """The repr of a value, cut to fit a message."""

    def repr_ndarray(self, value: NDArray[Any], _level: int) -> str:
        return f"<{shown(value)}>"


_shortened = _Short()
_shortened.maxstring = _shortened.maxother = 60
_shortened.maxtuple = _shortened.maxlist = 8
_shortened.maxlevel = 3
