# SPDX-License-Identifier: MIT
"""Debian's packages, unpacked into a folder without root.

Nothing is installed. apt works with lists, a cache and a record of what is there of its own; it
takes the sources and their keys from the machine::

    python packages/armnn-backend-neon/tools/debian_packages.py FOLDER PACKAGE ... [--suite trixie]
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LISTS = Path("/etc/apt/sources.list.d")
INSTALLED_HERE = Path("/var/lib/dpkg/status")


def main() -> int:
    """Unpack what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="+", metavar="package")
    parser.add_argument("--suite", default="", help="a release of Debian; this machine's if absent")
    given = parser.parse_args()
    command = ["dpkg", "--print-architecture"]
    architecture = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    unpack(
        given.packages,
        given.folder,
        architecture=architecture.strip(),
        beside_this_machine=False,
        suite=given.suite,
    )
    return 0


def unpack(
    packages: Sequence[str],
    folder: Path,
    *,
    architecture: str,
    beside_this_machine: bool,
    suite: str = "",
) -> Path:
    """Unpack packages and their dependencies into a folder, once.

    Args:
        packages: Their names.
        folder: Where their files go, as if it were ``/``.
        architecture: Debian's name of it, such as ``arm64``.
        beside_this_machine: Leave out what this machine has installed.
        suite: A release of Debian; "" for the sources of this machine.

    Returns:
        The folder.

    Raises:
        FileNotFoundError: The machine has no apt, or no source in the format deb822.
        subprocess.CalledProcessError: apt or dpkg failed, and printed why.
    """
    if shutil.which("apt-get") is None:
        raise FileNotFoundError(f"cannot unpack {packages!r}: apt-get is not on this machine")
    stamp = folder.with_suffix(".complete")
    wanted = " ".join((architecture, *packages, *([suite] if suite else [])))
    if stamp.exists() and stamp.read_text() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    apt = folder.with_suffix(".apt")
    for each in ("state/lists/partial", "cache/archives/partial", "sources"):
        (apt / each).mkdir(parents=True, exist_ok=True)
    nothing = apt / "status"
    nothing.touch()
    status = INSTALLED_HERE if beside_this_machine else nothing
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures::": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",  # the folder may be closed to apt's own user
        "Debug::NoLocking": "true",
        "Dir::Cache": apt / "cache",
        "Dir::State": apt / "state",
        "Dir::State::status": status,
    }
    if suite:
        (apt / "sources/debian.sources").write_text(_sources(suite))
        options["Dir::Etc::sourcelist"] = "/dev/null"
        options["Dir::Etc::sourceparts"] = apt / "sources"
    command = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    subprocess.run([*command, "update"], check=True)
    subprocess.run([*command, "install", "--yes", "--download-only", *packages], check=True)
    for archive in sorted((apt / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", archive, folder], check=True)
    shutil.rmtree(apt)
    stamp.write_text(wanted)
    return folder


def _sources(suite: str) -> str:
    """Return this machine's source of packages for a release.

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


if __name__ == "__main__":
    sys.exit(main())
