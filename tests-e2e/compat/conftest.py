# SPDX-License-Identifier: MIT
"""The cores and backends of the matrix, made once for all tests of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests

from environments import check_nothing_of_ours_is_installed
from matrix import Matrix


@pytest.fixture(scope="session")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    check_nothing_of_ours_is_installed()
    made = Matrix(tmp_path_factory.mktemp("matrix"))
    made.prepare()
    return made
