# SPDX-License-Identifier: MIT
"""One operator during its conversion: inputs, axes and names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.errors import ParseError
from armnn.graph import Network, Value
from armnn.tensor import Shape
from armnn.types import DataType


class RefusedError(Exception):
    """Layers cannot compute an operator; the message says why."""


class NotKnownYetError(RefusedError):
    """An operator must wait for more knowledge of its inputs.

    Attributes:
        awaited: The index of the input whose data must be known; None if a shape is missing.
    """

    def __init__(self, message: str, awaited: int | None = None) -> None:
        super().__init__(message)
        self.awaited = awaited


def type_of_number(
    number: int, known: Mapping[int, DataType], lacking: Mapping[int, str]
) -> DataType:
    """Return the data type of a format's type number.

    Args:
        number: The number.
        known: The data types by number.
        lacking: The names of types that networks lack, by number.

    Raises:
        ParseError: Networks have no such type.
    """
    if number in known:
        return known[number]
    what = lacking.get(number, f"type number {number}")
    raise ParseError(
        f"tensors of {what} are not supported: expected another type of numbers, or Booleans"
    )


class Operation(ABC):
    """An operator with its values; parsers add their format's names.

    Attributes:
        network: The network that its layers are added to.
    """

    network: Network

    @abstractmethod
    def __str__(self) -> str:
        """Return how messages name it."""

    @abstractmethod
    def has_input(self, index: int) -> bool:
        """Return whether an optional input is present."""

    @abstractmethod
    def input(self, index: int = 0) -> Value:
        """Return an input.

        Raises:
            ParseError: It is absent.
        """

    @abstractmethod
    def input_name(self, index: int) -> str:
        """Return how messages name an input."""

    @abstractmethod
    def layer_name(self, part: str = "") -> str:
        """Return a free name for a layer.

        All layers of an operator but the last have a ``part``.
        """

    def error(self, what: str) -> ParseError:
        """Return the error for something malformed in this operator."""
        return ParseError(f"{self}: {what}")

    def optional_input(self, index: int) -> Value | None:
        """Return an input, None if it is absent."""
        return self.input(index) if self.has_input(index) else None

    def known(self, index: int) -> NDArray[Any]:
        """Return the data of a constant input.

        Raises:
            NotKnownYetError: It is computed.
        """
        value = self.input(index)
        if value.constant is None:
            what = f"its input {self.input_name(index)} is computed, it must be constant"
            raise NotKnownYetError(what, awaited=index)
        return value.constant

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of an input.

        Raises:
            NotKnownYetError: Not even its rank is known.
        """
        return self.shape_of(self.input(index))

    def shape_of(self, value: Value) -> Shape:
        """Return the shape of a value.

        Raises:
            NotKnownYetError: Not even its rank is known.
        """
        shape = value.info.shape
        if shape is None:
            raise NotKnownYetError(f"the rank of {value.name!r} is not known")
        return shape

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from the front.

        Raises:
            ParseError: A tensor of that rank has no such axis.
        """
        if not -rank <= axis < rank:
            raise self.error(f"the axis {axis} is not an axis of a tensor of rank {rank}")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Return axes counted from the front, in ascending order.

        Raises:
            ParseError: A tensor of that rank lacks one of them, or one is there twice.
        """
        counted = sorted(self.axis(axis, rank) for axis in axes)
        if len(set(counted)) != len(counted):
            raise self.error(f"the axes {list(axes)} name an axis twice")
        return tuple(counted)

    def number(self, value: ArrayLike, like: Value, part: str) -> Value:
        """Return a constant of the unquantised type of ``like``."""
        data = np.asarray(value).astype(like.info.data_type.numpy_dtype)
        return self.network.add_constant(data, name=self.layer_name(part))

    def integers_constant(self, values: Sequence[int], part: str) -> Value:
        """Return a constant list of 64-bit integers."""
        return self.network.add_constant(np.array(values, np.int64), name=self.layer_name(part))
