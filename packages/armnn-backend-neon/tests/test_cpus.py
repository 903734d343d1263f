# SPDX-License-Identifier: MIT
"""The usable CPUs: affinity and quotas of cgroups."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

CPP = Path(__file__).resolve().parents[1] / "cpp"
CPUS = len(os.sched_getaffinity(0))
MAIN = """
#include <cstdio>
#include "threads/cpus.h"
int main() { std::printf("%d", cpuacc::usable_cpus()); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program that prints the number of CPUs.

    It reads cgroups in its own folder.
    """
    folder = tmp_path_factory.mktemp("cpus")
    (folder / "main.cpp").write_text(MAIN)
    places = [f'-DCPUACC_CGROUPS="{folder}/all"', f'-DCPUACC_OWN_CGROUPS="{folder}/own"']
    sources = [folder / "main.cpp", CPP / "threads/cpus.cpp"]
    made = folder / "cpus"
    subprocess.run(["g++", "-std=c++17", f"-I{CPP}", *places, *sources, "-o", made], check=True)
    return made


ONE = {"cpu.max": "100000 100000\n"}
OLD_ONE = {"cpu.cfs_quota_us": "140000\n", "cpu.cfs_period_us": "100000\n"}
NONE = {"cpu.max": "max 100000\n", "cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("own", "quotas", "expected"),
    [
        ("", {}, CPUS),
        ("0::/\n", {"": NONE}, CPUS),
        ("0::/\n", {"": ONE}, 1),
        ("0::/a/b\n", {"a/b": NONE, "a": ONE, "": NONE}, 1),
        ("0::/a/b\n", {"other": ONE}, CPUS),
        ("3:cpu,cpuacct:/a/b\n0::/\n", {"cpu/a/b": OLD_ONE}, 1),
        ("3:cpuset:/a\n2:cpu:/b\n", {"cpu/a": OLD_ONE, "cpu/b": NONE}, CPUS),
        # In a container the path is that of the host, and the root is the container's.
        ("2:cpu:/docker/42\n", {"cpu": OLD_ONE}, 1),
        ("0::/\n", {"": {"cpu.max": "1000 100000\n"}}, 1),
        ("0::odd\n", {"odd": ONE}, CPUS),
        ("nonsense\n", {"": {"cpu.max": "\n"}}, CPUS),
    ],
)
def test_the_tightest_quota_holds(
    program: Path, tmp_path: Path, own: str, quotas: dict[str, dict[str, str]], expected: int
) -> None:
    folder = program.parent
    (folder / "own").write_text(own)
    (folder / "all").unlink(missing_ok=True)
    (folder / "all").symlink_to(tmp_path)
    for group, files in quotas.items():
        (tmp_path / group).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (tmp_path / group / name).write_text(text)
    said = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
    assert int(said.stdout) == expected
