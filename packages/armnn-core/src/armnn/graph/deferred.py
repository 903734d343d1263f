# SPDX-License-Identifier: MIT
"""Operators that become layers later: the contents of StandIn layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from armnn.graph.layer import Value
from armnn.graph.network import Network


class DeferredOperator(ABC):
    """An operator that a parser cannot turn into layers yet.

    A parser adds a StandIn layer and puts one of these into its ``compiled``. When the network is
    specialised, the layer is replaced by what :meth:`resolve` adds, as soon as the shapes of all of
    its inputs are known and so is the data of those that it awaits. If these are computed by the
    network, its first part is run before.

    Attributes:
        operator: What the model's format calls it.
        awaits: The positions of the inputs whose data it must know.
    """

    operator: str
    awaits: tuple[int, ...]

    @abstractmethod
    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        """Add the layers to a network.

        It is called once for every set of shapes and values, by several threads at once.

        Args:
            network: What is added to.
            inputs: The values that stand there for the inputs of the StandIn layer.

        Returns:
            One value per output of the StandIn layer; they may be those of other StandIn layers.

        Raises:
            ParseError: The operator cannot be computed with these shapes and values.
        """
