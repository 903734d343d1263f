# SPDX-License-Identifier: MIT
"""Settings that every test run of the repository shares."""

from __future__ import annotations

import gc
import os

from hypothesis import settings

# The same examples on every machine, and no verdict that depends on how busy the machine is.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")

# A worker of pytest-xdist has it, and it bounds the tables of the command.
os.environ.pop("COLUMNS", None)


def pytest_collection_finish() -> None:
    """Leave the tests and what they import out of garbage collections."""
    gc.collect()
    gc.freeze()
