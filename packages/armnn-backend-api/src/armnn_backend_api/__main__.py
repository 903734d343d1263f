# SPDX-License-Identifier: MIT
"""``python -m armnn_backend_api``: versions and paths for builds of backends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from armnn_backend_api import (
    BACKEND_API_VERSION,
    get_cmake_dir,
    get_include,
    get_pkgconfig_dir,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the fact that the option asks for, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m armnn_backend_api",
        description="Say what a build of a backend in C needs to know.",
    )
    question = parser.add_mutually_exclusive_group(required=True)
    answers = (
        ("--includes", f"-I{get_include()}", "the compiler flag that finds armnn/*.h"),
        ("--cmake-dir", get_cmake_dir(), "the folder for CMAKE_PREFIX_PATH"),
        ("--pkgconfig-dir", get_pkgconfig_dir(), "the folder for PKG_CONFIG_PATH"),
        ("--version", str(BACKEND_API_VERSION), "the version of the Backend API"),
    )
    for option, answer, text in answers:
        question.add_argument(option, dest="answer", action="store_const", const=answer, help=text)
    print(parser.parse_args(arguments).answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
