# SPDX-License-Identifier: MIT
"""The network in the making, by the subgraph's tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.graph import Network, Survey, Value
from armnn.parsing.conversion import ValueTable
from armnn.tensor import TensorInfo
from armnn_parser_tflite.buffers import Buffers
from armnn_parser_tflite.schema import Subgraph, Tensor
from armnn_parser_tflite.tensors import info_of, to_array
from armnn_parser_tflite.variables import Variables


class Graph(ValueTable[int]):
    """Values by tensor index; constants are read on first use.

    Attributes:
        subgraph: What it is made from.
        buffers: The data of constants.
        variables: What outlives a run.
        inline: Adds the layers of another subgraph: from its number and the values of its inputs
            to the values of its outputs.
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
        super().__init__(network, prefix, survey)
        self.subgraph = subgraph
        self.buffers = buffers
        self.variables = variables
        self.inline = inline

    def tensor(self, index: int) -> Tensor:
        """Return what the file says of a tensor."""
        return self.subgraph.tensors[index]

    def has_data(self, index: int) -> bool:
        """Return whether the file has a tensor's data.

        Raises:
            ParseError: It is malformed.
        """
        tensor = self.tensor(index)
        return bool(tensor.external_buffer) or self.buffers.data(tensor.buffer) is not None

    def value(self, index: int) -> Value:
        """Return a tensor's value; data becomes one Constant layer.

        A variable has the value that it has before the first run: the real number zero.

        Raises:
            ParseError: Nothing makes it, or its data is malformed.
        """
        if index not in self.known:
            tensor = self.tensor(index)
            data, info = self._stored(tensor)
            self.known[index] = self.network.add_constant(
                data,
                info.with_shape(tensor.shape),
                name=self.unique_name(tensor.name or f"tensor_{index}"),
            )
        return self.known[index]

    def constant(self, index: int) -> NDArray[Any] | None:
        """Return a tensor's data, None if the network computes it.

        That makes no layer: weights in Float16 are read so only.

        Raises:
            ParseError: Nothing makes it, or its data is malformed.
        """
        known = self.known.get(index)
        return self._stored(self.tensor(index))[0] if known is None else known.constant

    def _stored(self, tensor: Tensor) -> tuple[NDArray[Any], TensorInfo]:
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
        return data.astype(info.data_type.numpy_dtype, copy=False), info

    def check_free(self, index: int) -> None:
        """Check that a tensor has no value yet.

        Raises:
            ParseError: It has one.
        """
        if index in self:
            raise ParseError(f"two inputs or operators make the tensor {self.tensor(index).name!r}")
