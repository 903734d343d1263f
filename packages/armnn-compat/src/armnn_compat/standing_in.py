# SPDX-License-Identifier: MIT
"""Putting modules under other names, so that later imports of these names find them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

from armnn.errors import ArmnnError


class AlreadyImportedError(ArmnnError, ImportError):
    """The module whose place was to be taken is imported already."""


class StandIn:
    """Modules that stand in the place of others as long as the context lasts.

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
    """Take modules away from the names that they stand under; other modules stay."""
    for name, module in modules.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
