# SPDX-License-Identifier: MIT
"""``python -m armnn_dynamic_loader``: prints paths for a compiler's command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from armnn_dynamic_loader.wrapper import python_backend_source


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the fact that the option on the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m armnn_dynamic_loader", description="Print paths for a compiler."
    )
    parser.add_argument(
        "--python-backend",
        dest="path",
        action="store_const",
        const=python_backend_source(),
        required=True,
        help="the C source that makes a file of a backend in Python",
    )
    print(parser.parse_args(arguments).path)


if __name__ == "__main__":
    main()
