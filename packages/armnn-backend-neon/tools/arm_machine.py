# SPDX-License-Identifier: MIT
"""An emulated Arm machine: Debian's cross-compiler, qemu and Python.

They are Debian's, in a folder. The Python is a script that calls the emulator, so that it starts
itself again as any Python does.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from debian_packages import unpack

NEON = Path(__file__).resolve().parents[1]
REPOSITORY = NEON.parents[1]
FOLDER = REPOSITORY / ".cache/arm"
COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
TOOLS = {COMPILER: "g++-aarch64-linux-gnu", EMULATOR: "qemu-user"}
SYSTEM = ("python3", "libstdc++6")
ASK = """
import json, os, sys
print(json.dumps([os.confstr("CS_GNU_LIBC_VERSION").split()[1], *map(str, sys.version_info[:2])]))
"""


@dataclass(frozen=True)
class ArmMachine:
    """An unpacked compiler, emulator and Arm system.

    Attributes:
        tools: Where compiler and emulator are, unless this machine has them.
        system: The root of the arm64 system.
        python: Its Python, which this machine can start. ``QEMU_CPU`` in the environment chooses
            its CPU, as for all that runs in the emulator.
    """

    tools: Path
    system: Path
    python: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which the tools find their own libraries."""
        return {**os.environ, "LD_LIBRARY_PATH": str(self.tools / "usr/lib/x86_64-linux-gnu")}

    @property
    def compiler(self) -> list[str]:
        """The command of the C++ compiler."""
        installed = shutil.which(COMPILER)
        unpacked = [str(self.tools / "usr/bin" / COMPILER), f"--sysroot={self.tools}"]
        return unpacked if installed is None else [installed]

    @property
    def packages(self) -> Path:
        """Where its Python looks for packages."""
        return self.system / "usr/lib/python3/dist-packages"

    def emulated(self, *arguments: str | Path) -> list[str]:
        """Return the command that emulates a program; options come first."""
        emulator = shutil.which(EMULATOR) or str(self.tools / "usr/bin" / EMULATOR)
        return [emulator, "-L", str(self.system), *map(str, arguments)]

    def build_wheel(self, folder: Path) -> Path:
        """Cross-compile CpuAcc's wheel into a folder that has none."""
        command = [sys.executable, "-m", "build", "--no-isolation", "--wheel"]
        subprocess.run(
            [*command, "--outdir", folder, NEON],
            check=True,
            env={**self.environment, "CXX": shlex.join(self.compiler)},
        )
        (wheel,) = folder.glob("*.whl")
        return wheel

    def install(self, wheels: Sequence[Path], requirements: Sequence[str]) -> None:
        """Install wheels and requirements for the emulated Python.

        Raises:
            subprocess.CalledProcessError: pip refused, say because a wheel is for another machine.
        """
        asked = subprocess.run([self.python, "-c", ASK], check=True, capture_output=True, text=True)
        glibc, major, minor = json.loads(asked.stdout)
        youngest = int(glibc.partition(".")[2])
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade"]
        target = ["--target", str(self.packages), "--only-binary=:all:"]
        target += ["--implementation", "cp", "--python-version", f"{major}.{minor}"]
        for version in range(17, youngest + 1):
            target += ["--platform", f"manylinux_2_{version}_aarch64"]
        subprocess.run([*pip, *target, "--no-deps", *wheels], check=True)
        subprocess.run([*pip, *target, *requirements], check=True)


def arm_machine() -> ArmMachine:
    """Return the machine; the first call downloads 90 MB.

    Raises:
        FileNotFoundError: The machine that this runs on has no apt.
        subprocess.CalledProcessError: apt or dpkg failed, and printed why.
    """
    tools, system = FOLDER / "tools", FOLDER / "system"
    missing = [package for program, package in TOOLS.items() if shutil.which(program) is None]
    if missing:
        unpack(missing, tools, architecture="amd64", beside_this_machine=True)
    unpack(SYSTEM, system, architecture="arm64", beside_this_machine=False)
    python = system / "usr/bin/python"
    machine = ArmMachine(tools, system, python)
    real = python.with_name("python3").resolve()
    command = shlex.join(machine.emulated("-0", python, real))
    libraries = shlex.quote(machine.environment["LD_LIBRARY_PATH"])
    # The emulator is given the libraries of this machine, and what it runs is not.
    command = command.replace(" -L ", " -U LD_LIBRARY_PATH -L ", 1)
    python.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {command} "$@"\n')
    python.chmod(0o755)
    return machine
