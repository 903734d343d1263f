# SPDX-License-Identifier: MIT
"""The answers to a shell that completes a command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def complete(parser: Callable[[str | None], argparse.ArgumentParser]) -> None:
    """Write what a shell may complete, and exit.

    The package ``argcomplete`` sets the protocol: ``_ARGCOMPLETE`` and ``COMP_LINE``.

    Args:
        parser: Makes the parser for one command, or that of all of them.
    """
    import argcomplete

    words = os.environ.get("COMP_LINE", "").split()
    command = next((word for word in words[1:] if not word.startswith("-")), None)
    argcomplete.autocomplete(parser(command))
