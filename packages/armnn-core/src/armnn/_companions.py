# SPDX-License-Identifier: MIT
"""Distributions that were parts of the core, by former name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import CodeType, ModuleType
from typing import Final

from armnn._installing import install_command
from armnn.errors import NotInstalledError

CONFORMANCE: Final = "armnn_conformance"
"""The package of the conformance kit."""

FORMER: Final = {"armnn.compat": "armnn_compat", "armnn.testing": CONFORMANCE}
"""The packages of these distributions, by the names that they had in the core; until core 2.0."""


def import_companion(package: str, module: str, what: str) -> ModuleType:
    """Import a module of such a distribution.

    Args:
        package: Its package.
        module: The name of the module in there, "" for the package itself.
        what: What needs it, for the error.

    Raises:
        NotInstalledError: The distribution is not installed.
    """
    name = f"{package}.{module}" if module else package
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        distribution = package.replace("_", "-")
        raise NotInstalledError(
            f"{what} needs {distribution}, which is not installed: {install_command(distribution)}."
        ) from None


def forward(former: str) -> None:
    """Make a former name mean the package that replaces it.

    Raises:
        NotInstalledError: The distribution is not installed.
    """
    sys.modules[former] = import_companion(FORMER[former], "", former)
    if not any(isinstance(finder, _FormerNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _FormerNames())


class _FormerNames(MetaPathFinder):
    """Finds ``armnn.testing.cases`` as ``armnn_conformance.cases``, the same module."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        former = ".".join(fullname.split(".")[:2])
        if former not in FORMER or fullname == former:
            return None
        found = find_spec(FORMER[former] + fullname.removeprefix(former))
        if found is None:
            return None
        spec = spec_from_loader(fullname, _SameModule(found), origin=found.origin)
        if spec is not None:
            spec.submodule_search_locations = found.submodule_search_locations
        return spec


class _SameModule(Loader):
    """Loads the module of another name, also for ``python -m``."""

    def __init__(self, found: ModuleSpec) -> None:
        self._found = found

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        return import_module(self._found.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._found  # the import system has put the spec of the old name there

    def get_code(self, _name: str) -> CodeType | None:
        loader = self._found.loader
        # The type of a spec's loader does not have this optional method.
        code: CodeType | None = getattr(loader, "get_code")(self._found.name)  # noqa: B009
        return code
