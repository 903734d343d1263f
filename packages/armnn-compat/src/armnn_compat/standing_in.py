# SPDX-License-Identifier: MIT
"""Registration of modules under other modules' names."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

from armnn.errors import ArmnnError


class AlreadyImportedError(ArmnnError, ImportError):
    """The module to replace is imported already."""


class StandIn:
    """Modules that replace others as long as the context lasts.

    Args:
        modules: The module for each name, packages before what they contain.

    Raises:
        AlreadyImportedError: A name is taken by another module.
    """

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._modules = dict(modules)
        for name, module in self._modules.items():
            if sys.modules.get(name, module) is not module:
                raise AlreadyImportedError(
                    f"cannot take the place of {name!r}: it was imported before from "
                    f"{getattr(sys.modules[name], '__file__', None) or 'nowhere'}. Call install() "
                    "before anything imports it."
                )
        self._added = [name for name in self._modules if name not in sys.modules]
        sys.modules.update(self._modules)

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        """Take away the names that this one added."""
        withdraw({name: self._modules[name] for name in self._added})


def withdraw(modules: Mapping[str, ModuleType]) -> None:
    """Remove modules from these names; other modules stay."""
    for name, module in modules.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
