# SPDX-License-Identifier: MIT
"""The choice of backends: caller, then hint, then preference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from armnn._installing import BACKENDS, REFERENCE
from armnn._spelling import closest
from armnn.errors import InvalidArgumentError, OptimizationError
from armnn.optimizer.report import Refusal

if TYPE_CHECKING:
    from armnn.graph import Layer, Network
    from armnn.optimizer.candidates import Candidate, NetworkAnswers
    from armnn.optimizer.options import OptimizerOptions

UNASSIGNED = ("Input", "Output", "Constant", "MemCopy", "MemImport")
"""Layers that the runtime itself takes care of."""


@dataclass(slots=True, eq=False)
class Assignment:
    """Which backends refused which layers; the choice itself is ``layer.backend``.

    Attributes:
        answers: The backends' answers about the layers.
        candidates: The backends that may be chosen by preference, in order.
        named: The backends that may be chosen by name only.
        refusals: Per layer, the backends that refused it before the chosen one.
    """

    answers: NetworkAnswers
    candidates: tuple[Candidate, ...]
    named: tuple[Candidate, ...] = ()
    refusals: dict[Layer, list[Refusal]] = field(default_factory=dict)

    def by_id(self, backend_id: str) -> Candidate | None:
        """Return the candidate of that id, if it takes part."""
        for candidate in (*self.candidates, *self.named):
            if candidate.id == backend_id:
                return candidate
        return None

    def refuse(self, layer: Layer, backend_id: str, reason: str) -> None:
        """Record a refusal; the backend is not asked again."""
        self.refusals.setdefault(layer, []).append(Refusal(backend_id, reason or "gave no reason"))

    def refused_by(self, layer: Layer) -> tuple[str, ...]:
        """Return the ids of the backends that refused a layer."""
        return tuple(refusal.backend for refusal in self.refusals.get(layer, ()))


def check_layer_names(network: Network, layer_backends: Mapping[str, str]) -> None:
    """Check that the caller's choices name layers of the network.

    Raises:
        InvalidArgumentError: One does not; the closest name is suggested.
    """
    names = [layer.name for layer in network.layers if layer.type not in UNASSIGNED]
    for name in layer_backends:
        if name not in names:
            meant = closest(name, names, 0.6)
            hint = f"did you mean {meant!r}?" if meant else "armnn inspect lists the layers"
            raise InvalidArgumentError(
                f"a backend was chosen for layer {name!r}, which the network {network.name!r} "
                f"does not have; {hint}"
            )


def assign_backends(
    layers: Iterable[Layer], assignment: Assignment, options: OptimizerOptions
) -> None:
    """Set ``layer.backend`` for each layer without one.

    Raises:
        OptimizationError: No backend runs some layers, or in strict mode the first one that was
            asked does not; the error lists all of them with every backend's reason.
    """
    unsupported: list[Layer] = []
    fallbacks: list[Layer] = []
    for layer in layers:
        if layer.type in UNASSIGNED or layer.backend is not None:
            continue
        chosen = _choose(layer, assignment, options)
        if chosen is None:
            unsupported.append(layer)
            continue
        layer.backend = chosen
        if options.strict and layer in assignment.refusals:
            fallbacks.append(layer)
    if unsupported:
        asked = [candidate.id for candidate in assignment.candidates]
        raise OptimizationError(
            f"no backend of [{', '.join(asked)}] runs {len(unsupported)} layer(s) of the network:\n"
            f"{_list_refusals(unsupported, assignment)}\n"
            f"{_advice(unsupported, assignment)}"
        )
    if fallbacks:
        raise OptimizationError(
            f"strict mode: {len(fallbacks)} layer(s) do not run on the backend that was asked "
            f"first:\n"
            f"{_list_refusals(fallbacks, assignment)}\n"
            "Choose another backend for them (layer_backends=), or leave strict=True out to let "
            "them fall back."
        )


def _choose(layer: Layer, assignment: Assignment, options: OptimizerOptions) -> str | None:
    refused = assignment.refused_by(layer)
    for backend_id, candidate in _order(layer, assignment, options):
        if backend_id in refused:
            continue
        if candidate is None:
            known = [each.id for each in (*assignment.candidates, *assignment.named)]
            meant = closest(backend_id, known)
            hint = f"; did you mean {meant!r}?" if meant else ""
            reason = f"is not one of the backends of this runtime{hint}"
            assignment.refuse(layer, backend_id, reason)
            continue
        answer = assignment.answers.of(candidate, layer)
        if answer:
            return backend_id
        assignment.refuse(layer, backend_id, answer.reason)
    return None


def _order(
    layer: Layer, assignment: Assignment, options: OptimizerOptions
) -> Sequence[tuple[str, Candidate | None]]:
    """Return whom to ask: choice, hint, preferences; each once."""
    named = (options.layer_backends.get(layer.name), layer.backend_hint)
    order = {each: assignment.by_id(each) for each in named if each is not None}
    for candidate in assignment.candidates:
        order.setdefault(candidate.id, candidate)
    return tuple(order.items())


def _advice(layers: Sequence[Layer], assignment: Assignment) -> str:
    """Return what to do about layers that no backend runs."""
    if all(REFERENCE in assignment.refused_by(layer) for layer in layers):
        return (
            f"{REFERENCE}, which runs every type of layer, refused them as well: change in the "
            "model what the reasons name."
        )
    return (
        f"Add {REFERENCE} to the backends ({BACKENDS[REFERENCE]} brings it): it runs every type of "
        "layer."
    )


def _list_refusals(layers: Sequence[Layer], assignment: Assignment) -> str:
    return "\n".join(
        f"- {layer.name!r} ({layer.type}): "
        + "; ".join(f"{r.backend}: {r.reason}" for r in assignment.refusals.get(layer, ()))
        for layer in layers
    )
