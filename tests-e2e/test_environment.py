# SPDX-License-Identifier: MIT
"""Every variable of the environment that is read is in one table, which a page shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from armnn.backends.selection import LIBRARY_VARIABLES, PREFIX, VARIABLES

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "recording.md"

OTHERS = {
    "_ARGCOMPLETE": "a shell that completes a command",
    "COLUMNS": "the width of tables",
    "COMP_LINE": "a shell that completes a command",
    "PYTHONPATH": "where Python finds packages, whose files are recorded",
    "CPUACC_REFUSES_TILES": "tests of CpuAcc",
}
"""Variables that say nothing about what runs, with what they are for."""


def read_by_python(path: Path) -> Iterator[str]:
    """Yield the names in environment("NAME"), os.environ.get("NAME") and os.environ["NAME"]."""
    text = path.read_text()
    if "environ" not in text and "getenv" not in text:
        return  # most files; to parse them all takes seconds
    for node in ast.walk(ast.parse(text)):
        subject, key = None, None
        if isinstance(node, ast.Call) and node.args:
            subject, key = node.func, node.args[0]
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            subject, key = node.value, node.slice
        if isinstance(subject, ast.expr) and isinstance(key, ast.Constant):
            read_from = ("environment", "os.environ", "os.environ.get", "os.getenv")
            if ast.unparse(subject) in read_from:
                yield key.value


def read_by_c(path: Path) -> Iterator[str]:
    yield from re.findall(r'getenv\("(\w+)"\)', path.read_text())


def test_every_variable_that_is_read_is_in_the_table_or_has_the_prefix() -> None:
    python = {
        name for path in REPOSITORY.glob("packages/*/src/**/*.py") for name in read_by_python(path)
    }
    native = {
        name for path in REPOSITORY.glob("packages/*/cpp/**/*.[ch]*") for name in read_by_c(path)
    }
    assert {"XDG_CACHE_HOME", "LD_LIBRARY_PATH"} <= python  # the search finds some
    assert "ARMNN_CPUACC_ISA" in native
    strange = (python | native) - VARIABLES.keys() - OTHERS.keys()
    assert [name for name in strange if not name.startswith(PREFIX)] == []


def test_the_page_has_the_table() -> None:
    _, _, section = PAGE.read_text().partition("\n## Environment variables\n")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    assert dict(rows) == VARIABLES
    assert [name for name in LIBRARY_VARIABLES if f"`{name}`" not in section] == []
