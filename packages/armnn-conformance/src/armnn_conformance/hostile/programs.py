# SPDX-License-Identifier: MIT
"""Tricks with programs: made again and again, and stored."""

from __future__ import annotations

import ctypes
import gc
import platform
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_conformance.running import NonconformityError

if TYPE_CHECKING:
    from armnn_conformance.hostile.life import GraphOfC, NativeLife

_CYCLES: Final = 200
_LEAK_BYTES: Final = 16
"""Of each cycle: the smallest block that the C library allocates is larger."""

_libc: Final[Any] = ctypes.CDLL(None)


class NothingToPlayError(Exception):
    """The backend lacks the function that the trick is about."""


def repeat(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Repeat create to destroy; check the memory in use."""
    graph = graphs[0]
    if not hasattr(_libc, "mallinfo2"):
        raise NothingToPlayError(f"{platform.libc_ver()} does not say how much memory is in use")

    def cycle() -> None:
        with (
            life.backend() as backend,
            life.program(backend, graph) as (program, _),
            life.context(program) as context,
        ):
            life.execute(context, graph)

    def growth() -> int:
        before = _bytes_in_use()
        for _ in range(_CYCLES):
            cycle()
        return _bytes_in_use() - before

    cycle()
    # What is kept or freed once, such as a pool of threads, is not there the other times.
    usual = statistics.median(growth() for _ in range(3))
    if usual > _LEAK_BYTES * _CYCLES:
        raise NonconformityError(
            f"{_CYCLES} times a backend, a program and a context left {usual} bytes that were "
            "not freed"
        )


def store(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Serialise programs, destroy them, and run what deserialize makes."""
    if life.library.function("serialize") is None or life.library.function("deserialize") is None:
        raise NothingToPlayError("the backend does not serialise programs")
    with life.backend() as backend:
        for graph in graphs:
            with life.program(backend, graph) as (program, _):
                _check_write_errors(life, program)
                blob = _blob_of(life, program)
            data = ctypes.create_string_buffer(blob, len(blob))
            made = ctypes.c_void_p()
            answer = life.call("deserialize", backend, None, data, len(blob), ctypes.byref(made))
            ctypes.memset(data, 0xFF, len(blob))
            if answer.code != abi.OK:
                raise NonconformityError(
                    f"deserialize answered {answer.code} ({answer.message}) to what serialize wrote"
                )
            with life.context(made) as context:
                for when in ("after deserialize", "in the second call after deserialize"):
                    life.check_right(context, graph, when)
            life.library.required("program_destroy")(made)


def _blob_of(life: NativeLife, program: ctypes.c_void_p) -> bytes:
    parts: list[bytes] = []

    def take(_arg: int | None, data: int | None, size: int) -> int:
        parts.append(ctypes.string_at(data, size) if data and size else b"")
        return int(abi.OK)

    answer = life.call("serialize", program, abi.WriteFn(take), None)
    if answer.code != abi.OK:
        raise NonconformityError(f"serialize answered {answer.code} ({answer.message})")
    return b"".join(parts)


def _check_write_errors(life: NativeLife, program: ctypes.c_void_p) -> None:
    full = abi.WriteFn(lambda *_: abi.RESOURCE_EXHAUSTED)
    answer = life.call("serialize", program, full, None)
    if answer.code != abi.RESOURCE_EXHAUSTED:
        raise NonconformityError(
            f"serialize answered {answer.code} when the host took no bytes and answered "
            f"{abi.RESOURCE_EXHAUSTED}: expected the host's code"
        )


def _bytes_in_use() -> int:
    """Return the bytes of blocks, without Python's garbage."""
    gc.collect()
    _libc.mallinfo2.restype = _MallInfo
    found = _libc.mallinfo2()
    return int(found.uordblks + found.hblkhd)


class _MallInfo(ctypes.Structure):
    """``struct mallinfo2`` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]
