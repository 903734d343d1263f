# SPDX-License-Identifier: MIT
"""Failures: when two of them are the same, and the files that reproduce one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path, PurePath
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from armnn.backends import CreationOptions
from armnn.graph import Network
from armnn.optimizer import OptimizerOptions
from armnn.parsing.exporting import export, save
from armnn.types import DataType
from armnn_backend_api.processes import Ending
from armnn_tools.debugging.findings import ErrorKind, Figures, LayerFinding
from armnn_tools.debugging.reducing.worker import Job

Arrays = Mapping[str, NDArray[Any]]

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+-]*")
"""Names and numbers in a message: they differ from model to model."""

_FRAME = re.compile(r'File "([^"]*)", line \d+ in (\S+)')
"""A line of a trace that faulthandler writes."""

SUFFIX: Final = ".armnn"
"""The suffix of files that hold every layer and every data type."""

_OF_ALLOWED: Final = 0.8
"""The part of the allowed error that a script allows: the reference has a fifth of it itself."""

_SURE: Final = 12.0
"""A flaky failure is missed once in exp(12) scripts."""

_MOST_RUNS: Final = 2000

_WIDTH: Final = 90

_UNFIT: Final = 1e-3
"""The error, as part of the largest number, that does not count beside NaN or infinity."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The finding of a test.

    Attributes:
        kind: "wrong layer", "crash", "hang", "error" or "command".
        marks: Further marks by which two are the same: the signal and the frame of a crash,
            the type and the words of an error, the exit status of a command.
        finding: The finding about the wrong layer, if there is one.
    """

    kind: str
    marks: tuple[str, ...] = ()
    finding: LayerFinding | None = None

    @property
    def verdict(self) -> LayerFinding | None:
        """The name of :attr:`finding` in armnn-core 1.2, until 2.0."""
        return self.finding

    def is_same(self, other: Failure) -> bool:
        """Return whether another failure is the same one."""
        if self.finding is None or other.finding is None:
            return (self.kind, self.marks) == (other.kind, other.marks)
        return self.finding.signature.matches(other.finding.signature)

    def __str__(self) -> str:
        if self.finding is None:
            return ": ".join((self.kind, *self.marks))
        figures = self.finding.figures
        size = f", {figures.largest:.2g} {figures.unit}" if figures.unit else ""
        return f"{' + '.join(self.finding.types)}: {figures.kind}{size}"

    @classmethod
    def of_finding(cls, found: Mapping[str, Any]) -> Self:
        """Return the failure of a wrong layer.

        Args:
            found: The document of :meth:`LayerFinding.as_dict`.
        """
        names = LayerFinding.__slots__
        own = {name: found[name] for name in names if name in found}
        figures = {name: found[name] for name in Figures.__slots__}
        first = figures["first"]
        figures |= {"kind": ErrorKind(found["kind"]), "first": first and tuple(first)}
        own |= {name: tuple(found[name]) for name in ("layers", "types")}
        return cls("wrong layer", finding=LayerFinding(**own, figures=Figures(**figures)))

    @classmethod
    def of_error(cls, kind: str, message: str) -> Self:
        """Return the failure of an error, without names and numbers."""
        return cls("error", (kind, _QUOTED.sub("_", message)[:300]))

    @classmethod
    def of_ending(cls, ending: Ending) -> Self:
        """Return the failure of a process that ended by itself."""
        if ending.cause == "deadline":
            return cls("hang")
        found = _FRAME.search(ending.errors.decode(errors="replace"))
        frame = f"{PurePath(found[1]).name}:{found[2]}" if found else "no frame"
        return cls("crash", (str(ending), frame))


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
        finding = failure.finding
        if finding is None or not finding.is_flaky:
            return cls(), cls(disturbs=True), cls(60, disturbs=True)
        runs = min(math.ceil(_SURE * finding.runs / finding.wrong_runs), _MOST_RUNS)
        return cls(runs), cls(runs, disturbs=True)

    def text(self, model: Path, job: Job, failure: Failure, expected: Arrays) -> str:
        """Return the script, of 15 lines at most.

        Args:
            model: The file; those of the arrays stand beside it.
            job: Says how it is loaded.
            failure: The failure that it shows.
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
    figures = failure.finding.figures if failure.finding is not None else None
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
    """Return the options other than the usual ones, as arguments."""
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
