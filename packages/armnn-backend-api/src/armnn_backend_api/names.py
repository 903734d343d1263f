# SPDX-License-Identifier: MIT
"""Names that the Backend API fixes: ids, exports, extensions."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ASYNC_EXECUTION",
    "DEVICE_MEMORY",
    "EXPORTS",
    "HOST_BLOBS",
    "HOST_PYTHON",
    "MAPPED_PROGRAMS",
    "PLACED_DEVICE_MEMORY",
    "SHARED_MEMORY",
    "STREAMS",
    "UNDEFINED_ID",
    "VALID_ID",
    "fault_of_id",
]

VALID_ID: Final = re.compile(r"[A-Za-z0-9]+")
"""The pattern that the whole id of a backend matches."""

UNDEFINED_ID: Final = "Unknown"
"""Arm NN's word for "no backend"; none may be called like that."""

EXPORTS: Final = ("GetBackendId", "GetVersion", "BackendFactory")
"""The functions that a shared library exports, in the order in which they are called."""

ASYNC_EXECUTION: Final = "armnn.async/1"
"""The extension of a backend by which steps run while their caller does something else."""

SHARED_MEMORY: Final = "armnn.memory/1"
"""The extension of a backend by which memory is shared through file descriptors."""

DEVICE_MEMORY: Final = "armnn.device/1"
"""The extension of a backend by which tensors stay in memory that the host cannot reach."""

PLACED_DEVICE_MEMORY: Final = "armnn.device/2"
"""Device memory with several tensors in a buffer, several devices, copies that can be stopped."""

STREAMS: Final = "armnn.stream/1"
"""The extension of a backend by which work is enqueued, with events at its borders."""

MAPPED_PROGRAMS: Final = "armnn.mapped/1"
"""The extension of a backend by which programs read constants where a file is mapped."""

REPLANNED_PROGRAMS: Final = "armnn.replan/1"
"""The extension of a backend by which programs are compiled again for further input shapes."""

HOST_BLOBS: Final = "armnn.host.blobs/1"
"""The extension of a host by which blobs of backends are kept from one process to the next."""

HOST_PYTHON: Final = "armnn.host.python/1"
"""The extension of a host by which Python classes serve files whose table is static C."""


def fault_of_id(backend_id: object) -> str:
    """Return the reason why a backend id is not valid, "" if it is valid.

    The rule is the same for backends of every origin: the entry point of a distribution, a shared
    library, a registration by the program.
    """
    if not isinstance(backend_id, str) or not VALID_ID.fullmatch(backend_id):
        return "expected letters and digits"
    if backend_id == UNDEFINED_ID:
        return f"expected another id, as {UNDEFINED_ID!r} names no backend"
    return ""
