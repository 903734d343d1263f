# SPDX-License-Identifier: MIT
"""Compiled parts of networks, compiled again for other shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from armnn._dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Value
    from armnn.layers import Descriptor
    from armnn.tensor import TensorInfo


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """What is different for other shapes; all else stays.

    Infos and parameters are the same objects for all shapes. They hold symbolic numbers, whose
    positions in ``numbers`` tell what they are for these shapes.

    Attributes:
        numbers: The plain numbers.
        infos: Of values.
        descriptors: The parameters of layers.
        constants: The data of constant values.
    """

    numbers: Sequence[Any]
    infos: Mapping[Value, TensorInfo]
    descriptors: Mapping[Layer, Descriptor]
    constants: Mapping[Value, NDArray[Any]]


class Replannable(ABC):
    """A compiled part that other shapes can be compiled from.

    A backend without it is asked about the layers for each set of shapes, as for the first.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def layers(self) -> Sequence[Layer]:
        """Its layers; none if it cannot be compiled again."""

    @property
    @abstractmethod
    def results(self) -> Sequence[Value]:
        """The values of its outputs, as these layers make them."""

    @abstractmethod
    def replanned(self, changes: Changes) -> object | None:
        """Return the same layers compiled with changes.

        None if the backend refuses one of them now, which has to be prepared anew then.

        Raises:
            ArmnnError: The backend failed.
        """
