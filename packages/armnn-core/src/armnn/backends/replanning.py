# SPDX-License-Identifier: MIT
"""What changes in a compiled part for other shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from armnn.graph import Layer, Value
from armnn.layers import Descriptor
from armnn.tensor import TensorInfo


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

    __slots__ = ("constants", "descriptors", "infos", "numbers")

    def __init__(
        self,
        numbers: Sequence[Any],
        infos: Mapping[Value, TensorInfo],
        descriptors: Mapping[Layer, Descriptor],
        constants: Mapping[Value, NDArray[Any]],
    ) -> None:
        self.numbers, self.infos, self.descriptors = numbers, infos, descriptors
        self.constants = constants
