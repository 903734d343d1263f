# SPDX-License-Identifier: MIT
"""Running a program with a stand-in in its place: what ``python -m armnn.compat.X`` does."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def run_program(
    install: Callable[[], object], name: str, replaced: str, arguments: Sequence[str]
) -> None:
    """Put a stand-in in its place and run a program as ``python`` would.

    Args:
        install: Puts it there.
        name: The module that was run.
        replaced: What it stands for.
        arguments: The program and its arguments, or ``-m``, a module and its arguments.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}",
        description=f"Run a program that was written for {replaced}, unchanged, on armnn.",
        epilog=f"example: python -m {name} -m package.of.the.program --its --options",
    )
    parser.add_argument("-m", action="store_true", help="the program is a module, not a file")
    parser.add_argument("program", help="the file or the module")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="its arguments")
    parsed = parser.parse_args(arguments)
    install()
    sys.argv = [parsed.program, *parsed.rest]
    if parsed.m:
        sys.path.insert(0, "")
        runpy.run_module(parsed.program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(parsed.program).resolve().parent))
        runpy.run_path(parsed.program, run_name="__main__")
