# SPDX-License-Identifier: MIT
"""The reading of the command line: single-value options occur once."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any

from armnn._installing import FAST, REFERENCE
from armnn._spelling import closest
from armnn.optimizer.options import REMOVED


class Parser(argparse.ArgumentParser):
    """An ``ArgumentParser`` that refuses repeated single-value options.

    The standard library silently uses the last value. An option that a command does not have is
    answered with the closest one.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Make a parser; the arguments are those of ``ArgumentParser``."""
        super().__init__(*arguments, **options)
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)

    def parse_known_args(  # type: ignore[override] # of several signatures, the one that is used
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read arguments; end with code 2 at an unknown option."""
        options, rest = super().parse_known_args(args, namespace)
        strange = next((each for each in rest if each.startswith("-")), None)
        if strange is not None:
            name = strange.partition("=")[0]
            removed = REMOVED.get(name.removeprefix("--").replace("-", "_"))
            if removed is not None:
                self.exit(2, f"{self.prog}: error: there is no option {name} any more: {removed}\n")
            meant = closest(name, [each for each in self._option_string_actions if each != name])
            hint = f"did you mean {meant}?" if meant else f"'{self.prog} --help' lists the options"
            self.exit(2, f"{self.prog}: error: there is no option {name}; {hint}\n")
        return options, rest


class _StoreOnce(argparse._StoreAction):
    """Stores a value, the first time only."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        given = vars(namespace).setdefault("_given", set())
        if option_string is not None and self.dest in given:
            earlier = getattr(namespace, self.dest)
            raise argparse.ArgumentError(
                self, f"was given twice: got {earlier!r} first and {values!r} now, expected one"
            )
        given.add(self.dest)
        super().__call__(parser, namespace, values, option_string)


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
    examples: str,
    handler: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a command, whose examples keep their lines.

    Args:
        subparsers: Those of ``armnn``.
        name: Of the command.
        summary: For the list of commands.
        description: For its own help.
        examples: What stands at the end of it.
        handler: Runs it and returns the exit status.
    """
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=handler)
    return parser


def backend_ids(text: str) -> list[str]:
    """Split a comma separated list of backend ids."""
    ids = [part.strip() for part in text.split(",")]
    if not all(ids):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected ids as in {FAST},{REFERENCE}")
    return ids


def add_lock_file_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--lock-file``."""
    group.add_argument(
        "--lock-file",
        metavar="FILE",
        help="load only what this file lists, which 'armnn backends lock' wrote",
    )


def natural_number(text: str) -> int:
    """Read a number from 0 up."""
    return _whole(text, 0)


def positive_number(text: str) -> int:
    """Read a number from 1 up."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number from {least} up")
    return int(text)


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number")
    return value


def numbers(text: str) -> tuple[float, ...]:
    """Read finite numbers with commas between them."""
    return tuple(number(part) for part in text.split(","))


def divisors(text: str) -> tuple[float, ...]:
    """Read numbers above zero with commas between them."""
    values = numbers(text)
    if min(values) <= 0:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected numbers above zero")
    return values
