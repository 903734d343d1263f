# SPDX-License-Identifier: MIT
"""Layers in another layout, and the transposes around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from armnn.backends import Support
from armnn.graph import Layer, Network, Value
from armnn.optimizer.assignment.assign import Assignment
from armnn.optimizer.assignment.candidates import NetworkAnswers
from armnn.optimizer.candidate import Candidate
from armnn.optimizer.layouts.transposed import (
    Order,
    Transposed,
    add_form,
    add_transpose,
    keeps_elements,
    order_to,
    transposed_info,
    twin_of,
    undoes,
)
from armnn.optimizer.passes._edits import first_input
from armnn.optimizer.passes.permutes import inverse
from armnn.tensor import TensorInfo
from armnn.types import DataLayout


class Region:
    """The layers that a backend gets in its layout.

    Attributes:
        seeds: The layers about which it has the wish.
        layers: Those that change, in topological order.
    """

    def __init__(
        self,
        forms: Mapping[Layer, Transposed],
        seeds: Sequence[Layer],
        layout: DataLayout,
        candidate: Candidate,
        assignment: Assignment,
    ) -> None:
        """Ask the backend about the layers connected with seeds.

        Args:
            forms: What layers of the network are in the layout, in topological order.
            seeds: The layers about which the backend has the wish.
            layout: The layout.
            candidate: The backend.
            assignment: Has all backends, and gets the answers.
        """
        self._forms, self._layout, self._order = forms, layout, order_to(layout)
        self._candidate, self._assignment = candidate, assignment
        self.layers: dict[Layer, None] = dict.fromkeys(forms)
        near = _reached(seeds, self._joined)
        self.layers = {layer: None for layer in forms if layer in near}
        self._constants: dict[Value, tuple[NDArray[Any], TensorInfo]] = {}
        self._answers: dict[Layer, Support] = {}
        self._transposes: dict[tuple[TensorInfo, Order], tuple[Candidate, Support] | None] = {}
        self._ask()
        self.layers = {layer: None for layer in self.layers if self._answers[layer]}
        self.seeds = {layer for layer in seeds if layer in self.layers}

    def shrink(self) -> None:
        """Leave layers that save no transposes, and parts without seeds."""
        others = [layer for layer in self.layers if layer not in self.seeds]
        changed = True
        while changed:
            changed = False
            for layer in reversed(others):
                if layer not in self.layers:
                    continue
                values = dict.fromkeys(values_around([layer]))
                inside = sum(map(self.border, values))
                self.leave([layer])
                if sum(map(self.border, values)) > inside:
                    self.layers[layer] = None
                else:
                    changed = True
        self.layers = {layer: None for layer in self._forms if layer in self.layers}
        for part in self.components():
            if self.seeds.isdisjoint(part):
                self.leave(part)

    def leave(self, layers: Sequence[Layer]) -> None:
        """Let layers stay in the layout that they have."""
        for layer in layers:
            del self.layers[layer]

    def components(self) -> list[list[Layer]]:
        """Return the layers by connected parts, in topological order."""
        parts: list[list[Layer]] = []
        seen: set[Layer] = set()
        for layer in self.layers:
            if layer not in seen:
                part = _reached([layer], self._joined)
                seen |= part
                parts.append([each for each in self.layers if each in part])
        return parts

    def border(self, value: Value) -> float:
        """Return how many elements are transposed where a value crosses.

        Infinity if no backend transposes it; 0 if it stays inside or outside, is constant, or was
        transposed the other way before.
        """
        if value.constant is not None:
            return 0
        made = self._is_made(value)
        readers = [use for use in value.uses if self._takes(*use) is not made]
        if made:
            readers = [use for use in readers if not undoes(use[0], inverse(self._order))]
        elif undoes(value.producer, self._order):
            readers = []
        if not readers:
            return 0
        order = inverse(self._order) if made else self._order
        info = transposed_info(value.info, self._order) if made else value.info
        if self._transposes.get((info, order)) is None:
            return math.inf
        return 0 if keeps_elements(info.static_shape, order) else value.info.num_elements

    def apply(self, network: Network) -> int:
        """Put the layers into the layout; return how many.

        Transposes that the model has at the borders are taken out where they undo those that would
        come.
        """
        moved: dict[Value, Value] = {}
        successors: dict[Layer, Layer] = {}
        for layer in self.layers:
            inputs = [
                self._read(network, layer, index, moved) for index in range(len(layer.inputs))
            ]
            name = network.unique_name(layer.name)
            new = add_form(network, layer, self._forms[layer], self._order, inputs, name)
            for old, made in zip(layer.outputs, new.outputs, strict=True):
                if self._forms[layer].output:
                    moved[old] = made
                else:
                    network.replace_uses(old, made)
            self._assign(layer, new)
            successors[layer] = new
        for layer in self.layers:
            for value in layer.outputs:
                if value in moved:
                    self._hand_out(network, value, moved[value])
        for layer in reversed(self.layers):
            name = layer.name
            network.remove(layer)
            network.rename(successors[layer], name)
        return len(self.layers)

    def _joined(self, layer: Layer) -> Iterator[Layer]:
        """Yield the region's layers that share a moved value."""
        form = self._forms[layer]
        for index in form.inputs:
            value = layer.inputs[index]
            if value is not None and self._is_made(value):
                yield value.producer
        for value in layer.outputs if form.output else ():
            yield from (reader for reader, index in value.uses if self._takes(reader, index))

    def _is_made(self, value: Value) -> bool:
        """Return whether a value is made in the layout."""
        return value.producer in self.layers and self._forms[value.producer].output

    def _takes(self, reader: Layer, index: int) -> bool:
        """Return whether an input is read in the layout."""
        return reader in self.layers and index in self._forms[reader].inputs

    def _ask(self) -> None:
        """Ask the backend about all layers and transposes at once."""
        scratch = Network()
        twins = {
            layer: twin_of(layer, self._forms[layer], self._order, scratch, self._constants)
            for layer in self.layers
        }
        for value in dict.fromkeys(values_around(list(self.layers))):
            if value.constant is None and value.info.rank == len(self._order):
                info = transposed_info(value.info, self._order)
                self._transposes[value.info, self._order] = None
                self._transposes[info, inverse(self._order)] = None
        probes = {
            (info, order): add_transpose(
                scratch, scratch.add_input(f"tensor {number}", info), order
            )
            for number, (info, order) in enumerate(self._transposes)
        }
        answers = NetworkAnswers(scratch, (*twins.values(), *probes.values()))
        self._answers = {layer: answers.of(self._candidate, t) for layer, t in twins.items()}
        for key, probe in probes.items():
            self._transposes[key] = self._transposer(probe, answers)

    def _transposer(
        self, probe: Layer, answers: NetworkAnswers
    ) -> tuple[Candidate, Support] | None:
        """Return the first backend that transposes, the region's first."""
        own = answers.of(self._candidate, probe)
        if own:
            return self._candidate, own
        for other in self._assignment.candidates:
            if other is not self._candidate and (answer := other.supports(probe)):
                return other, answer
        return None

    def _read(
        self, network: Network, layer: Layer, index: int, moved: dict[Value, Value]
    ) -> Value | None:
        """Return what a layer reads in the layout."""
        value = layer.inputs[index]
        if value is None or index not in self._forms[layer].inputs:
            return value
        if value not in moved:
            moved[value] = self._brought(network, value, f"{index}-{layer.name}")
        return moved[value]

    def _brought(self, network: Network, value: Value, place: str) -> Value:
        """Return a value from outside in the layout."""
        if value.constant is not None:
            name = network.unique_name(value.producer.name)
            return network.add_constant(*self._constants[value], name=name)
        if undoes(value.producer, self._order):
            return first_input(value.producer)
        return self._transpose(network, value, self._order, f"to_{self._layout.name}-{place}")

    def _hand_out(self, network: Network, value: Value, made: Value) -> None:
        """Let readers outside read a value as it was."""
        back = inverse(self._order)
        for reader in value.consumers:
            if reader not in self.layers and undoes(reader, back):
                network.replace_uses(reader.output, made)
                network.remove(reader)
        if all(reader in self.layers for reader in value.consumers):
            return
        name = f"from_{self._layout.name}-{value.index}-{value.producer.name}"
        network.replace_uses(value, self._transpose(network, made, back, name))

    def _transpose(self, network: Network, value: Value, order: Order, name: str) -> Value:
        made = add_transpose(network, value, order, network.unique_name(f"transpose_{name}"))
        found = self._transposes[value.info, order]
        if found is not None:
            candidate, answer = found
            made.backend = candidate.id
            if candidate is self._candidate:  # others are asked about the network, with this layer
                self._assignment.answers.adopt(candidate, made, answer)
        return made.output

    def _assign(self, layer: Layer, new: Layer) -> None:
        """Assign a new layer; note who refused the old one."""
        assignment = self._assignment
        for other in assignment.candidates:
            if other is self._candidate:
                break
            if layer.backend_hint is None:
                assignment.refuse(new, other.id, assignment.answers.of(other, layer).reason)
        new.backend = self._candidate.id
        assignment.answers.adopt(self._candidate, new, self._answers[layer])
        assignment.converted[new] = (
            f"computes in {self._layout.name}, as {self._candidate.id} wishes"
        )


def values_around(layers: Sequence[Layer]) -> Iterator[Value]:
    """Yield the inputs and outputs of layers."""
    for layer in layers:
        yield from (value for value in layer.inputs if value is not None)
        yield from layer.outputs


def crossing(value: Value, on_backend: Collection[Layer]) -> int:
    """Return a value's elements if it crosses a backend's border."""
    if value.constant is not None or not value.info.is_static:
        return 0
    ends = [layer for layer in (value.producer, *value.consumers) if not layer.spec.no_kernel]
    inside = {layer in on_backend for layer in ends}
    return value.info.num_elements if len(inside) == 2 else 0


def _reached(start: Sequence[Layer], joined: Callable[[Layer], Iterable[Layer]]) -> set[Layer]:
    """Return what can be reached over shared values."""
    found, waiting = set(start), list(start)
    while waiting:
        new = [layer for layer in joined(waiting.pop()) if layer not in found]
        found.update(new)
        waiting += new
    return found
