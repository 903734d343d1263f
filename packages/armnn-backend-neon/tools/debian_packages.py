# SPDX-License-Identifier: MIT
"""Debian's packages, unpacked into a folder without root.

Nothing is installed. apt works with lists, a cache and a record of what is there of its own; it
takes the sources and their keys from the machine.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

INSTALLED_HERE = Path("/var/lib/dpkg/status")


def unpack(
    packages: Sequence[str], folder: Path, *, architecture: str, beside_this_machine: bool
) -> Path:
    """Unpack packages and their dependencies into a folder, once.

    Args:
        packages: Their names.
        folder: Where their files go, as if it were ``/``.
        architecture: Debian's name of it, such as ``arm64``.
        beside_this_machine: Leave out what this machine has installed.

    Returns:
        The folder.

    Raises:
        FileNotFoundError: The machine has no apt.
        subprocess.CalledProcessError: apt or dpkg failed, and said why.
    """
    if shutil.which("apt-get") is None:
        raise FileNotFoundError(f"cannot unpack {packages!r}: apt-get is not on this machine")
    stamp = folder.with_suffix(".complete")
    wanted = " ".join((architecture, *packages))
    if stamp.exists() and stamp.read_text() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    apt = folder.with_suffix(".apt")
    for each in ("state/lists/partial", "cache/archives/partial"):
        (apt / each).mkdir(parents=True, exist_ok=True)
    nothing = apt / "status"
    nothing.touch()
    status = INSTALLED_HERE if beside_this_machine else nothing
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures::": architecture,
        "APT::Install-Recommends": "false",
        "Debug::NoLocking": "true",
        "Dir::Cache": apt / "cache",
        "Dir::State": apt / "state",
        "Dir::State::status": status,
    }
    command = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    subprocess.run([*command, "update"], check=True)
    subprocess.run([*command, "install", "--yes", "--download-only", *packages], check=True)
    for archive in sorted((apt / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", archive, folder], check=True)
    shutil.rmtree(apt)
    stamp.write_text(wanted)
    return folder
