# SPDX-License-Identifier: MIT
"""The functions that convert operators, by operator and opset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from armnn.errors import ParseError
from armnn.graph import Value
from armnn_parser_onnx.operation import Operation

_C = TypeVar("_C", bound="Convert")

OLDEST_OPSET: Final = 7
"""Before it, operators broadcast by attributes."""

NEWEST_OPSET: Final = 28
"""The newest opset whose operators were compared with the converters here."""

Convert: TypeAlias = "Callable[[Operation], Value | Sequence[Value]]"
"""Adds the layers of a node to the network and returns the values of its outputs.

Outputs left out at the end cannot be computed; they are refused if something reads them.
"""


@dataclass(frozen=True, slots=True)
class Converter:
    """The conversion of one operator from one opset on.

    Attributes:
        since: The first opset of ONNX's own domain that it holds for.
        convert: Does it.
        moves_data: Whether the operator only moves elements, or asks which is the largest, so that
            it may be given quantized ones, which keep their scale.
    """

    since: int
    convert: Convert
    moves_data: bool


_CONVERTERS: dict[tuple[str, str], list[Converter]] = {}


def operator(
    name: str, *, since: int = 1, moves_data: bool = False, domain: str = ""
) -> Callable[[_C], _C]:
    """Enter the decorated function as the converter of an operator.

    Args:
        name: The operator.
        since: The first opset that the function is for; another one may follow it later.
        moves_data: See :class:`Converter`.
        domain: Whose operator it is; ONNX's own by default.
    """

    def enter(convert: _C) -> _C:
        _CONVERTERS.setdefault((domain, name), []).append(Converter(since, convert, moves_data))
        return convert

    return enter


def find_converter(name: str, opset: int, domain: str = "") -> Converter | None:
    """Return an operator's converter at an opset, None without one."""
    known = [entry for entry in _CONVERTERS.get((domain, name), ()) if entry.since <= opset]
    return max(known, key=lambda entry: entry.since) if known else None


def operator_names(domain: str = "") -> tuple[str, ...]:
    """Return the operators of a domain, ONNX's own by default, that have converters, sorted."""
    return tuple(sorted(name for owner, name in _CONVERTERS if owner == domain))


def check_opset(opset: int) -> None:
    """Check that models of an opset can be read.

    Raises:
        ParseError: It is too old or too new.
    """
    if opset < OLDEST_OPSET:
        raise ParseError(
            f"the model uses opset {opset}: expected {OLDEST_OPSET} or newer. "
            "onnx.version_converter can raise it"
        )
    if opset > NEWEST_OPSET:
        raise ParseError(
            f"the model uses opset {opset}: the newest that can be read is {NEWEST_OPSET}"
        )
