# SPDX-License-Identifier: MIT
"""``armnn worker``: serves a backend over standard input and output."""

from __future__ import annotations

import argparse

from armnn.__main__ import serve
from armnn.installing import CPU_ACC, CPU_REF

_EXAMPLES = f"""\
examples:
  armnn run model.onnx --backends ssh://user@board/{CPU_ACC},{CPU_REF}     starts it over ssh
  armnn run model.onnx --board 'box=docker exec -i box python3 -m armnn worker' \\
      --backends board://box/{CPU_ACC}
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn worker``."""
    parser = subparsers.add_parser(
        "worker",
        help=summary,
        description="Serve a backend to the process at the other end of standard input and "
        "output, until that closes them. Programs start it, not people.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=work)


def work(arguments: argparse.Namespace) -> int:  # noqa: ARG001  # the command has none
    """Serve until the other side closes the streams; return 0.

    Raises:
        InvalidArgumentError: Standard input is a terminal.
    """
    serve()
    return 0
