# SPDX-License-Identifier: MIT
"""The Backend API: version, compatibility rule and C headers."""

from armnn_backend_api.__about__ import __version__
from armnn_backend_api.location import get_cmake_dir, get_include, get_pkgconfig_dir
from armnn_backend_api.version import BACKEND_API_VERSION, BackendVersion, is_compatible

__all__ = [
    "BACKEND_API_VERSION",
    "BackendVersion",
    "__version__",
    "get_cmake_dir",
    "get_include",
    "get_pkgconfig_dir",
    "is_compatible",
]
