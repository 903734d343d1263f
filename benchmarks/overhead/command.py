# SPDX-License-Identifier: MIT
"""The command line of a measurement."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any


def run(
    about: str | None,
    measure: Callable[[int], Mapping[str, Any]],
    line: Callable[[dict[str, Any]], str],
    option: str,
    default: int,
) -> int:
    """Measure with a number from the command line, and print.

    Args:
        about: The docstring of the program.
        measure: Takes the number and returns the results.
        line: Returns the results as a sentence.
        option: The name of the number.
        default: The number if it is left out.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(option, dest="number", type=int, default=default)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    row = dict(measure(arguments.number))
    print(json.dumps(row) if arguments.json else line(row))
    return 0
