# SPDX-License-Identifier: MIT
"""Backends in C: any table of ``armnn/backend.h`` becomes a :class:`armnn.backends.Backend`."""

from __future__ import annotations

from armnn.backends.native.backend import NativeBackend
from armnn.backends.native.devices import NativeDevice
from armnn.backends.native.library import NativeLibrary, NativeLoadError

__all__ = ["NativeBackend", "NativeDevice", "NativeLibrary", "NativeLoadError"]
