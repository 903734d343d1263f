# SPDX-License-Identifier: MIT
"""The search for the smallest part that fails.

Layers are deleted by counter-based delta debugging: the sets that are tried get smaller by a fixed
factor per round, whatever was found before, which is as good as estimating each item's probability
(arXiv 2408.04735), and nothing has to be estimated. What deleted layers would have computed is
recorded with the reference and becomes an input.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from numpy.typing import NDArray

from armnn.backends import CreationOptions
from armnn.errors import ArmnnError
from armnn.graph import Layer, Network, Value
from armnn.optimizer import OptimizerOptions
from armnn_tools.debugging.bench import Bench
from armnn_tools.debugging.comparing import MOST_SEGMENTS
from armnn_tools.debugging.reducing.failure import Failure
from armnn_tools.debugging.reducing.judge import Judge
from armnn_tools.debugging.reducing.variants import Variant, part_of, simplified
from armnn_tools.debugging.reference import CleanValues, Reference

Array = NDArray[Any]

T = TypeVar("T")

_FACTOR: Final = 1 - 1 / math.e
"""How much smaller the sets of a round are than those of the round before."""

FLAKY_REPEATS = 20
FLAKY_TRIES = 3
"""How often a variant of a flaky failure is tried before it counts as right."""


def smallest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a smallest set of items that fails.

    Args:
        items: They fail together; neighbors are tried together.
        fails: Returns whether some of them, in their order, still fail.
    """
    kept, size = list(items), max(1, len(items) // 2)
    while True:
        before = len(kept)
        kept = _without_runs(kept, size, fails)
        if size == 1 and len(kept) == before:
            return kept
        size = max(1, min(int(size * _FACTOR), len(kept) // 2))


def _without_runs(items: list[T], size: int, fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return the items without runs of one size."""
    kept, at = items, 0
    while at < len(kept):
        rest = [*kept[:at], *kept[at + size :]]
        if rest and fails(rest):
            kept = rest
        else:
            at += size
    return kept


class Recorder:
    """Computes and records values with the reference.

    Args:
        reference: The id of the backend.
        rewrite: Whether the passes of the optimizer run.
    """

    def __init__(self, reference: str, *, rewrite: bool) -> None:
        self._reference = reference
        self._bench = Bench([reference], OptimizerOptions(rewrite=rewrite), CreationOptions())

    def close(self) -> None:
        """Close the backend."""
        self._bench.close()

    def segments(self, network: Network, inputs: Mapping[str, Array]) -> Iterator[Variant]:
        """Yield a model's parts that wait for each other's data.

        Branches are resolved by these inputs, and so are unknown shapes. What operators in Python
        compute becomes an input: the processes that try variants do not have them.

        Raises:
            ArmnnError: The reference cannot run the model.
        """
        rest: Network | None = network
        arrays = dict(inputs)
        for _ in range(MOST_SEGMENTS):
            if rest is None:
                return
            head, rest = self._bench.layers(rest, arrays)
            given = {layer.name: arrays[layer.name] for layer in head.inputs}
            segment = Variant(head, given)
            others = [layer for layer in segment.layers if layer.call is None]
            if len(others) == len(segment.layers):
                yield segment
            elif others:
                yield part_of(segment, others, self.values(segment))
            arrays |= self.outputs(segment)

    def values(self, variant: Variant) -> dict[Value, Array]:
        """Return the data that each layer of a variant computes.

        Raises:
            BackendError: The reference does not compute a layer.
        """
        found = {layer.output: variant.inputs[layer.name] for layer in variant.network.inputs}
        for visit in self._clean(variant).visits:
            found.update(zip(visit.layer.outputs, visit.outputs, strict=True))
        return found

    def outputs(self, variant: Variant) -> dict[str, Array]:
        """Return the outputs of a variant.

        Raises:
            BackendError: The reference does not compute a layer.
        """
        return self._clean(variant).outputs

    def _clean(self, variant: Variant) -> CleanValues:
        network = variant.network
        reference = Reference(self._bench.candidate(self._reference, network))
        return CleanValues(network, variant.inputs, reference)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a reduction has come.

    Attributes:
        tries: How many variants were tried.
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
    """Looks for the smallest variant with the same failure.

    Attributes:
        judge: Tries variants.
        recorder: Computes what layers read.
        until: When the time is over, as of :func:`time.monotonic`.
        show: Is told of the progress.
        best: The smallest variant that fails, once one does.
        failure: The failure of the best.
    """

    judge: Judge
    recorder: Recorder
    until: float
    show: Callable[[Progress], object] | None = None
    best: Variant | None = None
    failure: Failure | None = None
    _target: Failure | None = None
    _began: float = field(default_factory=time.monotonic)

    def begin(self, variant: Variant, layer: str = "") -> bool:
        """Take a variant for the whole, if it fails.

        Args:
            variant: The whole.
            layer: The name of the wrong layer that is meant; the first by default.
        """
        found = self.judge.failures(variant, FLAKY_REPEATS)
        if self.judge.job.check == "compare":
            found = [each for each in found if each.finding is not None]
        wanted = [each for each in found if not layer or _names(each, layer)]
        if wanted:
            self.best, self.failure, self._target = variant, wanted[0], wanted[0]
        return bool(wanted)

    def run(self) -> bool:
        """Make the variant smaller; return whether that ended."""
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

    def fails(self, variant: Variant) -> bool:
        """Return whether a variant has the same failure.

        It is the best then.

        Raises:
            OutOfTimeError: The time is over.
        """
        assert self._target is not None
        flaky = self._target.finding is not None and self._target.finding.is_flaky
        for attempt in range(FLAKY_TRIES if flaky else 1):
            if time.monotonic() > self.until:
                raise OutOfTimeError
            found = self.judge.failures(variant, FLAKY_REPEATS + attempt if flaky else 2)
            for failure in found:
                if failure.is_same(self._target):
                    self.best, self.failure = variant, failure
                    self._tell()
                    return True
        self._tell()
        return False

    def _take_named_layers(self) -> None:
        """Try the layers of the finding alone, with their inputs."""
        whole, failure = self.best, self.failure
        if whole is None or failure is None or failure.finding is None:
            return
        names = {*failure.finding.layers}
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
        self, whole: Variant, values: Mapping[Value, NDArray[Any]], layers: Sequence[Layer]
    ) -> bool:
        try:
            variant = part_of(whole, layers, values)
        except ArmnnError:
            return False
        return self.fails(variant)

    def _size(self) -> tuple[int, int]:
        assert self.best is not None
        stored = (self.best.stored(each)[0].size for each in self.best.sources)
        return len(self.best.layers), sum(stored)

    def _tell(self) -> None:
        if self.show is not None and self.best is not None:
            seconds = time.monotonic() - self._began
            self.show(Progress(self.judge.tries, len(self.best.layers), seconds))


def _names(failure: Failure, layer: str) -> bool:
    return failure.finding is not None and layer in failure.finding.layers
