# SPDX-License-Identifier: MIT
"""Structs that are made for C to read and fill."""

from __future__ import annotations

import ctypes

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, new_error, reset_error, struct


def test_a_struct_has_its_header_and_memory_of_its_own() -> None:
    first, second = struct(abi.CompileArgs), struct(abi.CompileArgs)
    first.call_id = 7
    assert (first.header.struct_size, first.header.struct_id) == (
        ctypes.sizeof(abi.CompileArgs),
        abi.STRUCT_IDS[abi.CompileArgs],
    )
    assert second.call_id == struct(abi.CompileArgs).call_id == 0


def test_an_error_is_about_no_node_until_it_is_filled() -> None:
    error = new_error()
    blank = bytes(error)
    error.code, error.node_id, error.num_nodes = 13, 4, 2
    assert (new_error().node_id, new_error().code) == (-1, 0)
    assert error.header.struct_id == abi.STRUCT_IDS[abi.Error]
    reset_error(error)
    assert bytes(error) == blank


def test_an_array_of_no_numbers_has_an_address() -> None:
    arena = Arena()
    assert list(arena.filled(ctypes.c_int64, [])) == [0]
    assert list(arena.filled(ctypes.c_int64, (each for each in (3, -1)))) == [3, -1]
