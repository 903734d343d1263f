# SPDX-License-Identifier: MIT
"""Layer facts stand only in the layer table."""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
from collections.abc import Iterator
from typing import get_args, get_type_hints

import pytest

import armnn.types
from armnn.layers import LAYERS
from armnn.types import ArmnnEnum
from tools import ROOT
from tools.generate import layers_header

ENUMERATIONS = {kind.__name__ for kind in layers_header.enumerations(LAYERS.values())} | {
    name
    for name in armnn.types.__all__
    if isinstance(kind := getattr(armnn.types, name), type) and issubclass(kind, ArmnnEnum)
}
FIELDS = [
    (spec, field, field.metadata.get("values", get_type_hints(spec.descriptor)[field.name]))
    for spec in LAYERS.values()
    for field in dataclasses.fields(spec.descriptor)
]
PARAMETERS = {field.name for _, field, _ in FIELDS}
ENUMERATED = {
    field.name
    for _, field, hint in FIELDS
    if any(hasattr(kind, "from_arm_name") for kind in (hint, *get_args(hint)))
}
"""Parameters that hold the numbers of an enumeration."""
ENUMERATED_IN_C = "|".join(
    f"ARMNN_{layers_header.c_name(spec.name)}_{field.name.upper()}"
    for spec, field, _ in FIELDS
    if field.name in ENUMERATED
)

NOT_OURS = ("tests-e2e/compat/frozen/", "tests-e2e/compat/sources/")
"""What was released, and what is built with the headers that were."""
GENERATED = ("/armnn/backend.h", "/armnn/layers.h", "/_types.py")
TABLE = (
    "armnn-core/src/armnn/layers/",
    "armnn-core/src/armnn/graph/_builders/",
    "armnn-core/src/armnn/types.py",
    "core/src/armnn/_functions.py",
    "core/tests/layers/",
)
"""The table, and the tests that are about it."""
OTHER_WORDS = {
    "cpp/layers/normalization.cpp": {"beta", "gamma"},  # inputs, in messages
    "core/tests/backends/native/mock.c": {"a"},  # a fact about a device
}
"""Texts that are names of parameters by chance."""

READERS = r"(?:integer|flag|axis|real|real32|integers|reals|attribute)"
IN_C = {
    "a case of an enumeration as a number": re.compile(
        r"switch \((?![^)]*(?:bytes|rows|columns))(?:(?!switch \()[^}])*?\bcase \d+:"
    ),
    "a value of an enumeration as a number": re.compile(
        r"\b(?:layout|mode|method|operation|function|algorithm|direction|pooling|rounding)"
        rf" [=!<>]=? \d|(?:{ENUMERATED_IN_C})\)* ?\)? [=!<>]=? \d"
    ),
    "a default as a literal": re.compile(
        rf"\b{READERS}\([^;]*?(?:ARMNN_[A-Z0-9_]+|\"\w+\"), ?(?:-?[\d.]|true\b|false\b)"
    ),
}
TEXT = re.compile(r'"(\w+)"')


def facts_in_c(text: str, words: set[str] | frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a C file's copies of the table's facts."""
    code = re.sub(r"/\*.*?\*/|^#include.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    for what, pattern in IN_C.items():
        yield from (f"{what}: {match[0][-60:]!r}" for match in pattern.finditer(code))
    for match in TEXT.finditer(code):
        if match[1] in (LAYERS.keys() | PARAMETERS) - words:
            yield f"the name {match[1]!r}"


SUSPECT = re.compile(
    rf"\b(?:{'|'.join(ENUMERATED)})[\"']? ?[=:!<>]+ ?\d|(?:{'|'.join(ENUMERATIONS)}|LayerType)\(\d"
)
"""Where it is worth while to look at the syntax."""


def facts_in_python(text: str) -> Iterator[str]:
    """Yield the enumeration and layer type numbers in a module."""
    if not SUSPECT.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(kind) | ast.Attribute(attr=kind), args=[ast.Constant(n)]):
                if kind in {*ENUMERATIONS, "LayerType"} and isinstance(n, int):
                    yield f"{kind}({n})"
            case ast.keyword(arg=str(name), value=ast.Constant(int(n))) if name in ENUMERATED:
                yield f"{name}={n}"
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    match key, value:
                        case ast.Constant(str(name)), ast.Constant(int(n)) if name in ENUMERATED:
                            yield f"{name!r}: {n}"
            case ast.Compare(left=ast.Attribute(attr=name), comparators=[ast.Constant(int(n))]):
                if name in ENUMERATED:
                    yield f".{name} compared with {n}"


def sources(*suffixes: str) -> list[str]:
    """Return the repository's files, without those of the facts."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout.splitlines()
    return [
        name
        for name in listed
        if name.endswith(suffixes)
        and not name.startswith(NOT_OURS)
        and not name.endswith(GENERATED)
        and not any(part in name for part in TABLE)
        and (ROOT / name).exists()
    ]


def test_c_and_cpp_have_layers_from_the_header() -> None:
    found = []
    names = sources(".c", ".cpp", ".h", ".c.template")
    assert len(names) > 100
    for name in names:
        words = next((w for end, w in OTHER_WORDS.items() if name.endswith(end)), set[str]())
        text = (ROOT / name).read_text(encoding="utf-8")
        found += [f"{name}: {fact}" for fact in facts_in_c(text, words)]
    assert not found, "\n".join(found)


def test_python_has_numbers_of_layers_from_the_table() -> None:
    found = []
    names = sources(".py")
    assert len(names) > 500
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        found += [f"{name}: {fact}" for fact in facts_in_python(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ('layer.integer("k", 1)', "the name 'k'"),
        ('if (layer.type == "Softmax") return;', "the name 'Softmax'"),
        ('{{"Pooling2d", lower_pooling}}', "the name 'Pooling2d'"),
        ("layer.integer(ARMNN_TOP_K_K, 1)", "a default as a literal"),
        ("l.real32(ARMNN_SOFTMAX_BETA, 1.0)", "a default as a literal"),
        ("switch (number) {\n  case 0: return abs;", "a case of an enumeration as a number"),
        (
            "switch (n) {\n  case ARMNN_UNARY_OPERATION_ABS: return abs;\n  case 1: return exp;",
            "a case of an enumeration as a number",
        ),
        ("require(layout == 1 || layout == 4);", "a value of an enumeration as a number"),
        ("pooling >= 0 && pooling <= 2", "a value of an enumeration as a number"),
        (
            "layer.integer(ARMNN_PARAMETER(ARMNN_GROUP_NORMALIZATION_DATA_LAYOUT)) == 2",
            "a value of an enumeration as a number",
        ),
    ],
)
def test_a_fact_in_c_is_found(code: str, fact: str) -> None:
    assert any(found.startswith(fact) for found in facts_in_c(code)), list(facts_in_c(code))


@pytest.mark.parametrize(
    "code",
    [
        "layer.integer(ARMNN_PARAMETER(ARMNN_TOP_K_LARGEST)) != 0",
        "layout == ARMNN_DATA_LAYOUT_NHWC",
        "switch (bytes) {\n  case 1: return move<1>;",
        "switch (number) {\n  case ARMNN_UNARY_OPERATION_ABS: return abs;\n}\nrows == 1",
        '/* "Softmax" of layout == 1 */',
        '#include "layers.h"',
        '"only Softmax is computed here"',
    ],
)
def test_what_is_no_fact_in_c_is_let_pass(code: str) -> None:
    assert not list(facts_in_c(code))


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ("LstmDescriptor(activation_func=4)", "activation_func=4"),
        ("options = {'data_layout': 2}", "'data_layout': 2"),
        ("is_last = d.data_layout == 2", ".data_layout compared with 2"),
        ("pool = PoolingAlgorithm(1)", "PoolingAlgorithm(1)"),
        ("pool = types.DataType(1000)", "DataType(1000)"),
        ("kind = LayerType(52)", "LayerType(52)"),
    ],
)
def test_a_number_in_python_is_found(code: str, fact: str) -> None:
    assert list(facts_in_python(code)) == [fact]


@pytest.mark.parametrize(
    "code",
    [
        "Pooling2dDescriptor(pool_width=2)",
        "d = SoftmaxDescriptor(axis=1)",
        "options = {'data_layout': DataLayout.NHWC}",
        "PoolingAlgorithm(int(number))",
    ],
)
def test_what_is_no_number_of_the_table_is_let_pass(code: str) -> None:
    assert not list(facts_in_python(code))
