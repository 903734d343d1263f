# SPDX-License-Identifier: MIT
"""Modules under other modules' names, and ``python -m armnn_compat.X``, which runs a program so."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
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


_CHILDREN = "children"
"""The folder beside a stand-in that has packages with the names that it replaces."""


def run_program(
    install: Callable[[], object], stand_in: ModuleType, replaced: str, arguments: Sequence[str]
) -> None:
    """Install a stand-in and run a program as ``python`` would.

    Args:
        install: Puts it there.
        stand_in: The package that was run.
        replaced: The package that it replaces.
        arguments: The program and its arguments, or ``-m``, a module and its arguments.
    """
    name = stand_in.__name__
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}",
        description=f"Run a program that was written for {replaced}, unchanged, on armnn.",
        epilog=f"example: python -m {name} -m package.of.the.program --its --options",
    )
    parser.add_argument("-m", action="store_true", help="the program is a module, not a file")
    parser.add_argument("program", help="the file or the module")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="its arguments")
    parsed = parser.parse_args(arguments)
    if not parsed.m and not Path(parsed.program).exists():
        parser.error(f"there is no program {parsed.program!r}; -m runs a module")
    program = Path(parsed.program)
    if not parsed.m and program.is_dir() and not (program / "__main__.py").exists():
        parser.error(f"there is no program in the folder {parsed.program!r}: it has no __main__.py")
    install()
    _cover_children(str(Path(stand_in.__path__[0]) / _CHILDREN))
    sys.argv = [parsed.program, *parsed.rest]
    if parsed.m:
        sys.path.insert(0, "")
        if not _is_module(parsed.program):
            parser.error(f"there is no module {parsed.program!r} that can be run")
        runpy.run_module(parsed.program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(parsed.program).resolve().parent))
        runpy.run_path(parsed.program, run_name="__main__")


def _cover_children(folder: str) -> None:
    """Let child processes find the stand-in.

    A Python that is started anew reads ``PYTHONPATH``; a child of multiprocessing gets ``sys.path``
    of its parent in the place of its own.
    """
    sys.path.insert(0, folder)
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, inherited] if inherited else [folder])


def _is_module(name: str) -> bool:
    """Return whether runpy would find a module to run."""
    if name.startswith("."):
        return False  # runpy takes absolute names only
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ModuleNotFoundError, ValueError) as error:
        if isinstance(error, ModuleNotFoundError) and not f"{name}.".startswith(f"{error.name}."):
            raise  # a package around it is there and lacks something else
        return False
    return spec is not None
