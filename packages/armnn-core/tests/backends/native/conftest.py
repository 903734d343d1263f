# SPDX-License-Identifier: MIT
"""Check after each test that it left no object of the mock alive."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _counted(counts: object) -> None:
    """Let :func:`native_mock.counts` look after every test of this folder."""
