# SPDX-License-Identifier: MIT
"""The network that is being made, seen by the tensors of the subgraph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armnn.errors import ParseError
from armnn_parser_tflite.tensors import info_of, to_array

if TYPE_CHECKING:
    from armnn.graph import Network, Survey, Value
    from armnn_parser_tflite.buffers import Buffers
    from armnn_parser_tflite.schema import Subgraph, Tensor
    from armnn_parser_tflite.variables import Variables


class Graph:
    """Values by the indices of tensors. Constants are read when the first operator asks for them.

    Attributes:
        network: What is being made.
        subgraph: What it is made from.
        buffers: The data of constants.
        variables: What outlives a run.
        prefix: What the names of layers begin with; each call of a subgraph has its own.
        inline: Adds the layers of another subgraph: from its number and the values of its inputs
            to the values of its outputs.
        survey: Where the operators are noted; None if those that cannot be converted are an error.
    """

    def __init__(
        self,
        network: Network,
        subgraph: Subgraph,
        buffers: Buffers,
        variables: Variables,
        inline: Callable[[int, Sequence[Value]], list[Value]],
        prefix: str = "",
        survey: Survey | None = None,
    ) -> None:
        self.network = network
        self.subgraph = subgraph
        self.buffers = buffers
        self.variables = variables
        self.inline = inline
        self.prefix = prefix
        self.survey = survey
        self._values: dict[int, Value] = {}

    def __contains__(self, index: int) -> bool:
        return index in self._values

    def tensor(self, index: int) -> Tensor:
        """Return what the file says of a tensor."""
        return self.subgraph.tensors[index]

    def has_data(self, index: int) -> bool:
        """Whether the file has the data of a tensor.

        Raises:
            ParseError: It is malformed.
        """
        tensor = self.tensor(index)
        return bool(tensor.external_buffer) or self.buffers.data(tensor.buffer) is not None

    def add_input(self, index: int, name: str) -> None:
        """Add an input of the network.

        Raises:
            ParseError: The tensor is an input already, or networks have no such tensor.
        """
        self._check_free(index)
        self._values[index] = self.network.add_input(name, info_of(self.tensor(index)))

    def bind(self, index: int, value: Value) -> None:
        """Make the value of a tensor known.

        Raises:
            ParseError: It is known already.
        """
        self._check_free(index)
        self._values[index] = value

    def value(self, index: int) -> Value:
        """Return the value of a tensor; one with data becomes a Constant layer, once.

        A variable has the value that it has before the first run: the real number zero.

        Raises:
            ParseError: Nothing makes it, or its data is malformed.
        """
        if index not in self._values:
            tensor = self.tensor(index)
            info = info_of(tensor)
            data = to_array(tensor, self.buffers)
            if data is None and tensor.is_variable:
                # One element, seen as many: the file may claim any size.
                zero = info.zero_points[0] if info.zero_points else 0
                data = np.broadcast_to(np.array(zero, info.data_type.numpy_dtype), tensor.shape)
            if data is None:
                raise ParseError(
                    f"the tensor {tensor.name!r} is read, but it has no data and no input or "
                    "operator before makes it"
                )
            self._values[index] = self.network.add_constant(
                data.astype(info.data_type.numpy_dtype, copy=False),
                info.with_shape(tensor.shape),
                name=self.unique_name(tensor.name or f"tensor_{index}"),
            )
        return self._values[index]

    def unique_name(self, stem: str) -> str:
        """Return a free name for a layer."""
        return self.network.unique_name(self.prefix + stem)

    def _check_free(self, index: int) -> None:
        if index in self._values:
            raise ParseError(f"two inputs or operators make the tensor {self.tensor(index).name!r}")
