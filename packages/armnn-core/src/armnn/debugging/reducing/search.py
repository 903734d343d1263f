# SPDX-License-Identifier: MIT
"""The search for the smallest part that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from armnn.debugging.reducing.candidate import Candidate, part_of
from armnn.debugging.reducing.delta import smallest
from armnn.debugging.reducing.simplify import simplified
from armnn.errors import ArmnnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.debugging.reducing.failure import Failure
    from armnn.debugging.reducing.judge import Judge
    from armnn.debugging.reducing.recorded import Recorder
    from armnn.graph import Layer, Value

FLAKY_REPEATS = 20
FLAKY_TRIES = 3
"""How often a candidate of a flaky failure is tried before it counts as right."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a reduction has come.

    Attributes:
        tries: How many candidates were tried.
        layers: The layers of the smallest that fails.
        seconds: Since the beginning.
    """

    tries: int
    layers: int
    seconds: float


class OutOfTimeError(Exception):
    """The time is over; the best is kept."""


@dataclass(slots=True)
class Search:
    """Looks for the smallest candidate with the same failure.

    Attributes:
        judge: Tries candidates.
        recorder: Computes what layers read.
        until: When the time is over, as of :func:`time.monotonic`.
        show: Is told of the progress.
        best: The smallest candidate that fails, once one does.
        failure: Of the best.
    """

    judge: Judge
    recorder: Recorder
    until: float
    show: Callable[[Progress], object] | None = None
    best: Candidate | None = None
    failure: Failure | None = None
    _target: Failure | None = None
    _began: float = field(default_factory=time.monotonic)

    def begin(self, candidate: Candidate, layer: str = "") -> bool:
        """Take a candidate for the whole, if it fails.

        Args:
            candidate: The whole.
            layer: The name of the wrong layer that is meant; the first by default.
        """
        found = self.judge.failures(candidate, FLAKY_REPEATS)
        if self.judge.job.check == "compare":
            found = [each for each in found if each.verdict is not None]
        wanted = [each for each in found if not layer or _names(each, layer)]
        if wanted:
            self.best, self.failure, self._target = candidate, wanted[0], wanted[0]
        return bool(wanted)

    def run(self) -> bool:
        """Make the candidate smaller; return whether that ended."""
        assert self.best is not None
        try:
            self._take_named_layers()
            size = None
            while size != (size := self._size()):
                self._delete_layers()
                self.best = simplified(self.best, self.fails)
        except OutOfTimeError:
            return False
        return True

    def fails(self, candidate: Candidate) -> bool:
        """Return whether a candidate has the same failure.

        It is the best then.

        Raises:
            OutOfTimeError: The time is over.
        """
        assert self._target is not None
        flaky = self._target.verdict is not None and self._target.verdict.is_flaky
        for attempt in range(FLAKY_TRIES if flaky else 1):
            if time.monotonic() > self.until:
                raise OutOfTimeError
            found = self.judge.failures(candidate, FLAKY_REPEATS + attempt if flaky else 2)
            for failure in found:
                if failure.is_same(self._target):
                    self.best, self.failure = candidate, failure
                    self._tell()
                    return True
        self._tell()
        return False

    def _take_named_layers(self) -> None:
        """Try the layers of the verdict alone, with their inputs."""
        whole, failure = self.best, self.failure
        if whole is None or failure is None or failure.verdict is None:
            return
        names = {*failure.verdict.layers}
        named = [layer for layer in whole.layers if layer.name in names]
        if len(named) == len(names) < len(whole.layers):
            self._fails_in(whole, self.recorder.values(whole), named)

    def _delete_layers(self) -> None:
        whole = self.best
        assert whole is not None
        if len(whole.layers) < 2:
            return
        values = self.recorder.values(whole)
        smallest(whole.layers, lambda some: self._fails_in(whole, values, some))

    def _fails_in(
        self, whole: Candidate, values: Mapping[Value, NDArray[Any]], layers: Sequence[Layer]
    ) -> bool:
        try:
            candidate = part_of(whole, layers, values)
        except ArmnnError:
            return False
        return self.fails(candidate)

    def _size(self) -> tuple[int, int]:
        assert self.best is not None
        stored = (self.best.stored(each)[0].size for each in self.best.sources)
        return len(self.best.layers), sum(stored)

    def _tell(self) -> None:
        if self.show is not None and self.best is not None:
            seconds = time.monotonic() - self._began
            self.show(Progress(self.judge.tries, len(self.best.layers), seconds))


def _names(failure: Failure, layer: str) -> bool:
    return failure.verdict is not None and layer in failure.verdict.layers
