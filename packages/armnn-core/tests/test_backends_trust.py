# SPDX-License-Identifier: MIT
"""Who may change a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from armnn.backends.trust import who_else_may_write


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0o700, ""),
        (0o755, ""),
        (0o775, "its group"),
        (0o722, "its group and others"),
        (0o702, "others"),
        (0o1777, "its group and others"),
    ],
)
def test_the_rights_of_group_and_others_count(tmp_path: Path, mode: int, expected: str) -> None:
    tmp_path.chmod(mode)
    assert who_else_may_write(tmp_path.stat()) == expected
