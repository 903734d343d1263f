# SPDX-License-Identifier: MIT
"""Descriptor fields as parameters, with the conversion their types declare.

Only the way from an annotation to the conversion is here. :mod:`armnn._arguments` holds the rule;
here is the way from an annotation to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from armnn._arguments import flag, integer, items, number, refused, text
from armnn.errors import InvalidArgumentError
from armnn.types import ArmnnEnum

Converter: TypeAlias = "Callable[[Any, str], Any]"
"""From a value, and what a message calls it, to the value that a descriptor keeps.

It raises InvalidArgumentError for a value of another kind.
"""


Parameter: TypeAlias = "tuple[str, Any, Converter, str]"
"""One field of a kind of descriptor.

These are its name; its default value, which is of the declared type; what makes another value fit
that type; and what a message calls it.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The range of a parameter; see :func:`armnn.layers.parameter`."""

    at_least: float | None = None
    at_most: float | None = None
    one_of: Sequence[object] | None = None

    def check(self, value: Any, what: str) -> None:
        """Check that a value is in the range.

        Raises:
            InvalidArgumentError: It is not.
        """
        is_bounded_below = self.at_least is not None and self.at_most is None and not self.one_of
        if is_bounded_below and type(value) is int and value >= (self.at_least or 0):
            return  # as most are
        expected = ""
        if self.one_of is not None and value not in self.one_of:
            expected = f"one of {', '.join(map(_spelled, self.one_of))}"
        # NaN is not at least anything.
        elif self.at_least is not None and not all(n >= self.at_least for n in _numbers(value)):
            expected = f"at least {self.at_least}"
        elif self.at_most is not None and value > self.at_most:
            expected = f"at most {self.at_most}"
        if expected:
            raise InvalidArgumentError(f"{what} is {_spelled(value)}, expected {expected}")


def _numbers(value: Any) -> list[float]:
    if isinstance(value, tuple):
        return [number for item in value for number in _numbers(item)]
    return [value]


def _spelled(value: object) -> str:
    return str(getattr(value, "arm_name", repr(value)))


def parameters_of(kind: type[Any]) -> tuple[Parameter, ...]:
    """Return a descriptor kind's parameters, made on first use.

    Raises:
        TypeError: A field has a type that no parameter has.
    """
    known = _known.get(kind)
    if known is None:
        known = _known[kind] = tuple(
            (
                field.name,
                field.default,
                _limited(
                    _converter(str(field.type), enumeration_of(field.default)),
                    field.metadata.get("limits", Limits()),
                ),
                f"{kind.__name__}: the parameter {field.name!r}",
            )
            for field in fields(kind)
        )
    return known


_known: dict[type[Any], tuple[Parameter, ...]] = {}


def enumeration_of(default: object) -> type[ArmnnEnum] | None:
    """Return the enumeration of a default value, or of several."""
    first = default[0] if isinstance(default, tuple) and default else default
    return type(first) if isinstance(first, ArmnnEnum) else None


def _converter(annotation: str, enumeration: type[ArmnnEnum] | None) -> Converter:
    """Return the converter for a declared type.

    The type is a number, a member, a text, or a tuple.
    """
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if annotation.startswith("tuple[") and annotation.endswith(", ...]"):
        element = annotation.removeprefix("tuple[").removesuffix(", ...]")
        return _several(_converter(element, enumeration), _PLURALS.get(element, element))
    if enumeration is not None and enumeration.__name__ == annotation:
        return enumeration.of
    raise TypeError(
        f"a parameter of a layer cannot be {annotation}: expected int, float, bool, str, the "
        "enumeration of its default, a pair of int, or a tuple of any number of these"
    )


def _limited(convert: Converter, limits: Limits) -> Converter:
    if limits == Limits():
        return convert

    def converted(value: Any, what: str) -> Any:
        made = convert(value, what)
        limits.check(made, what)
        return made

    return converted


def _several(convert: Converter, elements: str) -> Converter:
    expected = f"a list of {elements}"

    def converted(value: Any, what: str) -> tuple[Any, ...]:
        listed = items(value, what, expected)
        try:
            return tuple([convert(item, what) for item in listed])
        except InvalidArgumentError:
            for index, item in enumerate(listed):  # once more, to say which one it is
                convert(item, f"{what}, element {index},")
            raise

    return converted


def _pair(value: Any, what: str) -> tuple[int, int]:
    pair = items(value, what, _EXPECTED_PAIR)
    if len(pair) != 2:
        raise refused(what, value, _EXPECTED_PAIR)
    return integer(pair[0], what), integer(pair[1], what)


_EXPECTED_PAIR = "a pair (before, after) of whole numbers"

_SIMPLE: dict[str, Converter] = {
    "int": integer,
    "float": number,
    "bool": flag,
    "str": text,
    "tuple[int, int]": _pair,
}

_PLURALS = {
    "int": "whole numbers",
    "float": "numbers",
    "bool": "flags",
    "str": "texts",
    "tuple[int, int]": "pairs (before, after)",
}
