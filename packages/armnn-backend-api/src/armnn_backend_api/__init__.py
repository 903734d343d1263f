# SPDX-License-Identifier: MIT
"""The Backend API: version, compatibility rule and C headers."""

from typing import TYPE_CHECKING, Any

from armnn_backend_api.__about__ import __version__
from armnn_backend_api.version import BACKEND_API_VERSION, BackendVersion, is_compatible

if TYPE_CHECKING:
    from armnn_backend_api.location import get_cmake_dir, get_include, get_pkgconfig_dir

__all__ = [
    "BACKEND_API_VERSION",
    "BackendVersion",
    "__version__",
    "get_cmake_dir",
    "get_include",
    "get_pkgconfig_dir",
    "is_compatible",
]


def __getattr__(name: str) -> Any:
    """Import the functions that builds use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from armnn_backend_api import location

    return getattr(location, name)


def __dir__() -> list[str]:
    """Return the names that are there, imported or not."""
    return sorted({*globals(), *__all__})
