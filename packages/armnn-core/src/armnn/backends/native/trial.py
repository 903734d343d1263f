# SPDX-License-Identifier: MIT
"""Loads a file in a child process with NumPy."""

from __future__ import annotations

import os
from typing import Final

from armnn_backend_api.processes import Bounds, PythonCall, run

_SECONDS: Final = 60.0


def trial_load(path: str, seconds: float = _SECONDS) -> str:
    """Return how loading a file ends a process, or "".

    The child has loaded the core and NumPy, as this process has. The file is opened, created and
    asked about itself.

    Args:
        path: The file.
        seconds: How long that may take.
    """
    bounds = Bounds(seconds=seconds, output=1 << 24)
    try:
        ending = run(PythonCall(f"{__name__}:load", [path]), bounds)
    except OSError:
        return ""  # no process can be started: nothing is known
    return "" if ending.is_success or ending.cause == "killed" else str(ending)


def load(path: str) -> None:
    """Load a file in this process, whatever it answers."""
    import numpy  # noqa: F401  # the host has it, and its BLAS

    from armnn.backends.native.backend import NativeBackend
    from armnn.backends.native.library import NativeLibrary
    from armnn.errors import ArmnnError

    try:
        backend = NativeBackend(NativeLibrary.open(os.path.realpath(path)))
        backend.devices()
        _ = backend.capabilities
    except ArmnnError:
        return
