# SPDX-License-Identifier: MIT
"""A prepared network with workloads and a memory layout, which makes the contexts of runs.

Where one program is the whole network, its inputs and outputs are those of the network and live at
the same time, in host memory: there is nothing to plan, and no graph is needed to run it. Other
networks have their memory planned in :mod:`armnn.runtime.plans.layer_contexts`.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING

from armnn.backends import Allocator, Workload
from armnn.backends.calling import blamed, call
from armnn.backends.contract import CachingBackend
from armnn.backends.memory import ALIGNMENT, address_of, allocated, handle_at
from armnn.optimizer.prepared import SingleProgram
from armnn.runtime.plans.closing import Closing
from armnn.runtime.plans.context import ExecutionContext, memory_managers
from armnn.types import MemorySource

if TYPE_CHECKING:  # a prepared load imports no graph and no optimizer
    from armnn.optimizer import Participants, Prepared
    from armnn.runtime.memory.planner import MemoryStrategies
    from armnn.runtime.plans.context import Binding
    from armnn.runtime.plans.layer_contexts import LayerContexts, Watch
    from armnn.runtime.plans.observed import TensorSink


class ProgramContexts:
    """Makes contexts with one step; leaves all else to LayerContexts.

    Attributes:
        arena_bytes: See :class:`LayerContexts`, as for the rest.
    """

    def __init__(
        self,
        single: SingleProgram,
        workload: Workload,
        participants: Participants,
        make_general: Callable[[], LayerContexts],
    ) -> None:
        """Lay out the inputs and outputs, one behind the other.

        Args:
            single: The network.
            workload: What runs its program.
            participants: The backends that take part.
            make_general: Makes what does the rest; is called once, if ever.
        """
        self._single = single
        self._workload = workload
        self._participants = participants
        self._make_general = make_general
        self._general: LayerContexts | None = None
        self._lock = threading.Lock()
        ports = single.ports
        infos = (*ports.inputs.values(), *ports.made)
        self._places = []
        self.arena_bytes = 0
        for info in infos:
            shape, dtype = info.static_shape, info.data_type.numpy_dtype
            self._places.append((self.arena_bytes, info, shape, dtype))
            size = prod(shape) * dtype.itemsize
            self.arena_bytes += -(-size // ALIGNMENT) * ALIGNMENT

    @property
    def output_shapes(self) -> dict[str, tuple[int, ...] | None]:
        ports = self._single.ports
        infos = {
            name: ports.inputs[at] if isinstance(at, str) else ports.made[at]
            for name, at in ports.outputs.items()
        }
        return {name: info.static_shape for name, info in infos.items()}

    def make(self) -> ExecutionContext:
        layer, ports, candidate = self._single.layer, self._single.ports, self._single.candidate
        managers = memory_managers(self._participants)
        allocator = call(candidate.id, candidate.backend, "default_allocator")
        block = allocated(layer.backend, allocator, self.arena_bytes)
        source, begin = allocator.memory_source, address_of(block)
        handles = [handle_at(block, *place, source, begin) for place in self._places]
        inputs = dict(zip(ports.inputs, handles, strict=False))
        made = handles[len(inputs) :]
        read = [inputs[name] for name in ports.read]
        step = call(candidate.id, self._workload, "bind", read, made, about=layer)
        step = blamed(step, layer.backend, layer.name)
        return ExecutionContext(
            inputs=list(inputs.items()),
            outputs=[
                (name, inputs[at] if isinstance(at, str) else made[at])
                for name, at in ports.outputs.items()
            ],
            steps=[(layer, step)],
            managers=managers,
            memory=[(allocator, block)],
        )

    def bound(self, binding: Binding) -> tuple[ExecutionContext, tuple[str, ...]]:
        return self._by_layers.bound(binding)

    def imports(self, name: str, source: MemorySource) -> bool:
        return self._by_layers.imports(name, source)

    def owners(self, name: str) -> set[str]:
        return self._by_layers.owners(name)

    @property
    def _by_layers(self) -> LayerContexts:
        with self._lock:
            if self._general is None:
                self._general = self._make_general()
            return self._general


SLACK_BYTES = 4 << 20
"""What the contexts of all plans may keep beyond the memory of the largest."""

POOL_LIMIT = 16
"""Contexts that a plan keeps for later runs; more threads at once get theirs made and dropped."""


class Plan:
    """The workloads and memory layout of a specialised network.

    A plan does not change; its contexts are pooled and each is used by one thread at a time.

    Attributes:
        prepared: The network with its backends.
        arena_bytes: The working memory of one context.
    """

    def __init__(
        self,
        prepared: Prepared | SingleProgram,
        participants: Participants,
        allocators: Mapping[str, Allocator],
        strategies: MemoryStrategies | None,
        sink: TensorSink | None = None,
        watch: Watch | None = None,
        idle_memory: IdleMemory | None = None,
    ) -> None:
        """Make the workloads and plan the memory.

        Args:
            prepared: The network with its backends.
            participants: These backends.
            allocators: Where a backend's working memory comes from, by backend id.
            strategies: How it is laid out; None for the default.
            sink: Gets the tensors of Debug layers.
            watch: Is called after each layer of each run; nothing else changes by that.
            idle_memory: Bounds what its contexts and those of other plans keep.
        """
        self.prepared = prepared

        def by_layers() -> LayerContexts:
            from armnn.runtime.plans.layer_contexts import LayerContexts  # late: see single_program

            return LayerContexts(prepared.whole, participants, allocators, strategies, sink, watch)

        contexts: ProgramContexts | LayerContexts | None = None
        is_usual = strategies is None and watch is None and not allocators
        if is_usual and isinstance(prepared, SingleProgram):
            contexts = _by_program(prepared, participants, by_layers)
        self._contexts = by_layers() if contexts is None else contexts
        self.arena_bytes = self._contexts.arena_bytes
        self._pool: deque[ExecutionContext] = deque()
        self._idle_memory = IdleMemory() if idle_memory is None else idle_memory
        self._closed = False

    @property
    def idle_bytes(self) -> int:
        """The working memory of idle contexts."""
        return len(self._pool) * self.arena_bytes

    @property
    def output_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shapes of the outputs, None for computed ones."""
        return self._contexts.output_shapes

    def acquire(self) -> ExecutionContext:
        """Return a context for one run, pooled or new."""
        if self._pool:
            try:
                return self._pool.pop()  # the last one used: its memory is still in the cache
            except IndexError:
                pass  # another thread was faster
        self._idle_memory.make_room(self, self.arena_bytes)
        return self._contexts.make()

    def bound(self, binding: Binding) -> tuple[ExecutionContext, tuple[str, ...]]:
        """Return a context that stands on a caller's arrays.

        Its shapes are known in full. The names of what each run copies come with it.
        """
        return self._contexts.bound(binding)

    def imports(self, name: str, source: MemorySource) -> bool:
        """Return whether an input or output imports from a source.

        Host memory does not count: it can be used in any case.
        """
        return self._contexts.imports(name, source)

    def owners(self, name: str) -> set[str]:
        """Return the backends beside an input or output."""
        return self._contexts.owners(name)

    def release(self, context: ExecutionContext) -> None:
        """Take a context back after a run."""
        if self._closed or len(self._pool) >= POOL_LIMIT:
            context.close()
        else:
            self._pool.append(context)
            self._idle_memory.make_room(self)

    def close(self) -> None:
        """Free the pooled contexts; running ones follow at their end."""
        self._closed = True
        self._idle_memory.forget(self)
        self.drop_contexts()

    def drop_contexts(self) -> None:
        """Free the pooled contexts.

        Raises:
            ClosingError: Memory could not be given back; the contexts are dropped nevertheless.
        """
        closing: Closing | None = None
        while self._pool:
            try:
                context = self._pool.pop()
            except IndexError:  # another thread took the last one
                break
            try:
                context.close()
            except BaseException as error:
                closing = closing or Closing(f"the plan of the network {self.prepared.name!r}")
                closing.note(error)
        if closing is not None:
            closing.end()


def _by_program(
    single: SingleProgram, participants: Participants, by_layers: Callable[[], LayerContexts]
) -> ProgramContexts | None:
    """Return a program's contexts, None if it needs more."""
    backend = single.candidate.backend
    if not isinstance(backend, CachingBackend) or _has_own_workloads(type(backend)):
        return None
    infos = [single.ports.inputs[name] for name in single.ports.read]
    layer, made = single.layer, single.ports.made
    workload = call(
        backend.id, backend, "program_workload", layer.compiled, infos, made, about=layer
    )
    if call(backend.id, workload, "scratch_bytes", about=layer):
        return None
    return ProgramContexts(single, workload, participants, by_layers)


@functools.cache
def _has_own_workloads(kind: type[CachingBackend]) -> bool:
    """Return whether a plug-in's class makes workloads of layers otherwise.

    It derives from a class that runs programs without layers, and may change what that makes.
    """
    makers = (vars(each).keys() & {"create_workload", "program_workload"} for each in kind.__mro__)
    return next(filter(None, makers)) == {"create_workload"}


class IdleMemory:
    """The plans of one network, and their idle memory.

    All together keep no more than one context of the largest plan does, and :data:`SLACK_BYTES`; a
    plan keeps what it needs for the threads that run it. Contexts of the plans that have waited
    longest go first; they are made again when the plan runs, in less than a millisecond.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: OrderedDict[Plan, int] = OrderedDict()  # with their idle bytes, or more
        self._bytes = 0  # of all

    def make_room(self, plan: Plan, further: int = 0) -> None:
        """Bound the memory for a plan's returned or new context.

        Args:
            plan: The plan.
            further: The memory of the context that it makes.
        """
        with self._lock:
            kept = plan.idle_bytes
            self._bytes += kept - self._plans.pop(plan, 0)
            self._plans[plan] = kept
            if self._bytes + further - SLACK_BYTES <= plan.arena_bytes or len(self._plans) == 1:
                return  # nearly always: no other plan is looked at
            idle = [each.idle_bytes for each in self._plans]
            self._plans.update(zip(self._plans, idle, strict=True))
            self._bytes = sum(idle)
            most = max([each.arena_bytes for each in self._plans])
            excess = self._bytes + further - SLACK_BYTES - most
            if excess <= 0:
                return
            plans = zip(self._plans, idle, strict=True)
            waiting = [each for each, kept in plans if kept and each is not plan]
        for other in waiting:
            if excess <= 0:
                return
            excess -= other.idle_bytes
            other.drop_contexts()

    def forget(self, plan: Plan) -> None:
        """Count a plan no longer."""
        with self._lock:
            self._bytes -= self._plans.pop(plan, 0)
