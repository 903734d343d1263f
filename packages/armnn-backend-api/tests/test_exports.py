# SPDX-License-Identifier: MIT
"""The checks of exports and tables, within this process."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import armnn_backend_api
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.exports import Exports, LibraryError, check_id, open_library
from armnn_backend_api.structs import Arena, struct
from armnn_backend_api.table import REQUIRED, functions_of

VERSION = BackendVersion(1, 0)
NUMBER = ctypes.POINTER(ctypes.c_uint32)


class Given:
    """A table and three exports, which a test may change."""

    def __init__(self, *, name: bytes | None = b"Acme") -> None:
        self.arena = Arena()
        self.table = struct(abi.BackendApi)
        self.table.api_major, self.table.api_minor = 1, 0
        self.table.id = self.arena.text("Acme")
        self.table.version = self.arena.text("3.1")
        self.table.vendor = self.arena.text("Acme Ltd")
        for field in REQUIRED:
            kind: Any = type(getattr(self.table, field))
            setattr(self.table, field, ctypes.cast(1, kind))
        self.name = None if name is None else ctypes.create_string_buffer(name)
        self.address: int | None = ctypes.addressof(self.table)

    def exports(self) -> Exports:
        def version(major: Any, minor: Any) -> None:
            major[0], minor[0] = 1, 0

        pointer = ctypes.CFUNCTYPE(ctypes.c_void_p)
        name = None if self.name is None else ctypes.addressof(self.name)
        self.library = SimpleNamespace(
            GetBackendId=pointer(lambda: name),
            GetVersion=ctypes.CFUNCTYPE(None, NUMBER, NUMBER)(version),
            BackendFactory=pointer(lambda: self.address),
        )
        return Exports(self.library)


def refusal(given: Given) -> tuple[str, str]:
    exports = given.exports()
    with pytest.raises(LibraryError) as caught:
        exports.table(exports.factory(), exports.id(), exports.version())
    return caught.value.stage, caught.value.reason


def test_a_good_library_passes_every_check() -> None:
    given = Given()
    exports = given.exports()
    check_id(exports.id())
    assert (exports.id(), exports.version()) == ("Acme", VERSION)
    table = exports.table(exports.factory(), "Acme", VERSION)
    functions = functions_of(table)
    assert [name for name, function in functions.items() if function] == list(REQUIRED)
    assert ctypes.addressof(table) != given.address  # a copy: the file may change its own


def test_a_missing_export_is_named() -> None:
    with pytest.raises(LibraryError, match="it does not export GetVersion, BackendFactory") as e:
        Exports(SimpleNamespace(GetBackendId=None))
    assert e.value.stage == "exports"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (None, "GetBackendId answers NULL, expected letters and digits"),
        (b"\xff", "GetBackendId is b'\\xff', expected UTF-8"),
        (b"A\n", "GetBackendId is 'A\\n', expected printable characters"),
        (b"x" * 257, "GetBackendId has more than 256 bytes, expected a short text"),
    ],
)
def test_what_is_no_short_text_is_no_id(name: bytes | None, reason: str) -> None:
    assert refusal(Given(name=name)) == ("id", reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "GetBackendId answers '', expected letters and digits"),
        ("A b", "GetBackendId answers 'A b', expected letters and digits"),
        (
            "Unknown",
            "GetBackendId answers 'Unknown', expected another id, as 'Unknown' names no backend",
        ),
    ],
)
def test_other_texts_are_no_ids(text: str, reason: str) -> None:
    with pytest.raises(LibraryError) as caught:
        check_id(text)
    assert (caught.value.stage, caught.value.reason) == ("id", reason)


def test_a_factory_must_return_a_table() -> None:
    given = Given()
    given.address = None
    assert refusal(given) == (
        "factory",
        "BackendFactory returned NULL, expected the backend's table",
    )


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("id", "Other", "id of the table is 'Other', expected 'Acme' as GetBackendId answers"),
        ("version", "\n", "version of the table is '\\n', expected printable characters"),
        ("vendor", "x" * 257, "vendor of the table has 257 bytes, expected at most 256"),
        (
            "api_minor",
            1,
            "the table says Backend API 1.1, expected 1.0 as GetVersion answers",
        ),
    ],
)
def test_a_table_agrees_with_the_exports(field: str, value: Any, reason: str) -> None:
    given = Given()
    setattr(given.table, field, given.arena.text(value) if isinstance(value, str) else value)
    assert refusal(given) == ("table", reason)


def test_what_the_linker_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="cannot open shared object file") as caught:
        open_library(str(tmp_path / "missing.so"))
    assert caught.value.stage == "dlopen"


def test_the_contract_imports_nothing_but_the_standard_library() -> None:
    folder = Path(armnn_backend_api.__file__).parent
    modules = [f"armnn_backend_api.{path.stem}" for path in sorted(folder.glob("*.py"))]
    code = f"import sys; sys.path.append(sys.argv[1]); import {', '.join(modules)}"
    command = [sys.executable, "-I", "-S", "-c", f"{code}; print(*sys.modules)", folder.parent]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {name.partition(".")[0] for name in ran.stdout.split()}
    assert found - sys.stdlib_module_names == {"__main__", "armnn_backend_api"}
