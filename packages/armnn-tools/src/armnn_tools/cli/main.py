# SPDX-License-Identifier: MIT
"""The entry point of ``armnn``: subcommands, errors, exit codes.

The exit code is 0 for success, 1 for failure, 2 for wrong usage, 130 after Ctrl-C, and 141 when
the reader of a pipe went away. With ``--json`` a failure is a document on stdout, too.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from textwrap import fill

from armnn.__about__ import __version__
from armnn.__main__ import version
from armnn.backends import BackendRegistry, BackendState, CreationOptions
from armnn.backends.calling import explained, is_blamed
from armnn.errors import ArmnnError, InvalidArgumentError
from armnn.graph.text import printable
from armnn.installing import CPU_ACC, CPU_REF, install_command
from armnn.metadata import entry_points
from armnn.parsing import installed_parsers
from armnn_tools.cli.options import Parser, UsageError, as_options
from armnn_tools.cli.output import print_json
from armnn_tools.modules import run_modules

COMMANDS = {
    "run": "run a model",
    "inspect": "show what is in a model",
    "view": "write a model's graph as one HTML file",
    "compare": "name the layers that a backend computes wrongly",
    "reduce": "write the smallest model that fails as a model does",
    "bench": "measure a model, and other runtimes beside it",
    "tune": "measure which backends run a model fastest, or the machine",
    "convert": "write a model as an .armnn file",
    "compile": "write a model as its backends prepared it",
    "verify": "say what differs today from a record of 'armnn run --record'",
    "cache": "show or clear a folder of prepared models",
    "backends": "list the backends and their states",
    "doctor": "find out why a backend or parser does not work",
    "schema": "print the JSON Schema of what a command prints",
    "worker": "serve a backend to another process",
}
"""The summary of each command, by the name of its module."""

GROUP = "armnn.commands"
"""The entry-point group of further commands: an entry's name is the command, its value a module
with a text ``SUMMARY`` and a function ``add_parser``, as :mod:`armnn_tools.cli` describes it, and
``SCHEMA``, if it prints JSON."""

_EXAMPLES = """\
examples:
  armnn run model.onnx --input x=picture.png       run a model
  armnn inspect model.onnx                         show what is in it
  armnn view model.onnx -o model.html              draw it for a browser
  armnn compare model.onnx --backends Acme         name the layers that Acme computes wrongly
  armnn reduce model.onnx --backends Acme -o s.onnx    write the smallest model that shows it
  armnn bench model.onnx --against onnxruntime     measure it beside another runtime
  armnn tune model.onnx                            measure which backends are fastest
  armnn convert model.onnx net.armnn               write it as a file of Arm NN's
  armnn compile model.onnx -o m.armnn-prepared     write it as a file that loads at once
  armnn verify record.json model.onnx              say what differs since armnn run --record
  armnn tune --machine                             measure what work takes here
  armnn backends                                   list the backends
  armnn doctor                                     find out why one does not work

'armnn COMMAND --help' shows the options of a command and more examples.
"""

_BEGIN = """\
Begin with
  armnn run model.onnx --input x=picture.png --report   runs a model
  armnn inspect model.onnx                              shows its layers
  armnn bench model.onnx --against onnxruntime          measures its speed
  armnn doctor                                          tells what is missing

All commands: armnn --help. Options and examples: armnn COMMAND --help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words behind ``armnn``; those of the process by default.

    Returns:
        The exit code.
    """
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        print(_overview())
        return 0
    words = (each for each in arguments if not each.startswith("-"))
    is_debug, as_json = "--debug" in arguments, "--json" in arguments
    try:
        options = parser(next(words, "")).parse_args(arguments)
        options.words, is_debug = list(arguments), options.debug
        as_json = getattr(options, "json", False)
        run_modules(options.imports)
        shown = logging.StreamHandler()
        shown.setFormatter(_Formatter("armnn: %(message)s"))
        level = logging.DEBUG if is_debug else logging.WARNING
        logging.basicConfig(handlers=[shown], level=level)
        code = int(options.handler(options))
        sys.stdout.flush()
    except BrokenPipeError:
        # Buffered text would raise again when the interpreter flushes at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt as interrupt:
        print("armnn: interrupted", file=sys.stderr)
        return _failed(interrupt, "interrupted", 130, as_json=as_json)
    except UsageError as error:
        _failed(error, error.message, 2, as_json=as_json)
        raise
    except Exception as error:
        is_foreseen = isinstance(error, (ArmnnError, OSError)) or is_blamed(error)
        text = printable(as_options(explained(error)))
        if is_debug or not is_foreseen:
            _failed(error, text, 1, as_json=as_json)
            raise
        print(f"armnn: error: {text}", file=sys.stderr)
        return _failed(error, text, 1, as_json=as_json)
    return code


def _failed(error: BaseException, message: str, code: int, *, as_json: bool) -> int:
    """Print the failure of a command as JSON, if that is wanted; return the exit code."""
    if as_json:
        causes = []
        cause = error.__cause__
        while cause is not None:
            causes.append({"type": type(cause).__name__, "message": printable(explained(cause))})
            cause = cause.__cause__
        found = {"type": type(error).__name__, "message": message, "causes": causes}
        print_json({"error": {**found, "exit_code": code}})
    return code


class _Formatter(logging.Formatter):
    """Replaces keywords in the core's log by options of the command, as errors do."""

    def format(self, record: logging.LogRecord) -> str:
        return as_options(super().format(record))


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of ``armnn`` with its commands.

    Args:
        only: The command whose options are needed, "" for none; the modules of the others are not
            imported. All options of all commands if it is None.

    Raises:
        InvalidArgumentError: The command is of another distribution and cannot be used.
    """
    top = Parser(
        prog="armnn",
        description="Run neural networks on backends that are pip packages.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=version())
    top.add_argument("--debug", action="store_true", help="log more, and show where errors arise")
    top.set_defaults(imports=[])
    subparsers = top.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        if only in (None, name):
            import_module(f"armnn_tools.cli.{name}").add_parser(subparsers, summary)
        else:
            subparsers.add_parser(name, help=summary)
    for entry in entry_points(GROUP):
        if entry.name in subparsers.choices:  # ours, or the first of two with one name
            continue
        if not entry.name or entry.name.startswith("-"):
            if not only:
                reason = (
                    f"{entry.distribution} cannot be used: its name is empty or begins with '-'"
                )
                subparsers.add_parser(repr(entry.name), help=printable(reason))
            continue
        if only not in (None, "", entry.name):
            subparsers.add_parser(entry.name)
            continue
        try:
            module = entry.load()
            module.add_parser(subparsers, module.SUMMARY)
        # Whatever the code of others raises, which may also be a program that exits.
        except (Exception, SystemExit) as error:
            reason = f"{entry.distribution} cannot be used: {type(error).__name__}: {error}"
            if only == entry.name:
                raise InvalidArgumentError(f"the command {only!r} of {reason}") from error
            if entry.name not in subparsers.choices:
                subparsers.add_parser(entry.name, help=printable(reason).replace("%", "%%"))
    for subparser in subparsers.choices.values():
        # Accepted behind the command, too; suppressed, so that it does not undo the one before it.
        subparser.add_argument(
            "--debug",
            action="store_true",
            default=argparse.SUPPRESS,
            help="log more, and show where errors arise",
        )
        subparser.add_argument(
            "--import",
            dest="imports",
            metavar="MODULE",
            action="append",
            default=argparse.SUPPRESS,
            help="a module or file.py to run first: it registers operators or backends",
        )
    return top


def _overview() -> str:
    """Return the installed backends and formats, and commands to begin with.

    It is the answer to ``armnn`` without arguments. No backend is loaded.
    """
    entries = BackendRegistry(CreationOptions()).entries()
    usable = [
        each.id for each in entries if each.state in (BackendState.KNOWN, BackendState.LOADED)
    ]
    others = len(entries) - len(usable)
    formats = sorted({f".{each.name}" for each in installed_parsers()})
    lines = [
        f"armnn-core {__version__} runs neural networks on backends that are pip packages.",
        "",
        f"Backends here: {', '.join(usable) or 'none'}"
        + (f", and {others} that cannot be used: armnn doctor" if others else ""),
        f"Formats here: {', '.join(formats) or 'none'}",
    ]
    if CPU_ACC not in usable or CPU_REF not in usable:
        lines.append(f"More backends and formats: {install_command('armnn-core[cpu]')}")
    # A terminal would break them inside of a name.
    folded = [fill(line, 79, subsequent_indent="  ", break_long_words=False) for line in lines]
    return printable("\n".join([*folded, "", _BEGIN]))


def _complete() -> None:
    """Answer a shell that completes a command line, and exit.

    The package ``argcomplete`` sets the protocol: ``_ARGCOMPLETE`` and ``COMP_LINE``.
    """
    import argcomplete  # late: an optional dependency

    words = os.environ.get("COMP_LINE", "").split()
    command = next((word for word in words[1:] if not word.startswith("-")), None)
    argcomplete.autocomplete(parser(command))
