# SPDX-License-Identifier: MIT
"""Plants recorded faults in backends, to test the conformance kit.

The kit has to notice each of them, in CpuRef's kernels (``cpuref/``), in backends in C and in
CpuAcc's interface (``native.toml``)::

    python -m tools.mutants.check            all of them
    python -m tools.mutants.check Softmax    those with this word
    python -m tools.mutants.check --check    only whether each still applies
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from armnn_backend_api import get_include

HERE = Path(__file__).parent
PACKAGES = HERE.parents[1] / "packages"
CPUREF = PACKAGES / "armnn-backend-ref/src"
CPUACC = PACKAGES / "armnn-backend-neon"
SOURCES = {
    "CpuRef": CPUREF / "armnn_backend_ref",
    "mutated.c": HERE / "mutated.c",
    "acme_npu.c": PACKAGES / "armnn-dynamic-loader/src/armnn_dynamic_loader/samples/acme_npu.c",
    "cpp/abi": CPUACC / "cpp/abi",
}

REQUIRED_SHARE = 0.95
"""The share of all mutants that the kit must catch."""

JOBS = 2
TIMEOUT_SECONDS = 180
BUILD_SECONDS = 900
ONE_THREAD_EACH = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

FLAGS = ("-std=c11", "-O2", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs")
_FLOAT32 = "not (Float16 or Float64 or Signed or Unsigned or Boolean or QAsymm or QSymm)"
"""The tests of data types that no source claims take time; CpuAcc's are kernels, not its ABI."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) test_conformance\.py::(.+?)(?: - .*)?$", re.MULTILINE)

SURVIVED = 10
_RUN_CASES = f"""\
import sys
from armnn_backend_ref.ops import OPS
OPS[sys.argv[1]]  # one that cannot be imported is no kernel that computes wrongly
from armnn_conformance.cases import all_cells
from armnn_conformance.subject import Subject
from armnn_conformance.checks.correctness import CaseResult, check_cell
with Subject("CpuRef") as subject:
    for cell in all_cells([sys.argv[1]]):
        if check_cell(subject, *cell).result is CaseResult.FAILED:
            print("FAILED test_conformance.py::" + "-".join(map(str, cell)))
            sys.exit(1)
sys.exit({SURVIVED})
"""
"""The cases of one layer type; one file of CpuRef needs no more of the kit."""


@dataclass(frozen=True)
class Mutant:
    """One fault in a backend.

    Attributes:
        source: The key of :data:`SOURCES`.
        layers: The layer types whose cases are run; a backend in C claims them for Float32.
        what: The fault.
        old: The exact text, which occurs once in the source.
        new: Its replacement.
        also: Further replacements that the fault needs.
        file: The file of a source that is a folder.
        library: The file name of the compiled backend.
        survives: Why the kit cannot notice, if it cannot.
    """

    source: str
    layers: tuple[str, ...]
    what: str
    old: str
    new: str
    also: tuple[tuple[str, str], ...] = ()
    file: str = ""
    library: str = ""
    survives: str = ""

    @property
    def path(self) -> Path:
        """The file that is changed."""
        return SOURCES[self.source] / self.file

    @property
    def replacements(self) -> tuple[tuple[str, str], ...]:
        """All replacements."""
        return ((self.old, self.new), *self.also)

    def applied(self) -> str:
        """Return the text of the file with the fault."""
        text = self.path.read_text(encoding="utf-8")
        for old, new in self.replacements:
            text = text.replace(old, new)
        return text

    def __str__(self) -> str:
        kernel = f" {self.layers[0]}" if self.source == "CpuRef" else ""
        return f"{self.source}{kernel} {self.file}: {self.what}".replace(" :", ":")


def read_mutants() -> list[Mutant]:
    """Read the mutants of CpuRef and of backends in C."""
    kernels = {}
    for path in sorted((HERE / "cpuref").glob("*.toml")):
        kernels.update(tomllib.loads(path.read_text(encoding="utf-8")))
    native = tomllib.loads((HERE / "native.toml").read_text(encoding="utf-8"))
    return [
        Mutant("CpuRef", (row.pop("layer"),), file=file, **row)
        for file, rows in kernels.items()
        for row in rows
    ] + [
        Mutant(
            source,
            tuple(group["layers"]),
            library=group["library"],
            **{**row, "also": tuple(map(tuple, row.get("also", ())))},
        )
        for source, group in native.items()
        for row in group["mutants"]
    ]


def inapplicable(mutants: Sequence[Mutant]) -> list[str]:
    """Return a sentence for each mutant that does not apply."""
    problems = []
    for mutant in mutants:
        text = mutant.path.read_text(encoding="utf-8")
        for old, new in mutant.replacements:
            if text.count(old) != 1:
                problems.append(f"{mutant}: {old!r} occurs {text.count(old)} times, expected once")
            if old == new:
                problems.append(f"{mutant}: nothing is changed")
    return problems


def run_mutant(mutant: Mutant) -> str:
    """Plant a fault in CpuRef or a backend in C; return the first failing test, "" if none.

    Raises:
        RuntimeError: It does not compile, or the kit came to no verdict.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if mutant.source == "CpuRef":
            ignored = shutil.ignore_patterns("__pycache__")
            copy = shutil.copytree(CPUREF, folder / "src", ignore=ignored)
            copy.joinpath("armnn_backend_ref", mutant.file).write_text(
                mutant.applied(), encoding="utf-8"
            )
            paths = os.pathsep.join([str(copy), os.environ.get("PYTHONPATH", "")])
            command = [sys.executable, "-c", _RUN_CASES, *mutant.layers]
            return _caught_by(mutant, command, folder, {"PYTHONPATH": paths})
        source, library = folder / "mutant.c", folder / mutant.library
        source.write_text(mutant.applied(), encoding="utf-8")
        command = ["gcc", *FLAGS, f"-I{get_include()}", "-o", str(library), str(source), "-lm"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if ran.returncode:
            raise RuntimeError(f"{mutant} does not compile: {ran.stderr}")
        return _caught_by_suite(mutant, library)


def run_cpuacc(mutants: Sequence[Mutant]) -> list[str]:
    """Return the first failing test of each mutant of CpuAcc.

    One copy of its sources is compiled file by file, first without a fault.

    Raises:
        RuntimeError: A mutant does not compile, or CpuAcc itself fails.
    """
    if not mutants:
        return []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, CPUACC.name)
        ignored = shutil.ignore_patterns("tests", "__pycache__", "*.so")
        for package in (CPUACC, PACKAGES / "armnn-backend-api"):  # which has the headers
            shutil.copytree(package, Path(folder, package.name), ignore=ignored)
        if test := _run_cpuacc(_sound(mutants[0]), copy):
            raise RuntimeError(f"CpuAcc itself fails {test}")
        return [_run_cpuacc(mutant, copy) for mutant in mutants]


def _run_cpuacc(mutant: Mutant, copy: Path) -> str:
    path = copy / "cpp/abi" / mutant.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(), encoding="utf-8")
    try:
        ran = subprocess.run(
            [sys.executable, "hatch_build.py"],
            cwd=copy,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            env={**os.environ, "ARMNN_CPUACC_LEVELS": "native"},
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{mutant} does not compile: {ran.stderr[-2000:]}")
        library = copy / "src/armnn_backend_neon" / mutant.library
        with tempfile.TemporaryDirectory() as place:  # a folder that only its owner may write
            return _caught_by_suite(mutant, Path(shutil.copy2(library, place)))
    finally:
        path.write_text(sound, encoding="utf-8")


def _sound(mutant: Mutant) -> Mutant:
    return replace(mutant, what="no fault", new=mutant.old, also=())


def _caught_by_suite(mutant: Mutant, library: Path) -> str:
    required = ",".join(f"{layer}:Float32" for layer in mutant.layers)
    kit = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    kit += ["--pyargs", "armnn_conformance", "--armnn-backend", str(library)]
    kit += ["--armnn-layers", ",".join(mutant.layers), "--armnn-require", required, "-k", _FLOAT32]
    return _caught_by(mutant, kit, library.parent, {})


def _caught_by(
    mutant: Mutant, command: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> str:
    """Return the first failing test of a run of the kit, "" if none.

    Raises:
        RuntimeError: The kit came to no verdict.
    """
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **ONE_THREAD_EACH, **variables, "XDG_CACHE_HOME": cache},
            start_new_session=True,
        )
        try:
            status = process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"no end after {TIMEOUT_SECONDS} s"
        output.seek(0)
        shown = output.read()
    failed = _FAILED.findall(shown)
    if status in (0, SURVIVED) or (status == 1 and failed):
        found = failed[0] if failed else ""
    elif status == 4:  # pytest could not use the backend
        found = "loading"
    else:
        raise RuntimeError(f"{mutant}: the kit came to no verdict: {shown[-2000:]}")
    print(f"{mutant}: {found or 'survived'}", file=sys.stderr, flush=True)
    return found


def caught_by_kit(mutants: Sequence[Mutant]) -> list[str]:
    """Return the first failing test of each mutant."""
    cpuacc = [mutant for mutant in mutants if mutant.source == "cpp/abi"]
    others = [mutant for mutant in mutants if mutant.source != "cpp/abi"]
    with ThreadPoolExecutor(JOBS) as pool:
        found = dict(zip(others, pool.map(run_mutant, others), strict=True))
    found.update(zip(cpuacc, run_cpuacc(cpuacc), strict=True))
    return [found[mutant] for mutant in mutants]


def report(mutants: Sequence[Mutant], caught: Sequence[str]) -> bool:
    """Print survivors and surprises; return whether the result is good enough."""
    surprises = 0
    for mutant, test in zip(mutants, caught, strict=True):
        is_surprise = bool(test) == bool(mutant.survives)
        surprises += is_surprise
        if is_surprise or not test:
            known = f"  (recorded: {mutant.survives})" if mutant.survives else ""
            print(f"{mutant}: {f'caught by {test}' if test else 'survived'}{known}")
    share = sum(map(bool, caught)) / len(caught)
    print(f"{sum(map(bool, caught))} of {len(caught)} mutants caught: {share:.1%}")
    if surprises:
        print(f"{surprises} of them are not as recorded: correct the record, or the kit.")
    return share >= REQUIRED_SHARE and not surprises


def main() -> int:
    """Run the mutants that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants with one of these words")
    parser.add_argument("--check", action="store_true", help="only check that they apply")
    arguments = parser.parse_args()
    mutants = read_mutants()
    problems = inapplicable(mutants)
    if problems:
        print("\n".join(problems))
        return 1
    if arguments.check:
        return 0
    words = arguments.words
    chosen = [m for m in mutants if not words or any(word in str(m) for word in words)]
    if not chosen:
        print(f"there are no mutants of {', '.join(words)}")
        return 1
    for sound in {m.source: _sound(m) for m in chosen if m.source != "cpp/abi"}.values():
        if test := run_mutant(sound):
            print(f"{sound.source} itself fails {test}")
            return 1
    return 0 if report(chosen, caught_by_kit(chosen)) else 1


if __name__ == "__main__":
    sys.exit(main())
