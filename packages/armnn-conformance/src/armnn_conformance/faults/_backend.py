# SPDX-License-Identifier: MIT
"""A backend that computes right but for planted faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends import (
    ArrayHandle,
    Backend,
    BackendRegistry,
    CreationOptions,
    ModelContext,
    OptimizationViews,
    Step,
    SubgraphView,
    Substitution,
    Support,
    TensorHandle,
    Workload,
)
from armnn_conformance.fakes.ordinary import NullBackend
from armnn_conformance.faults._fault import Call, Fault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Value

    Array = NDArray[Any]


class FaultyBackend(NullBackend):
    """Computes by another backend, except for the faults.

    With a fault that is only in fusions it compiles its subgraphs whole.
    """

    id = "Faulty"

    def __init__(self, inner: Backend, *faults: Fault, backend_id: str | None = None) -> None:
        """Plant faults.

        Args:
            inner: Computes right.
            faults: Each is in every layer of its type.
            backend_id: The backend's id.
        """
        super().__init__(backend_id)
        self._inner = inner
        self._faults = {fault.layer: fault for fault in faults}
        self._compiles = any(fault.is_fused for fault in faults)
        self._kept: dict[str, dict[str, Any]] = {}

    @classmethod
    def around(cls, backend: str, *faults: Fault) -> FaultyBackend:
        """Return a backend with faults around an installed one.

        Args:
            backend: The id of the backend that computes right.
            faults: Each is in every layer of its type.

        Raises:
            BackendError: There is no such backend, or it cannot be used.
        """
        return cls(BackendRegistry(CreationOptions()).get(backend), *faults)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return the inner backend's answer."""
        return self._inner.supports(layer, model)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload with the faults in it."""
        if isinstance(layer.compiled, SubgraphView):
            return _Part(layer.compiled, self, model)
        return _Alone(layer, self, model)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Compile the subgraph whole for faults of fusions."""
        if not self._compiles:
            return super().optimize_subgraph(view, model)
        replacement = view.replacement()
        made = replacement.add_pre_compiled(
            [layer.output for layer in replacement.inputs],
            num_output_slots=len(view.outputs),
            outputs=[value.info for value in view.outputs],
            name=f"part from {view.layers[0].name}",
        )
        copy = view.network.clone()
        names = {layer.name for layer in view.layers}
        twins = [each for each in copy.topological_order() if _is_computed(each, names)]
        made[0].producer.compiled = SubgraphView.of(copy, twins)
        for index, value in enumerate(made):
            replacement.add_output(f"{index}", value)
        return OptimizationViews(substitutions=[Substitution(view, replacement)])

    def compute(
        self, layer: Layer, operands: Sequence[Array | None], follows: str, model: ModelContext
    ) -> list[Array]:
        """Return a layer's outputs, wrong where a fault is planted."""
        kept = self._kept.setdefault(layer.name, {"count": 0})
        call = Call(layer, operands, kept["count"], kept, follows, self._inner, model)
        kept["count"] += 1
        fault = self._faults.get(layer.type)
        if fault is None or (fault.is_fused and not follows):
            return call.right()
        return fault.change(call)


class _Alone(Workload):
    """One layer, by the backend's own function."""

    def __init__(self, layer: Layer, backend: FaultyBackend, model: ModelContext) -> None:
        self._layer, self._backend, self._model = layer, backend, model

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that runs the layer."""

        def run() -> None:
            operands = [None if each is None else each.map() for each in inputs]
            _write(outputs, self._backend.compute(self._layer, operands, "", self._model))

        return run


class _Part(Workload):
    """Layers one after the other, by the backend's own function."""

    def __init__(self, view: SubgraphView, backend: FaultyBackend, model: ModelContext) -> None:
        self._view, self._backend, self._model = view, backend, model

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that runs the layers."""
        view = self._view

        def run() -> None:
            values: dict[Value, Array] = {
                value: handle.map()
                for value, handle in zip(view.inputs, inputs, strict=True)
                if handle is not None
            }
            before = ""
            for layer in view.layers:
                operands = [None if v is None else values[v] for v in layer.inputs]
                made = self._backend.compute(layer, operands, before, self._model)
                values.update(zip(layer.outputs, made, strict=True))
                before = layer.type
            _write(outputs, [values[value] for value in view.outputs])

        return run


def _write(handles: Sequence[TensorHandle], arrays: Sequence[Array]) -> None:
    for handle, array in zip(handles, arrays, strict=True):
        if handle.info.is_static or isinstance(handle, ArrayHandle):
            np.copyto(handle.map(), array)
        else:
            handle.assign(np.array(array))
        handle.unmap()


def _is_computed(layer: Layer, names: set[str]) -> bool:
    return layer.name in names and layer.type not in ("Input", "Output", "Constant")
