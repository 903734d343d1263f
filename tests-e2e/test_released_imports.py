# SPDX-License-Identifier: MIT
"""Released distributions' imports still exist, as the same objects."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from armnn._moved import MOVED

REPOSITORY = Path(__file__).resolve().parents[1]
FROZEN = REPOSITORY / "tests-e2e" / "compat" / "frozen"
Imports = dict[str, list[str]]


def imports_of_wheel(path: Path) -> Imports:
    """Return a wheel's imports from our other distributions."""
    own = path.name.split("-")[0]
    found: dict[str, dict[str, None]] = {}
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if name.endswith(".py"):
                for module, names in imported(wheel.read(name).decode()):
                    if module.startswith("armnn") and module.partition(".")[0] != own:
                        found.setdefault(module, {}).update(dict.fromkeys(names))
    return {module: sorted(found[module]) for module in sorted(found)}


def imported(source: str) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module), [alias.name for alias in node.names]


# The core and the contract are replaced by a younger one as a whole; they import only each other.
PLUGIN_WHEELS = [
    path
    for path in sorted(FROZEN.glob("*.whl"))
    if not path.name.startswith(("armnn_core-", "armnn_backend_api-"))
]
WHEELS = {
    " ".join(path.name.split("-")[:2]).replace("_", "-"): imports_of_wheel(path)
    for path in PLUGIN_WHEELS
}
RECORDED: dict[str, Imports] = json.loads((FROZEN / "imports-1.0.json").read_text())["imports"]
"""What was recorded before the wheels of all backends were kept; the parser for TFLite has none."""

RELEASED: dict[str, Imports] = {**RECORDED, **WHEELS}


def resolved(module: str, name: str) -> object:
    """Return the result of ``from module import name``."""
    found = import_module(module)
    return getattr(found, name) if hasattr(found, name) else import_module(f"{module}.{name}")


def test_the_record_has_every_plugin_that_was_released() -> None:
    assert len(WHEELS) == len(PLUGIN_WHEELS) == 16
    assert RECORDED.keys() - WHEELS.keys() == {"armnn-parser-tflite 1.0.0"}
    assert WHEELS["armnn-dynamic-loader 1.0.0"]["armnn.backends.trust"] == ["who_else_may_write"]


@pytest.mark.parametrize("distribution", sorted(RECORDED.keys() & WHEELS.keys()))
def test_the_record_says_what_the_wheel_imports(distribution: str) -> None:
    assert RECORDED[distribution] == WHEELS[distribution]


@pytest.mark.parametrize("distribution", RELEASED)
def test_a_released_distribution_finds_what_it_imports(distribution: str) -> None:
    missing = []
    for module, names in RELEASED[distribution].items():
        for name in names or [""]:
            try:
                resolved(module, name) if name else import_module(module)
            except ImportError as error:
                missing.append(f"{module}: {error}")
    assert not missing


@pytest.mark.parametrize("old", MOVED)
def test_a_moved_name_is_the_same_object_at_its_old_place(old: str) -> None:
    new, names = MOVED[old]
    for name in names.split():
        assert resolved(old, name) is resolved(new, name)
        assert name in dir(import_module(old))
    with pytest.raises(AttributeError, match=f"module {old!r} has no attribute 'other'"):
        import_module(old).other  # noqa: B018 # asking for it is the test


@pytest.mark.parametrize("old", MOVED)
def test_an_old_place_keeps_what_was_released_and_no_more(old: str) -> None:
    used = {name for imports in RELEASED.values() for name in imports.get(old, [])}
    assert set(MOVED[old][1].split()) == used


def test_importing_an_old_place_imports_no_part_of_the_core() -> None:
    code = "import armnn.backends.trust as trust; trust.who_else_may_write"
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "armnn_backend_api.files" in run.stdout.split()
    assert not {"numpy", "armnn.backends.contract", "armnn.errors"} & set(run.stdout.split())


def test_nothing_here_imports_from_an_old_place() -> None:
    old = re.compile(rf"^ *(?:from|import) (?:{'|'.join(map(re.escape, MOVED))})\b", re.MULTILINE)
    folders = ("packages", "tools", "benchmarks")
    sources = [path for name in folders for path in (REPOSITORY / name).rglob("*.py")]
    assert len(sources) > 500
    assert [path for path in sources if old.search(path.read_text())] == []
    assert old.search("import json\n    from armnn.backends.trust import who_else_may_write\n")
