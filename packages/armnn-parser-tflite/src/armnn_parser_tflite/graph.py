# SPDX-License-Identifier: MIT
"""The network in the making, by the subgraph's tensors, and the variables that outlive a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.graph import Network, Survey, Value, note_initial_value
from armnn.parsing.conversion import RefusedError, ValueTable
from armnn.parsing.flatbuffers import FlatTable
from armnn.tensor import TensorInfo
from armnn_parser_tflite._bindings import BuiltinOperator
from armnn_parser_tflite.model_file import ModelFile
from armnn_parser_tflite.schema import Subgraph, Tensor
from armnn_parser_tflite.tensors import Buffers, info_of, to_array


class Variables:
    """A model's variables during the conversion, in a run's order.

    Attributes:
        initializing: Whether what is converted runs only once, before the first run.
        assignments: How many were converted.

    Args:
        model: The file; which variables a run assigns is looked up in it.
        network: The network that gets the inputs and outputs.
    """

    def __init__(self, model: ModelFile, network: Network) -> None:
        self._model = model
        self._network = network
        self._names: list[str] = []
        self._initial: dict[int, Value] = {}
        self._current: dict[int, Value] = {}
        self._states: dict[int, None] = {}
        self._assigned: Collection[str] | None = None
        self.initializing = False
        self.assignments = 0

    def handle(self, name: str) -> Value:
        """Return the handle of a variable."""
        if name not in self._names:
            self._names.append(name)
        number = np.array(self._names.index(name), np.int32)
        return self._network.add_constant(number, name=self._network.unique_name(f"{name}/handle"))

    def read(self, handle: Value, info: TensorInfo) -> Value:
        """Return the value that a variable has now.

        Raises:
            RefusedError: The handle is computed.
        """
        number = self._number(handle)
        if number not in self._current:
            initial = self._initial.get(number)
            if initial is None or self._is_assigned(self._names[number]):
                self._states[number] = None
                initial = self._network.add_input(self._names[number], info)
            self._current[number] = initial
        return self._current[number]

    def assign(self, handle: Value, value: Value) -> None:
        """Give a variable another value.

        Raises:
            RefusedError: The handle is computed.
        """
        values = self._initial if self.initializing else self._current
        values[self._number(handle)] = value
        self.assignments += 1

    def add_outputs(self) -> None:
        """Make outputs of variable inputs, and record their initial values."""
        for number in self._states:
            name = self._names[number]
            self._network.add_output(name, self._current[number])
            initial = self._initial.get(number)
            data = np.zeros(1, np.int8) if initial is None else initial.constant
            if data is not None:
                note_initial_value(self._network.metadata, name, data)

    def _number(self, handle: Value) -> int:
        if handle.constant is None or not 0 <= int(handle.constant) < len(self._names):
            raise RefusedError("its variable is chosen by computed data")
        return int(handle.constant)

    def _is_assigned(self, name: str) -> bool:
        if self._assigned is None:
            self._assigned = tuple(_assigned_names(self._model.root))
        return name in self._assigned or "" in self._assigned


def _assigned_names(root: FlatTable) -> Iterator[str]:
    """Yield the variables assigned after initialization, "" for any."""
    codes = [
        max(code.integer("DeprecatedBuiltinCode"), code.integer("BuiltinCode"))
        for code in root.tables("OperatorCodes")
    ]
    once: dict[int, None] = {}
    found: list[tuple[str, int]] = []
    for place, subgraph in enumerate(root.tables("Subgraphs")):
        handles: dict[int, str] = {}
        for operator in subgraph.tables("Operators"):
            index = operator.integer("OpcodeIndex")
            code = codes[index] if 0 <= index < len(codes) else -1
            if code == BuiltinOperator.VAR_HANDLE:
                options = operator.union("BuiltinOptions", "VarHandleOptions")
                name = "" if options is None else options.text("SharedName")
                handles.update(dict.fromkeys(operator.integers("Outputs"), name))
            elif code == BuiltinOperator.CALL_ONCE:
                options = operator.union("BuiltinOptions", "CallOnceOptions")
                once[0 if options is None else options.integer("InitSubgraphIndex")] = None
            elif code == BuiltinOperator.ASSIGN_VARIABLE:
                found += [(handles.get(at, ""), place) for at in operator.integers("Inputs")[:1]]
    return (name for name, place in found if place not in once)


class Graph(ValueTable[int]):
    """Values by tensor index; constants are read on first use.

    Attributes:
        subgraph: The subgraph that it is made from.
        buffers: The data of constants.
        variables: The variables that outlive a run.
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
        """Return the file's description of a tensor."""
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
