# SPDX-License-Identifier: MIT
"""Breaks CpuRef kernel by kernel, to test the kit.

The conformance kit has to notice every mutant.

python packages/armnn-backend-ref/tools/kit_mutants.py            all of kit_mutants.toml
python packages/armnn-backend-ref/tools/kit_mutants.py Softmax    those of one layer type
python packages/armnn-backend-ref/tools/kit_mutants.py --check    only whether each still applies
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"
RECORDS = Path(__file__).with_suffix(".toml")

REQUIRED_SHARE = 0.95
"""Of all mutants, how many the kit must catch."""

JOBS = 2
TIMEOUT_SECONDS = 120

CAUGHT, SURVIVED = 10, 11
_RUN_CELLS = f"""\
import sys
from armnn_backend_ref.ops import operation_of
operation_of(sys.argv[1])  # one that cannot be imported is no kernel that computes wrongly
from armnn_conformance.cases import all_cells
from armnn_conformance.subject import Subject
from armnn_conformance.checks.correctness import Verdict, check_cell
with Subject("CpuRef") as subject:
    for cell in all_cells([sys.argv[1]]):
        if check_cell(subject, *cell).verdict is Verdict.FAILED:
            sys.exit({CAUGHT})
sys.exit({SURVIVED})
"""


@dataclass(frozen=True)
class Mutant:
    """One way to break CpuRef.

    Attributes:
        layer: The layer type whose cases are run.
        file: Relative to the package ``armnn_backend_ref``.
        old: The exact text, which occurs once in the file.
        new: What takes its place.
        what: What is wrong then.
        survives: Why the kit does not notice, if it does not.
    """

    layer: str
    file: str
    old: str
    new: str
    what: str
    survives: str = ""

    @property
    def path(self) -> Path:
        """The file, relative to the sources."""
        return Path("armnn_backend_ref", self.file)

    def __str__(self) -> str:
        return f"{self.layer} ({self.file}): {self.what}"


def read_mutants(path: Path = RECORDS) -> list[Mutant]:
    """Read the mutants, which the file groups by source."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Mutant(file=file, **row) for file, rows in document.items() for row in rows]


def inapplicable(mutants: Sequence[Mutant], sources: Path = SOURCES) -> list[str]:
    """Return a sentence for each mutant that does not apply."""
    problems = []
    for mutant in mutants:
        count = (sources / mutant.path).read_text(encoding="utf-8").count(mutant.old)
        if count != 1:
            problems.append(f"{mutant}: {mutant.old!r} occurs {count} times, expected once")
        if mutant.old == mutant.new:
            problems.append(f"{mutant}: nothing is changed")
    return problems


def is_caught(mutant: Mutant, scratch: Path) -> bool:
    """Return whether the kit catches a mutant.

    It is applied to a copy of the sources, and taken back.

    Raises:
        RuntimeError: The kit did not come to a verdict.
    """
    path = scratch / mutant.path
    sound = path.read_text(encoding="utf-8")
    path.write_text(sound.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return run_kit(mutant.layer, scratch)
    except RuntimeError as error:
        raise RuntimeError(f"{mutant}: {error}") from error
    finally:
        path.write_text(sound, encoding="utf-8")


def run_kit(layer: str, sources: Path) -> bool:
    """Return whether the kit finds faults in these sources.

    Raises:
        RuntimeError: It did not come to a verdict.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(sources), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",  # a mutant of the same second and size would be taken back
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    try:
        child = subprocess.run(
            [sys.executable, "-c", _RUN_CELLS, layer],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    if child.returncode not in (CAUGHT, SURVIVED):
        raise RuntimeError(f"no verdict: {(child.stderr.splitlines() or [''])[-1]}")
    return child.returncode == CAUGHT


def caught_by_kit(mutants: Sequence[Mutant], jobs: int = JOBS) -> list[bool]:
    """Say of each mutant whether the kit catches it."""
    with ExitStack() as stack:
        free: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for _ in range(jobs):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            ignored = shutil.ignore_patterns("__pycache__")
            free.put(shutil.copytree(SOURCES, folder / "src", ignore=ignored))

        def run(mutant: Mutant) -> bool:
            scratch = free.get()
            try:
                return is_caught(mutant, scratch)
            finally:
                free.put(scratch)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        return list(pool.map(run, mutants))


def report(mutants: Sequence[Mutant], caught: Sequence[bool]) -> bool:
    """Print the result; return whether it is good enough."""
    surprises = 0
    for mutant, was_caught in zip(mutants, caught, strict=True):
        if was_caught and not mutant.survives:
            continue
        verdict = "caught  " if was_caught else "survived"
        known = f"  (recorded: {mutant.survives})" if mutant.survives else "  (no reason recorded)"
        surprises += was_caught == bool(mutant.survives)
        print(f"{verdict} {mutant}{known}")
    share = sum(caught) / len(caught)
    print(f"{sum(caught)} of {len(caught)} mutants caught: {share:.1%}")
    if surprises:
        print(f"{surprises} of them are not as {RECORDS.name} says: correct it, or the cases.")
    return share >= REQUIRED_SHARE and not surprises


def main() -> int:
    """Run the mutants that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", nargs="*", help="only mutants of these layer types")
    parser.add_argument("--check", action="store_true", help="only check that they apply")
    arguments = parser.parse_args()
    mutants = read_mutants()
    problems = inapplicable(mutants)
    if problems:
        print("\n".join(problems))
        return 1
    if arguments.check:
        return 0
    chosen = [m for m in mutants if not arguments.layers or m.layer in arguments.layers]
    if not chosen:
        print(f"there are no mutants of {', '.join(arguments.layers)}")
        return 1
    return 0 if report(chosen, caught_by_kit(chosen)) else 1


if __name__ == "__main__":
    sys.exit(main())
