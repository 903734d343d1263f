# SPDX-License-Identifier: MIT
"""The measurement of contenders in turns, and a picture of it.

Each has a process of its own. All of them stay loaded and take turns, each round beginning with
another one, so that a machine that grows slower meanwhile slows all of them down.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import unknown
from armnn.backends import CreationOptions
from armnn.errors import InvalidArgumentError
from armnn.optimizer import OptimizerOptions
from armnn_backend_api.processes import Bounds, JsonChild, NoReplyError
from armnn_tools.benchmarking.worker import PEERS
from armnn_tools.modules import modules_run
from armnn_tools.placement.requests import transferable, transferable_optimizer

OURS: Final = "armnn"
"""The name of the contender that is this runtime."""
_WORKER: Final = "armnn_tools.benchmarking.worker:serve"
_TURN_SECONDS: Final = 0.2
_LOAD_SECONDS: Final = 600.0


@dataclass(slots=True)
class Measurement:
    """The measurements of one contender.

    Attributes:
        name: ``armnn``, or the peer's name.
        load_seconds: Reading and preparing the model, imports included.
        first_ms: The first run.
        latencies_ns: The times of the runs after it, sorted.
        runs_per_second: The median over the turns, of all streams together.
        fault: Why there is nothing to show; "" if there is.
    """

    name: str
    load_seconds: float = 0.0
    first_ms: float = 0.0
    latencies_ns: list[int] = field(default_factory=list)
    runs_per_second: float = 0.0
    fault: str = ""

    def percentile(self, percent: float) -> float:
        """Return a percentile of the latencies, in milliseconds."""
        return float(np.percentile(self.latencies_ns, percent)) / 1e6

    def as_dict(self) -> dict[str, Any]:
        """Return the measurement as data for JSON, times in milliseconds."""
        if self.fault:
            return {"name": self.name, "fault": self.fault}
        return {
            "name": self.name,
            **{f"p{percent}_ms": self.percentile(percent) for percent in (50, 90, 99)},
            "min_ms": self.latencies_ns[0] / 1e6,
            "runs_per_second": self.runs_per_second,
            "runs": len(self.latencies_ns),
            "load_ms": self.load_seconds * 1e3,
            "first_ms": self.first_ms,
        }


def bench(
    model: str | PathLike[str],
    backends: Sequence[str] | None = None,
    *,
    inputs: Sequence[NDArray[Any]],
    against: Sequence[str] = (),
    seconds: float = 3.0,
    threads: int = 0,
    streams: int = 1,
    options: OptimizerOptions | None = None,
    creation_options: CreationOptions | None = None,
    parser_options: Mapping[str, str | int] | None = None,
    tell: Callable[[str], object] = str,
) -> list[Measurement]:
    """Measure a model beside other runtimes, in turns.

    Args:
        model: The file.
        backends: As :meth:`armnn.Runtime.optimize` takes them.
        inputs: One array per input, in the order of the model.
        against: Names of ``PEERS``.
        seconds: How long each contender runs, all its turns together.
        threads: The threads of one call, for every contender that can be told; 0: its own choice.
        streams: How many calls run at once.
        options: The options of armnn's preparation.
        creation_options: The options of armnn's runtime.
        parser_options: The options of armnn's parser.
        tell: Is called with a sentence about what is done.

    Returns:
        A measurement per contender, armnn's first; one that failed has a fault.

    Raises:
        UnknownNameError: A peer is unknown.
        InvalidArgumentError: A number or a time is out of range.
    """
    for name in against:
        if name not in PEERS:
            raise unknown("runtime {} to measure against", name, tuple(PEERS))
    if seconds <= 0 or streams < 1 or threads < 0:
        raise InvalidArgumentError(
            f"bench got {seconds:g} seconds, {streams} streams and {threads} threads: expected "
            "more than 0, at least 1, and 0 or more"
        )
    with tempfile.TemporaryDirectory(prefix="armnn-bench-") as folder:
        stored = Path(folder) / "inputs.npz"
        numbered = {f"input{number}": array for number, array in enumerate(inputs)}
        np.savez(stored, **numbered)  # type: ignore[arg-type]  # its stub has allow_pickle first
        request = {
            "model": fspath(Path(model).resolve()),
            "inputs": fspath(stored),
            "threads": threads,
            "streams": streams,
            "backends": None if backends is None else list(backends),
            "options": transferable_optimizer(options or OptimizerOptions()),
            "creation_options": transferable(creation_options or CreationOptions()),
            "parser_options": dict(parser_options or {}),
            "modules": modules_run,
        }
        return _measured([OURS, *against], request, seconds, tell)


def _measured(
    names: Sequence[str], request: Mapping[str, Any], seconds: float, tell: Callable[[str], object]
) -> list[Measurement]:
    found = [Measurement(name) for name in names]
    lifetime = len(names) * (_LOAD_SECONDS + 2 * seconds)
    with contextlib.ExitStack() as stack:
        running: list[tuple[Measurement, JsonChild]] = []
        for each in found:
            tell(f"Loading {each.name}")
            peer = "" if each.name == OURS else each.name
            child = stack.enter_context(
                JsonChild(_WORKER, {**request, "peer": peer}, Bounds(seconds=lifetime))
            )
            try:
                row = _answered(child.reply())
            except NoReplyError as error:
                each.fault = str(error)
                child.close()
                continue
            each.load_seconds, each.first_ms = row["load_seconds"], row["first_ns"] / 1e6
            running.append((each, child))
        tell(f"Measuring {', '.join(each.name for each, _ in running)} in turns")
        _take_turns(running, seconds)
    return found


def _take_turns(running: list[tuple[Measurement, JsonChild]], seconds: float) -> None:
    """Measure until each contender has run for some seconds."""
    turn_seconds = min(_TURN_SECONDS, seconds / 5)
    turns = max(5, round(seconds / turn_seconds))
    rates: dict[str, list[float]] = {each.name: [] for each, _ in running}
    until = time.monotonic() + 2 * seconds * len(running)  # long runs: fewer turns
    for turn in range(turns):
        at = turn % max(1, len(running))
        for each, child in (*running[at:], *running[:at]):
            if each.fault or (time.monotonic() > until and len(rates[each.name]) >= 3):
                continue
            try:
                row = _answered(child.ask(turn_seconds))
            except NoReplyError as error:
                each.fault = str(error)
                continue
            each.latencies_ns += row["latencies_ns"]
            rates[each.name].append(row["runs"] / row["seconds"])
    for each, _ in running:
        each.latencies_ns.sort()
        if not each.fault:
            each.runs_per_second = float(np.median(rates[each.name]))


def _answered(row: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that is not a fault.

    Raises:
        NoReplyError: It is one.
    """
    if "fault" in row:
        raise NoReplyError(str(row["fault"]))
    return row


_SUFFIXES: Final = (".svg", ".png", ".pdf")


def check_plot(path: str | PathLike[str]) -> None:
    """Check that a picture can be written, before anything is measured for it.

    Raises:
        InvalidArgumentError: The suffix is another one, or matplotlib is not installed.
    """
    name = str(path)
    if not name.endswith(_SUFFIXES):
        raise InvalidArgumentError(
            f"--plot got {name!r}, expected a name that ends with one of {', '.join(_SUFFIXES)}"
        )
    try:
        import matplotlib.figure  # noqa: F401  # optional
    except ImportError as error:
        raise InvalidArgumentError(
            f"a plot needs matplotlib ({error}): pip install matplotlib"
        ) from error


def write_plot(path: str | PathLike[str], title: str, measured: Sequence[Measurement]) -> None:
    """Write a picture of latencies.

    A dot is the median, a line goes from 10 to 99 percent of the runs.

    Args:
        path: Its suffix says the format.
        title: The text above it.
        measured: From top to bottom; those with a fault are left out.

    Raises:
        InvalidArgumentError: The suffix is another one, or matplotlib is not installed.
    """
    check_plot(path)
    from matplotlib.figure import Figure  # late: optional

    shown = [each for each in reversed(measured) if not each.fault]
    figure = Figure(figsize=(8, 1.2 + 0.45 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    for row, each in enumerate(shown):
        low, middle, high = (each.percentile(percent) for percent in (10, 50, 99))
        axes.plot([low, high], [row, row], color="#7a8794", linewidth=2)
        axes.plot(middle, row, "o", color="#0b6bcb")
        label = f"{middle:.3g} ms"
        axes.annotate(label, (middle, row), (0, 6), textcoords="offset points", ha="center")
    axes.set_yticks(range(len(shown)), [each.name for each in shown])
    axes.set_ylim(-0.6, len(shown) - 0.2)
    axes.set_xscale("log")
    for ticks in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        ticks("{x:g}")
    axes.set_xlabel("milliseconds a run; dot: median, line: 10 to 99 percent of the runs")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(str(path))
