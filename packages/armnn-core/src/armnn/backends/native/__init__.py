# SPDX-License-Identifier: MIT
"""Backends in C: any table of ``armnn/backend.h`` becomes a :class:`armnn.backends.Backend`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand
from armnn.backends.ffi.calls import NativeLoadError
from armnn.backends.ffi.values import attributes_of, tensor_of

if TYPE_CHECKING:
    from armnn.backends.native.backend import NativeBackend, trial_load
    from armnn.backends.native.contexts import NativeDevice
    from armnn.backends.native.graph import NativeGraph
    from armnn.backends.native.library import NativeLibrary, host_extension
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "backend": "NativeBackend trial_load",
            "contexts": "NativeDevice",
            "graph": "NativeGraph",
            "library": "NativeLibrary host_extension",
        },
    )

__all__ = [
    "NativeBackend",
    "NativeDevice",
    "NativeGraph",
    "NativeLibrary",
    "NativeLoadError",
    "attributes_of",
    "host_extension",
    "tensor_of",
    "trial_load",
]
