# SPDX-License-Identifier: MIT
"""A tensor that flows through a network: made by one layer, read by any number of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph.layer import Layer
    from armnn.tensor import TensorInfo


class Value:
    """One output of one layer.

    A value is equal only to itself. Its uses are kept by :class:`~armnn.graph.network.Network`;
    only the network's own methods change them.

    Attributes:
        info: Shape, data type and quantisation.
        producer: The layer that makes it.
        index: Which output of the producer it is.
        uses: The (layer, input index) pairs that read it, in the order in which they were made.
    """

    __slots__ = ("index", "info", "producer", "uses")

    def __init__(self, info: TensorInfo, producer: Layer, index: int) -> None:
        self.info = info
        self.producer = producer
        self.index = index
        self.uses: dict[tuple[Layer, int], None] = {}

    @property
    def name(self) -> str:
        """The producer's name, with the output's number if it has several."""
        if len(self.producer.outputs) == 1:
            return self.producer.name
        return f"{self.producer.name}:{self.index}"

    @property
    def constant(self) -> NDArray[Any] | None:
        """The data, if a Constant layer makes it."""
        return self.producer.data

    @property
    def consumers(self) -> tuple[Layer, ...]:
        """The layers that read it, each once."""
        return tuple(dict.fromkeys(layer for layer, _ in self.uses))

    def __repr__(self) -> str:
        return f"<Value {self.name!r} {self.info}>"
