# SPDX-License-Identifier: MIT
"""The instruction-set levels that this machine can run."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

FLAGS = {
    "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"},
    "avx2": {"avx2", "fma", "f16c"},
    "sse2": {"sse2"},
}


def levels() -> list[str]:
    """Return the names of the levels, the best first."""
    if platform.machine() != "x86_64":
        return ["neon"]
    cpu = set(Path("/proc/cpuinfo").read_text().split())
    return [name for name, needed in FLAGS.items() if needed <= cpu]


@pytest.fixture(params=levels())
def level(request: pytest.FixtureRequest) -> str:
    """A level that this machine has."""
    name: str = request.param
    return name
