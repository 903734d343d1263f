# SPDX-License-Identifier: MIT
"""Variables that outlive a run, as network inputs and outputs.

A variable that a run reads before it assigns it, and that a run assigns, is an input and an output
under its name: the caller feeds the output of one run to the next one. The value that the file puts
into all of its elements first is in the metadata, under ``initial <name>``. One that only
``CALL_ONCE`` assigns has the assigned value. A handle is a constant number, so that it can be
passed to other subgraphs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from armnn.graph import Network, Value
from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatTable
from armnn.tensor import TensorInfo
from armnn_parser_tflite._bindings import BuiltinOperator
from armnn_parser_tflite.model_file import ModelFile


class Variables:
    """A model's variables during the conversion, in a run's order.

    Attributes:
        initialising: Whether what is converted runs only once, before the first run.
        assignments: How many were converted.

    Args:
        model: The file; which variables a run assigns is looked up in it.
        network: What gets the inputs and outputs.
    """

    def __init__(self, model: ModelFile, network: Network) -> None:
        self._model = model
        self._network = network
        self._names: list[str] = []
        self._initial: dict[int, Value] = {}
        self._current: dict[int, Value] = {}
        self._states: dict[int, None] = {}
        self._assigned: Collection[str] | None = None
        self.initialising = False
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
        values = self._initial if self.initialising else self._current
        values[self._number(handle)] = value
        self.assignments += 1

    def add_outputs(self) -> None:
        """Make outputs of variable inputs, and record their initial values."""
        for number in self._states:
            name = self._names[number]
            self._network.add_output(name, self._current[number])
            initial = self._initial.get(number)
            data = None if initial is None else initial.constant
            if data is not None and data.size and (data == data.flat[0]).all():
                self._network.metadata[f"initial {name}"] = str(data.flat[0])

    def _number(self, handle: Value) -> int:
        if handle.constant is None or not 0 <= int(handle.constant) < len(self._names):
            raise RefusedError("which variable it means is computed")
        return int(handle.constant)

    def _is_assigned(self, name: str) -> bool:
        if self._assigned is None:
            self._assigned = tuple(_assigned_names(self._model.root))
        return name in self._assigned or "" in self._assigned


def _assigned_names(root: FlatTable) -> Iterator[str]:
    """Yield the variables assigned after initialisation, "" for any."""
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
