# SPDX-License-Identifier: MIT
"""Libraries in the page cache as after a restart."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from armnn_backend_neon.backend import LIBRARY


def read_libraries_again() -> None:
    """Read the runtimes' libraries into the page cache anew.

    A library that was just written is there in large pieces, and a process that touches a page gets
    its whole piece: CpuAcc, which is installed before each session, takes 3 MiB more than if its
    file was read. A library that a process has mapped stays as it is.
    """
    for path in _libraries():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # only what is on the disk can leave the cache
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
        path.read_bytes()


def _libraries() -> Iterator[Path]:
    yield Path(LIBRARY)  # which an editable installation has elsewhere
    yield from Path(sysconfig.get_path("platlib")).rglob("*.so*")
