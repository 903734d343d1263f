# SPDX-License-Identifier: MIT
"""Schemas of the standard's operators, each read on first use."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from armnn_parser_onnx.standard.schema import UNBOUNDED, AttributeRule, Parameter, Schema
from armnn_parser_onnx.wire.kinds import FLOAT, FLOATS, INT, INTS, KIND_NAMES, STRINGS
from armnn_parser_onnx.wire.messages import Function, Model
from armnn_parser_onnx.wire.source import Span

_FOLDER = Path(__file__).parent
_KINDS = {name: number for number, name in KIND_NAMES.items()}


@functools.cache
def find(name: str, opset: int, domain: str = "") -> Schema | None:
    """Return an operator's newest schema up to an opset.

    Args:
        name: The operator.
        opset: The version of ONNX's own operators.
        domain: Whose operator it is. Other domains than ONNX's own have one version.
    """
    if not name.isidentifier():
        return None  # a file may say anything
    known = [row for row in _rows(name, domain) if int(row[0]) <= opset or domain]
    return _schema(name, domain, known[-1]) if known else None


@functools.cache
def functions(name: str) -> tuple[tuple[int, Function], ...]:
    """Return an operator's definitions, by the opset that begins each."""
    data = (_FOLDER / "functions.onnx").read_bytes()
    found = Model.at(Span(data, 0, len(data)), "functions.onnx").functions
    return tuple((each.opset_import[0].version, each) for each in found if each.name == name)


@functools.cache
def _text() -> str:
    return (_FOLDER / "operators.txt").read_text(encoding="utf-8")


def _rows(name: str, domain: str) -> list[list[str]]:
    """Return the lines of an operator, the oldest version first."""
    key, rows = f"{domain}.{name}" if domain else name, []
    text = _text()
    place = _line_of(key, text)
    while text.startswith(f"{key}\t", place):
        end = text.index("\n", place)
        rows.append(text[place + len(key) + 1 : end].split("\t"))
        place = end + 1
    return rows


def _line_of(key: str, text: str) -> int:
    """Return where the line of a name would begin.

    Operators are sorted by name, behind lines that begin with smaller characters.
    """
    low, high = 0, len(text)
    while low < high:
        begin = max(low, text.rfind("\n", low, (low + high) // 2) + 1)
        end = text.index("\t", begin)
        if text[begin:end] < key:
            low = text.index("\n", end) + 1
        else:
            high = begin
    return low


def _schema(name: str, domain: str, row: list[str]) -> Schema:
    since, state, counts, inputs, outputs, types, attributes = row
    most = [UNBOUNDED if count == "*" else int(count) for count in counts.split(" ")]
    return Schema(
        name,
        domain,
        int(since),
        tuple(_parameter(word) for word in inputs.split()),
        tuple(_parameter(word) for word in outputs.split()),
        (most[0], most[1], most[2], most[3]),
        dict(_types(word) for word in types.split()),
        dict(_attribute(word) for word in attributes.split()),
        deprecated=state == "deprecated",
        body=state if state in ("function", "context") else "",
    )


def _parameter(word: str) -> Parameter:
    """Return what ``name:type`` declares.

    One ``*`` behind it means any number of one type, two any number of any types.
    """
    name, _, kind = word.partition(":")
    return Parameter(name, kind.rstrip("*"), kind.endswith("*"), not kind.endswith("**"))


def _types(word: str) -> tuple[str, tuple[str, ...]]:
    name, _, number = word.partition("=")
    return name, _type_set(number)


@functools.cache
def _type_set(number: str) -> tuple[str, ...]:
    text, key = _text(), f"\n={number}\t"
    begin = text.index(key) + len(key)
    return tuple(text[begin : text.index("\n", begin)].split(" "))


def _attribute(word: str) -> tuple[str, AttributeRule]:
    """Return what ``name:type`` declares.

    A ``!`` behind the type means that it is required, ``=`` and a value is its default.
    """
    name, _, rest = word.partition(":")
    kind, has_default, value = rest.partition("=")
    number = _KINDS[kind.rstrip("!")]
    default = _default(number, value) if has_default else None
    return name, AttributeRule(number, kind.endswith("!"), default)


def _default(kind: int, text: str) -> Any:
    if kind in (INTS, FLOATS, STRINGS):
        single = {INTS: INT, FLOATS: FLOAT}.get(kind, 0)
        return [_default(single, part) for part in text.split(",")]
    return int(text) if kind == INT else float(text) if kind == FLOAT else text.encode()
