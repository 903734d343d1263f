# SPDX-License-Identifier: MIT
"""Rules of prose: docstrings, comments and pages in plain terms."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDERS = ("packages", "tests-e2e", "tools", "benchmarks", "examples", "docs")
SKIPPED = {".cache", "_vendor", "build", "contract", "dist", "frozen", "sources"}
MOST_WORDS = 10

RIDDLES = (
    *("anybody", "everybody", "homeless", "in vain", "is said", "kin", "lest", "lie", "lies"),
    *("lying", "no one", "nobody", "somebody", "someone", "stand for", "standing for"),
    *("stands for", "strays", "the like", "what goes", "whoever"),
)
"""Words that stand where the noun that is meant should be."""

RIDDLE = re.compile(rf"\b({'|'.join(RIDDLES)})\b", re.IGNORECASE)
NO_VERBS = frozenset(
    (
        *("a", "all", "an", "and", "another", "any", "as", "both", "each", "every", "from", "how"),
        *("if", "in", "into", "its", "no", "of", "on", "one", "per", "several", "some", "the"),
        *("their", "there", "three", "two", "what", "when", "where", "whether", "which", "who"),
    )
)
"""First words with which a sentence about a function names a thing, not what it does."""

PROSE_OF_A_PAGE = re.compile(r"^(```.*?^```|    .*?$)|`[^`\n]*`", re.MULTILINE | re.DOTALL)
OPENING = "After reading this page you can "

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def summary_faults(summary: str) -> Iterator[str]:
    """Yield the faults of a docstring's first paragraph."""
    if "\n" in summary:
        yield "the first paragraph takes more than one line"
    words = sum(any(map(str.isalnum, word)) for word in summary.split())
    if words > MOST_WORDS:
        yield f"{words} words in the first line, at most {MOST_WORDS}: {summary}"


def verb_faults(summary: str) -> Iterator[str]:
    """Yield a fault unless the first line is imperative."""
    first = summary.split()[0].strip(".,:;") if summary else ""
    third_person = first.endswith("s") and not first.endswith("ss")
    if not first[:1].isupper() or first.lower() in NO_VERBS or third_person:
        yield f"no imperative verb at the beginning: {summary}"


def needs_a_verb(node: Documented) -> bool:
    """Return whether a docstring is a function's, not a test's.

    Properties need no verb either.
    """
    if isinstance(node, ast.Module | ast.ClassDef) or node.name.startswith("test_"):
        return False
    return not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def riddle_faults(text: str) -> Iterator[str]:
    """Yield each riddle of a text."""
    for found in RIDDLE.finditer(" ".join(text.split())):
        yield f"{found[0]!r} instead of a noun: ...{found.string[: found.end()][-60:]}"


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and its statements; expressions hold no docstrings."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from statements(child)


def docstring_faults(source: str) -> Iterator[str]:
    """Yield the faults of docstrings, also of those behind constants."""
    for node in statements(ast.parse(source)):
        if isinstance(node, Documented) and (docstring := ast.get_docstring(node)):
            summary = docstring.split("\n\n")[0]
            yield from summary_faults(summary)
            if needs_a_verb(node):
                yield from verb_faults(summary)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from riddle_faults(str(node.value.value))


def python_faults(source: str) -> Iterator[str]:
    """Yield the faults of a Python module's docstrings and comments."""
    yield from docstring_faults(source)
    if RIDDLE.search(source) is None:  # comments take long to find
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from riddle_faults(token.string)


def c_faults(source: str) -> Iterator[str]:
    """Yield the faults of comments in C and C++."""
    for comment in re.findall(r"/\*.*?\*/|//[^\n]*", source, re.DOTALL):
        yield from riddle_faults(comment)


def page_faults(source: str) -> Iterator[str]:
    """Yield the riddles of a page, code left out."""
    yield from riddle_faults(PROSE_OF_A_PAGE.sub(" ", source))


READERS: dict[str, Callable[[str], Iterator[str]]] = {
    ".py": python_faults,
    ".md": page_faults,
    **dict.fromkeys((".c", ".h", ".cpp", ".inc"), c_faults),
}


def sources() -> Iterator[Path]:
    """Yield hand-written files, without change logs and fixtures."""
    yield from (*REPOSITORY.glob("*.md"), *REPOSITORY.glob("*.py"))
    for folder in FOLDERS:
        for path in (REPOSITORY / folder).rglob("*"):
            frozen = SKIPPED & set(path.relative_to(REPOSITORY).parts)
            if path.suffix in READERS and path.name != "CHANGELOG.md" and not frozen:
                yield path


def test_docstrings_comments_and_pages_are_plain() -> None:
    faults = [
        f"{path.relative_to(REPOSITORY)}: {fault}"
        for path in sources()
        for fault in READERS[path.suffix](path.read_text())
    ]
    assert faults == []


def openings() -> Iterable[Path]:
    """Return the pages that have to open with their use."""
    return [*REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("packages/*/docs/*.md")]


@pytest.mark.parametrize("page", openings(), ids=lambda path: path.name)
def test_a_page_opens_with_what_its_reader_can_do(page: Path) -> None:
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.DOTALL)
    title, *paragraphs = text.strip().split("\n\n")
    assert title.startswith("# ")
    opening = next(each for each in paragraphs if not each.startswith("Not affiliated with Arm"))
    assert opening.replace("\n", " ").startswith(OPENING)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('"""The rules of a prose that has more words than it needs."""', "12 words"),
        ('"""One paragraph\nof two lines."""', "more than one line"),
        ('def f():\n    """The sum."""', "no imperative verb"),
        ('def f():\n    """Returns the sum."""', "no imperative verb"),
        ('def f():\n    """sum of two."""', "no imperative verb"),
        ('"""Data.\n\nIt lies in\n    memory.\n"""', "'lies' instead"),
        ('size = 1\n"""A number that stands\nfor another."""', "'stands for' instead"),
        ("size = 1  # Nobody knows", "'Nobody' instead"),
    ],
)
def test_faults_of_python_are_found(source: str, fault: str) -> None:
    (found,) = python_faults(source)
    assert fault in found


@pytest.mark.parametrize(
    "source",
    [
        '"""A module of ten words, which is the most allowed."""',
        'def f():\n    """Return x + y, the sum of both (in float32)."""',
        'def f():\n    """Process the items."""',
        'def test_f():\n    """The sum is exact."""',
        'class A:\n    @property\n    def size(self):\n        """The size."""',
        'text = "nobody reads this"',
    ],
)
def test_plain_python_has_no_faults(source: str) -> None:
    assert list(python_faults(source)) == []


def test_riddles_in_c_are_found_in_comments_only() -> None:
    source = 'x = "lies"; // what goes here\n/* Data that\n   lies here. */ // plain\n'
    assert [fault.split(" instead")[0] for fault in c_faults(source)] == ["'what goes'", "'lies'"]


def test_riddles_in_pages_are_found_outside_code() -> None:
    source = "Nobody\n\n```\nnobody\n```\n\n    nobody\n\nsays `nobody`, believe.\n"
    assert [fault.split(" instead")[0] for fault in page_faults(source)] == ["'Nobody'"]
