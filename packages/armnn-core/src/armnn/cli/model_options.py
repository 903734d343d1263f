# SPDX-License-Identifier: MIT
"""The options that choose a model and its backends."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence

from armnn._installing import FAST, REFERENCE
from armnn.backends import CreationOptions, OptionValue
from armnn.backends.options import WHOLE_GROUPS
from armnn.backends.sources import PROBES
from armnn.cli.arguments import add_lock_file_argument, backend_ids, natural_number
from armnn.cli.output import progress
from armnn.errors import InvalidArgumentError
from armnn.runtime import Runtime


def add_model_arguments(parser: argparse.ArgumentParser, *, needs_model: bool = True) -> None:
    """Add MODEL and the options that choose backends."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs=None if needs_model else "?",
        help="a model file; its suffix says the format",
    )
    part = parser.add_argument_group("parts of TensorFlow Lite files")
    part.add_argument(
        "--signature",
        metavar="NAME",
        help="the signature to read (default: the first of subgraph 0)",
    )
    part.add_argument(
        "--subgraph", type=natural_number, metavar="N", help="the number of the subgraph to read"
    )
    group = parser.add_argument_group("backends")
    group.add_argument(
        "--backends",
        metavar="ID,...",
        type=backend_ids,
        action="extend",
        help="the backends to use, most preferred first (default: all that are installed); one "
        "with a question mark, as in 'GpuAcc?', is skipped if it cannot be used; given again, it "
        "adds more",
    )
    group.add_argument(
        "--dynamic-backends-path",
        metavar="DIR",
        help="a folder with backends in shared libraries; one is used where --backends names it",
    )
    group.add_argument(
        "--no-static-backends",
        action="store_true",
        help="leave out the backends of installed packages",
    )
    group.add_argument(
        "--probe",
        choices=PROBES,
        default=PROBES[0],
        help="whether shared libraries are tried out in a process of their own first "
        "(default: %(default)s, once for each state of a file)",
    )
    add_lock_file_argument(group)
    group.add_argument(
        "--isolate",
        metavar="ID,...",
        type=isolated_ids,
        default=(),
        help="backends that run in worker processes of their own, so that a crash costs no answer; "
        "'dynamic' for all shared libraries, 'auto' for all that ended a process before",
    )
    group.add_argument(
        "--board",
        metavar="NAME=COMMAND",
        action="append",
        default=[],
        help="a command that runs 'armnn worker' elsewhere; --backends board://NAME/ID uses it",
    )
    group.add_argument(
        "--layer-backend",
        metavar="NAME=ID",
        action="append",
        default=[],
        help="run the layer of this name on this backend (may be repeated)",
    )
    group.add_argument(
        "--option",
        metavar="ID.NAME=VALUE",
        action="append",
        default=[],
        help=f"an option for a backend, as in {FAST}.NumberOfThreads=2 (may be repeated)",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="fail where a layer would fall back to a less preferred backend",
    )


def creation_options(arguments: argparse.Namespace) -> CreationOptions:
    """Return the options for a runtime."""
    return CreationOptions(
        dynamic_backends_path=arguments.dynamic_backends_path,
        enable_static_backends=not arguments.no_static_backends,
        probe=arguments.probe,
        require_locked=arguments.lock_file is not None,
        lock_file=arguments.lock_file,
        isolate=arguments.isolate,
        boards=boards(arguments.board),
    )


def opened_runtime(arguments: argparse.Namespace) -> Runtime:
    """Return a runtime; trying shared libraries out takes a while."""
    with progress("Finding backends"):
        return Runtime(creation_options(arguments))


def isolated_ids(text: str) -> Sequence[str] | str:
    """Return what ``--isolate`` says: ids, or a word for many."""
    return text if text in WHOLE_GROUPS else backend_ids(text)


def boards(texts: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the command of each board that ``--board`` names.

    Raises:
        InvalidArgumentError: The value is not NAME=COMMAND.
    """
    found: dict[str, Sequence[str]] = {}
    for text in texts:
        name, equals, command = text.partition("=")
        words = shlex.split(command) if equals else []
        if not name or not words:
            raise InvalidArgumentError(
                f"--board got {text!r}, expected NAME=COMMAND as in "
                "'box=docker exec -i box armnn worker'"
            )
        found[name] = words
    return found


def parser_options(arguments: argparse.Namespace) -> dict[str, str | int]:
    """Return the options for the model's parser."""
    given = {name: getattr(arguments, name) for name in ("signature", "subgraph")}
    return {name: value for name, value in given.items() if value is not None}


def layer_backends(texts: Sequence[str]) -> dict[str, str]:
    """Return the backend of each layer that ``--layer-backend`` names.

    Raises:
        InvalidArgumentError: The value has no "=", or names a layer twice.
    """
    chosen: dict[str, str] = {}
    for text in texts:
        # Names of layers may contain "=", ids of backends may not.
        name, equals, backend = text.rpartition("=")
        if not equals or not name or not backend:
            raise InvalidArgumentError(
                f"--layer-backend got {text!r}, expected NAME=ID as in conv1={REFERENCE}"
            )
        if name in chosen:
            raise InvalidArgumentError(f"--layer-backend was given twice for {name!r}")
        chosen[name] = backend
    return chosen


def backend_options(texts: Sequence[str]) -> dict[str, dict[str, OptionValue]]:
    """Return the options of each backend that ``--option`` names.

    ``true`` and ``false`` are Booleans, what looks like a number is one, the rest is text.

    Raises:
        InvalidArgumentError: The value is not ID.NAME=VALUE, or an option is given twice.
    """
    options: dict[str, dict[str, OptionValue]] = {}
    for text in texts:
        match = re.fullmatch(_OPTION, text, re.DOTALL)
        if match is None:
            raise InvalidArgumentError(
                f"--option got {text!r}, expected ID.NAME=VALUE as in {FAST}.NumberOfThreads=2"
            )
        backend, name, value = match.groups()
        of_backend = options.setdefault(backend, {})
        if name in of_backend:
            raise InvalidArgumentError(f"--option was given twice for {backend}.{name}")
        of_backend[name] = _option_value(value)
    return options


_OPTION = r"((?:isolated:|(?:ssh|board)://[^=]*/)?\w+)\.([^=]+)=(.*)"
"""ID.NAME=VALUE; an id may say where its backend runs."""


def _option_value(text: str) -> OptionValue:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        return float(text)
    return text
