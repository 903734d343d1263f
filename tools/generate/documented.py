# SPDX-License-Identifier: MIT
"""Reads the docstrings of descriptors."""

from __future__ import annotations

import dataclasses
import inspect
import re


def documented(descriptor: type) -> tuple[list[str], dict[str, str]]:
    """Return a descriptor's docstring lines and its fields' texts.

    Fields that it inherits may be described where they are declared.
    """
    texts: list[str] = []
    descriptions: dict[str, str] = {}
    for owner in reversed(descriptor.__mro__[:-1]):
        texts = inspect.cleandoc(owner.__doc__ or "").splitlines()
        start = texts.index("Attributes:") if "Attributes:" in texts else len(texts)
        name = ""
        for line in texts[start + 1 :]:
            if match := re.match(r" {4}(\w+): (.*)", line):
                name = match[1]
                descriptions[name] = match[2]
            else:
                descriptions[name] += f" {line.strip()}"
        texts = texts[:start]
    while texts and not texts[-1]:
        texts.pop()
    fields = [field.name for field in dataclasses.fields(descriptor)]
    if undocumented := [name for name in fields if name not in descriptions]:
        raise TypeError(f"{descriptor.__name__} does not document {', '.join(undocumented)}")
    return texts, {name: descriptions[name] for name in fields}
