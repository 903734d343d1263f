# SPDX-License-Identifier: MIT
"""The result of a reduction: its files are tried before they are believed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from armnn.errors import ArmnnError
from armnn_backend_api.processes import Bounds, Program, run
from armnn_tools.debugging.bench import disturbed
from armnn_tools.debugging.findings import ErrorKind
from armnn_tools.debugging.reducing.failure import (
    SUFFIX,
    Failure,
    Script,
    write_arrays,
    write_model,
)
from armnn_tools.debugging.reducing.search import Search
from armnn_tools.debugging.reducing.variants import Variant

Arrays = Mapping[str, NDArray[Any]]

_CONFIRMED: Final = 3
"""How often a script must show the failure before it is believed."""

_START_SECONDS: Final = 5.0
"""How much longer than a try a script may take, which has to import armnn first."""

_PATIENCE_SECONDS: Final = 120.0
"""How long a script may take whose failure is not a hang."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """The smallest model found, and its files.

    Attributes:
        files: The model, its inputs, its expected outputs and the script, as written.
        failure: The failure that the model shows.
        layers: The names of its layers.
        types: Their types.
        layers_before: How many layers the model had before.
        size: The bytes of the model's file.
        tries: How many models were tried.
        seconds: How long it took.
        is_complete: Whether it ended by itself, not by the time limit.
        confirmed: In how many of its runs the script failed in the same way.
        runs: How often the script was run; 0 for a command, which needs no script.
        note: Why the model is no ONNX file, if one was wanted; else "".
    """

    files: tuple[Path, ...]
    failure: Failure
    layers: tuple[str, ...]
    types: tuple[str, ...]
    layers_before: int
    size: int
    tries: int
    seconds: float
    is_complete: bool
    confirmed: int
    runs: int
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the reduction as data for JSON."""
        finding = self.failure.finding
        return {
            "files": [str(file) for file in self.files],
            "failure": str(self.failure),
            "kind": self.failure.kind,
            "verdict": None if finding is None else finding.as_dict(),
            "layers": list(self.layers),
            "types": list(self.types),
            "layers_before": self.layers_before,
            "bytes": self.size,
            "tries": self.tries,
            "seconds": self.seconds,
            "complete": self.is_complete,
            "confirmed": self.confirmed,
            "runs": self.runs,
            "note": self.note,
        }


@dataclass(slots=True)
class Result:
    """Writes the best variant of a search."""

    search: Search
    whole: Variant
    target: Path
    began: float
    notes: list[str] = field(default_factory=list)

    def written(self, *, is_complete: bool) -> Reduction:
        """Write the files; return the result."""
        best, failure = self.search.best, self.search.failure
        assert best is not None
        assert failure is not None
        judge = self.search.judge
        inputs, expected = (
            self.target.with_suffix(f".{each}.npz") for each in ("inputs", "expected")
        )
        outputs = self.search.recorder.outputs(best)
        write_arrays(inputs, best.inputs)
        write_arrays(expected, outputs)
        model, confirmed, more = self._model(best, failure, outputs)
        return Reduction(
            files=(model, inputs, expected, *more),
            failure=failure,
            layers=tuple(layer.name for layer in best.layers),
            types=tuple(layer.type for layer in best.layers),
            layers_before=len(self.whole.layers),
            size=model.stat().st_size,
            tries=judge.tries,
            seconds=time.monotonic() - self.began,
            is_complete=is_complete,
            confirmed=confirmed,
            runs=0 if judge.command else _CONFIRMED,
            note="; ".join(self.notes),
        )

    def _model(
        self, best: Variant, failure: Failure, outputs: Arrays
    ) -> tuple[Path, int, list[Path]]:
        """Write model and script; return the files that show the failure."""
        if self.search.judge.command:
            write_model(best.network, self.target)
            return self.target, 0, []
        wanted = dict.fromkeys([self.target, self.target.with_suffix(SUFFIX)])
        for model in wanted:
            try:
                write_model(best.network, model)
            except ArmnnError as error:
                self.notes.append(f"{model.name} was not written: {error}")
                continue
            for script in Script.all_for(failure):
                files = self._scripted(script, model, best, failure, outputs)
                confirmed = self._confirmed(files[0], failure)
                if confirmed == _CONFIRMED:
                    return model, confirmed, files
            self.notes.append(f"{model.name} does not show the failure in {confirmed} runs")
            if model.suffix != SUFFIX:
                model.unlink()
        return model, confirmed, files

    def _scripted(
        self, script: Script, model: Path, best: Variant, failure: Failure, outputs: Arrays
    ) -> list[Path]:
        path = model.with_suffix(".py")
        path.write_text(script.text(model, self.search.judge.job, failure, outputs))
        if not script.disturbs:
            return [path]
        before = model.with_suffix(".before.npz")
        infos = {layer.name: layer.output.info for layer in best.network.inputs}
        write_arrays(before, disturbed(infos, best.inputs, negated=True))
        return [path, before]

    def _confirmed(self, script: Path, failure: Failure) -> int:
        """Return how many of a few runs fail alike."""
        count = 0
        while count < _CONFIRMED and shows(script, failure, self.search.judge.seconds):
            count += 1
        return count


def shows(script: Path, failure: Failure, seconds: float) -> bool:
    """Return whether a script ends with a failure.

    Args:
        script: Its path.
        failure: The failure.
        seconds: After which a try counts as a hang.
    """
    command = Program([sys.executable, "-X", "faulthandler", str(script)])
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": paths}
    limit = seconds + _START_SECONDS if failure.kind == "hang" else _PATIENCE_SECONDS
    ending = run(command, Bounds(seconds=limit), environment=environment)
    if failure.kind in ("crash", "hang"):
        return failure.is_same(Failure.of_ending(ending))
    if ending.status != 1:
        return False
    if failure.kind == "error" or (
        failure.finding is not None and failure.finding.figures.kind is ErrorKind.FAILURE
    ):
        return failure.finding is not None or failure.marks[0].encode() in ending.errors
    return b"AssertionError" in ending.errors
