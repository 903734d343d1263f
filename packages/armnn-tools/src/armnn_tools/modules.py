# SPDX-License-Identifier: MIT
"""Modules of the user's that a command runs first: they register operators or backends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from runpy import run_path
from typing import Final

from armnn.errors import InvalidArgumentError

modules_run: Final[list[str]] = []
"""Those that were run, in order; a child process that reads a model gets and runs them, too."""


def run_modules(modules: Iterable[str]) -> None:
    """Run modules by name, or files by paths that end in .py.

    Raises:
        InvalidArgumentError: One cannot be found, or fails.
    """
    for module in modules:
        name = os.path.abspath(module) if module.endswith(".py") else module
        try:
            if module.endswith(".py"):
                run_path(name)
            else:
                sys.path.insert(0, os.getcwd())  # as for python -m
                import_module(name)
        except Exception as error:
            raise InvalidArgumentError(
                f"--import {module} failed: {type(error).__name__}: {error}"
            ) from error
        modules_run.append(name)
