# SPDX-License-Identifier: MIT
"""The checks of a pytest session's backend."""

from __future__ import annotations

from typing import TypeAlias

import pytest

from armnn.backends import BackendRegistry, CreationOptions, crashes
from armnn_conformance.checks.child import ChecksHere, ChecksInChild, CrashError

AnyChecks: TypeAlias = ChecksHere | ChecksInChild

_CHECKS: pytest.StashKey[AnyChecks] = pytest.StashKey()


def checks_of(config: pytest.Config) -> AnyChecks:
    """Return the checks; they are closed with the session."""
    if _CHECKS not in config.stash:
        kind = ChecksHere if config.getoption("--armnn-in-process") else ChecksInChild
        config.stash[_CHECKS] = kind(config.getoption("--armnn-backend"))
        config.add_cleanup(config.stash[_CHECKS].close)
    return config.stash[_CHECKS]


EVERY_CASE = "all"
"""The last word of a requirement that no case may be refused."""


def required(text: str | None) -> list[tuple[str, str, bool]]:
    """Return the cells that ``--armnn-require`` names.

    A row is a layer type, a data type, which is "" where any will do, and whether all cases of it
    must be claimed.
    """
    rows = []
    for word in filter(None, map(str.strip, (text or "").split(","))):
        named, colon, last = word.rpartition(":")
        is_every = bool(colon) and last == EVERY_CASE
        layer, _, data_type = (named if is_every else word).partition(":")
        rows.append((layer, data_type, is_every))
    return rows


def check_that_loading_does_not_crash(config: pytest.Config) -> None:
    """Load the backend in a child, to detect crashes.

    Raises:
        CrashError: The backend ended the process by a signal.
    """
    wish = config.getoption("--armnn-backend")
    checks = checks_of(config)
    if isinstance(checks, ChecksHere):
        return
    try:
        checks.run("loads", {})
    except CrashError as error:
        if not error.ending.startswith("SIG"):
            return
        for entry in BackendRegistry(CreationOptions()).entries():
            if entry.id == wish:
                crashes.remember(entry, error.case, error.ending)
        raise
