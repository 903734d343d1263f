# SPDX-License-Identifier: MIT
"""Libraries whose CPUID instructions are answered as with AVX2."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.models.limited_peers import CPUID, limited, limits, places_of_cpuid, preloaded

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="CPUID is an instruction of x86-64"
)

LEAVES = ((0, 0), (1, 0), (7, 0), (7, 1), (0xD, 1), (0x24, 0))
SOURCE = """
#include <cpuid.h>
void ask(unsigned leaf, unsigned subleaf, unsigned *made) {
  __cpuid_count(leaf, subleaf, made[0], made[1], made[2], made[3]);
}
void stop(void) { __builtin_trap(); }
"""
ASK = """
import ctypes, sys
library, made = ctypes.CDLL(sys.argv[1]), (ctypes.c_uint * 4)()
for leaf, subleaf in {leaves}:
    library.ask(leaf, subleaf, made)
    print(*made)
"""
STOP = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).stop()"
# By leaf and register, of Intel's manual: AVX-512, AMX, GFNI, and what came after AVX2.
HIDDEN = {
    (7, 0): (0, 0xDC230000, 0x00005942, 0x03C0010C),
    (7, 1): (0x00A00030, 0, 0, 0x00080530),
    (0x24, 0): (0xFFFFFFFF,) * 4,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a library that executes CPUID."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "ask.c").write_text(SOURCE)
    made = folder / "ask.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", folder / "ask.c", "-o", made], check=True)
    return made


@pytest.fixture(scope="module")
def copy(library: Path) -> Path:
    """Return the path of its copy without CPUID."""
    made = library.with_name("limited.so")
    made.write_bytes(limited(library.read_bytes(), places_of_cpuid(library)))
    return made


def answers(library: Path, preload: Path | None = None) -> list[list[int]]:
    script = ASK.format(leaves=LEAVES)
    environment = os.environ | ({} if preload is None else {"LD_PRELOAD": str(preload)})
    run = subprocess.run(
        [sys.executable, "-c", script, library],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [[int(number) for number in line.split()] for line in run.stdout.splitlines()]


def test_a_copy_hears_of_all_but_what_came_after_avx2(library: Path, copy: Path) -> None:
    assert CPUID in library.read_bytes()
    assert CPUID not in copy.read_bytes()
    preload = preloaded(copy.parent)
    true, told = answers(library), answers(copy, preload)
    assert answers(library, preload)[2] == true[2]
    for leaf, right, heard in zip(LEAVES, true, told, strict=True):
        hidden = HIDDEN.get(leaf, (0,) * 4)
        if leaf == (1, 0):  # which CPU is asked is in the upper bits of the second register
            right[1], heard[1] = right[1] & 0xFFFFFF, heard[1] & 0xFFFFFF
        assert heard == [each & ~mask for each, mask in zip(right, hidden, strict=True)]


def test_another_illegal_instruction_ends_the_process(library: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(preloaded(library.parent))}
    run = subprocess.run([sys.executable, "-c", STOP, library], env=environment, check=False)
    assert run.returncode == -signal.SIGILL


def test_what_is_no_cpuid_is_not_replaced(library: Path) -> None:
    with pytest.raises(ValueError, match="there is no CPUID at 0: objdump and the file disagree"):
        limited(library.read_bytes(), iter([0]))


def test_a_folder_whose_name_the_loader_would_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be preloaded from: expected no space nor colon"):
        limits(tmp_path / "two words")
