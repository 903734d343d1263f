# SPDX-License-Identifier: MIT
"""A decoded graph, run by a Python backend's workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armnn.backends.base import Backend, ModelContext, Step
from armnn.backends.calling import check_answer
from armnn.backends.ffi.constants import constants
from armnn.backends.memory import ArrayHandle
from armnn.backends.python.graph import DecodedGraph, array_at
from armnn.graph import Value
from armnn_backend_api import ctypes_mirror as abi


class PythonProgram:
    """The workloads of a graph's layers, with its constants.

    The constants are kept as long as it lives.

    Attributes:
        graph: The graph.
        backend_id: The backend.
        workloads: One per layer.
    """

    def __init__(self, backend: Backend, model: ModelContext, graph: DecodedGraph) -> None:
        self.graph = graph
        self.backend_id = backend.id
        self.workloads = [backend.create_workload(layer, model) for layer in graph.layers]
        for layer, workload in zip(graph.layers, self.workloads, strict=True):
            check_answer(backend.id, "create_workload", workload, about=layer)
        for reference in graph.constant_refs:
            constants.keep(reference)

    def close(self) -> None:
        """Give the constants back."""
        while self.graph.constant_refs:
            constants.drop(self.graph.constant_refs.pop())


class PythonContext:
    """One context's tensors and steps, bound on first use.

    They are bound when memory is first passed.
    """

    def __init__(self, program: PythonProgram) -> None:
        self._program = program
        self._bound_to: tuple[int | None, ...] = ()
        self._steps: list[Step] = []

    def execute(self, inputs: Sequence[abi.Tensor], outputs: Sequence[abi.Tensor]) -> None:
        """Run the steps, bound anew if a tensor moved."""
        places = tuple(tensor.data for tensor in (*inputs, *outputs))
        if not self._steps or places != self._bound_to:
            self._steps = self._bind(inputs, outputs)
            self._bound_to = places
        for step in self._steps:
            step()

    def _bind(self, inputs: Sequence[abi.Tensor], outputs: Sequence[abi.Tensor]) -> list[Step]:
        graph = self._program.graph
        handles: dict[Value, ArrayHandle] = {}
        for values, tensors in ((graph.inputs, inputs), (graph.outputs, outputs)):
            for value, tensor in zip(values, tensors, strict=True):
                handles[value] = ArrayHandle(value.info, array_at(tensor, value.info))

        def handle_of(value: Value) -> ArrayHandle:
            if value not in handles:
                handles[value] = ArrayHandle(value.info, _array_of(value))
            return handles[value]

        steps = []
        for layer, workload in zip(graph.layers, self._program.workloads, strict=True):
            step = workload.bind(
                [None if value is None else handle_of(value) for value in layer.inputs],
                [handle_of(value) for value in layer.outputs],
            )
            check_answer(self._program.backend_id, "bind", step, about=layer)
            steps.append(step)
        return steps


def _array_of(value: Value) -> Any:
    if value.constant is not None:
        return value.constant
    return np.empty(value.info.static_shape, value.info.data_type.numpy_dtype)
