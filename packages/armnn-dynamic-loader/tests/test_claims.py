# SPDX-License-Identifier: MIT
"""What the page on dynamic backends claims is tested."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "dynamic-backends.md"
DOCUMENT = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))
CLAIMS = {says: row["tests"] for row in DOCUMENT["claim"] for says in row["says"]}


def statements() -> list[str]:
    """Return the page's sentences, bullets and rows of tables."""
    text = PAGE.read_text(encoding="utf-8")
    text = text[text.index("\n## Folders") : text.index("\n## When something does not work")]
    text = re.sub(r"(?ms)^```.*?^```\n", "", text)
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=[-|#] ?)", text):
        words = " ".join(block.split())
        if words and words[0] != "#" and set(words) - set("|- "):
            is_one = words.startswith(("|", "- "))
            sentences = [words] if is_one else re.split(r"(?<=[.:])\s+(?=[A-Z`*])", words)
            found += [each.removeprefix("- ") for each in sentences]
    return found


@functools.cache
def names_in(name: str) -> set[str]:
    """Return the names of the tests of "file" or "distribution/file"."""
    folder, _, file = name.partition("/")
    path = ROOT / "packages" / folder / "tests" / file if file else Path(__file__).with_name(name)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_each_statement_of_the_page_is_a_known_claim() -> None:
    known = (*CLAIMS, *DOCUMENT["explained"])
    assert [each for each in statements() if not each.startswith(known)] == []


def test_each_known_claim_is_on_the_page() -> None:
    said = statements()
    known = (*CLAIMS, *DOCUMENT["explained"])
    assert [each for each in known if not any(row.startswith(each) for row in said)] == []


def test_each_claim_is_backed_by_tests_that_exist() -> None:
    assert all(CLAIMS.values())
    missing = []
    for test in sorted({test for tests in CLAIMS.values() for test in tests}):
        file, _, name = test.partition("::")
        missing += [] if name in names_in(file) else [test]
    assert missing == []
