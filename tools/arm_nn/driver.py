# SPDX-License-Identifier: MIT
"""Jobs for Arm NN: run a file, write it again."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a file in Arm NN.

    Attributes:
        failure: Why it could not run it, "" if it could.
        outputs: The bytes of the outputs by name.
        copy: The file as Arm NN wrote it again, empty if it could not.
    """

    failure: str
    outputs: Mapping[str, bytes]
    copy: bytes


class Driver:
    """A process that runs jobs, started again after a crash.

    Args:
        command: Its command.
        folder: Where files for it are written.
    """

    def __init__(self, command: Sequence[str | Path], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._process = self._start()

    def do(
        self, data: bytes, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str]
    ) -> Outcome:
        """Run a file with inputs and write it again."""
        copy = self._folder / "copy.armnn"
        copy.unlink(missing_ok=True)
        source = self._folder / "model.armnn"
        source.write_bytes(data)
        fields: list[object] = [source, copy, len(inputs)]
        for at, (name, array) in enumerate(inputs.items()):
            path = self._folder / f"input-{at}"
            path.write_bytes(np.ascontiguousarray(array).tobytes())
            fields += [name, path]
        made = {name: self._folder / f"output-{at}" for at, name in enumerate(outputs)}
        for name, path in made.items():
            path.unlink(missing_ok=True)
            fields += [name, path]
        failure = self._ask("\t".join(map(str, fields)))
        return Outcome(
            failure,
            {} if failure else {name: path.read_bytes() for name, path in made.items()},
            copy.read_bytes() if copy.exists() else b"",
        )

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def _ask(self, job: str) -> str:
        """Return why a job could not be run, or ""."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(job + "\n")
        self._process.stdin.flush()
        answers: dict[str, str] = {}
        for line in self._process.stdout:
            half, _, outcome = line.strip().partition(" ")
            if half in ("run", "copy"):  # Arm NN logs to standard output, too
                answers[half] = outcome
            if half == "copy":
                break
        else:
            signal = -self._process.wait()
            self._process = self._start()
            answers.setdefault("run", f"failed: it died of signal {signal}")
        return "" if answers["run"] == "done" else answers["run"].removeprefix("failed").strip(": ")
