# SPDX-License-Identifier: MIT
"""Debian's Arm NN in a folder, with a driver."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

CACHE = ROOT / ".cache" / "arm_nn"
DRIVER = Path(__file__).with_name("driver.cpp")
UNPACK = ROOT / "packages/armnn-backend-neon/tools/debian_packages.py"


@dataclass(frozen=True, slots=True)
class ArmNn:
    """A version of Arm NN in a release of Debian.

    Attributes:
        version: The version.
        suite: Debian's name of the release.
        packages: The packages; apt adds what they need, the C library too.
        backends: The folder of the dynamic backends, below that of libraries.
    """

    version: str
    suite: str
    packages: tuple[str, ...]
    backends: str

    @property
    def root(self) -> Path:
        """The folder of all of its files."""
        return CACHE / self.version

    @property
    def libraries(self) -> Path:
        """The folder of its libraries."""
        return self.root / "usr/lib/x86_64-linux-gnu"

    def command(self) -> Sequence[str | Path]:
        """Return the command of the driver; build it once.

        Raises:
            FileNotFoundError: The machine has no compiler.
            subprocess.CalledProcessError: apt or the compiler failed, and printed why.
        """
        self._unpack()
        driver = CACHE / f"driver-{self.version}"
        if not driver.exists() or driver.stat().st_mtime < DRIVER.stat().st_mtime:
            self._compile(driver)
        loader = self.libraries / "ld-linux-x86-64.so.2"
        return [
            loader,
            "--library-path",
            self.libraries,
            driver,
            self.libraries / self.backends,
        ]

    def _unpack(self) -> None:
        command: list[str | Path] = [
            sys.executable,
            UNPACK,
            self.root,
            *self.packages,
            "--suite",
            self.suite,
        ]
        subprocess.run(command, check=True)
        loader = self.libraries / "ld-linux-x86-64.so.2"
        if not loader.exists():  # as before all of /lib moved to /usr/lib
            for each in (self.root / "lib/x86_64-linux-gnu").iterdir():
                shutil.move(each, self.libraries / each.name)

    def _compile(self, driver: Path) -> None:
        command: list[str | Path] = ["g++", "-std=c++17", "-O1", "-w", f"-I{self.root}/usr/include"]
        command += [DRIVER, "-o", driver, f"-L{self.libraries}", "-larmnn", "-larmnnSerializer"]
        subprocess.run([*command, "-Wl,--allow-shlib-undefined"], check=True)


VERSIONS = (
    ArmNn("20.08", "bookworm", ("libarmnn-dev", "libarmnn-cpuref-backend22"), "armnn22"),
    ArmNn("23.08", "trixie", ("libarmnn-dev", "libarmnn-cpuref-backend33"), "armnn33"),
)
"""The versions that Debian has."""
