# SPDX-License-Identifier: MIT
"""Orders of layers: topological with an index of kinds, and sorted behind their inputs."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from types import UnionType
from typing import Any, Final, TypeAlias

from armnn.graph.layer import Layer
from armnn.layers import Descriptor

Kinds: TypeAlias = type[Any] | UnionType | tuple[type[Any], ...]


_FUNCTIONS: Final = {
    "Activation": "function",
    "ElementwiseBinary": "operation",
    "ElementwiseUnary": "operation",
}
"""The parameter that says which function such a layer computes."""


class Order(tuple["Layer", ...]):
    """Layers in an order, of which most passes need few."""

    def computing(self, kinds: Kinds | None = None) -> Sequence[Layer]:
        """Return the layers that compute something.

        Args:
            kinds: The descriptors of those that are wanted.
        """
        known = self._of_each_kind
        if kinds is None:
            return known[None]
        wanted = [kind for kind in known if kind is not None and issubclass(kind, kinds)]
        if len(wanted) == 1:
            return known[wanted[0]]
        # The kinds of a pass are mostly absent.
        return [each for each in known[None] if each.spec.descriptor in wanted] if wanted else ()

    def reads(self, readers: Collection[str], makers: Collection[str]) -> bool:
        """Return whether layers of some types read others' real values.

        Args:
            readers: Types of layers that compute something.
            makers: Types of layers.
        """
        for kind, layers in self._of_each_kind.items():
            if kind is None or layers[0].type not in readers:
                continue
            for layer in layers:
                for value in layer.inputs:
                    if value is None or value.producer.type not in makers:
                        continue
                    if not value.info.is_quantized:
                        return True
        return False

    @property
    def types(self) -> frozenset[str]:
        """The types of the layers that compute something.

        Types with many functions are listed with them, too: "Activation", "Activation ReLu".
        """
        found: frozenset[str] | None = self.__dict__.get("named")
        if found is None:
            names: set[str] = set()
            for kind, layers in self._of_each_kind.items():
                if kind is None:
                    continue
                name = layers[0].type
                names.add(name)
                if name in _FUNCTIONS:
                    functions = {getattr(each.descriptor, _FUNCTIONS[name]) for each in layers}
                    names.update([f"{name} {each.arm_name}" for each in functions])
            found = self.__dict__["named"] = frozenset(names)
        return found

    @property
    def _of_each_kind(self) -> dict[type[Descriptor] | None, list[Layer]]:
        """The computing layers of each kind; None has all."""
        found: dict[type[Descriptor] | None, list[Layer]] | None = self.__dict__.get("kinds")
        if found is None:
            found = self.__dict__["kinds"] = {None: []}
            for layer in self:
                spec = layer.spec
                if not spec.no_kernel:
                    found[None].append(layer)
                    found.setdefault(spec.descriptor, []).append(layer)
        return found


def sorted_by_uses(layers: Sequence[Layer]) -> tuple[list[Layer], list[str]]:
    """Return layers after their producers, and names in cycles.

    Passes ask for it after each change, so that a call of a function in here would count.

    Args:
        layers: All of a graph; of several that may be next, the first is taken.
    """
    done: dict[Layer, None] = {}
    counts: dict[int, int] = {}  # how many inputs a layer waits for, by its number
    readers: dict[Layer, list[int]] = {}  # the numbers of the layers that wait for one
    for number, layer in enumerate(layers):
        count = 0
        for value in layer.inputs:
            if value is not None and value.producer not in done:
                count += 1
                if value.producer in readers:
                    readers[value.producer].append(number)
                else:
                    readers[value.producer] = [number]
        if count:
            counts[number] = count
            continue
        done[layer] = None
        if layer not in readers:
            continue
        # The layers that waited for it come before all others that are not ordered yet.
        released, ready = readers.pop(layer), list[int]()
        while released or ready:
            for each in released:
                counts[each] -= 1
                if not counts[each]:
                    heapq.heappush(ready, each)
            if not ready:
                break
            found = layers[heapq.heappop(ready)]
            done[found] = None
            released = readers.pop(found, [])
    return list(done), [layer.name for layer in layers if layer not in done]
