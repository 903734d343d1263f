# SPDX-License-Identifier: MIT
"""An order of layers, which finds those of some kinds."""

from __future__ import annotations

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

        Those of many functions have them as well: "Activation", "Activation ReLu".
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
