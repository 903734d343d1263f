# SPDX-License-Identifier: MIT
"""The cores and backends of the matrix, made once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests

from matrix import Matrix


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    made = Matrix()
    made.prepare()
    return made
