# SPDX-License-Identifier: MIT
"""The converters; importing the package registers all of them.

A module has the name of a family of the layer table, with a part behind it where there are several.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
