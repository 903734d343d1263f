# SPDX-License-Identifier: MIT
"""What the core names and loads, what is public, and what is declared.

Which way imports point is held by import-linter's contracts in pyproject.toml.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import armnn

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = REPOSITORY / "packages"
CORE = PACKAGES / "armnn-core" / "src" / "armnn"
SOURCES = {path.parent.name: path for path in sorted(PACKAGES.glob("*/src"))}
OURS = {
    path.parent.name: [name] for name, src in SOURCES.items() for path in src.glob("*/py.typed")
}
PROJECTS = {
    name: tomllib.loads((PACKAGES / name / "pyproject.toml").read_text()) for name in SOURCES
}
PAGE = (REPOSITORY / "docs" / "compatibility.md").read_text()
DISTRIBUTIONS = functools.cache(
    packages_distributions
)  # it reads the records of all that is installed

NAMERS = ("installing.py", "benchmarking.py", "debugging.py", "placement.py", "viewing.py")
"""The files of the core that name others: what to install, and modules with their types there."""


def texts_of(path: Path) -> Iterator[str]:
    """Yield the strings of a file that are no docstrings, and the modules that it imports."""
    tree = ast.parse(path.read_text(), path)
    yield from imported_modules(tree, path)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


def test_the_core_names_no_backend_parser_or_loader() -> None:
    entry_points = [project["project"].get("entry-points", {}) for project in PROJECTS.values()]
    ids = {name for groups in entry_points for name in groups.get("armnn.backends", {})}
    others = [name for name in SOURCES if name not in ("armnn-core", "armnn-backend-api")]
    modules = [module for module in OURS if module not in ("armnn", "armnn_backend_api")]
    assert {"CpuRef", "CpuAcc"} < ids
    name = re.compile(rf"\b(?:{'|'.join([*ids, *others, *modules])})\b")
    found = {
        path.relative_to(CORE).as_posix(): names
        for path in sorted(CORE.rglob("*.py"))
        if (names := [match for text in texts_of(path) for match in name.findall(text)])
    }
    assert "installing.py" in found
    assert {path: names for path, names in found.items() if not path.startswith(NAMERS)} == {}


def imported_modules(tree: ast.Module, path: Path) -> Iterator[str]:
    """Yield every module that a file imports anywhere.

    Imports inside functions and for types are included.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"{path}: relative import"
            yield node.module


def public_modules() -> list[str]:
    """Return the modules that the page on compatibility promises to plug-ins."""
    table = PAGE.partition("## What plug-ins import")[2].partition("\n\n`armnn-backend-api`")[0]
    named = [name for name in re.findall(r"`([\w.]+)`", table) if name != "__all__"]
    modules = [f"armnn_backend_api{name}" if name[0] == "." else name for name in named]
    modules.remove("armnn.layers.pooling")  # an example of a family, whose descriptors are public
    return modules


def test_the_public_modules_have_the_names_that_they_promise() -> None:
    modules = public_modules()
    assert len(modules) > 25
    for module in modules:
        found = import_module(module)
        assert [name for name in found.__all__ if not hasattr(found, name)] == [], module


@pytest.mark.parametrize("module", ["armnn.errors", "armnn.types"])
def test_every_error_and_enumeration_is_public(module: str) -> None:
    found = import_module(module)
    classes = {n for n, v in vars(found).items() if isinstance(v, type) and v.__module__ == module}
    assert classes - set(found.__all__) == set()


@pytest.mark.parametrize("distribution", SOURCES)
def test_everything_imported_is_declared(distribution: str) -> None:
    project = PROJECTS[distribution]["project"]
    declared = [*project["dependencies"]]
    for extra in project.get("optional-dependencies", {}).values():
        declared += extra
    available = {canonicalize_name(Requirement(each).name) for each in declared} | {distribution}
    providers = {**DISTRIBUTIONS(), **OURS}  # what is not installed has its module's name
    commands = project.get("entry-points", {}).get("armnn.commands", {}).values()
    by_tools = {f"{module.rpartition('.')[2]}.py" for module in commands}  # which imports these
    undeclared = [
        f"{path.name} imports {module}"
        for path in sorted(SOURCES[distribution].rglob("*.py"))
        for module in imported_modules(ast.parse(path.read_text(), path), path)
        if not (path.name in by_tools and module.startswith("armnn_tools."))
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


NOT_FOR_PREPARED = re.compile(
    r"armnn_parser_|armnn\.(graph\.(?!aliases|initial_values|python_operators)|layers|parsing\.conversion)\b"
    r"|armnn\.optimizer\.(assignment|layouts|passes|phases|preparation|shapes|symbolic)\b"
)


def test_a_prepared_load_imports_no_parser_no_optimizer_and_no_layer_table(tmp_path: Path) -> None:
    network = armnn.Network("small")
    x = network.add_input("x", armnn.TensorInfo((1, 4, 4, 3)))
    weights = np.full((2, 3, 3, 3), 0.5, np.float32)
    network.add_output("y", network.add_convolution2d(x, weights, data_layout="NHWC"))
    armnn.save(network, tmp_path / "small.armnn")
    code = (
        "import json, sys, numpy, armnn\n"
        "model = armnn.load_model(sys.argv[1], ['CpuAcc', 'CpuRef'], cache_dir=sys.argv[2])\n"
        "y = model.run({'x': numpy.ones((1, 4, 4, 3), numpy.float32)})['y']\n"
        "assert (y == 13.5).all()\n"
        "call = model.bind({'x': numpy.ones((1, 4, 4, 3), numpy.float32)})\n"
        "assert (call()['y'] == 13.5).all()\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "small.armnn"), str(tmp_path / "cache")]
    cold, cached = (
        json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        for _ in range(2)
    )
    assert "armnn.optimizer.passes" in cold
    assert [name for name in cached if NOT_FOR_PREPARED.match(name)] == []


DEFAULT_START = """
import sys
import armnn
network = armnn.Network("n")
x = network.add_input("x", armnn.TensorInfo((2,)))
network.add_output("y", network.add_activation(x, function="ReLu"))
assert armnn.load_model(network).run({"x": [-1, 2]})["y"].tolist() == [0, 2]
print("\\n".join(sys.modules))
"""


def test_a_default_start_imports_no_backend_that_takes_no_part() -> None:
    named = {each.name: each.module for each in entry_points(group="armnn.named_backends")}
    with armnn.Runtime() as runtime:
        found = {each.id for each in runtime.registry.entries() if each.is_static}
        found.discard("GpuAcc")  # its driver may not be here
        unasked = {each for each in found if runtime.registry.get(each).score() == 0}
    assert unasked == named.keys() - {"GpuAcc"}
    command = [sys.executable, "-c", DEFAULT_START]
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "armnn_backend_ref.backend" in imported
    assert not {*named.values(), "onnxruntime", "openvino"} & set(imported)
