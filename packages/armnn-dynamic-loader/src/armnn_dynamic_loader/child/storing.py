# SPDX-License-Identifier: MIT
"""Serializes programs and reads them, like a host's cache."""

from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena
from armnn_dynamic_loader.child.calls import DefectError, UnavailableError

if TYPE_CHECKING:
    from armnn_dynamic_loader.child.calls import Calls

_LARGEST_PROGRAM: Final = 1 << 26
_BLOB_STATES: Final = (abi.BLOB_OPTIMAL, abi.BLOB_USABLE, abi.BLOB_RECOMPILE, abi.BLOB_UNUSABLE)


def store_and_read(
    calls: Calls,
    table: abi.BackendApi,
    backend: ctypes.c_void_p,
    program: ctypes.c_void_p,
    envelope: dict[str, object],
) -> None:
    """Write, judge and read a program, if the backend can.

    A backend may answer an error: then the host compiles again.

    Raises:
        DefectError: It answers ARMNN_OK, but does not do it.
    """
    if not (bool(table.serialize) and bool(table.deserialize)):
        return
    calls.enter("serialize")
    written = bytearray()

    def write(_: int | None, data: int | None, size: int) -> int:
        if len(written) + size > _LARGEST_PROGRAM:
            return int(abi.RESOURCE_EXHAUSTED)
        if data is not None:
            written.extend(ctypes.string_at(data, size))
        return int(abi.OK)

    writer = abi.WriteFn(write)
    try:
        calls.call(table.serialize, program, writer, None)
        if bool(table.check_blob):
            arena, state = Arena(), ctypes.c_int32(-1)
            text = arena.text(json.dumps(envelope))
            calls.call(table.check_blob, backend, None, text, state)
            if state.value not in _BLOB_STATES:
                raise _LieError(f"answers check_blob of its own program with {state.value}")
        read = ctypes.c_void_p()
        whole = ctypes.create_string_buffer(bytes(written), max(len(written), 1))
        calls.call(table.deserialize, backend, None, ctypes.addressof(whole), len(written), read)
    except (_LieError, UnavailableError):
        raise
    except DefectError:
        return
    calls.check_made("deserialize", read)
    table.program_destroy(read)


class _LieError(DefectError):
    """The function returned ARMNN_OK with an invalid result."""
