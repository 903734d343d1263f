# SPDX-License-Identifier: MIT
"""Operators of a model file: surveyed ones, and those that become layers later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a layer names the operator that it comes from
    from armnn.graph.layer import Value
    from armnn.graph.network import Network
    from armnn.graph.python_operators import OperatorRegistration


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a model's file.

    Attributes:
        type: Its type in the format, "Conv" for one.
        name: Its name in the file, which is unique there.
    """

    type: str
    name: str

    def __init__(self, type: str, name: str) -> None:  # one for each operator: a tenth of the time
        assign = object.__setattr__
        assign(self, "type", type)
        assign(self, "name", name)


@dataclass(slots=True)
class Survey:
    """The operators of a file that is parsed tolerantly.

    A parser that is given one raises no UnsupportedOperatorError: the network lacks what cannot be
    converted, and what is made from that.

    Attributes:
        operators: The operators that an output depends on, in the order of the file, each with the
            reason why it cannot be converted, "" if it can.
        cut_off: The operators that read outputs of one that cannot be converted.
    """

    operators: dict[Operator, str] = field(default_factory=dict)
    cut_off: dict[Operator, None] = field(default_factory=dict)

    @property
    def refused(self) -> dict[Operator, str]:
        """The operators that cannot be converted, with the reasons."""
        return {operator: reason for operator, reason in self.operators.items() if reason}


class DeferredOperator(ABC):
    """An operator that a parser cannot turn into layers yet.

    A parser adds a StandIn layer and puts one of these into its ``compiled``. When the network is
    specialized, the layer is replaced by what :meth:`resolve` adds, as soon as the shapes of all of
    its inputs are known and so is the data of those that it awaits. If these are computed by the
    network, the segment that computes them is run before.

    Attributes:
        operator: Its name in the model's format.
        awaits: The positions of the inputs whose data it must know.
        registration: The program's registration of it; None for an operator of the format.
        grows: Whether the data that it awaits only says how large its outputs become. States keep
            their size, so that it awaits nothing in a network that has them.
    """

    operator: str
    awaits: tuple[int, ...]
    grows: bool = False
    registration: OperatorRegistration | None = None

    @abstractmethod
    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        """Add the layers to a network.

        It is called once for every set of shapes and values, by several threads at once.

        Args:
            network: The network that is added to.
            inputs: The values that stand there for the inputs of the StandIn layer.

        Returns:
            One value per output of the StandIn layer; they may be those of other StandIn layers.

        Raises:
            ParseError: The operator cannot be computed with these shapes and values.
        """
