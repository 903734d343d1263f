# SPDX-License-Identifier: MIT
"""Import paths that released distributions use and nothing else does; core 2.0 drops them.

Importing one of these modules imports nothing. A name is looked up in its new place when it is
first asked for. Two more are files in ``backends/native``, which a probe reads without the core.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

MOVED: Final[dict[str, tuple[str, str]]] = {
    "armnn.backends.journal": (
        "armnn.backends.crashes",
        "Downfall downfalls forget_downfall noted_load",
    ),
    "armnn.backends.native.attributes": ("armnn.backends.capi.values", "attributes_of"),
    "armnn.backends.native.python_host": ("armnn.backends.capi.python", "extension_address"),
    "armnn.backends.trust": ("armnn_backend_api.files", "who_else_may_write"),
    "armnn.processes": (
        "armnn_backend_api.processes",
        "Bounds Child Ending PythonCall signal_name",
    ),
}
"""By module: the module that has its names now, and the names."""


class _OldPlace(ModuleType):
    """A module without a file, whose names are those of another one."""

    def __getattr__(self, name: str) -> Any:
        place, names = MOVED[self.__name__]
        if name not in names.split():
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = getattr(import_module(place), name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *MOVED[self.__name__][1].split()})


for _old, (_new, _) in MOVED.items():
    sys.modules[_old] = _OldPlace(_old, f"The former place of names in ``{_new}``.")
