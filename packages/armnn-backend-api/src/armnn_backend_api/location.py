# SPDX-License-Identifier: MIT
"""Paths of headers and build files, named as in NumPy."""

from __future__ import annotations

import os

# Not with pathlib: to import that would take a tenth of the time of a probe.
_FOLDER = os.path.dirname(os.path.realpath(__file__))


def get_include() -> str:
    """Return the include folder for ``-I``.

    ``#include <armnn/backend.h>`` works with it.
    """
    return os.path.join(_FOLDER, "include")


def get_cmake_dir() -> str:
    """Return the folder of ``ArmnnBackendApiConfig.cmake``, for ``CMAKE_PREFIX_PATH``."""
    return os.path.join(_FOLDER, "cmake")


def get_pkgconfig_dir() -> str:
    """Return the folder of ``armnn-backend-api.pc``, for ``PKG_CONFIG_PATH``."""
    return os.path.join(_FOLDER, "pkgconfig")
