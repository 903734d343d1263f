# SPDX-License-Identifier: MIT
"""Tests and kit of CpuAcc on an emulated Arm machine.

    python packages/armnn-backend-neon/tools/emulated_arm.py sample [pytest arguments]
    python packages/armnn-backend-neon/tools/emulated_arm.py kernels [pytest arguments]
    python packages/armnn-backend-neon/tools/emulated_arm.py kit [pytest arguments]
    python packages/armnn-backend-neon/tools/emulated_arm.py board [pytest arguments]

``kernels`` runs the tests of CpuAcc at every level, ``sample`` a part of them that takes minutes,
``kit`` the conformance kit at every level with 1, 2 and 3 threads; runs that passed with the same
files are not run again, so a session that was stopped goes on. ``board`` runs a part of the kit on
this machine, with the emulated one as a board. The first call downloads what it
needs into .cache/arm. Emulation proves results, not speed.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arm_machine import FOLDER, NEON, REPOSITORY, ArmMachine, arm_machine
from cpuacc_kit import BUILD, PARALLEL, kit, pytest

TESTS = NEON / "tests"
OURS = ("armnn-backend-api", "armnn-core", "armnn-backend-ref", "armnn-conformance")
GROUPS = "dependency-groups"

CPUS = {"cortex-a57": "neon", "neoverse-n1": "neon_dotprod", "max": "neon_bf16"}
"""CPUs that the emulator has, each with the best level of it."""

NOT_EMULATED = {
    "test_conformance.py": "``kit`` does the same",
    "test_allocations.py": "it compiles a counter for this machine",
    "test_empty_tensors.py": "what is empty reaches no kernel",
    "test_hatch_build.py": "it asks the compiler of this machine",
    "test_sequences.py": "it compares with onnxruntime",
    "test_tile_registers.py": "its registers are those of x86-64",
    "test_threads.py": "it counts threads, and the emulator has some of its own",
}
"""Modules of tests that run on this machine alone, and why."""

BOARD_LAYERS = "Activation,Addition,Convolution2d,Gather"
"""Layer types of the kit that run over a board."""

FLOATS, HALVES, BYTES = "floats", "numbers of 16 bits", "bytes"
"""The kinds of numbers that kernels compute with."""

SAMPLE = {
    "test_float16_arithmetic.py": {FLOATS, HALVES},
    "test_odd_sizes.py": {FLOATS},
    "test_bfloat16.py": {FLOATS},
    "test_half_conversion.py": {FLOATS, HALVES},
    "test_integer_gemm.py": {BYTES},
    "test_winograd_2d.py": {FLOATS},
    "test_quantized_arithmetic.py": {BYTES},
}
"""Modules of tests that reach every kernel of gemm and windows, and what these compute with."""


def ready() -> ArmMachine:
    """Return the machine with CpuAcc and its tests' requirements installed."""
    machine = arm_machine()
    wheels = [next((REPOSITORY / "dist").glob(f"{name.replace('-', '_')}-*.whl")) for name in OURS]
    requirements = list(tomllib.loads((REPOSITORY / "pyproject.toml").read_text())[GROUPS]["test"])
    for name in OURS:
        project = tomllib.loads((REPOSITORY / "packages" / name / "pyproject.toml").read_text())
        needed = project["project"]["dependencies"]
        requirements += [each for each in needed if not each.startswith("armnn-")]
    with tempfile.TemporaryDirectory() as folder:
        machine.install([*wheels, machine.build_wheel(Path(folder))], requirements)
    return machine


def digest_of(machine: ArmMachine, arguments: Sequence[str]) -> str:
    """Return a digest of our installed files and pytest's arguments."""
    digest = hashlib.sha256(repr(arguments).encode())
    for path in sorted(machine.packages.glob("armnn*/**/*")):
        if path.suffix in (".py", ".so"):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def levels() -> list[str]:
    """Return the levels that CpuAcc is built for on Arm."""
    return [level.name for level in BUILD["levels_of"]("aarch64")]


def kernels_of(level: Any) -> set[str]:
    """Return the kinds of numbers for which a level has kernels of its own."""
    return {
        BYTES if source.startswith("int8/") else HALVES if source.endswith("_float16") else FLOATS
        for source in level.sources
    }


def sampled() -> str:
    """Return pytest's expression for the sample.

    A module of tests runs at the levels with kernels of their own that it reaches: at others it
    would run the same code again.
    """
    chosen = []
    for name, reached in SAMPLE.items():
        same = [
            level.name
            for level in BUILD["levels_of"]("aarch64")
            if reached.isdisjoint(kernels_of(level))
        ]
        module = name.removesuffix(".py")
        chosen.append(f"({module} and not ({' or '.join(same)}))" if same else module)
    return " or ".join(chosen)


def chosen_level(machine: ArmMachine, cpu: str) -> str:
    """Return the level that CpuAcc chooses on an emulated CPU."""
    ask = "from armnn_backend_neon.backend import CpuAccBackend as B; print(B().devices()[0].name)"
    environment = {**os.environ, "QEMU_CPU": cpu}
    command = [str(machine.python), "-c", ask]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return answer.stdout.strip()


def kernels(machine: ArmMachine, arguments: Sequence[str]) -> bool:
    """Run CpuAcc's tests and check the level of each CPU."""
    chosen = {cpu: chosen_level(machine, cpu) for cpu in CPUS}
    print(f"chosen: {chosen}, expected: {CPUS}", flush=True)
    passed = pytest(
        str(machine.python),
        "all levels",
        [f"--numprocesses={PARALLEL}", *arguments],
        QEMU_CPU="max",
    )
    return passed and chosen == CPUS


def board(machine: ArmMachine, arguments: Sequence[str]) -> bool:
    """Run some of the kit with the machine as board."""
    command = [str(machine.python), "-m", "armnn", "worker"]
    kit_here = ["--pyargs", "armnn_conformance", "--armnn-backend", "board://arm/CpuAcc"]
    layers = ["--armnn-layers", BOARD_LAYERS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *kit_here, *layers, *arguments],
        check=False,
        env={**os.environ, "QEMU_CPU": "max", "ARMNN_BOARD_arm": shlex.join(command)},
    )
    return done.returncode == 0


def main() -> int:
    """Run the part named; return 1 if a test failed."""
    part, *arguments = sys.argv[1:]
    machine = ready()
    if part == "sample":
        files = [str(TESTS / name) for name in SAMPLE]
        return int(not kernels(machine, [*files, "-k", sampled(), *arguments]))
    if part == "kernels":
        ignored = [f"--ignore={TESTS / name}" for name in NOT_EMULATED]
        return int(not kernels(machine, [str(TESTS), *ignored, *arguments]))
    if part == "board":
        return int(not board(machine, arguments))
    done = FOLDER / "kit" / digest_of(machine, arguments)
    return int(not kit(str(machine.python), levels(), arguments, done, QEMU_CPU="max"))


if __name__ == "__main__":
    sys.exit(main())
