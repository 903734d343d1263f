# SPDX-License-Identifier: MIT
"""Import paths of released distributions; core 2.0 drops them.

A module that is named here holds nothing but this table's names. Nothing is imported but the new
place: the probe of armnn-dynamic-loader 1.0 imports these modules without the core.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

MOVED: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    # armnn-dynamic-loader 1.0 and 1.1
    "armnn.backends.journal": (
        "armnn.backends.crashes",
        ("Downfall", "downfalls", "forget_downfall", "noted_load"),
    ),
    "armnn.backends.native.attributes": ("armnn.backends.ffi.values", ("attributes_of",)),
    "armnn.backends.native.memory": ("armnn_backend_api.structs", ("Arena", "struct")),
    "armnn.backends.native.python_host": ("armnn.backends.python", ("extension_address",)),
    "armnn.backends.native.table": (
        "armnn_backend_api.table",
        ("TableError", "read_table", "read_text", "read_zero_terminated"),
    ),
    "armnn.backends.trust": ("armnn_backend_api.files", ("who_else_may_write",)),
}
"""The module that has a name now and the names, by the module that had them."""


def moved_names(module: str) -> dict[str, Any]:
    """Return an old module's names with their objects."""
    place, names = MOVED[module]
    found = import_module(place)
    return {name: getattr(found, name) for name in names}
