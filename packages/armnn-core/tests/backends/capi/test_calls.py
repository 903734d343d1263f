# SPDX-License-Identifier: MIT
"""Tables of extensions: their functions as the core calls them."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from armnn.backends.capi.calls import checked_table
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.floating_point import floating_point_environment

UPWARD = 0x800
LIBRARY: Any = SimpleNamespace(id="Any", path="/any.so")
libm = ctypes.PyDLL("libm.so.6")


def table_of(kind: Any, answer: Any) -> Any:
    """Return a table whose functions are one Python function."""
    table = kind()
    table.header.struct_size, table.header.struct_id = ctypes.sizeof(kind), abi.STRUCT_IDS[kind]
    for name, field in kind._fields_[1:]:
        if issubclass(field, ctypes._CFuncPtr):  # type: ignore[attr-defined]  # ctypes has no other name for it
            setattr(table, name, field(answer))
        else:
            setattr(table, name, 1)
    return table


@pytest.mark.parametrize("kind", [abi.Async, abi.DeviceMemory, abi.Mapped, abi.Memory])
def test_no_function_of_an_extension_changes_the_floating_point_environment(kind: Any) -> None:
    called = []

    def round_upward(*arguments: object) -> int:
        called.append(len(arguments))
        return int(libm.fesetround(UPWARD))

    table = table_of(kind, round_upward)
    before = floating_point_environment()
    kept = checked_table(LIBRARY, "test/1", kind, ctypes.addressof(table))
    functions = [each for each in vars(kept).values() if callable(each)]
    for (name, field), function in zip(
        ((n, f) for n, f in kind._fields_[1:] if callable(getattr(kept, n))), functions, strict=True
    ):
        function(*(None if hasattr(t, "contents") else t() for t in field._argtypes_))
        assert floating_point_environment() == before, name
    assert len(called) == len(functions) >= 1


def test_a_function_that_may_be_missing_is_none() -> None:
    table = table_of(abi.DeviceMemory, lambda *_: 0)
    table.import_host = type(table.import_host)()
    kept = checked_table(
        LIBRARY, "test/1", abi.DeviceMemory, ctypes.addressof(table), optional=["import_host"]
    )
    assert kept.import_host is None
    assert kept.device_type == 1
