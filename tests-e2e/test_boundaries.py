# SPDX-License-Identifier: MIT
"""Which way imports point: inside the core, between distributions, at run time; module sizes."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGES = Path(__file__).resolve().parents[1] / "packages"
CORE = PACKAGES / "armnn-core" / "src" / "armnn"
SOURCES = {path.parent.name: path for path in sorted(PACKAGES.glob("*/src"))}
OURS = {
    path.parent.name: [name] for name, src in SOURCES.items() for path in src.glob("*/py.typed")
}
PLUGINS = [name for name in SOURCES if name not in ("armnn-core", "armnn-backend-api")]

# A part of the core imports parts of its own row and of the rows above it, never of one below.
CORE_ORDER = [
    [
        "__about__",
        "_arguments",
        "_digest",
        "_distributions",
        "_installing",
        "_metadata",
        "_spelling",
        "_trimming",
        "errors",
        "types",
    ],
    ["tensor"],
    ["quantization"],
    ["layers"],
    ["graph"],
    ["backends"],
    ["optimizer"],
    ["parsing"],
    ["runtime"],
    ["profiling"],
    ["testing"],
    ["cli", "compat", "__main__"],
]
# These are clients of the core and may use it the way that its users do.
CLIENTS = ["testing", "cli", "compat", "__main__"]
LEVELS = {part: level for level, row in enumerate(CORE_ORDER) for part in row}
# What a plug-in may rely on; a module with an underscore is never part of it.
PUBLIC = ["armnn", *(
    f"armnn.{part}"
    for part in ["backends", "errors", "graph", "layers", "quantization", "tensor", "types"]
)]  # fmt: skip


def imported_modules(path: Path) -> Iterator[str]:
    """Every module that a file imports anywhere, also inside functions and for types only."""
    for node in ast.walk(ast.parse(path.read_text(), path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "armnn":
            yield from (f"armnn.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"{path}: relative import"
            yield node.module


def part_of_core(path: Path) -> str:
    """The row entry of CORE_ORDER that a file of the core belongs to."""
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def core_files() -> list[Path]:
    return [path for path in sorted(CORE.rglob("*.py")) if path != CORE / "__init__.py"]


def test_every_part_of_the_core_has_its_place_in_the_order() -> None:
    assert {part_of_core(path) for path in core_files()} <= LEVELS.keys()


def test_arrows_inside_the_core_point_up_only() -> None:
    downward = [
        f"{path.relative_to(CORE)} imports {module}"
        for path in core_files()
        for module in imported_modules(path)
        if module.startswith("armnn.")
        and LEVELS.get(module.split(".")[1], 0) > LEVELS[part_of_core(path)]
    ]
    assert not downward


def test_the_core_itself_does_not_go_through_its_public_facade() -> None:
    through_facade = [
        f"{path.relative_to(CORE)} imports {module}"
        for path in core_files()
        for module in imported_modules(path)
        if part_of_core(path) not in CLIENTS
        if re.match(r"armnn(\.|$)", module)
        and module.partition("armnn.")[2].split(".")[0] not in LEVELS
    ]
    assert not through_facade


def test_the_core_names_no_plugin_module() -> None:
    modules = [module for module in OURS if module not in ("armnn", "armnn_backend_api")]
    plugin = re.compile(rf"\b(?:{'|'.join(modules)})\b")  # not a struct of the C header
    named = {str(path.relative_to(CORE)): plugin.findall(path.read_text()) for path in core_files()}
    assert not {path: modules for path, modules in named.items() if modules}


@pytest.mark.parametrize("distribution", PLUGINS)
def test_plugins_import_only_the_public_modules_of_the_core(distribution: str) -> None:
    private = [
        f"{path.name} imports {module}"
        for path in sorted(SOURCES[distribution].rglob("*.py"))
        for module in imported_modules(path)
        if re.match(r"armnn(\.|$)", module) and not is_public(module)
    ]
    assert not private


def is_public(module: str) -> bool:
    parts = module.split(".")
    return ".".join(parts[:2]) in PUBLIC and not any(part.startswith("_") for part in parts)


@pytest.mark.parametrize("distribution", SOURCES)
def test_everything_imported_is_declared(distribution: str) -> None:
    project = tomllib.loads((PACKAGES / distribution / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"]]
    for extra in project.get("optional-dependencies", {}).values():
        declared += extra
    available = {canonicalize_name(Requirement(each).name) for each in declared} | {distribution}
    providers = {**packages_distributions(), **OURS}
    undeclared = [
        f"{path.name} imports {module}"
        for path in sorted(SOURCES[distribution].rglob("*.py"))
        for module in imported_modules(path)
        if (top := module.partition(".")[0]) not in sys.stdlib_module_names
        and not available & {canonicalize_name(name) for name in providers.get(top, ())}
    ]
    assert not undeclared


def test_importing_armnn_loads_no_plugin_and_no_slow_dependency() -> None:
    code = "import json, sys, armnn; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    loaded = {module.partition(".")[0] for module in json.loads(run.stdout)}
    plugins = {name for name in loaded if name.startswith(("armnn_backend_", "armnn_parser_"))}
    assert plugins <= {"armnn_backend_api"}
    assert not loaded & {"onnx", "rich", "importlib_metadata", "PIL", "armnn_dynamic_loader"}


def test_importing_armnn_adds_less_than_150_milliseconds_to_numpy(tmp_path: Path) -> None:
    code = "import numpy, armnn"
    # As after any first import, whether or not this environment may write bytecode elsewhere.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds = []
    for _ in range(7):
        run = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", code],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
        (microseconds,) = re.findall(
            r"^import time:.*\| *(\d+) \| armnn$", run.stderr, re.MULTILINE
        )
        seconds.append(int(microseconds) / 1e6)
    assert min(seconds) < 0.15


def test_a_module_has_at_most_500_lines() -> None:
    folders = ["packages", "tools", "benchmarks", "tests-e2e"]
    sources = (path for name in folders for path in (PACKAGES.parent / name).rglob("*.py"))
    texts = {path: path.read_text() for path in sources}
    by_hand = {
        path: text for path, text in texts.items() if "Generated by tools/" not in text[:400]
    }
    assert len(by_hand) > 500
    assert [str(path) for path, text in by_hand.items() if text.count("\n") > 500] == []
