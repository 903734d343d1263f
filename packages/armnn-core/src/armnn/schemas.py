# SPDX-License-Identifier: MIT
"""JSON documents: their schemas (draft 2020-12), the check of one, and its text.

A schema is the dictionary that JSON Schema defines. Objects list all of their members, and admit
no others, so that a member that is renamed or forgotten is an error. The keywords that
:func:`check` knows are those that the functions of this module write.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

__all__ = [
    "ANYTHING",
    "DIALECT",
    "FLAG",
    "INTEGER",
    "NULL",
    "NUMBER",
    "OPTION",
    "SHA256",
    "TEXT",
    "Schema",
    "check",
    "document",
    "either",
    "fixed",
    "json_text",
    "listed",
    "member_of",
    "named",
    "or_null",
]

Schema: TypeAlias = Mapping[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

ANYTHING: Final[Schema] = {}
TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
INTEGER: Final[Schema] = {"type": "integer"}
FLAG: Final[Schema] = {"type": "boolean"}
NULL: Final[Schema] = {"type": "null"}
SHA256: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
OPTION: Final[Schema] = {"type": ["boolean", "number", "string"]}
"""An option of a backend, or a capability."""

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


def fixed(members: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these members and no others.

    Args:
        members: The schemas of the members that are always there, by name.
        optional: The members that may be missing.
    """
    return {
        "type": "object",
        "properties": {**members, **(optional or {})},
        "required": list(members),
        "additionalProperties": False,
    }


def named(of: Schema) -> Schema:
    """Return the schema of an object with any members of one schema."""
    return {"type": "object", "additionalProperties": of}


def listed(of: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": of}


def either(*schemas: Schema) -> Schema:
    """Return the schema of a value that fits one of some schemas."""
    return {"anyOf": list(schemas)}


def or_null(of: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return either(of, NULL)


def member_of(*texts: str) -> Schema:
    """Return the schema of one of some texts."""
    return {"enum": list(texts)}


def document(name: str, title: str, schema: Schema) -> dict[str, Any]:
    """Return a schema as a document of its own.

    Args:
        name: Its name, for the ``$id``.
        title: The subject that it describes.
        schema: The schema.
    """
    return {"$schema": DIALECT, "$id": f"urn:armnn:schema:{name}", "title": title, **schema}


def check(value: object, schema: Schema, where: str = "") -> None:
    """Check a value that was read from a JSON file.

    Args:
        value: The value.
        schema: Its schema.
        where: The path to the value in its document, for the message.

    Raises:
        ValueError: It does not have the schema; the message says where, what and why.
    """
    subject = where or "the document"
    kinds = schema.get("type", ())
    expected = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if expected and not any(_is_of(value, kind) for kind in expected):
        raise ValueError(f"{subject} is {_shown(value)}, expected {' or '.join(expected)}")
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"{subject} is {_shown(value)}, expected one of {schema['enum']}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        raise ValueError(f"{subject} is {_shown(value)}, expected {schema['pattern']}")
    if "anyOf" in schema:
        _check_any(value, schema["anyOf"], where)
    if isinstance(value, dict):
        _check_members(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            check(item, schema["items"], f"{where}[{index}]")


def _check_any(value: object, schemas: Sequence[Schema], where: str) -> None:
    problems = []
    for each in schemas:
        try:
            check(value, each, where)
        except ValueError as error:
            problems.append(error)
        else:
            return
    # The deepest place is the one where the value stopped to look like something expected.
    raise max(problems, key=lambda error: len(str(error).partition(" is ")[0]))


def _check_members(value: Mapping[str, object], schema: Schema, where: str) -> None:
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        raise ValueError(f"{where or 'the document'} lacks {', '.join(map(repr, missing))}")
    known, others = schema.get("properties", {}), schema.get("additionalProperties", ANYTHING)
    for name, member in value.items():
        inner = f"{where}.{name}" if where else name
        if name not in known and others is False:
            raise ValueError(f"{inner} is not known, expected one of {', '.join(known)}")
        check(member, known.get(name, others), inner)


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return repr(value)[:80]


def json_text(document: object) -> str:
    r"""Return the text of a document.

    NaN and Infinity become texts, and bytes of a path that are no UTF-8 become escapes such as
    ``\xff``, as other readers of JSON take nothing else.
    """
    return json.dumps(_strict(document), indent=2, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else _with_escapes(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {_strict(str(key)): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


def _with_escapes(text: str) -> str:
    """Return a text with escapes in place of surrogates, which no UTF-8 has."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text.encode("utf-8", "backslashreplace").decode()
