# SPDX-License-Identifier: MIT
"""The instruction-set levels that this machine can run."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path

import pytest

X86_FLAGS = {
    "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"},
    "avx2": {"avx2", "fma", "f16c"},
    "sse2": {"sse2"},
}
ARM_FLAGS = {"neon_i8mm": {"asimddp", "i8mm"}, "neon_dotprod": {"asimddp"}, "neon": {"asimd"}}
# Where the kernel says what an Arm CPU has: the words of getauxval, and the bits of each.
AUXILIARY = {16: {"asimd": 1, "asimddp": 20}, 26: {"i8mm": 13}}


def levels() -> list[str]:
    """Return the names of the levels, the best first."""
    if platform.machine() == "x86_64":
        cpu = set(Path("/proc/cpuinfo").read_text().split())
        return [name for name, needed in X86_FLAGS.items() if needed <= cpu]
    # Not from /proc/cpuinfo, which an emulator does not change.
    auxiliary = ctypes.CDLL(None).getauxval
    auxiliary.argtypes, auxiliary.restype = [ctypes.c_ulong], ctypes.c_ulong
    cpu = {
        flag
        for word, bits in AUXILIARY.items()
        for flag, bit in bits.items()
        if auxiliary(word) >> bit & 1
    }
    return [name for name, needed in ARM_FLAGS.items() if needed <= cpu]


@pytest.fixture
def best_level() -> str:
    """The best level that this machine has."""
    return levels()[0]


@pytest.fixture(params=levels())
def level(request: pytest.FixtureRequest) -> str:
    """A level that this machine has."""
    name: str = request.param
    return name
