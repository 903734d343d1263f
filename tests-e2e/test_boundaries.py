# SPDX-License-Identifier: MIT
"""The directions of imports: core, distributions, run time."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from armnn.layers import LAYERS

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
        "_aliases",
        "_arguments",
        "_companions",
        "_dataclasses",
        "_digest",
        "_distributions",
        "_enumeration",
        "_functions",
        "_huge_pages",
        "_installing",
        "_json",
        "_lazy",
        "_load_times",
        "_logging",
        "_metadata",
        "_process_memory",
        "_processor",
        "_spelling",
        "_symbolic",
        "_whole_files",
        "errors",
        "processes",
        "types",
    ],
    ["tensor"],
    ["quantization"],
    ["layers"],
    ["graph"],
    ["backends"],
    ["_recorder"],
    ["optimizer"],
    ["parsing"],
    ["storage"],
    ["isolation"],
    ["verdicts"],
    ["runtime"],
    ["single_layer"],
    ["profiling", "debugging"],
    ["benchmarking", "placement", "viewing"],
    ["cli", "compat", "testing", "__main__"],
]
# These are clients of the core and may use it the way that its users do.
CLIENTS = ["cli", "__main__"]
LEVELS = {part: level for level, row in enumerate(CORE_ORDER) for part in row}
# What a plug-in may rely on: the names in __all__ of these, and the descriptors of layer families.
PUBLIC = [
    "armnn",
    "armnn.backends",
    "armnn.backends.crashes",
    "armnn.backends.discovery",
    "armnn.backends.extensions",
    "armnn.backends.journal",
    "armnn.backends.locking",
    "armnn.backends.native",
    "armnn.backends.places",
    "armnn.backends.sources",
    "armnn.errors",
    "armnn.graph",
    "armnn.graph.dot",
    "armnn.layers",
    "armnn.layers.dimensions",
    "armnn.layers.recurrent",
    "armnn.parsing",
    "armnn.parsing.conversion",
    "armnn.parsing.flatbuffers",
    "armnn.processes",
    "armnn.profiling",
    "armnn.quantization",
    "armnn.runtime",
    "armnn.single_layer",
    "armnn.tensor",
    "armnn.types",
    "armnn_backend_api",
    "armnn_backend_api.ctypes_mirror",
    "armnn_backend_api.exports",
    "armnn_backend_api.files",
    "armnn_backend_api.floating_point",
    "armnn_backend_api.memory",
    "armnn_backend_api.names",
    "armnn_backend_api.process_state",
    "armnn_backend_api.structs",
    "armnn_backend_api.table",
    "armnn_backend_api.trust",
    "armnn_parser_onnx.description",
    "armnn_parser_onnx.export",
    "armnn_parser_tflite.description",
]


def imported_modules(path: Path) -> Iterator[str]:
    """Yield every module that a file imports anywhere.

    Imports inside functions and for types are included.
    """
    for node in ast.walk(ast.parse(path.read_text(), path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "armnn":
            yield from (f"armnn.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"{path}: relative import"
            yield node.module


def part_of_core(path: Path) -> str:
    """Return the CORE_ORDER entry of a core file."""
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


def test_only_one_room_starts_processes() -> None:
    starts = re.compile(
        r"\b(?:subprocess|multiprocessing)\b|\bos\.(?:fork|forkpty|posix_spawn)\b|\bos\.(?:exec|spawn)[lv]\w*|\bos\.(?:popen|system)\b"
    )
    elsewhere = {
        str(path.relative_to(PACKAGES))
        for source in SOURCES.values()
        for path in sorted(source.rglob("*.py"))
        if any(starts.search(line) for line in code_of(path))
    }
    room = "armnn-core/src/armnn/processes"
    assert elsewhere == {f"{room}/{name}.py" for name in ("child", "guard")}


def code_of(path: Path) -> Iterator[str]:
    """Yield the imports and attributes of a file as code."""
    for node in ast.walk(ast.parse(path.read_text(), path)):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Attribute):
            yield ast.unparse(node)


def test_the_core_names_no_plugin_module_but_its_former_parts_in_one_place() -> None:
    modules = [module for module in OURS if module not in ("armnn", "armnn_backend_api")]
    plugin = re.compile(rf"\b(?:{'|'.join(modules)})\b")  # not a struct of the C header
    named = {str(path.relative_to(CORE)): plugin.findall(path.read_text()) for path in core_files()}
    found = {path: sorted(set(modules)) for path, modules in named.items() if modules}
    assert found == {
        "_companions.py": ["armnn_compat", "armnn_conformance"],
        "compat/__init__.py": ["armnn_compat"],
        "testing/__init__.py": ["armnn_conformance"],
    }


def used_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield every name that a file uses of our modules."""
    tree = ast.parse(path.read_text(), path)
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and is_ours(str(node.module)):
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                if find_spec(str(node.module)).submodule_search_locations and find_spec(module):
                    modules[alias.asname or alias.name] = module
                else:
                    yield str(node.module), alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if is_ours(module) and node.attr != "__file__":
                yield module, node.attr


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("armnn", *OURS)


def is_public(module: str, name: str) -> bool:
    found = getattr(import_module(module), name, None)
    homes = {spec.descriptor: f"armnn.layers.{spec.family}" for spec in LAYERS.values()}
    if isinstance(found, type) and homes.get(found) == module:
        return True
    return module in PUBLIC and name in import_module(module).__all__


@pytest.mark.parametrize("distribution", PLUGINS)
def test_plugins_use_only_public_names_of_public_modules(distribution: str) -> None:
    own = distribution.replace("-", "_")
    used = [
        (path, module, name)
        for path in sorted(SOURCES[distribution].rglob("*.py"))
        for module, name in used_names(path)
        if module.partition(".")[0] != own
    ]
    private = [
        f"{path.name} uses {name} of {module}"
        for path, module, name in used
        if not is_public(module, name)
    ]
    assert used
    assert not private


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from armnn.backends import Backend", ["armnn.backends Backend"]),
        ("from armnn.backends import entries", []),
        ("from armnn.backends import entries as e\ne.BackendEntry", ["armnn.backends.entries Ba"]),
        ("import armnn\narmnn.parse(x)", ["armnn parse"]),
        ("import numpy\nnumpy.zeros(1)", []),
    ],
)
def test_a_name_is_seen_however_it_is_used(
    tmp_path: Path, source: str, expected: list[str]
) -> None:
    path = tmp_path / "plugin.py"
    path.write_text(source)
    found = [f"{module} {name}" for module, name in used_names(path)]
    assert [text[: len(start)] for text, start in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("armnn.backends", "Backend", True),
        ("armnn.backends", "loading", False),  # there, but not in __all__
        ("armnn.backends.entries", "BackendEntry", False),  # its public place is armnn.backends
        ("armnn.layers.pooling", "Pooling2dDescriptor", True),
        ("armnn.layers.reshaping", "PadDescriptor", True),
        ("armnn.layers.reshaping_padding", "PadDescriptor", False),  # a part of the family above
        ("armnn.layers.pooling", "normalized_axes", False),
        ("armnn_backend_api.structs", "Arena", True),
        ("armnn_backend_api.structs", "ctypes", False),
    ],
)
def test_what_is_public_is_what_all_says(module: str, name: str, expected: bool) -> None:
    assert is_public(module, name) is expected


@pytest.mark.parametrize("module", PUBLIC)
def test_the_names_of_a_public_module_are_there(module: str) -> None:
    found = import_module(module)
    assert [name for name in found.__all__ if not hasattr(found, name)] == []


def test_the_page_on_architecture_lists_the_public_modules() -> None:
    page = (PACKAGES.parent / "docs" / "architecture.md").read_text()
    table = page.partition("## What plug-ins import")[2].partition("\n\n`armnn-backend-api`")[0]
    named = re.findall(r"`([\w.]+)`", table)
    listed = [f"armnn_backend_api{name}" if name[0] == "." else name for name in named]
    families = {f"armnn.layers.{name}" for name in ("dimensions", "pooling")}
    ours = {module for module in PUBLIC if module.startswith(("armnn.", "armnn_backend_api"))}
    assert set(listed) - families - {"armnn", "__all__"} == ours - families


@pytest.mark.parametrize("module", ["armnn.errors", "armnn.types"])
def test_every_error_and_enumeration_is_public(module: str) -> None:
    found = import_module(module)
    classes = {n for n, v in vars(found).items() if isinstance(v, type) and v.__module__ == module}
    assert classes - set(found.__all__) == set()


@pytest.mark.parametrize("distribution", SOURCES)
def test_everything_imported_is_declared(distribution: str) -> None:
    project = tomllib.loads((PACKAGES / distribution / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"]]
    for extra in project.get("optional-dependencies", {}).values():
        declared += extra
    available = {canonicalize_name(Requirement(each).name) for each in declared} | {distribution}
    providers = {**packages_distributions(), **OURS}  # what is not installed has its module's name
    undeclared = [
        f"{path.name} imports {module}"
        for path in sorted(SOURCES[distribution].rglob("*.py"))
        for module in imported_modules(path)
        if (top := module.partition(".")[0]) not in sys.stdlib_module_names
        and not available & {canonicalize_name(name) for name in providers.get(top, [top])}
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
