# SPDX-License-Identifier: MIT
"""Which function converts which operator, up to which version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation

Convert: TypeAlias = "Callable[[Operation], Value | Sequence[Value]]"
"""Adds the layers of an operator to the network and returns the values of its outputs."""


class Converter(NamedTuple):
    """The conversion of one operator.

    Attributes:
        newest: The newest version of the operator that the function knows.
        convert: Does it.
        complex_numbers: Whether it takes or makes complex numbers. Layers have none: their values
            get a last axis of two elements, the real and the imaginary part.
        handles: Whether it takes or makes handles of variables, which are constant numbers.
    """

    newest: int
    convert: Convert
    complex_numbers: bool
    handles: bool


_CONVERTERS: dict[tuple[str, bool], Converter] = {}

_C = TypeVar("_C", bound=Convert)


def operator(
    name: str,
    newest: int = 1,
    *,
    custom: bool = False,
    complex_numbers: bool = False,
    handles: bool = False,
) -> Callable[[_C], _C]:
    """Enter the decorated function as the converter of an operator.

    Args:
        name: The operator, as the schema spells it.
        newest: The newest version that the function knows.
        custom: Whether it is not one of the builtin operators.
        complex_numbers: See :class:`Converter`.
        handles: See :class:`Converter`.
    """

    def enter(convert: _C) -> _C:
        _CONVERTERS[name, custom] = Converter(newest, convert, complex_numbers, handles)
        return convert

    return enter


def find_converter(name: str, *, custom: bool) -> Converter | None:
    """Return an operator's converter, None without one."""
    return _CONVERTERS.get((name, custom))


def operator_names() -> tuple[str, ...]:
    """Return the operators with converters, custom ones included, sorted."""
    return tuple(sorted(name for name, _ in _CONVERTERS))
