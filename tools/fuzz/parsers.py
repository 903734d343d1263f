# SPDX-License-Identifier: MIT
"""Fuzzes the parsers with damaged model files.

A file has to end in a network or in a ParseError; everything else is reported. The seeds of a
format, small valid files, come from ``seeds_<format>`` beside this module. Each mutant is parsed in
a worker process that may grow by 1 GiB and compute for 5 s; which files it opens is watched.
Mutants are numbered, and the same number is always the same mutant.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

import armnn
import armnn_parser_onnx
from armnn.errors import ParseError
from tools.fuzz.mutants import Mutants

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

FORMATS = ("armnn", "onnx", "tflite")
MEMORY = 2**30
"""How many bytes of address space parsing may take, beside what the worker has already."""
SECONDS = 5
"""How much time of a processor parsing may take."""
PATIENCE = 60
"""How many seconds a worker that does not compute is waited for."""
_SHIPPED = os.path.realpath(armnn_parser_onnx.__path__[0])
"""The folder of data that a parser reads on first use."""
MUTANTS_PER_WORKER = 1000
"""After so many a worker is replaced, so that what it keeps does not count as memory of one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a mutant.

    Attributes:
        number: The mutant.
        result: "parsed", "refused", or what is wrong: "raised", "opened", "crashed", "timed out".
        detail: The message of a wrong one.
    """

    number: int
    result: str
    detail: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether the parser did what it has to."""
        return self.result in ("parsed", "refused")


def work(mutants: Mutants, folder: str, tasks: Connection) -> None:
    """Parse the mutants of the queue, as a worker's body.

    They are made once for all workers: those of ONNX take seconds.
    """
    path = Path(folder, f"model.{mutants.file_format}")
    for name, data in mutants.companions.items():
        Path(folder, name).write_bytes(data)
    path.write_bytes(mutants[0])
    _parse(path)  # imports what parsing needs
    watched = _Watch(folder)
    _limit_memory()
    while True:
        number = tasks.recv()
        path.write_bytes(mutants[number])
        watched.opened()  # forget what this program opened itself
        # The signal ends the process even where no Python code runs.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        result, detail = _parse(path)
        signal.setitimer(signal.ITIMER_PROF, 0)
        opened = watched.opened()
        if opened is not None:
            result, detail = "opened", opened
        tasks.send(Outcome(number, result, detail))


def _parse(path: Path) -> tuple[str, str]:
    try:
        armnn.parse(path)
    except ParseError:
        return "refused", ""
    except BaseException as error:  # any error is a finding
        return "raised", f"{type(error).__name__}: {error}"
    return "parsed", ""


class _Watch:
    """Records the opening of files outside the model's folder."""

    def __init__(self, folder: str) -> None:
        self._opened: str | None = None
        self._folder = os.path.realpath(folder)
        sys.addaudithook(self._hear)

    def opened(self) -> str | None:
        """Return the first file opened since the last call.

        None if there was none.
        """
        opened, self._opened = self._opened, None
        return opened

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if (
            event != "open"
            or self._opened is not None
            or not isinstance(arguments[0], (str, bytes))
        ):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        ours = path.endswith((".py", ".pyc", ".so")) or path.startswith(_SHIPPED)
        if not ours and not path.startswith(self._folder + os.sep):
            self._opened = path


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Worker:
    """A process that parses mutants, one at a time.

    Attributes:
        connection: Where its outcomes come in.
    """

    def __init__(self, mutants: Mutants, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=work, args=(mutants, str(folder), theirs), daemon=True
        )
        self._process.start()
        theirs.close()
        self._number = -1
        self._since = 0.0
        self.done = 0

    def start(self, number: int) -> None:
        """Give the worker a mutant."""
        self._number, self._since = number, time.monotonic()
        self.connection.send(number)

    def outcome(self) -> Outcome | None:
        """Return the mutant's outcome, None while it is being parsed."""
        if self.connection.poll():
            try:
                outcome: Outcome = self.connection.recv()
            except EOFError:
                return self._ended()
            self.done += 1
            return outcome
        if time.monotonic() - self._since > PATIENCE:
            self._process.kill()
            return Outcome(self._number, "timed out", f"it waited for more than {PATIENCE} s")
        return None

    def _ended(self) -> Outcome:
        self._process.join()
        code = self._process.exitcode
        if code == -signal.SIGPROF:
            return Outcome(self._number, "timed out", f"it computed for more than {SECONDS} s")
        return Outcome(self._number, "crashed", f"exit code {code}")

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def fuzz(mutants: Mutants, numbers: range, processes: int) -> list[Outcome]:
    """Parse mutants and return their outcomes, in finishing order."""
    outcomes: list[Outcome] = []
    waiting = iter(numbers)
    with tempfile.TemporaryDirectory(prefix="fuzz_") as root:
        workers: dict[Path, Worker] = {}
        for index in range(processes):
            folder = Path(root, str(index))
            folder.mkdir()
            workers[folder] = Worker(mutants, folder)
        for folder in list(workers):
            _feed(workers, folder, waiting)
        while workers:
            wait([worker.connection for worker in workers.values()], timeout=1)
            for folder, worker in list(workers.items()):
                outcome = worker.outcome()
                if outcome is None:
                    continue
                outcomes.append(outcome)
                if outcome.result in ("crashed", "timed out") or worker.done >= MUTANTS_PER_WORKER:
                    worker.stop()
                    workers[folder] = Worker(mutants, folder)
                _feed(workers, folder, waiting)
    return outcomes


def _feed(workers: dict[Path, Worker], folder: Path, waiting: Iterator[int]) -> None:
    """Give a worker the next mutant, or end it."""
    number = next(waiting, None)
    if number is None:
        workers.pop(folder).stop()
    else:
        workers[folder].start(number)


def main() -> int:
    """Fuzz a parser; return 1 if something is found."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("format", choices=FORMATS)
    arguments.add_argument("--mutants", type=int, default=20_000, help="how many (20000)")
    arguments.add_argument("--first", type=int, default=0, help="the number of the first one (0)")
    arguments.add_argument("--seed", type=int, default=0, help="another one makes other mutants")
    arguments.add_argument("--processes", type=int, default=2, help="how many workers (2)")
    arguments.add_argument("--keep", type=Path, help="the folder where findings are written")
    options = arguments.parse_args()
    numbers = range(options.first, options.first + options.mutants)
    mutants = Mutants(options.format, options.seed)
    outcomes = fuzz(mutants, numbers, options.processes)
    findings = [outcome for outcome in outcomes if not outcome.is_clean]
    for outcome in sorted(findings, key=lambda outcome: outcome.number):
        print(f"  {options.format} mutant {outcome.number} {outcome.result}: {outcome.detail}")
    if options.keep and findings:
        options.keep.mkdir(parents=True, exist_ok=True)
        for outcome in findings:
            name = f"{options.format}_{options.seed}_{outcome.number}.{options.format}"
            (options.keep / name).write_bytes(mutants[outcome.number])
    counts = Counter(outcome.result for outcome in outcomes)
    listed = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
    print(f"{options.format}: {len(outcomes)} mutants: {listed}")
    return int(bool(findings) or len(outcomes) != len(numbers))


if __name__ == "__main__":
    sys.exit(main())
