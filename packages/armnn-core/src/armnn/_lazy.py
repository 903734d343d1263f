# SPDX-License-Identifier: MIT
"""Names of a package, imported when first used.

A process that loads a prepared model uses few modules, and importing all of them would take longer
than loading it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from armnn._load_times import IMPORT, stage


def on_demand(
    package: str, names: Mapping[str, str], hidden: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Modules of the package are found without being named.

    Args:
        package: Its full name.
        names: By module, named from the package on or in full: the names that it has for the
            package, separated by spaces.
        hidden: The modules that ``dir()`` does not show.
    """
    homes = {
        name: module if module.startswith("armnn") else f"{package}.{module}"
        for module, listed in names.items()
        for name in listed.split()
    }
    there = vars(sys.modules[package])

    def get(name: str) -> Any:
        """Import the object of a name."""
        if name in homes:
            with stage(IMPORT):
                module = import_module(homes[name])
            found = getattr(module, name)
        elif name.startswith("_"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        else:
            found = _module(package, name)
        there[name] = found
        return found

    def listed() -> list[str]:
        """Return the names that are there, imported or not."""
        modules = {each.name for each in iter_modules(there.get("__path__", ()))}
        shown = {name for name in modules.difference(hidden) if not name.startswith("_")}
        return sorted({*there, *homes, *shown})

    return get, listed


def _module(package: str, name: str) -> Any:
    """Return a module of a package.

    Raises:
        AttributeError: There is no such name, or the distribution that brings it is not installed.
    """
    try:
        return import_module(f"{package}.{name}")
    except ModuleNotFoundError as error:
        # Late: "import armnn" imports nothing more.
        from armnn.errors import NotInstalledError

        if isinstance(error, NotInstalledError):
            # hasattr() and inspect.getmembers() catch no other error.
            raise AttributeError(str(error)) from error
        if error.name != f"{package}.{name}":
            raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
