# SPDX-License-Identifier: MIT
"""Build distributions: source archives, and wheels from these.

python -m tools.release.build --kinds sdist wheel --into dist armnn-core armnn-tools
"""

from __future__ import annotations

import argparse
import os
import tarfile
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from hatchling import build as hatchling

from tools import ROOT

KINDS = ("sdist", "wheel")


def build(package: str, kinds: list[str], folder: str) -> None:
    """Build a distribution; alone, a wheel is made from the checkout."""
    os.chdir(ROOT / "packages" / package)
    if "sdist" in kinds:
        archive = Path(folder, hatchling.build_sdist(folder))
        print(archive, flush=True)
    if kinds == ["wheel"]:
        print(Path(folder, hatchling.build_wheel(folder)), flush=True)
    elif "wheel" in kinds:
        with tempfile.TemporaryDirectory() as unpacked, tarfile.open(archive) as opened:
            opened.extractall(unpacked, filter="data")
            os.chdir(next(Path(unpacked).iterdir()))
            print(Path(folder, hatchling.build_wheel(folder)), flush=True)


def main() -> None:
    """Build what the command line names, two distributions at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--into", type=Path, default=Path("dist"))
    chosen = parser.parse_args()
    folder = chosen.into.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2) as pool:  # the folder of a process is the distribution's
        tasks = [
            pool.submit(build, each, list(chosen.kinds), str(folder)) for each in chosen.packages
        ]
        for task in tasks:
            task.result()


if __name__ == "__main__":
    main()
