# SPDX-License-Identifier: MIT
"""Lets modules of the core be imported without the core: importing it would take NumPy, too.

The few modules that are needed import nothing but ctypes and the mirror of the header. Their
packages stand in here as empty ones that know where their modules are.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from pathlib import Path

_PACKAGES = ("armnn", "armnn.backends", "armnn.backends.native")


def stand_in(folder: str) -> None:
    """Make the packages importable without running them.

    Args:
        folder: Of the package ``armnn``.
    """
    for name in _PACKAGES:
        package = types.ModuleType(name)
        package.__path__ = [str(Path(folder, *name.split(".")[1:]))]
        sys.modules[name] = package


def give_way(search_path: Sequence[str]) -> None:
    """Make the real packages importable.

    Args:
        search_path: The ``sys.path`` of the process that has them.
    """
    for name in tuple(sys.modules):
        if name.partition(".")[0] == "armnn":
            del sys.modules[name]
    sys.path += [folder for folder in search_path if folder not in sys.path]
