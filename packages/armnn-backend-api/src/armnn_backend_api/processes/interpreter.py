# SPDX-License-Identifier: MIT
"""The command line of a fresh interpreter with the guard."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from armnn_backend_api.processes import guard

_GUARD = str(Path(__file__).with_name("guard.py"))
_FROZEN_ARGUMENT = "--armnn-guard"
_SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE", "API_KEY")


class StartError(OSError):
    """No child process can be started here.

    The text says why, as the rest of a sentence.
    """


class _Frozen:
    """Whether this frozen application lets its copies be guards."""

    is_supported = False


def freeze_support() -> None:
    """Let a frozen application start child processes.

    Call it first thing in the main module, as ``multiprocessing.freeze_support``. A child process
    of a frozen application is the application, started again: it becomes a guard or worker here.
    Elsewhere it does nothing.
    """
    _Frozen.is_supported = True
    if is_frozen() and sys.argv[1:2] == [_FROZEN_ARGUMENT]:
        guard.main(int(sys.argv[2]))
        sys.exit()


def is_frozen() -> bool:
    """Return whether this is an application without an interpreter."""
    return bool(getattr(sys, "frozen", False)) or "__compiled__" in vars(sys.modules["__main__"])


def guard_command(descriptor: int, *, is_bare: bool) -> list[str]:
    """Return the command line of a guard.

    Args:
        descriptor: Its socket.
        is_bare: Without site-packages and the variables of Python.

    Raises:
        StartError: There is no interpreter, or a frozen application does not support it.
    """
    if is_frozen():
        if not _Frozen.is_supported:
            raise StartError(
                "this is a frozen application that does not call armnn.freeze_support() first"
            )
        return [sys.executable, _FROZEN_ARGUMENT, str(descriptor)]
    if not sys.executable:
        raise StartError("sys.executable is not set, so there is no interpreter to start")
    flags = ["-I", "-S"] if is_bare else ["-P"]
    if sys.dont_write_bytecode:
        flags.append("-B")
    if sys.pycache_prefix is not None:
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return [sys.executable, *flags, _GUARD, str(descriptor)]


def environment_of(given: Mapping[str, str] | None, *, is_bare: bool) -> dict[str, str]:
    """Return a child's environment, with this process' import path.

    Args:
        given: The variables; None for those of this process.
        is_bare: Without the import path.
    """
    environment = dict(os.environ if given is None else given)
    if not is_bare:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return environment


def reduced_environment() -> dict[str, str]:
    """Return this process' variables without secrets.

    Variables are taken for secrets by words such as TOKEN or PASSWORD in their names.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not any(word in name.upper() for word in _SECRET_WORDS)
    }
