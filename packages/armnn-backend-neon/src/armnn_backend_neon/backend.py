# SPDX-License-Identifier: MIT
"""CpuAcc: the shared library beside this file, as a backend."""

from __future__ import annotations

from os.path import dirname, join
from typing import Final

from armnn.backends.native import NativeBackend, NativeLibrary
from armnn_backend_api import BackendVersion

LIBRARY: Final = join(dirname(__file__), "Arm_CpuAcc_backend.so")
"""The file; under this name the dynamic loader takes it as well."""


class CpuAccBackend(NativeBackend):
    """The fast CPU backend.

    Options of a network, and of a runtime for all its networks: ``NumberOfThreads`` (0, the
    default: as many as the process has CPUs) and ``FastMathEnabled``.
    """

    id = "CpuAcc"
    api_version = BackendVersion(1, 0)

    def __init__(self) -> None:
        """Open the library.

        Raises:
            NativeLoadError: It cannot be used on this machine.
        """
        super().__init__(NativeLibrary.open(LIBRARY, id="CpuAcc"))
