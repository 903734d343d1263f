# SPDX-License-Identifier: MIT
"""Backends in C, compiled from mock.c with chosen defects."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from armnn import CreationOptions, Runtime
from armnn.backends import Backend, BackendSource, ModelContext, SourceRecord
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn_backend_api import get_include
from fakes.plugins import Plugin, installed

SOURCES = Path(__file__).parent / "backends" / "capi"
STRICT = ("-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic")
# A defect may leave a function of the mock unused, or set a field twice.
DEFECTIVE = ("-Wno-unused-function", "-Wno-unused-variable", "-Wno-override-init")
SHARED = ("-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs")
# tools/native_sanitized.py instruments the mocks.
EXTRA = os.environ.get("ARMNN_TEST_CFLAGS", "").split()
FLAGS = (*STRICT, *DEFECTIVE, *SHARED, *EXTRA)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles a source to a library."""
    folder = tmp_path_factory.mktemp("native")
    built: dict[tuple[str, ...], Path] = {}

    def make(source: str | Path = "mock.c", *flags: str) -> Path:
        key = (str(source), *flags)
        if key not in built:
            path = folder / f"Acme_Mock{len(built)}_backend.so"
            command = ["gcc", *FLAGS, f"-I{get_include()}", *flags, "-o", str(path)]
            subprocess.run([*command, str(SOURCES / source)], check=True)
            built[key] = path
        return built[key]

    return make


@pytest.fixture(scope="session")
def mock(build: Callable[..., Path]) -> NativeLibrary:
    return NativeLibrary.open(build())


@dataclass(frozen=True)
class Counts:
    backends: int
    programs: int
    contexts: int
    kept: int
    violations: int
    shutdowns: int
    events: int
    queries: int
    nodes_queried: int
    nodes_compiled: int


def counts_of(library: NativeLibrary) -> Counts:
    get_extension = library.function("get_extension")
    assert get_extension is not None
    numbers = (ctypes.c_longlong * len(dataclasses.fields(Counts))).from_address(
        get_extension(b"mock.counts/1")
    )
    return Counts(*numbers)


@pytest.fixture
def counts(mock: NativeLibrary) -> Iterator[Callable[[], Counts]]:
    """Return the mock's counters; a test must leave nothing behind."""
    yield lambda: counts_of(mock)
    gc.collect()  # pytest may hold frames of the test in cycles
    gc.collect()  # and what a finaliser of these held goes now, from Python 3.13 on
    left = counts_of(mock)
    assert (left.backends, left.programs, left.contexts, left.kept, left.violations) == (0,) * 5


class _Source(BackendSource):
    """Finds the libraries that a test opened."""

    def __init__(self, libraries: Sequence[NativeLibrary]) -> None:
        self._libraries = {library.path: library for library in libraries}

    def scan(self, options: CreationOptions) -> Sequence[SourceRecord]:
        return [SourceRecord(library.id, path) for path, library in self._libraries.items()]

    def load(self, record: SourceRecord, runtime: object) -> NativeBackend:
        return NativeBackend(self._libraries[record.path])

    def lint(self, path: str) -> Sequence[str]:
        return ()


@pytest.fixture
def make_native_runtime(tmp_path: Path) -> Iterator[Callable[..., Runtime]]:
    """Return a function that makes a runtime of chosen backends."""
    with ExitStack() as stack:

        def make(*found: NativeLibrary | type[Backend], **options: Any) -> Runtime:
            kinds = [each for each in found if isinstance(each, type)]
            module = ModuleType("armnn_test_natives")
            vars(module).update({kind.id: kind for kind in kinds})
            module.source = _Source([each for each in found if isinstance(each, NativeLibrary)])
            stack.enter_context(pytest.MonkeyPatch.context()).setitem(
                sys.modules, module.__name__, module
            )
            entry_points = {
                "armnn.backends": {kind.id: f"armnn_acme:{kind.id}" for kind in kinds},
                "armnn.backend_sources": {"dynamic": "armnn_acme:source"},
            }
            modules = {"armnn_acme": f"from {module.__name__} import *\n"}
            folder = tmp_path / f"plugins{len(list(tmp_path.iterdir()))}"
            plugin = Plugin(entry_points=entry_points, modules=modules)
            stack.enter_context(installed(folder, plugin, alone=True))
            where = CreationOptions(dynamic_backends_path=str(tmp_path), **options)
            return stack.enter_context(Runtime(where))

        yield make


@pytest.fixture
def no_options() -> ModelContext:
    return ModelContext({})
