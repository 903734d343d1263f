# SPDX-License-Identifier: MIT
"""Where the files for compilers and build systems are, by the names that NumPy and pybind11 use."""

from __future__ import annotations

import os

# Not with pathlib: to import that would take a tenth of the time of a probe.
_FOLDER = os.path.dirname(os.path.realpath(__file__))


def get_include() -> str:
    """The folder to compile with ``-I``, so that ``#include <armnn/backend.h>`` works."""
    return os.path.join(_FOLDER, "include")


def get_cmake_dir() -> str:
    """The folder of ``ArmnnBackendApiConfig.cmake``, for ``CMAKE_PREFIX_PATH``."""
    return os.path.join(_FOLDER, "cmake")


def get_pkgconfig_dir() -> str:
    """The folder of ``armnn-backend-api.pc``, for ``PKG_CONFIG_PATH``."""
    return os.path.join(_FOLDER, "pkgconfig")
