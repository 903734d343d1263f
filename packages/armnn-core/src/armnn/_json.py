# SPDX-License-Identifier: MIT
"""A reader of JSON that starts quickly.

Importing ``json`` compiles six regular expressions, most of them for writing. Its scanner is a
compiled module of its own, of CPython; without that, ``json`` itself is imported.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

try:
    make_scanner: Any = import_module("_json").make_scanner
except ImportError:  # another Python
    make_scanner = None


class _Settings:
    """The settings of ``json.loads`` that the scanner reads."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


@cache
def _scanner() -> Any:
    return make_scanner(_Settings)


def parsed_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: It is no JSON, or more than one value.
        RecursionError: It is nested too deeply.
    """
    text = text.strip(" \t\n\r")
    if make_scanner is None:
        from json import loads

        return loads(text)
    try:
        value, end = _scanner()(text, 0)
    except StopIteration as error:
        raise ValueError(f"no JSON value begins at character {error.value}") from None
    if end != len(text):
        raise ValueError(f"something follows the JSON value at character {end}")
    return value
