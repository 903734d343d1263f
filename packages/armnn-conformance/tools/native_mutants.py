# SPDX-License-Identifier: MIT
"""Plants faults in C backends, to test the kit.

The conformance kit has to notice every mutant; the first of its tests that fails is printed.

python packages/armnn-conformance/tools/native_mutants.py            all of native_mutants.toml
python packages/armnn-conformance/tools/native_mutants.py scratch    those with this word
python packages/armnn-conformance/tools/native_mutants.py --check    only whether each applies
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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2]
RECORDS = Path(__file__).with_suffix(".toml")
CPUACC = PACKAGES / "armnn-backend-neon"
SOURCES = {
    "mutated.c": Path(__file__).with_name("mutated.c"),
    "acme_npu.c": PACKAGES / "armnn-dynamic-loader/src/armnn_dynamic_loader/samples/acme_npu.c",
    "cpp/abi": CPUACC / "cpp/abi",
}

REQUIRED_SHARE = 0.95
"""Of all mutants, how many the kit must catch."""

JOBS = 2
TIMEOUT_SECONDS = 180
BUILD_SECONDS = 900

FLAGS = ("-std=c11", "-O2", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs")
_FLOAT32 = "not (Float16 or Float64 or Signed or Unsigned or Boolean or QAsymm or QSymm)"
"""The tests of data types that no source claims take time; CpuAcc's are kernels, not its ABI."""

_OWN_HEADER = re.compile(r'^#include "(mutated_\w+\.h)"\n', re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) test_conformance\.py::(.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """One fault in a C backend.

    Attributes:
        source: The key of :data:`SOURCES`.
        library: The file name of the compiled backend.
        layers: The layer types that the backend claims for Float32, which the kit requires.
        what: The fault.
        old: The exact text, which occurs once in the source.
        new: Its replacement.
        also: Further replacements that the fault needs.
        file: The file of a source that is a folder.
        survives: Why the kit cannot notice, if it cannot.
    """

    source: str
    library: str
    layers: tuple[str, ...]
    what: str
    old: str
    new: str
    also: tuple[tuple[str, str], ...] = ()
    file: str = ""
    survives: str = ""

    @property
    def path(self) -> Path:
        """The file that is changed."""
        return SOURCES[self.source] / self.file

    @property
    def replacements(self) -> tuple[tuple[str, str], ...]:
        """All replacements."""
        return ((self.old, self.new), *self.also)

    def sound(self) -> str:
        """Return the source without the fault, headers beside it included."""

        def included(line: re.Match[str]) -> str:
            return self.path.with_name(line[1]).read_text(encoding="utf-8")

        return _OWN_HEADER.sub(included, self.path.read_text(encoding="utf-8"))

    def applied(self) -> str:
        """Return the source with the fault."""
        text = self.sound()
        for old, new in self.replacements:
            text = text.replace(old, new)
        return text

    def __str__(self) -> str:
        return f"{self.source}: {self.what}"


def read_mutants(path: Path = RECORDS) -> list[Mutant]:
    """Read the mutants, which the file groups by source."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Mutant(
            source,
            group["library"],
            tuple(group["layers"]),
            **{**row, "also": tuple(tuple(pair) for pair in row.get("also", ()))},
        )
        for source, group in document.items()
        for row in group["mutants"]
    ]


def inapplicable(mutants: Sequence[Mutant]) -> list[str]:
    """Return a sentence for each mutant that does not apply."""
    problems = []
    for mutant in mutants:
        text = mutant.sound()
        for old, new in mutant.replacements:
            if text.count(old) != 1:
                problems.append(f"{mutant}: {old!r} occurs {text.count(old)} times, expected once")
            if old == new:
                problems.append(f"{mutant}: nothing is changed")
    return problems


def caught_by(mutant: Mutant | None, library: Path, layers: Sequence[str]) -> str:
    """Return the first failing test of the kit, "" if none.

    Raises:
        RuntimeError: The kit did not come to a verdict.
    """
    claimed = ",".join(layers)
    required = ",".join(f"{layer}:Float32" for layer in layers)
    kit = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    kit += ["--pyargs", "armnn_conformance", "--armnn-backend", str(library)]
    kit += ["--armnn-layers", claimed, "--armnn-require", required, "-k", _FLOAT32]
    status, shown = _bounded(kit, library.parent)
    if status is None:
        return f"no end after {TIMEOUT_SECONDS} s"
    if status == 4:
        return "loading"
    if status not in (0, 1):
        raise RuntimeError(f"{mutant}: the kit came to no verdict: {shown[-2000:]}")
    failed = _FAILED.findall(shown)
    return failed[0] if failed else ""


def build(mutant: Mutant, folder: Path) -> Path:
    """Compile a mutant; return the library.

    Raises:
        RuntimeError: It does not compile.
    """
    from armnn_backend_api import get_include

    source, library = folder / "mutant.c", folder / mutant.library
    source.write_text(mutant.applied(), encoding="utf-8")
    command = ["gcc", *FLAGS, f"-I{get_include()}", "-o", str(library), str(source), "-lm"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if ran.returncode:
        raise RuntimeError(f"{mutant} does not compile: {ran.stderr}")
    return library


def run_mutant(mutant: Mutant) -> str:
    """Compile a mutant in C; return the first failing test."""
    with tempfile.TemporaryDirectory() as folder:
        test = caught_by(mutant, build(mutant, Path(folder)), mutant.layers)
    print(f"{mutant}: {test or 'survived'}", file=sys.stderr, flush=True)
    return test


def faults_of_sound_sources(mutants: Sequence[Mutant]) -> list[str]:
    """Return the sources in one file that fail the kit."""
    sound = {
        m.source: replace(m, what="no fault", new=m.old, also=()) for m in mutants if not m.file
    }
    found = {source: run_mutant(mutant) for source, mutant in sound.items()}
    return [f"{source} itself fails {test}" for source, test in found.items() if test]


def run_cpuacc(mutants: Sequence[Mutant]) -> list[str]:
    """Return the first failing tests of mutants of CpuAcc.

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
        sound = replace(mutants[0], what="no fault", new=mutants[0].old, also=())
        if test := _run_cpuacc(sound, copy):
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
            test = caught_by(mutant, Path(shutil.copy2(library, place)), mutant.layers)
        print(f"{mutant}: {test or 'survived'}", file=sys.stderr, flush=True)
        return test
    finally:
        path.write_text(sound, encoding="utf-8")


def _bounded(command: Sequence[str], folder: Path) -> tuple[int | None, str]:
    """Run a command; return status (None: limit) and output."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile("w+") as output:
        environment = {**os.environ, "XDG_CACHE_HOME": cache, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return status, output.read()


def caught_by_kit(mutants: Sequence[Mutant], jobs: int = JOBS) -> list[str]:
    """Return the first failing test of each mutant."""
    cpuacc = [mutant for mutant in mutants if mutant.file]
    others = [mutant for mutant in mutants if not mutant.file]
    with ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(others, pool.map(run_mutant, others), strict=True))
    found.update(zip(cpuacc, run_cpuacc(cpuacc), strict=True))
    return [found[mutant] for mutant in mutants]


def report(mutants: Sequence[Mutant], caught: Sequence[str]) -> bool:
    """Print the result; return whether it is good enough."""
    surprises = 0
    for mutant, test in zip(mutants, caught, strict=True):
        known = f"  (recorded: {mutant.survives})" if mutant.survives else ""
        surprises += bool(test) == bool(mutant.survives)
        print(f"{mutant}\n    {f'caught by {test}' if test else 'survived'}{known}")
    share = sum(map(bool, caught)) / len(caught)
    print(f"{sum(map(bool, caught))} of {len(caught)} native mutants caught: {share:.1%}")
    if surprises:
        print(f"{surprises} of them are not as {RECORDS.name} says: correct it, or the kit.")
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
    if not arguments.words and (faults := faults_of_sound_sources(mutants)):
        print("\n".join(faults))
        return 1
    chosen = [
        m for m in mutants if not arguments.words or any(w in str(m) for w in arguments.words)
    ]
    if not chosen:
        print(f"there are no mutants of {', '.join(arguments.words)}")
        return 1
    return 0 if report(chosen, caught_by_kit(chosen)) else 1


if __name__ == "__main__":
    sys.exit(main())
