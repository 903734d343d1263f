# SPDX-License-Identifier: MIT
"""Modules of the user's that a command runs first: they register operators or backends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Final

from armnn.errors import InvalidArgumentError

modules_run: Final[list[str]] = []
"""The modules that were run, in order; a child process that reads a model runs them, too."""


def run_modules(modules: Iterable[str]) -> None:
    """Run modules by name, or files by paths that end in .py.

    Raises:
        InvalidArgumentError: One cannot be found, or fails.
    """
    for module in modules:
        name = os.path.abspath(module) if module.endswith(".py") else module
        try:
            if module.endswith(".py"):
                _run_file(name)
            else:
                sys.path.insert(0, os.getcwd())  # as for python -m
                import_module(name)
        except Exception as error:
            raise InvalidArgumentError(
                f"--import {module} failed: {type(error).__name__}: {error}"
            ) from error
        modules_run.append(name)


def _run_file(path: str) -> None:
    """Run a file as a module that stays: records of execution have the sha256 of its file."""
    name = os.path.basename(path)  # with its suffix, so that no import means it
    before = sys.modules.get(name)
    if before is not None and before.__file__ != path:
        name = path
        before = sys.modules.get(name)
    loader = SourceFileLoader(name, path)
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
