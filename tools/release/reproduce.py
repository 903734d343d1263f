# SPDX-License-Identifier: MIT
"""Build distributions twice; fail if the bytes differ.

python -m tools.release.reproduce armnn-core
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT

LEFT_OUT = shutil.ignore_patterns("__pycache__", "build", "dist", ".*", "*.so", "*.o")
HEADERS = "armnn-backend-api"
"""The distribution whose C headers a native build takes from the folder beside its own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the named distributions; return 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="distributions; all if left out")
    named = parser.parse_args(arguments).packages
    packages = named or [path.parent.name for path in sorted((ROOT / "packages").glob("*/src"))]
    differing = [package for package in packages if not is_reproducible(package)]
    return 1 if differing else 0


def is_reproducible(package: str) -> bool:
    """Build a distribution in two folders; print the digests."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first, second = built(package, Path(one)), built(package, Path(other, "deeper"))
    for name in sorted(first | second):
        verdict = "same" if first.get(name) == second.get(name) else "DIFFERS"
        print(f"{verdict}  {first.get(name)}  {name}", flush=True)
    return first == second


def built(package: str, folder: Path) -> dict[str, str]:
    """Return the sha256 of the files that a package builds.

    Args:
        package: The distribution.
        folder: Where to copy and build it.
    """
    source = folder / package
    for each in dict.fromkeys((HEADERS, package)):
        shutil.copytree(ROOT / "packages" / each, folder / each, ignore=LEFT_OUT)
    for path in source.rglob("*"):
        os.utime(path)  # a build must not depend on the times of files
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")]
    subprocess.run([*command, str(source)], check=True, stdout=subprocess.DEVNULL)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "dist").iterdir())
    }


if __name__ == "__main__":
    sys.exit(main())
