# SPDX-License-Identifier: MIT
"""The measurement of candidates in child processes, in turns.

Each candidate has a process of its own: a crash, an exit or a hang is a result, and the memory and
threads of one do not disturb another. The fastest ones stay alive and take turns, so that a
machine that grows slower meanwhile slows all of them down.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from armnn.runtime.verdicts import Trial
from armnn_backend_api.processes import Bounds, JsonChild, NoReplyError
from armnn_tools.placement.requests import following

_MODULE: Final = "armnn_tools.placement.worker"

FIRST_SECONDS: Final = 0.2
"""How long a candidate runs before it is compared with the others."""
TURN_SECONDS: Final = 0.05
"""How long a candidate runs in one turn."""
TURNS: Final = 11
MOST_FINALISTS: Final = 4
CLOSE: Final = 2.0
"""How many times slower than the fastest a candidate may be to get turns.

The first times are taken one after the other: another process can double those of one candidate.
"""
HOPELESS: Final = 20.0
"""How many times slower its first runs, which are cold, may be to be measured again."""
EQUAL: Final = 1.01
"""Times within this ratio are equal: fewer backends, then the preferred ones, win."""
WORTHWHILE: Final = 1.05
"""How much faster options must be than the same backends without them.

What one thread gains over several depends on what else the machine does.
"""


@dataclass(slots=True)
class TuningTrial:
    """A trial that is being measured.

    Attributes:
        trial: The measurement so far.
        times: The medians of its turns, in seconds.
        child: Its process, while it is alive.
        score: Its time against that of the other finalists, turn by turn; None if it is none.
    """

    trial: Trial
    times: list[float] = field(default_factory=list)
    child: JsonChild | None = None
    score: float | None = None

    @property
    def median(self) -> float:
        """The median of its turns in seconds; infinite without one."""
        return statistics.median(self.times) if self.times else float("inf")

    def close(self, fault: str = "") -> None:
        """End its process; note why it cannot be chosen."""
        if self.child is not None:
            self.child.close()
            self.child = None
        if fault:
            self.trial = replace(self.trial, fault=fault)


class Contest:
    """Measures trials until a deadline."""

    def __init__(
        self, request: Mapping[str, Any], deadline: float, tell: Callable[[str], object]
    ) -> None:
        """Measure nothing yet.

        Args:
            request: What the children of all trials get; a trial adds its backends and options.
            deadline: When to stop, as ``time.monotonic`` counts.
            tell: Is called with a sentence about what is measured.
        """
        self._request = request
        self._deadline = deadline
        self._tell = tell

    def run(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return trials with their times, the winner first."""
        candidates = [TuningTrial(trial) for trial in trials]
        try:
            for candidate in candidates:
                self._begin(candidate, min(each.median for each in candidates))
                self._keep_finalists(candidates)
            self._take_turns([each for each in candidates if each.child is not None])
        finally:
            for candidate in candidates:
                candidate.close()
        return _ranked(candidates)

    @property
    def _left(self) -> float:
        return self._deadline - time.monotonic()

    def _begin(self, candidate: TuningTrial, best: float) -> None:
        """Load and measure a candidate for the first time."""
        if self._left <= 0:
            candidate.close("not measured: the time for measuring is over")
            return
        trial = candidate.trial
        self._tell(trial.title)
        given = self._request["options"]
        options = following(given, trial, given["model_options"])
        request = {**self._request, "backends": list(trial.backends), "options": options}
        candidate.child = JsonChild(f"{_MODULE}:serve", request, _lasting(self._left))
        try:
            candidate.trial = _loaded(trial, candidate.child)
            first = _median(candidate.child, 0.0)
            candidate.times.append(first)
            if first <= best * HOPELESS:
                candidate.times[:] = [_median(candidate.child, FIRST_SECONDS)]
        except NoReplyError as error:
            candidate.times.clear()
            candidate.close(str(error))

    def _keep_finalists(self, candidates: Sequence[TuningTrial]) -> None:
        """End all but the fastest."""
        alive = sorted((c for c in candidates if c.child is not None), key=lambda c: c.median)
        for place, candidate in enumerate(alive):
            if place >= MOST_FINALISTS or candidate.median > CLOSE * alive[0].median:
                candidate.close()

    def _take_turns(self, finalists: list[TuningTrial]) -> None:
        """Measure candidates in turns; each turn begins with another one."""
        if len(finalists) < 2:
            return
        for candidate in finalists:
            candidate.times.clear()
        for turn in range(TURNS):
            at = turn % len(finalists)
            for candidate in (*finalists[at:], *finalists[:at]):
                if candidate.child is None or (self._left <= 0 and candidate.times):
                    continue
                try:
                    candidate.times.append(_median(candidate.child, TURN_SECONDS))
                except NoReplyError as error:
                    candidate.times.clear()
                    candidate.close(str(error))
        _score([each for each in finalists if each.child is not None])


def _score(finalists: Sequence[TuningTrial]) -> None:
    """Compare finalists turn by turn.

    What slows the machine in one turn slows all of them, so that the ratios hardly change.
    """
    turns = zip(*(each.times for each in finalists), strict=False)  # the last one may be cut
    ratios = [[spent / statistics.geometric_mean(turn) for spent in turn] for turn in turns]
    for candidate, row in zip(finalists, zip(*ratios, strict=True), strict=bool(ratios)):
        candidate.score = statistics.median(row)


def asked(request: Mapping[str, Any], function: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the replies of a child until it ends.

    Raises:
        NoReplyError: It did not end well.
    """
    with JsonChild(f"{_MODULE}:{function}", request, _lasting(seconds)) as child:
        while True:
            try:
                yield child.reply()
            except NoReplyError as error:
                if error.ending is not None and error.ending.is_success:
                    return
                raise


def _lasting(seconds: float) -> Bounds:
    return Bounds(seconds=max(seconds, 0.1))


def _median(child: JsonChild, seconds: float) -> float:
    """Return the median seconds of runs for some time.

    Raises:
        NoReplyError: It has ended, or its reply has no time.
    """
    row = child.ask(seconds)
    found = row.get("times")
    if not isinstance(found, float) or not 0 < found < 1e9:
        raise NoReplyError(str(row.get("fault", "gave no time")))
    return found


def _loaded(trial: Trial, child: JsonChild) -> Trial:
    row = child.reply()
    if "fault" in row:
        raise NoReplyError(str(row["fault"]))
    layers = {str(each): int(count) for each, count in row["layers"].items()}
    trial = replace(trial, load_seconds=float(row["load_seconds"]), layers=layers)
    row = child.reply()
    if "fault" in row:
        raise NoReplyError(str(row["fault"]))
    return replace(trial, border_microseconds=1e6 * float(row["border_seconds"]))


def _ranked(candidates: Sequence[TuningTrial]) -> list[Trial]:
    """Return the trials, the fastest first."""
    fit = [each for each in candidates if each.times and not each.trial.fault]
    finalists = [each for each in fit if each.score is not None]
    pace = min((each.median / (each.score or 1.0) for each in finalists), default=1.0)

    def seconds(candidate: TuningTrial) -> float:
        return candidate.median if candidate.score is None else candidate.score * pace

    fit.sort(key=seconds)
    if fit:
        limit = EQUAL * seconds(fit[0])
        equal = [each for each in candidates if each in fit and seconds(each) <= limit]
        winner = min(equal, key=lambda each: len(each.trial.backends))
        limit = WORTHWHILE * seconds(winner)
        plain = (each for each in fit if _is_plain(each, winner) and seconds(each) <= limit)
        winner = next(plain, winner)
        fit.remove(winner)
        fit.insert(0, winner)
    unfit = [each for each in candidates if each not in fit]
    return [
        *(replace(each.trial, microseconds=1e6 * seconds(each)) for each in fit),
        *(each.trial for each in unfit),
    ]


def _is_plain(candidate: TuningTrial, other: TuningTrial) -> bool:
    """Return whether it is another one without its options."""
    return candidate.trial.backends == other.trial.backends and not candidate.trial.options
