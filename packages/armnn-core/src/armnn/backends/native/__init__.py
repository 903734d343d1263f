# SPDX-License-Identifier: MIT
"""The names that plug-ins import for backends in C; :mod:`armnn.backends.capi` makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand
from armnn.backends.capi.calls import NativeLoadError
from armnn.backends.capi.values import attributes_of, tensor_of

if TYPE_CHECKING:
    from armnn.backends.capi.backend import NativeBackend, trial_load
    from armnn.backends.capi.contexts import NativeDevice
    from armnn.backends.capi.graph import NativeGraph
    from armnn.backends.capi.library import NativeLibrary, host_extension
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "armnn.backends.capi.backend": "NativeBackend trial_load",
            "armnn.backends.capi.contexts": "NativeDevice",
            "armnn.backends.capi.graph": "NativeGraph",
            "armnn.backends.capi.library": "NativeLibrary host_extension",
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
