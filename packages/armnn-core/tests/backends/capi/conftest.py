# SPDX-License-Identifier: MIT
"""Check that each test leaves no object of the mock."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _counted(counts: object) -> None:
    """Let :func:`native_mock.counts` look after every test of this folder."""
