# SPDX-License-Identifier: MIT
"""Debian's Arm NN in a folder, with a driver."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

CACHE = ROOT / ".cache" / "arm_nn"
DRIVER = Path(__file__).with_name("driver.cpp")
LISTS = Path("/etc/apt/sources.list.d")


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
            FileNotFoundError: The machine has no apt or no compiler.
            subprocess.CalledProcessError: apt or the compiler failed, and said why.
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
        stamp = CACHE / f"{self.version}.complete"
        if stamp.exists():
            return
        if shutil.which("apt-get") is None:
            raise FileNotFoundError(f"cannot unpack Arm NN {self.version}: there is no apt-get")
        shutil.rmtree(self.root, ignore_errors=True)
        apt = CACHE / f"{self.version}.apt"
        for folder in ("state/lists/partial", "cache/archives/partial", "sources"):
            (apt / folder).mkdir(parents=True, exist_ok=True)
        (apt / "status").touch()
        (apt / "sources/debian.sources").write_text(_sources(self.suite))
        options = {
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",
            "Debug::NoLocking": "true",
            "Dir::Cache": apt / "cache",
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": apt / "sources",
            "Dir::State": apt / "state",
            "Dir::State::status": apt / "status",
        }
        command = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
        subprocess.run([*command, "update"], check=True)
        install = [*command, "install", "--yes", "--download-only", *self.packages]
        subprocess.run(install, check=True)
        for archive in sorted((apt / "cache/archives").glob("*.deb")):
            subprocess.run(["dpkg", "-x", archive, self.root], check=True)
        shutil.rmtree(apt)
        loader = self.libraries / "ld-linux-x86-64.so.2"
        if not loader.exists():  # as before all of /lib moved to /usr/lib
            for each in (self.root / "lib/x86_64-linux-gnu").iterdir():
                shutil.move(each, self.libraries / each.name)
        stamp.touch()

    def _compile(self, driver: Path) -> None:
        command: list[str | Path] = ["g++", "-std=c++17", "-O1", "-w", f"-I{self.root}/usr/include"]
        command += [DRIVER, "-o", driver, f"-L{self.libraries}", "-larmnn", "-larmnnSerializer"]
        subprocess.run([*command, "-Wl,--allow-shlib-undefined"], check=True)


def _sources(suite: str) -> str:
    """Return this machine's source of Debian's packages for a release.

    Raises:
        FileNotFoundError: It has none in the format deb822.
    """
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    for path in sorted(LISTS.glob("*.sources")):
        for stanza in path.read_text().split("\n\n"):
            lines = [line for line in stanza.splitlines() if not line.startswith("#")]
            suites = next((line for line in lines if line.startswith("Suites:")), "")
            if release in suites.split():
                rest = (line for line in lines if line != suites)
                return "\n".join((*rest, f"Suites: {suite}", ""))
    raise FileNotFoundError(f"no list in {LISTS} has the packages of {release}")


VERSIONS = (
    ArmNn("20.08", "bookworm", ("libarmnn-dev", "libarmnn-cpuref-backend22"), "armnn22"),
    ArmNn("23.08", "trixie", ("libarmnn-dev", "libarmnn-cpuref-backend33"), "armnn33"),
)
"""The versions that Debian has."""
