# SPDX-License-Identifier: MIT
"""The extension ``armnn.host.blobs/1``: a network's store of blobs, lent to calls of C backends."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from armnn.backends.cache import BlobStore
from armnn.backends.capi.calls import guarded
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import struct, text_of

_lent: Final[ContextVar[BlobStore | None]] = ContextVar("armnn_blobs", default=None)


@contextmanager
def lending(blobs: BlobStore | None) -> Iterator[None]:
    """Let calls of this thread find a store."""
    token = _lent.set(blobs)
    try:
        yield
    finally:
        _lent.reset(token)


@guarded(0)
def _get(_ctx: int | None, key: abi.String, write: Callable[..., int], arg: int | None) -> int:
    blobs = _lent.get()
    blob = None if blobs is None else blobs.get(text_of(key))
    if blob is None:
        return 0
    data = ctypes.create_string_buffer(blob, len(blob) or 1)
    return int(write(arg, ctypes.addressof(data), len(blob)) == abi.OK)


@guarded(None)
def _put(_ctx: int | None, key: abi.String, data: int | None, size: int) -> None:
    blobs = _lent.get()
    if blobs is not None:
        blobs.put(text_of(key), ctypes.string_at(data, size) if data else b"")


@functools.cache
def blobs_table() -> Any:
    """Return the ``armnn_host_blobs``, which stays where it is."""
    table = struct(abi.HostBlobs)
    table.get, table.put = abi.HostBlobsGet(_get), abi.HostBlobsPut(_put)
    return table
