# SPDX-License-Identifier: MIT
"""Packages whose names are imported at their first use."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from armnn._moved import MOVED

LAZY = [
    "armnn",
    "armnn.backends",
    "armnn.backends.native",
    "armnn.graph",
    "armnn.optimizer",
    "armnn.parsing.flatbuffers",
    "armnn.runtime",
]


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh process loads."""
    code += "\nimport sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    return set(run.stdout.split())


def names_for_types(module: ModuleType) -> dict[str, str]:
    """Return the names that type checkers see, with their modules."""
    tree = ast.parse(inspect.getsource(module))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: str(node.module)
        for node in imports
        for alias in node.names
        if str(node.module).startswith("armnn") and node.module != "armnn"
    }


@pytest.mark.parametrize("package", LAZY)
def test_the_names_are_those_that_type_checkers_see(package: str) -> None:
    module = import_module(package)
    for name, home in names_for_types(module).items():
        assert getattr(module, name) is getattr(import_module(home), name)


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_is_there_and_listed(package: str) -> None:
    module = import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("package", LAZY)
def test_other_names_are_missing_as_in_any_module(package: str) -> None:
    with pytest.raises(AttributeError, match=rf"^module '{package}' has no attribute 'nothing'$"):
        import_module(package).nothing  # noqa: B018 # asking for it is the test
    with pytest.raises(AttributeError, match="has no attribute '_nothing'"):
        import_module(package)._nothing  # noqa: B018 # the same


def test_importing_armnn_imports_little_and_not_numpy() -> None:
    loaded = loaded_by("import armnn")
    assert "numpy" not in loaded
    assert {name for name in loaded if name.startswith("armnn")} <= {
        "armnn",
        "armnn.__about__",
        "armnn._lazy",
        "armnn._load_times",
        "armnn._moved",
        *MOVED,
    }


def test_a_module_is_found_without_an_import_of_its_own() -> None:
    assert "armnn.layers.pooling" in loaded_by("import armnn; armnn.layers.pooling")
