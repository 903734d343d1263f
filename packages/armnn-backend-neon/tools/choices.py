# SPDX-License-Identifier: MIT
"""Ask the sources that choose kernels.

They answer for levels that this CPU need not have, as nothing is computed.
"""

from __future__ import annotations

import re
import runpy
import subprocess
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
TOOLS = PACKAGE / "tools"
ISA = PACKAGE / "cpp/kernels/isa"
BUILD = runpy.run_path(str(PACKAGE / "native_build/levels.py"))
LEVELS = {level.name: level for level in BUILD["levels_of"]("x86_64")}
HEADERS = PACKAGE.parent / "armnn-backend-api/src/armnn_backend_api/include"


class Chooser:
    """The program of ``choices.cpp``. What computes is not linked."""

    def __init__(self, folder: Path) -> None:
        """Build it in a folder."""
        self._program = folder / "choices"
        sources = [TOOLS / "choices.cpp", TOOLS / "choices_gemm.cpp"]
        flags = ["-std=c++17", f"-I{PACKAGE / 'cpp'}", f"-I{HEADERS}", "-no-pie", "-fno-pic"]
        flags += ["-Wl,--unresolved-symbols=ignore-all"]
        subprocess.run(["g++", *flags, *sources, "-o", self._program], check=True)

    def answers(self, costs: str, level: str, questions: Sequence[str]) -> list[str]:
        """Return what the sources answer.

        Args:
            costs: A file of costs, by which they choose.
            level: Whose kernels there are.
            questions: Kind, height, width and channels of an image, outputs, height, width and
                stride of a window; after those of ``work`` the name of a kernel.
        """
        file = self._program.with_name("costs")
        file.write_text(costs, encoding="utf-8")
        run = subprocess.run(
            [self._program, *_tiles_of(level)],
            input="\n".join(questions),
            env={"ARMNN_CPUACC_COSTS": str(file)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found = run.stdout.splitlines()
        if len(found) != len(questions):
            raise ValueError(f"{len(questions)} questions got {len(found)} answers")
        return found


def built_in_costs() -> dict[str, str]:
    """Return CpuAcc's own files of costs by CPU."""
    tables = (PACKAGE / "cpp/costs/tables.h").read_text()
    lines = re.findall(r'^    "(.*)\\n"$', tables, re.MULTILINE)
    texts = re.split("^(?=armnn CpuAcc costs 1$)", "\n".join(lines), flags=re.MULTILINE)[1:]
    return {re.findall("^cpu (.*)$", text, re.MULTILINE)[0]: text for text in texts}


def _tiles_of(name: str) -> list[str]:
    """Return what the program is told of a level."""
    level = LEVELS[name]
    vector, dot = f"vector_{level.vector}.h", f"dot_{level.dot}.h"
    widens = "kReads = Reads::shorts" in (ISA / dot).read_text()
    return [
        *(str(level.vector_bytes // 4), _constant(vector, "kRows"), _constant(vector, "kVectors")),
        *(_constant(dot, "kInt8Rows"), _constant(dot, "kInt8Vectors")),
        *(str(int(bool(has))) for has in (widens, level.bfloat16, level.tile_registers)),
    ]


def _constant(header: str, name: str) -> str:
    """Return a number of a level's header."""
    found = re.search(rf"^constexpr int {name} = (\d+);", (ISA / header).read_text(), re.M)
    if found is None:
        raise ValueError(f"{header} has no {name}")
    return found[1]
