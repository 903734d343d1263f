# SPDX-License-Identifier: MIT
"""Backends in C for tests: compiled from mock.c, one file per set of defects."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from armnn.backends import ModelContext
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn_backend_api import get_include

HERE = Path(__file__).parent
STRICT = ("-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic")
# A defect may leave a function of the mock unused, or set a field twice.
DEFECTIVE = ("-Wno-unused-function", "-Wno-unused-variable", "-Wno-override-init")
SHARED = ("-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs")
FLAGS = (*STRICT, *DEFECTIVE, *SHARED)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what compiles a backend: the name of its source, and further flags."""
    folder = tmp_path_factory.mktemp("native")
    built: dict[tuple[str, ...], Path] = {}

    def make(source: str = "mock.c", *flags: str) -> Path:
        key = (source, *flags)
        if key not in built:
            path = folder / f"Acme_Mock{len(built)}_backend.so"
            command = ["gcc", *FLAGS, f"-I{get_include()}", *flags, "-o", str(path)]
            subprocess.run([*command, str(HERE / source)], check=True)
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


def counts_of(library: NativeLibrary) -> Counts:
    get_extension = library.function("get_extension")
    assert get_extension is not None
    numbers = (ctypes.c_longlong * 7).from_address(get_extension(b"mock.counts/1"))
    return Counts(*numbers)


@pytest.fixture
def counts(mock: NativeLibrary) -> Iterator[Callable[[], Counts]]:
    """Return what the mock counts; a test must leave nothing behind."""
    yield lambda: counts_of(mock)
    left = counts_of(mock)
    assert (left.backends, left.programs, left.contexts, left.kept, left.violations) == (0,) * 5


@pytest.fixture
def kind_of() -> Callable[[NativeLibrary], type[NativeBackend]]:
    """Return what makes a class of a library, as an entry point names one."""

    def make(library: NativeLibrary) -> type[NativeBackend]:
        class Kind(NativeBackend):
            id = library.id
            api_version = library.api_version

            def __init__(self) -> None:
                super().__init__(library)

        Kind.__name__ = library.id
        return Kind

    return make


@pytest.fixture
def no_options() -> ModelContext:
    return ModelContext({})
