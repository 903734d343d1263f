# SPDX-License-Identifier: MIT
"""Passes, imported when a network has layers for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from armnn.graph import Network


class PassOnDemand:
    """A pass, with the layers without which it changes nothing.

    Most networks have work for few passes, and a pass imports the families that it is about.
    """

    __slots__ = ("__name__", "_function", "_makers", "_readers", "needed")

    def __init__(self, name: str, *needed: Iterable[str], behind: Iterable[str] = ()) -> None:
        """Import nothing yet.

        Args:
            name: Of the pass and of its module.
            needed: Types of layers, or types and functions as in "Activation Sqrt"; a network must
                have one of each of these groups.
            behind: Types of layers; one of the first group must read a real value of one of them.
        """
        self.__name__ = name
        self.needed = tuple(map(frozenset, needed))
        self._makers = frozenset(behind)
        self._readers = frozenset(each.partition(" ")[0] for each in next(iter(needed), ()))
        self._function: Callable[[Network], int] | None = None

    def __call__(self, network: Network) -> int:
        """Change a network; return how many times."""
        order = network.topological_order()
        for types in self.needed:
            if types.isdisjoint(order.types):
                return 0
        if self._makers and not order.reads(self._readers, self._makers):
            return 0
        if self._function is None:
            module = import_module(f"{__package__}.{self.__name__}")
            self._function = getattr(module, self.__name__)
        return self._function(network)
