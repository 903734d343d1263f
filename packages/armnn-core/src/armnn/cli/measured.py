# SPDX-License-Identifier: MIT
"""Times and verdicts for ``armnn view`` and ``armnn inspect``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from armnn.viewing import times_in_trace, verdicts_in_comparison

if TYPE_CHECKING:
    from armnn.optimizer import Report
    from armnn.profiling import LayerTime

Verdicts = Mapping[str, Mapping[str, Any]]


def add_measured_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for files of other commands."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--profile",
        metavar="FILE",
        help="show the times in a file of 'armnn run --profile FILE', for the same backends",
    )
    group.add_argument(
        "--compare",
        metavar="FILE",
        help="show the verdicts in the output of 'armnn compare --json'",
    )


def measured(
    arguments: argparse.Namespace, report: Report
) -> tuple[Sequence[LayerTime], Verdicts | None]:
    """Return the times and verdicts of the named files.

    Raises:
        InvalidArgumentError: A file cannot be read, or is none of these.
    """
    times = () if arguments.profile is None else times_in_trace(arguments.profile, report)
    verdicts = None if arguments.compare is None else verdicts_in_comparison(arguments.compare)
    return times, verdicts
