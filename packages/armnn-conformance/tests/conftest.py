# SPDX-License-Identifier: MIT
"""Fixtures of the kit's tests: installed and compiled backends."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from armnn_backend_api import get_include
from armnn_conformance.subject import Subject
from fakes.plugins import backend_plugin, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from armnn.backends import Backend

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden")


@pytest.fixture
def build(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that compiles C source to a backend."""

    def make(source: str) -> Path:
        path = tmp_path / "backend.c"
        path.write_text(source, encoding="utf-8")
        library = tmp_path / "Acme_Mock_backend.so"
        command = ["gcc", *FLAGS, f"-I{get_include()}", "-o", str(library), str(path)]
        subprocess.run(command, check=True)
        return library

    return make


@pytest.fixture
def install_backend(tmp_path: Path) -> Iterator[Callable[[type[Backend]], str]]:
    """Return a function that installs a backend class.

    It returns the backend's id.
    """
    with ExitStack() as stack:

        def install(kind: type[Backend]) -> str:
            source = f"from {kind.__module__} import {kind.__name__} as backend\n"
            plugin = backend_plugin(kind.id, source=source)
            stack.enter_context(installed(tmp_path, plugin, alone=True))
            return kind.id

        yield install


@pytest.fixture
def make_subject(tmp_path: Path) -> Iterator[Callable[[type[Backend]], Subject]]:
    """Return a function that makes a backend the subject."""
    with ExitStack() as stack:

        def make(kind: type[Backend]) -> Subject:
            module = ModuleType("armnn_test_subjects")
            vars(module)["backend"] = kind
            stack.enter_context(pytest.MonkeyPatch.context()).setitem(
                sys.modules, module.__name__, module
            )
            plugin = backend_plugin(kind.id, module=module.__name__)
            folder = tmp_path / f"subject{len(list(tmp_path.iterdir()))}"
            stack.enter_context(installed(folder, plugin, alone=True))
            return stack.enter_context(Subject(kind.id))

        yield make
