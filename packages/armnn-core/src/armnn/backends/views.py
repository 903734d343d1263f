# SPDX-License-Identifier: MIT
"""Backends' views of a network, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armnn._arguments import shown
from armnn.errors import GraphError
from armnn.graph import Layer, Network, Value


@dataclass(frozen=True, slots=True, eq=False)
class SubgraphView:
    """Some layers of a network (Arm NN: ``SubgraphView``).

    Attributes:
        network: The network; it is read, never changed through a view.
        layers: In topological order.
        inputs: The values that the layers read and that others make, Constant layers' included,
            in the order of first use.
        outputs: The values that the layers make and that others read, in the order of the layers.
    """

    network: Network
    layers: tuple[Layer, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @classmethod
    def of(cls, network: Network, layers: Iterable[Layer]) -> SubgraphView:
        """Return the view of some layers of a network.

        Raises:
            GraphError: A layer is not in the network.
        """
        wanted = dict.fromkeys(layers)
        for layer in wanted:
            if layer not in network:
                raise GraphError(f"layer {layer.name!r} is not in the network {network.name!r}")
        ordered = tuple(sorted(wanted, key=_positions(network).__getitem__))
        inputs = dict.fromkeys(
            value
            for layer in ordered
            for value in layer.inputs
            if value is not None and value.producer not in wanted
        )
        outputs = tuple(
            value
            for layer in ordered
            for value in layer.outputs
            if any(reader not in wanted for reader, _ in value.uses)
        )
        return cls(network, ordered, tuple(inputs), outputs)

    def part(self, *layers: Layer) -> SubgraphView:
        """Return the view of some of these layers."""
        return SubgraphView.of(self.network, layers)

    def replacement(self) -> Network:
        """Return a new network with the view's inputs.

        A backend adds its layers and then one output per output of the view, in the same order;
        :class:`Substitution` takes the result.
        """
        fragment = Network(f"replacement in {self.network.name}")
        fragment.is_temporary = True
        for value in self.inputs:
            fragment.add_input(value.name, value.info)
        return fragment


def _positions(network: Network) -> dict[Layer, int]:
    return {layer: index for index, layer in enumerate(network.topological_order())}


@dataclass(frozen=True, slots=True, eq=False)
class Substitution:
    """A part of a subgraph and its replacement.

    Attributes:
        pattern: The layers that go.
        replacement: One Input layer per input of the pattern and one Output layer per output, in
            the same order; what is between them comes in.
    """

    pattern: SubgraphView
    replacement: Network


@dataclass(slots=True, eq=False)
class OptimizationViews:
    """What a backend made of a subgraph (Arm NN: ``OptimizationViews``).

    Every layer of the subgraph is in exactly one of the lists; those in none are untouched.

    Attributes:
        substitutions: Parts to replace.
        failed: Parts that the backend cannot run after all; they go to the next backend.
        untouched: Parts that stay as they are.
        deleted: Parts to take out: each of its outputs is replaced by its input of the same
            position, or just goes if nothing reads it.
        reasons: For people: why a part failed, by the name of one of its layers.
    """

    substitutions: list[Substitution] = field(default_factory=list)
    failed: list[SubgraphView] = field(default_factory=list)
    untouched: list[SubgraphView] = field(default_factory=list)
    deleted: list[SubgraphView] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def wrong_views(views: Any) -> str | None:
    """Return what is wrong with an answer of ``optimize_subgraph``, None if nothing is."""
    if not isinstance(views, OptimizationViews):
        return shown(views)
    kinds = {
        "substitutions": Substitution,
        "failed": SubgraphView,
        "untouched": SubgraphView,
        "deleted": SubgraphView,
    }
    for name, kind in kinds.items():
        rows: Any = getattr(views, name)
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            return f"OptimizationViews with {shown(rows)} as {name}"
        for row in rows:
            if not isinstance(row, kind):
                return f"OptimizationViews with {shown(row)} in {name}"
    for each in views.substitutions:
        pattern: Any = each.pattern
        replacement: Any = each.replacement
        if not isinstance(pattern, SubgraphView):
            return f"a Substitution with {shown(pattern)} as pattern"
        if not isinstance(replacement, Network):
            return f"a Substitution with {shown(replacement)} as replacement"
    reasons: Any = views.reasons
    if not isinstance(reasons, Mapping):
        return f"OptimizationViews with {shown(reasons)} as reasons"
    return None
