# SPDX-License-Identifier: MIT
"""The execution contexts of a network of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    ASYNC_EXECUTION,
    Allocator,
    ArrayHandle,
    AsyncExecution,
    HostAllocator,
    MemoryManager,
    Step,
    Task,
    TensorHandle,
    Workload,
)
from armnn.backends.calling import blamed, call, check_answer
from armnn.backends.memory import allocated
from armnn.errors import BackendError
from armnn.graph import Layer, Value
from armnn.optimizer import Candidate, Participants, Prepared
from armnn.optimizer.assignment.boundaries import owner
from armnn.optimizer.prepared import Observation
from armnn.runtime.memory.placing import CopyWorkload, TensorHandles, plan_arenas
from armnn.runtime.memory.planner import MemoryStrategies, lifetimes
from armnn.runtime.plans.context import (
    Binding,
    DirectTensors,
    ExecutionContext,
    direct_tensors,
    memory_managers,
    steps_after,
)
from armnn.runtime.plans.observed import TensorSink
from armnn.types import MemorySource

Watch: TypeAlias = "Callable[[Layer, Sequence[TensorHandle]], object]"
"""Is called with a layer that has run and the tensors that it wrote."""


class LayerContexts:
    """Makes contexts with a step per layer.

    Attributes:
        arenas: The working memory of one context, by backend id.
    """

    def __init__(
        self,
        prepared: Prepared,
        participants: Participants,
        allocators: Mapping[str, Allocator],
        strategies: MemoryStrategies | None,
        sink: TensorSink | None,
        watch: Watch | None,
    ) -> None:
        """Make the workloads and plan the memory; see :class:`Plan`."""
        self._watch = watch
        self._network = prepared.network
        self._participants = participants
        self._sink = sink
        self._candidates = {candidate.id: candidate for candidate in participants.all}
        self._order = self._network.topological_order()
        self._workloads = {
            layer: self._workload(layer)
            for layer in self._order
            if layer.backend is not None or _observation_of(layer) is not None
        }
        self._handles = TensorHandles(prepared.placement, participants.factories, self._order)
        self._lifetimes = lifetimes(self._order)
        self.arenas = plan_arenas(
            self._lifetimes,
            filter(self._handles.is_in_arena, self._lifetimes),
            self._order,
            self._workloads,
            MemoryStrategies() if strategies is None else strategies,
            lambda backend_id: self._allocator(backend_id, allocators),
        )
        self._arena_bytes = sum(arena.layout.size for arena in self.arenas.values())

    @property
    def arena_bytes(self) -> int:
        """The working memory of one context."""
        return self._arena_bytes

    @property
    def output_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shapes of the outputs, None for computed ones."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        for layer in self._network.outputs:
            (info,) = layer.input_infos
            known = info is not None and info.is_static
            shapes[layer.name] = info.static_shape if info is not None and known else None
        return shapes

    def make(self) -> ExecutionContext:
        """Return a new context for one run at a time."""
        return self._make_context()

    def bound(self, binding: Binding) -> tuple[ExecutionContext, tuple[str, ...]]:
        """Return a context that stands on a caller's arrays.

        Its shapes are known in full. The names of what each run copies come with it.
        """
        network = self._network
        direct = direct_tensors(network, binding, self._lifetimes, self._handles.on_array)
        context = self._make_context(binding, direct)
        return context, tuple(n for n in direct.copied(network) if n not in binding.chosen)

    def imports(self, name: str, source: MemorySource) -> bool:
        """Return whether an input or output imports from a source.

        Host memory does not count: it can be used in any case.
        """
        return any(self._handles.imports(value, source) for value in self._values(name))

    def owners(self, name: str) -> set[str]:
        """Return the backends beside an input or output."""
        return {owner(value) for value in self._values(name)}

    def _values(self, name: str) -> list[Value]:
        """Return the tensors of an input or output."""
        network = self._network
        read = [layer.output for layer in network.inputs if layer.name == name]
        made = [value for each in network.outputs if each.name == name for value in each.inputs]
        return [*read, *(value for value in made if value is not None)]

    # -- workloads and memory, once per plan ----------------------------------------------------

    def _workload(self, layer: Layer) -> Workload:
        if layer.type in ("MemCopy", "MemImport"):
            return CopyWorkload()
        observation = _observation_of(layer)
        if observation is not None and self._sink is not None:
            return self._sink.workload(observation)
        return self._candidate(layer).workload(layer)

    def _candidate(self, layer: Layer) -> Candidate:
        try:
            return self._candidates[layer.backend or ""]
        except KeyError:
            raise BackendError(
                f"layer {layer.name!r} ({layer.type}) was given to backend {layer.backend!r}, "
                "which does not take part; name it in backends="
            ) from None

    def _allocator(self, backend_id: str, allocators: Mapping[str, Allocator]) -> Allocator:
        if backend_id in allocators:
            return allocators[backend_id]
        candidate = self._candidates.get(backend_id)
        if candidate is None:
            return HostAllocator()
        made: Allocator = call(candidate.id, candidate.backend, "default_allocator")
        return made

    # -- contexts -------------------------------------------------------------------------------

    def _make_context(
        self, binding: Binding | None = None, direct: DirectTensors | None = None
    ) -> ExecutionContext:
        managers = memory_managers(self._participants)
        memory = [
            (arena.allocator, allocated(backend_id, arena.allocator, arena.layout.size))
            for backend_id, arena in self.arenas.items()
        ]
        handles: dict[Value, TensorHandle] = {}
        scratch: dict[Layer, NDArray[np.uint8]] = {}
        for arena, (_, block) in zip(self.arenas.values(), memory, strict=True):
            arena.place(block, handles, scratch)
        steps: list[tuple[Layer, Step]] = []
        if binding is not None and direct is not None:
            handles.update(direct.handles)
            steps += self._steps_before(binding, direct, handles, managers)
        for layer in self._order:
            self._handles.add_outputs(layer, handles, managers)
            if layer in self._workloads and not self._handles.import_output(layer, handles):
                inputs = [self._handles.of_input(layer, v, handles) for v in layer.inputs]
                outputs = [handles[value] for value in layer.outputs]
                step = self._bound(layer, inputs, outputs, scratch.get(layer))
                step = blamed(step, layer.backend or "", layer.name)
                if self._watch is not None:
                    step = _watched(step, partial(self._watch, layer, outputs))
                steps.append((layer, step))
        network = self._network
        made = {
            layer: self._handles.of_input(layer, layer.inputs[0], handles)
            for layer in network.outputs
        }
        if binding is not None and direct is not None:
            self._choose_arrays(binding, handles)
            given = [layer for layer in network.inputs if layer.name in binding.chosen]
            steps = [(layer, step) for layer, step in steps if layer not in given]
            steps += steps_after(binding.outputs, made, direct.outputs, binding.chosen)
        return ExecutionContext(
            inputs=[(layer.name, handles[layer.output]) for layer in network.inputs],
            outputs=[(layer.name, handle) for layer, handle in made.items()],
            steps=steps,
            managers=managers,
            memory=memory,
            submit=None if binding is None or managers else self._submit(steps),
            owners=self.owners,
        )

    def _bound(
        self,
        layer: Layer,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        scratch: NDArray[np.uint8] | None,
    ) -> Step:
        method, beside = ("bind", ()) if scratch is None else ("bind_with_scratch", (scratch,))
        owner_id = layer.backend or "the host"
        workload = self._workloads[layer]
        step: Step = call(owner_id, workload, method, inputs, outputs, *beside, about=layer)
        return step

    def _submit(self, steps: Sequence[tuple[Layer, Step]]) -> Callable[[int | None], Task] | None:
        """Return the function that submits the only step."""
        if len(steps) != 1 or steps[0][0].backend not in self._candidates:
            return None
        ((layer, step),) = steps
        candidate = self._candidate(layer)
        extension: AsyncExecution | None = call(
            candidate.id, candidate.backend, "extension", ASYNC_EXECUTION
        )
        if extension is None:
            return None

        def submit(deadline: int | None) -> Task:
            task = extension.submit(step, deadline_ns=deadline)
            check_answer(candidate.id, "submit", task, about=layer)
            return task

        return submit

    def _choose_arrays(self, binding: Binding, handles: Mapping[Value, TensorHandle]) -> None:
        """Give free inputs and outputs the arrays of their tensors."""
        network = self._network
        values = {layer.name: layer.output for layer in network.inputs}
        values |= {
            layer.name: v for layer in network.outputs for v in layer.inputs if v is not None
        }
        arrays = {**binding.inputs, **binding.outputs}
        for name in binding.free:
            value = values[name]
            handle = handles.get(value)
            is_fixed = isinstance(handle, ArrayHandle) and not self._handles.is_in_arena(value)
            if is_fixed and handle is not None and handle.map() is not arrays[name]:
                binding.chosen[name] = handle.map()

    def _steps_before(
        self,
        binding: Binding,
        direct: DirectTensors,
        handles: dict[Value, TensorHandle],
        managers: Mapping[str, MemoryManager],
    ) -> list[tuple[Layer, Step]]:
        """Return steps that copy a caller's arrays into inputs."""
        steps: list[tuple[Layer, Step]] = []
        for layer in self._network.inputs:
            self._handles.add_outputs(layer, handles, managers)
            if layer.name not in direct.inputs:
                copy = partial(handles[layer.output].copy_from, binding.inputs[layer.name])
                steps.append((layer, copy))
        return steps


def _watched(step: Step, watch: Callable[[], object]) -> Step:
    def watched_step() -> None:
        step()
        watch()

    return watched_step


def _observation_of(layer: Layer) -> Observation | None:
    """Return what a Debug layer of the optimizer shows."""
    if layer.type != "Debug":
        return None
    return layer.compiled if isinstance(layer.compiled, Observation) else None
