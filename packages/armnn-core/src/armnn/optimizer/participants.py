# SPDX-License-Identifier: MIT
"""The backends that take part in preparing one network."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from armnn.backends import ProfilingSink, TensorHandleFactories
from armnn.backends.places import any_placed
from armnn.backends.selection import SkippedBackend
from armnn.optimizer.candidate import Candidate
from armnn.types import MemorySource, QuantizedArithmetic

if TYPE_CHECKING:
    from armnn.graph import Layer, Network
    from armnn.optimizer.folds import FoldTrial
    from armnn.optimizer.passes.quantization import EmitFloat, SupportQuery


@dataclass(frozen=True, slots=True, eq=False)
class Participants:
    """Who takes part in preparing a network.

    Attributes:
        candidates: The backends to choose from, in the order of preference.
        named: Further backends that only a layer's own choice or hint can reach.
        find_evaluators: Returns the :attr:`evaluators`; one of them may take long to import.
        factories: The tensor-handle factories of all of them.
        profiler: Where the phases are recorded, if anywhere.
        refused_folds: The layers on stored values that backends refused.
        skipped: The backends of the user's list that may be missing and cannot be used.
        choice: Why these take part, if a measurement was asked for.
        host_sources: The source of the host memory that a backend's tensors have, by backend id, if
            it is not plain memory.
    """

    candidates: tuple[Candidate, ...]
    named: tuple[Candidate, ...]
    find_evaluators: Callable[[], Sequence[Candidate]]
    factories: TensorHandleFactories
    profiler: ProfilingSink | None = None
    refused_folds: set[Hashable] = field(default_factory=set)
    skipped: tuple[SkippedBackend, ...] = ()
    choice: str = ""
    host_sources: Mapping[str, MemorySource] = field(default_factory=dict)
    _evaluators: list[Candidate] = field(default_factory=list)

    @property
    def all(self) -> tuple[Candidate, ...]:
        """Every backend that a layer may end up on."""
        return (*self.candidates, *self.named)

    @property
    def may_lose_one(self) -> bool:
        """Whether the process of a backend may be lost."""
        if not any_placed():
            return False
        from armnn.backends.workers import WorkerOwner  # late: few runtimes isolate

        return any(isinstance(each.backend, WorkerOwner) for each in self.all)

    def fold_permission(self, doubtful: Collection[Hashable] | None = None) -> SupportQuery:
        """Return what decides about layers on stored values.

        Args:
            doubtful: What the preferred backend refused in a trial; None if there was none.
        """

        def permission(stored: Network, present: EmitFloat) -> Collection[Layer]:
            from armnn.optimizer.folds import FoldPermission  # late: most networks fold nothing

            asked = FoldPermission(self.candidates, self.named, self.refused_folds, doubtful)
            return asked(stored, present)

        return permission

    def fold_trial(self) -> FoldTrial:
        """Return a permission for all folds, to be confirmed."""
        from armnn.optimizer.folds import FoldTrial

        return FoldTrial(self.candidates, self.named)

    @property
    def evaluators(self) -> Sequence[Candidate]:
        """The backends that compute constant layers, in order."""
        if not self._evaluators:
            self._evaluators.extend(self.find_evaluators())
            for each, first in itertools.product(self._evaluators, self.all[:1]):
                each.model.quantized_arithmetic = first.model.quantized_arithmetic
        return self._evaluators

    def preferred(self, layers: Sequence[Layer]) -> Layer | None:
        """Return the first layer that the most preferred backend runs.

        Backends that run none of them are passed over; None if all are.
        """
        runs = (layer for each in self.all for layer in layers if each.supports(layer))
        return next(runs, None)

    def compute_as(self, arithmetic: QuantizedArithmetic) -> None:
        """Tell every backend how the network's quantised layers round."""
        for candidate in (*self.all, *self._evaluators):
            candidate.model.quantized_arithmetic = arithmetic
