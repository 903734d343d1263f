# SPDX-License-Identifier: MIT
"""The measured runs of ``armnn run``: times and last outputs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from armnn.cli.output import progress
from armnn.errors import InvalidArgumentError, MemoryImportError
from armnn.profiling import Recorder
from armnn.profiling.layer_times import PLAIN_RUN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import ProfilingSink
    from armnn.runtime import LoadedNetwork

Arrays = Mapping[str, "NDArray[Any]"]
Run = Callable[[int], "dict[str, NDArray[Any]]"]
"""Runs the network on a set of inputs, by its number."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the measured runs took.

    Attributes:
        seconds: One entry per measured run.
        warmup: The runs before, which were not measured.
        threads: How many ran at once.
        total_seconds: From the start of the first to the end of the last one.
        limit_ms: What no run may exceed, None without limit.
        imports: Whether the runs read the inputs where they are, "" if that was not asked for.
    """

    seconds: tuple[float, ...]
    warmup: int
    threads: int = 1
    total_seconds: float = 0.0
    limit_ms: float | None = None
    imports: str = ""

    @property
    def is_too_long(self) -> bool:
        """Whether a run took longer than the limit."""
        return self.limit_ms is not None and max(self.seconds) * 1e3 > self.limit_ms

    @property
    def median_ms(self) -> float:
        """The median of the runs, in milliseconds."""
        return statistics.median(self.seconds) * 1e3

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it, times in milliseconds."""
        found: dict[str, Any] = {
            "median_ms": self.median_ms,
            "min_ms": min(self.seconds) * 1e3,
            "max_ms": max(self.seconds) * 1e3,
            "iterations": len(self.seconds),
            "warmup": self.warmup,
        }
        if self.threads > 1:
            found |= {"concurrent": self.threads, "runs_per_second": self._rate}
        if self.limit_ms is not None:
            found |= {"threshold_ms": self.limit_ms, "exceeds_threshold": self.is_too_long}
        return {**found, "imports": self.imports} if self.imports else found

    @property
    def _rate(self) -> float:
        return len(self.seconds) / self.total_seconds

    def __str__(self) -> str:
        median, least = self.median_ms, min(self.seconds) * 1e3
        runs = f"{len(self.seconds)} run{'s' if len(self.seconds) > 1 else ''}"
        if self.threads > 1:
            runs += f", {self.threads} at once, {self._rate:.1f} per second"
        before = f" after {self.warmup} to warm up" if self.warmup else ""
        return f"median {median:.3f} ms, min {least:.3f} ms ({runs}{before})"


def measure(
    loaded: LoadedNetwork,
    sets: Sequence[Arrays],
    *,
    warmup: int,
    iterations: int,
    threads: int,
    limit_ms: float | None,
    profiler: ProfilingSink | None,
    runs_plain: bool = True,
    import_inputs: bool = False,
) -> tuple[list[dict[str, NDArray[Any]]], Latency, Latency | None]:
    """Run the network on each set of inputs.

    Each thread makes all of the measured runs. To record a run takes time, so with a profiler the
    latency is that of as many runs without it before, which the profiler is told of.

    Args:
        loaded: The network.
        sets: The arrays of each set.
        warmup: Runs on each set that are not measured.
        iterations: Measured runs on each set.
        threads: How many run at once.
        limit_ms: See :class:`Latency`.
        profiler: Gets the events of the profiled runs.
        runs_plain: Whether there are runs without profiler, too.
        import_inputs: Whether runs read the inputs where they are, if their memory allows it; of
            one thread without profiler.

    Returns:
        The last outputs of each set, the times, and those of the profiled runs if there are both.
    """
    imports = ""
    is_both = profiler is not None and runs_plain
    total = len(sets) * (warmup + iterations * threads) * (2 if is_both else 1)

    def plainly(number: int) -> dict[str, NDArray[Any]]:
        if profiler is None:
            return loaded.run(sets[number])
        start = time.perf_counter_ns()
        made = loaded.run(sets[number])
        profiler.event("run without profile", start, time.perf_counter_ns(), category=PLAIN_RUN)
        return made

    def measured(run: Run) -> tuple[list[dict[str, NDArray[Any]]], Latency]:
        def runs(_: int) -> tuple[list[dict[str, NDArray[Any]]], list[float]]:
            return _timed_runs(run, len(sets), iterations, advance)

        start = time.perf_counter()
        if threads == 1:
            made = [runs(0)]
        else:
            with ThreadPoolExecutor(threads) as pool:
                made = list(pool.map(runs, range(threads)))
        total_seconds = time.perf_counter() - start
        seconds = tuple(each for _, times in made for each in times)
        latency = Latency(seconds, warmup * len(sets), threads, total_seconds, limit_ms, imports)
        return made[-1][0], latency

    def warm_up(sink: ProfilingSink | None) -> None:
        for arrays in sets:
            for _ in range(warmup):
                loaded.run(arrays, profiler=sink)
                advance()

    with progress("Running", total) as advance:
        run: Run = plainly
        if import_inputs:
            run, imports = _importing(loaded, sets, run)
        elif not is_both and profiler is not None:
            run = partial(_profiled, loaded, sets, profiler)
        warm_up(None)
        outputs, latency = measured(run)
        if not is_both or profiler is None:
            return outputs, latency, None
        warm_up(Recorder())
        outputs, profiled = measured(partial(_profiled, loaded, sets, profiler))
        return outputs, latency, profiled


def _profiled(
    loaded: LoadedNetwork, sets: Sequence[Arrays], profiler: ProfilingSink, number: int
) -> dict[str, NDArray[Any]]:
    return loaded.run(sets[number], profiler=profiler)


def _importing(loaded: LoadedNetwork, sets: Sequence[Arrays], copying: Run) -> tuple[Run, str]:
    """Return a run on imported inputs, else the copying one.

    Beside it stands which one it is, with the reason for a copy.
    """
    try:
        ids = [[*loaded.import_inputs(arrays, source="Malloc").values()] for arrays in sets]
        for each in ids:
            loaded.run({}, imported=each)
    except (MemoryImportError, InvalidArgumentError) as error:
        return copying, f"inputs are copied: {error}"
    return lambda number: loaded.run({}, imported=ids[number]), "inputs are imported"


def _timed_runs(
    run: Run, sets: int, iterations: int, advance: Callable[[], None]
) -> tuple[list[dict[str, NDArray[Any]]], list[float]]:
    seconds: list[float] = []
    last: list[dict[str, NDArray[Any]]] = []
    for number in range(sets):
        for _ in range(iterations):
            start = time.perf_counter()
            outputs = run(number)
            seconds.append(time.perf_counter() - start)
            advance()
        last.append(outputs)
    return last, seconds
