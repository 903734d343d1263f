# SPDX-License-Identifier: MIT
"""The files of a reduction, which show the failure to others; they are tried before believed."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.backends import CreationOptions
from armnn.debugging.bench import disturbed
from armnn.debugging.findings import ErrorKind
from armnn.debugging.reducing.failure import Failure
from armnn.errors import ArmnnError
from armnn.optimizer.options import OptimizerOptions
from armnn.parsing.exporting import export
from armnn.storage.armnn_files import save
from armnn.types import DataType
from armnn_backend_api.processes import Bounds, Program, run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.debugging.reducing.candidate import Candidate
    from armnn.debugging.reducing.search import Search
    from armnn.debugging.reducing.worker import Job
    from armnn.graph import Network

    Arrays = Mapping[str, NDArray[Any]]

_CONFIRMED: Final = 3
"""How often a script must show the failure before it is believed."""

_START_SECONDS: Final = 5.0
"""How much longer than a try a script may take, which has to import armnn first."""

_PATIENCE_SECONDS: Final = 120.0
"""How long a script may take whose failure is no hang."""

SUFFIX: Final = ".armnn"
"""Of files that hold every layer and every data type."""

_OF_ALLOWED: Final = 0.8
"""The part of the allowed error that a script allows: the reference has a fifth of it itself."""

_SURE: Final = 12.0
"""A flaky failure is missed once in exp(12) scripts."""

_MOST_RUNS: Final = 2000

_WIDTH: Final = 90

_UNFIT: Final = 1e-3
"""The error, as part of the largest number, that does not count beside NaN or infinity."""


@dataclass(frozen=True, slots=True)
class Script:
    """How a script shows a failure.

    Attributes:
        runs: How often it runs the model.
        disturbs: Whether it runs the model with other inputs first.
    """

    runs: int = 1
    disturbs: bool = False

    @classmethod
    def all_for(cls, failure: Failure) -> Sequence[Script]:
        """Return the scripts to try, the simplest first."""
        verdict = failure.verdict
        if verdict is None or not verdict.is_flaky:
            return cls(), cls(disturbs=True), cls(60, disturbs=True)
        runs = min(math.ceil(_SURE * verdict.runs / verdict.wrong_runs), _MOST_RUNS)
        return cls(runs), cls(runs, disturbs=True)

    def text(self, model: Path, job: Job, failure: Failure, expected: Arrays) -> str:
        """Return the script, of 15 lines at most.

        Args:
            model: The file; those of the arrays stand beside it.
            job: Says how it is loaded.
            failure: What it shows.
            expected: The right outputs.
        """
        stem = model.stem
        creation = _arguments(job.creation, CreationOptions())
        runtime = f"armnn.Runtime(armnn.CreationOptions({creation}))" if creation else "armnn"
        options = _arguments(job.options, OptimizerOptions())
        given = f"{list(job.backends)!r}{', ' if options else ''}{options}"
        title = f"Shows a failure of {job.backends[0]}: {failure}"[:_WIDTH]
        lines = [
            f"# {ascii(title)[1:-1]}",
            "",
            "from pathlib import Path",
            "",
            "import armnn",
            "import numpy as np",
            "",
            "folder = Path(__file__).parent",
            f'inputs = dict(np.load(folder / "{stem}.inputs.npz"))',
            f'expected = np.load(folder / "{stem}.expected.npz")',
            f'model = {runtime}.load_model(folder / "{model.name}", {given})',
        ]
        if self.disturbs:
            lines.append(f'model.run(dict(np.load(folder / "{stem}.before.npz")))')
        shift = "    " if self.runs > 1 else ""
        lines += [f"for _ in range({self.runs}):"] if shift else []
        lines.append(f"{shift}for name, got in model.run(inputs).items():")
        lines.append(f"{shift}    {_assertion(failure, expected)}")
        return "\n".join([*lines, ""])


def _assertion(failure: Failure, expected: Arrays) -> str:
    figures = failure.verdict.figures if failure.verdict is not None else None
    largest = max((_largest(array) for array in expected.values()), default=0.0)
    unit = 1.0 if figures is not None and figures.unit != "of the largest" else largest
    if figures is None or figures.kind not in (ErrorKind.VALUES, ErrorKind.SATURATION):
        allowed = _UNFIT * largest
    elif figures.largest > figures.allowed:
        allowed = _OF_ALLOWED * figures.allowed * unit
    else:
        error = "np.sqrt(np.mean((got.astype(float) - expected[name]) ** 2))"
        return f"assert {error} <= {_OF_ALLOWED * figures.rms * unit:.2g}, name"
    close = f"got.astype(float), expected[name], rtol=0, atol={allowed:.2g}"
    return f"np.testing.assert_allclose({close}, err_msg=name)"


def _largest(array: NDArray[Any]) -> float:
    real = np.abs(array.astype(np.float64))
    return float(real[np.isfinite(real)].max(initial=0.0))


def _arguments(options: Any, usual: Any) -> str:
    """Return what differs from the usual options, as arguments."""
    changed = {
        each.name: getattr(options, each.name)
        for each in fields(options)
        if getattr(options, each.name) != getattr(usual, each.name)
    }
    return ", ".join(f"{name}={value!r}" for name, value in changed.items())


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays as a .npz file; it has no BFloat16."""
    plain = {
        name: array.astype(np.float32)
        if array.dtype == DataType.BFLOAT16.numpy_dtype
        else np.asarray(array)
        for name, array in arrays.items()
    }
    np.savez(path, **plain)  # type: ignore[arg-type]  # its other parameter has a default


def write_model(network: Network, path: Path) -> None:
    """Write a network in the format of the path's suffix.

    Raises:
        ArmnnError: The format lacks something, or nothing that writes it is installed.
    """
    if path.suffix.lower() == SUFFIX:
        save(network, path, beyond_arm_nn=True)
    else:
        path.write_bytes(export(network, path.suffix))


@dataclass(frozen=True, slots=True)
class Reduction:
    """The smallest model found, and its files.

    Attributes:
        files: The model, its inputs, its expected outputs and the script, as written.
        failure: What the model shows.
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
        """Return it as JSON can hold it."""
        verdict = self.failure.verdict
        return {
            "files": [str(file) for file in self.files],
            "failure": str(self.failure),
            "kind": self.failure.kind,
            "verdict": None if verdict is None else verdict.as_dict(),
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
    """Writes the best candidate of a search."""

    search: Search
    whole: Candidate
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
        self, best: Candidate, failure: Failure, outputs: Arrays
    ) -> tuple[Path, int, list[Path]]:
        """Write model and script; return what shows the failure."""
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
        self, script: Script, model: Path, best: Candidate, failure: Failure, outputs: Arrays
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
        failure.verdict is not None and failure.verdict.figures.kind is ErrorKind.FAILURE
    ):
        return failure.verdict is not None or failure.marks[0].encode() in ending.errors
    return b"AssertionError" in ending.errors
