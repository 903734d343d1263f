# SPDX-License-Identifier: MIT
"""The rules by which layers on stored values may replace layers on floats."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

from armnn.graph import Layer, Network
from armnn.optimizer.assignment.assign import NetworkAnswers
from armnn.optimizer.participants import Candidate, Participants
from armnn.optimizer.passes.quantization import AcceptAll, EmitFloat, SupportQuery


class FoldsRefused(Exception):  # noqa: N818 - it carries a decision, not an error
    """A trial failed: the network is to be prepared again.

    Attributes:
        refused: The layers on stored values that must be asked about, None for all.
    """

    def __init__(self, refused: Collection[Hashable] | None) -> None:
        super().__init__("backends refuse layers on stored values")
        self.refused = refused


class FoldTrial(AcceptAll):
    """Permission for all folds, confirmed by the backends later.

    All layers on stored values come; then the backends are asked about the whole network. One
    question is enough where they run every layer.
    """

    def __init__(self, candidates: Sequence[Candidate], named: Sequence[Candidate]) -> None:
        """Ask no backend.

        Args:
            candidates: The backends in the order of preference.
            named: Further backends that hints may name.
        """
        self._ranks = _Ranks(candidates, named)
        self._seen: list[Hashable] = []  # hashing thousands of scales is for refusals only

    def note(self, layers: Iterable[Layer]) -> None:
        """Take note of layers that came."""
        self._seen += map(_trait_of, layers)

    def confirm(self, layers: Iterable[Layer], answers: NetworkAnswers) -> None:
        """Check that the preferred backends run the stored layers.

        Args:
            layers: The layers of the rewritten network that need a backend.
            answers: The backends' answers about them, which are used for the assignment as well.

        Raises:
            FoldsRefused: They do not.
        """
        refused: set[Hashable] = set()
        for layer in layers:
            if _computes_stored_values(layer):
                first = self._ranks.of(layer)[:1]
                if not all(answers.of(candidate, layer) for candidate in first):
                    refused.add(_trait_of(layer))
        if refused:
            raise FoldsRefused(refused if refused <= set(self._seen) else None)


class FoldPermission:
    """Permission for the folds that backends take.

    The first backend that computes either of the two decides.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        named: Sequence[Candidate] = (),
        refused: set[Hashable] | None = None,
        doubtful: Collection[Hashable] | None = None,
    ) -> None:
        """Ask no backend yet.

        Args:
            candidates: The backends in the order of preference.
            named: Further backends that hints may name.
            refused: Traits of layers that were refused before, about which no backend is asked
                again; grows.
            doubtful: Traits of layers that the preferred backend refused in a trial; it takes all
                others. None if there was no trial.
        """
        self._ranks = _Ranks(candidates, named)
        self._refused = set[Hashable]() if refused is None else refused
        self._doubtful = doubtful

    def __call__(self, stored: Network, present: EmitFloat) -> Collection[Layer]:
        """Return the layers of ``stored`` that may replace others.

        Each backend is asked once about them, and once about those that it would otherwise compute
        instead, where it refuses some.

        Args:
            stored: The layers that would come, each alone, with the hints of the present ones.
            present: Adds the layer that would be replaced by a layer of ``stored`` to a network.
        """
        kernels = (each for each in stored.layers if not each.spec.no_kernel)
        successors = [each for each in kernels if _trait_of(each) not in self._refused]
        asked = [each for each in successors if self._is_doubtful(each)]
        answers, real = NetworkAnswers(stored, asked), Network("")
        ranked = {each: self._ranks.of(each) for each in asked}

        def takes(candidate: Candidate, layer: Layer) -> bool:
            tried = self._doubtful is not None and candidate is ranked[layer][0]
            return not tried and bool(answers.of(candidate, layer))

        presents = {
            each: present(each, real)
            for each, order in ranked.items()
            if not all(takes(first, each) for first in order[:1])
        }
        old = NetworkAnswers(real, presents.values())

        def may_come(layer: Layer) -> bool:
            for candidate in ranked[layer]:
                if takes(candidate, layer):
                    return True
                if old.of(candidate, presents[layer]):
                    return False
            return False

        stay = [each for each in asked if not may_come(each)]
        self._refused.update(map(_trait_of, stay))
        return {each for each in successors if each not in stay}

    def _is_doubtful(self, layer: Layer) -> bool:
        return self._doubtful is None or _trait_of(layer) in self._doubtful


def fold_permission(
    participants: Participants, doubtful: Collection[Hashable] | None = None
) -> SupportQuery:
    """Return the query that decides about layers on stored values.

    Args:
        participants: The backends.
        doubtful: Traits of layers that the preferred backend refused in a trial, if there was one.
    """
    return FoldPermission(
        participants.candidates, participants.named, participants.refused_folds, doubtful
    )


class _Ranks:
    """The order in which backends may run a layer."""

    def __init__(self, candidates: Sequence[Candidate], named: Sequence[Candidate]) -> None:
        """Note the backends, and those that only hints reach."""
        self._candidates = tuple(candidates)
        self._named = {candidate.id: candidate for candidate in (*named, *candidates)}

    def of(self, layer: Layer) -> tuple[Candidate, ...]:
        """Return the backends, that of the layer's hint first."""
        hinted = self._named.get(layer.backend_hint or "")
        return self._candidates if hinted is None else (hinted, *self._candidates)


def _computes_stored_values(layer: Layer) -> bool:
    infos = (*layer.input_infos, *layer.output_infos)
    quantized = any(info is not None and info.is_quantized for info in infos)
    return quantized and layer.type not in ("Quantize", "Dequantize")


def _trait_of(layer: Layer) -> Hashable:
    """Return a key by which a layer is recognized in copies of its network."""
    return layer.name, layer.descriptor, layer.input_infos, layer.output_infos
