# SPDX-License-Identifier: MIT
"""Build distributions: source archives, and wheels from these.

python -m tools.release.build --kinds sdist wheel --into dist armnn-core armnn-tools
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import tarfile
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from hatchling import build as hatchling

from tools import ROOT

KINDS = ("sdist", "wheel")
FORK = multiprocessing.get_context("fork")


def build(package: str, kinds: list[str], folder: Path) -> None:
    """Build a distribution; a wheel that is asked for alone is made from the checkout.

    Raises:
        RuntimeError: Hatchling failed, and has said why.
    """
    source = ROOT / "packages" / package
    if kinds == ["wheel"]:
        _make("wheel", source, folder)
        return
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as unpacked:
        _make("sdist", source, Path(made))
        (archive,) = Path(made).iterdir()
        if "wheel" in kinds:
            with tarfile.open(archive) as opened:
                opened.extractall(unpacked, filter="data")
            _make("wheel", next(Path(unpacked).iterdir()), folder)
        shutil.copy2(archive, folder)


def _make(kind: str, source: Path, folder: Path) -> None:
    """Build in a process of its own, as a distribution's hook imports modules beside itself."""
    process = FORK.Process(target=_make_here, args=(kind, source, folder))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the {kind} of {source.name} was not built")


def _make_here(kind: str, source: Path, folder: Path) -> None:
    os.chdir(source)
    make = hatchling.build_sdist if kind == "sdist" else hatchling.build_wheel
    print(make(str(folder)), flush=True)


def main() -> None:
    """Build what the command line names, two distributions at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--into", type=Path, default=Path("dist"))
    chosen = parser.parse_args()
    folder = chosen.into.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2, mp_context=FORK) as pool:
        tasks = [pool.submit(build, each, list(chosen.kinds), folder) for each in chosen.packages]
        for task in tasks:
            task.result()


if __name__ == "__main__":
    main()
