# SPDX-License-Identifier: MIT
"""The check of JSON documents, beside that of the package jsonschema."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest

from armnn.schemas import (
    ANYTHING,
    FLAG,
    INTEGER,
    NULL,
    NUMBER,
    OPTION,
    SHA256,
    TEXT,
    Schema,
    check,
    document,
    either,
    fixed,
    json_text,
    listed,
    member_of,
    named,
    or_null,
)

POINT = fixed({"x": NUMBER, "y": or_null(INTEGER)}, {"name": TEXT})
SCHEMAS: dict[str, Schema] = {
    "anything": ANYTHING,
    "flag": FLAG,
    "integer": INTEGER,
    "null": NULL,
    "number": NUMBER,
    "option": OPTION,
    "sha256": SHA256,
    "text": TEXT,
    "member": member_of("on", "off"),
    "point": POINT,
    "points": listed(POINT),
    "by name": named(listed(FLAG)),
    "either": either(NULL, TEXT, named(TEXT)),
    "document": document("point", "A point", POINT),
}
VALUES: list[Any] = [
    None, True, False, 0, 1, -3, 2.0, 2.5, 10**30, "", "on", "a" * 64, "A" * 64, "a" * 65,
    [], [True], [1], [{"x": 1, "y": 2}], [{"x": 1}], [[]],
    {}, {"x": 1, "y": None}, {"x": 1, "y": 2.0}, {"x": 1, "y": 2.5}, {"x": "1", "y": 2},
    {"x": True, "y": 2}, {"x": 1, "y": 2, "name": "p"}, {"x": 1, "y": 2, "name": 3},
    {"x": 1, "y": 2, "z": 3}, {"a": "b"}, {"a": [True, False]}, {"a": [True, 0]},
]  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_accepted_is_what_jsonschema_accepts(name: str) -> None:
    schema = SCHEMAS[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for value in VALUES:
        try:
            check(value, schema)
        except ValueError:
            is_accepted = False
        else:
            is_accepted = True
        assert is_accepted == validator.is_valid(value), value


@pytest.mark.parametrize(
    ("value", "schema", "message"),
    [
        (3, TEXT, "the document is 3, expected string"),
        ("3", OPTION, None),
        ({"x": 1}, POINT, "the document lacks 'y'"),
        ([{"x": 1, "y": "2"}], listed(POINT), "[0].y is '2', expected integer"),
        ({"p": {"x": 1, "y": 2, "z": 3}}, named(POINT), "p.z is not known, expected one of x"),
        ({"s": "on"}, named(member_of("yes", "no")), "s is 'on', expected one of ['yes', 'no']"),
        ({"a": {"b": 3}}, fixed({"a": either(NULL, named(TEXT))}), "a.b is 3, expected string"),
        ({"a": []}, named(TEXT), "a is a list, expected string"),
    ],
)  # fmt: skip
def test_a_message_says_where_and_what(value: Any, schema: Schema, message: str | None) -> None:
    if message is None:
        check(value, schema)
        return
    with pytest.raises(ValueError) as caught:
        check(value, schema)
    assert str(caught.value).startswith(message)


def test_the_text_of_a_document_is_strict_json() -> None:
    found = json.loads(
        json_text(
            {
                "n": math.nan,
                "i": [-math.inf],
                3: b"\xff".decode(errors="surrogateescape"),
                "t": (1,),
            }
        )
    )
    assert found == {"n": "NaN", "i": ["-Infinity"], "3": "\\xff", "t": [1]}
