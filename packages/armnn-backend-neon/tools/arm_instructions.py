# SPDX-License-Identifier: MIT
"""Counter of the instructions per multiply-add on Arm: docs/arm.md.

    python packages/armnn-backend-neon/tools/arm_instructions.py [--check]

No Arm machine is needed: the kernels are cross-compiled and run in an emulator that names each
instruction, as arm_machine.py sets it up. With ``--check`` nothing is written; the exit status is 1
if the page is stale.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

from arm_machine import FOLDER, NEON, REPOSITORY, ArmMachine, arm_machine

PAGE = REPOSITORY / "docs/arm.md"
BUILD = runpy.run_path(str(NEON / "hatch_build.py"))
levels_of = runpy.run_path(str(NEON / "native_build/levels.py"))["levels_of"]

KERNELS = {
    "gemm": "gemm, float32",
    "int8_gemm": "gemm, int8",
    "depthwise3": "depthwise 3 x 3, float32",
    "depthwise5": "depthwise 5 x 5, float32",
    "int8_depthwise3": "depthwise 3 x 3, int8",
}
"""The kernels that arm_instructions.cpp can call, and what they are in the table."""

TEXT = """\
# CpuAcc on Arm

Not affiliated with Arm.

After reading this page you can tell how many instructions the kernels of CpuAcc execute per
multiply-add on Arm. The speed on Arm is unmeasured until a board has run it: no figure below is a
time.

```console
$ python packages/armnn-backend-neon/tools/arm_instructions.py
```

compiles the kernels with Debian's cross-compiler, runs one call of each in qemu, which prints every
instruction, and writes this page. A whole call is counted: the loop, the loads, and the bias, the
bounds and the stores at its end.

{table}

A gemm is a whole tile of C, {depth} deep. A depthwise kernel makes a row of 64 outputs with 32
channels, stride 1. One instruction of `neon` does 4 multiply-adds of floats (0.25 in the table if
there were no other), one `sdot` of `neon_dotprod` 16 of bytes (0.063), one `smmla` of `neon_i8mm`
32 (0.031).
"""


def driver(machine: ArmMachine) -> Path:
    """Build the program that calls kernels; return it."""
    os.environ.update(machine.environment, CXX=shlex.join(machine.compiler))
    library = BUILD["build_library"](BUILD["version_of_distribution"]())
    objects = sorted(library.parent.glob("kernels_*.o"))
    program, source = FOLDER / "arm_instructions", Path(__file__).with_suffix(".cpp")
    flags = ["-std=c++17", "-O1", "-static", f"-I{NEON / 'cpp'}", "-o", str(program)]
    subprocess.run([*machine.compiler, *flags, source, *objects], check=True)
    return program


def executed(machine: ArmMachine, *arguments: str | Path) -> tuple[int, int]:
    """Return a program's count of instructions and its printed number."""
    trace = FOLDER / "trace.txt"
    # A block of translated code is one instruction, and each block that runs is a line.
    options = ["-cpu", "max", "-singlestep", "-d", "exec,nochain", "-D", str(trace)]
    command = machine.emulated(*options, *arguments)
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    with trace.open() as lines:
        count = sum(line.startswith("Trace") for line in lines)
    trace.unlink()
    return count, int(run.stdout)


def per_multiply_add(machine: ArmMachine, program: Path, level: str, kernel: str) -> float:
    """Return a kernel's instructions per multiply-add."""
    once, multiply_adds = executed(machine, program, level, kernel, "1")
    twice, _ = executed(machine, program, level, kernel, "2")
    return (twice - once) / multiply_adds


def page(machine: ArmMachine) -> str:
    """Return the text of the page."""
    program = driver(machine)
    levels = [level.name for level in reversed(levels_of("aarch64")) if not level.adds_to]
    rows = ["| instructions per multiply-add |" + "".join(f" `{level}` |" for level in levels)]
    rows.append("|---|" + "---:|" * len(levels))
    for kernel, title in KERNELS.items():
        counts = [per_multiply_add(machine, program, level, kernel) for level in levels]
        rows.append(f"| {title} |" + "".join(f" {count:.2f} |" for count in counts))
    return TEXT.format(table="\n".join(rows), depth=256)


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the page is stale")
    arguments = parser.parse_args()
    text = page(arm_machine())
    if arguments.check:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
