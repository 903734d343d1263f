# SPDX-License-Identifier: MIT
"""The functions that convert operators, and the newest version of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from armnn.graph import Value
from armnn_parser_tflite.operation import Operation

_C = TypeVar("_C", bound="Convert")

Convert: TypeAlias = "Callable[[Operation], Value | Sequence[Value]]"
"""Adds the layers of an operator to the network and returns the values of its outputs."""


@dataclass(frozen=True, slots=True)
class Converter:
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


BUILTIN, CUSTOM = "builtin", "custom"
"""The two domains of operators."""

_CONVERTERS: dict[tuple[str, str], Converter] = {}


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
        _CONVERTERS[_domain(custom), name] = Converter(newest, convert, complex_numbers, handles)
        return convert

    return enter


def find_converter(name: str, *, custom: bool) -> Converter | None:
    """Return an operator's converter, None without one."""
    return _CONVERTERS.get((_domain(custom), name))


def operator_names() -> tuple[str, ...]:
    """Return the operators with converters, custom ones included, sorted."""
    return tuple(sorted(name for _, name in _CONVERTERS))


def _domain(custom: bool) -> str:
    return CUSTOM if custom else BUILTIN
