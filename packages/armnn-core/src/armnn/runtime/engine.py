# SPDX-License-Identifier: MIT
"""The engine: a LoadedPlan has the workloads and the memory layout of a plan, and makes contexts.

A context is the memory and the bound steps of one run at a time. Plans with one compiled part and
plans with many run through the same code, whether their inputs and outputs are in a caller's memory
or in memory of the context. Only layers that no backend compiled need the graph.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    ALIGNMENT,
    ASYNC_EXECUTION,
    Allocator,
    ArrayHandle,
    AsyncExecution,
    Backend,
    Event,
    HostAllocator,
    MapAccess,
    MemoryManager,
    Step,
    Task,
    TensorHandle,
    TensorHandleFactory,
    Workload,
)
from armnn.backends.cache import Program
from armnn.backends.calling import blamed, call, check_answer
from armnn.backends.contract import CachingBackend, RunControl
from armnn.backends.memory import (
    HOST_FACTORY_ID,
    HOST_SOURCES,
    ComputedHandle,
    ForeignHandle,
    address_of,
    allocated,
    handle_at,
)
from armnn.buffer import HOST, Device, overlap, unreachable
from armnn.errors import (
    BackendError,
    ExecutionError,
    MemoryImportError,
    ResourceExhaustedError,
)
from armnn.optimizer.plan import CARRIERS, Observation, Plan, PlannedLayer, PlannedTensor
from armnn.runtime.closing import Closing
from armnn.runtime.context import Binding, Context, KeptHandle
from armnn.runtime.planner import Block, Layout, lifetimes, single_axis_priority_list
from armnn.types import MemorySource

if TYPE_CHECKING:  # a prepared load imports no graph
    from armnn.graph import Layer
    from armnn.optimizer import Candidate, Participants
    from armnn.runtime.observed import TensorSink
    from armnn.runtime.planner import MemoryStrategies

Watch: TypeAlias = "Callable[[Layer, Sequence[TensorHandle]], object]"
"""A function that is called after each layer of a run, with the layer and its output tensors."""

Handles: TypeAlias = "dict[PlannedTensor, TensorHandle]"
"""The handles of one context."""

SLACK_BYTES = 4 << 20
"""The bytes that the idle contexts of a network may have beyond one context of its largest plan."""

POOL_LIMIT = 16
"""How many idle contexts a plan keeps; further runs at the same time make a context and drop it."""

_TICK_SECONDS = 0.01
"""The time after which a run that waits for memory checks its deadline and its token again."""


class CopyWorkload(Workload):
    """The workload of MemCopy, and of a MemImport whose factory cannot import the memory."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that copies the input, through host memory if no device can copy it."""
        (source,), (target,) = inputs, outputs
        if source is None:
            raise ExecutionError("a copy layer has no input tensor: expected one")
        if isinstance(target, ArrayHandle):
            return lambda: source.copy_to(target.map())
        if isinstance(source, ArrayHandle) or not source.info.is_static:
            return partial(_copy_mapped, source, target)
        info = source.info
        between: NDArray[Any] = np.empty(info.static_shape, info.data_type.numpy_dtype)

        def step() -> None:
            if target.copy_on_device(source):
                return
            source.copy_to(between)  # map and unmap would write the source back
            target.copy_from(between)

        return step


def _copy_mapped(source: TensorHandle, target: TensorHandle) -> None:
    try:
        target.copy_from(source.map_for(MapAccess.READ))
    finally:
        source.unmap()


@dataclass(frozen=True, slots=True, eq=False)
class _Arena:
    """The working memory of one backend in one context.

    Attributes:
        tensors: The tensors in the arena.
        scratch: The layers that need scratch memory, each with the size of it in bytes.
        layout: The offsets of the tensors, in their order, then those of the scratch memory.
        allocator: Allocates the memory.
    """

    tensors: Sequence[PlannedTensor]
    scratch: Sequence[tuple[PlannedLayer, int]]
    layout: Layout
    allocator: Allocator


@dataclass(frozen=True, slots=True, eq=False)
class _DeviceBlock:
    """One block of a factory's memory in one context, with tensors at offsets in it.

    Attributes:
        factory: Makes the block and the tensors.
        owner: The id of the backend whose memory manager the block belongs to.
        tensors: The offset in bytes of each tensor.
        size: The size of the block in bytes.
    """

    factory: TensorHandleFactory
    owner: str
    tensors: Mapping[PlannedTensor, int]
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class _CallerTensors:
    """The tensors of a context that use a caller's memory.

    Attributes:
        managers: The memory managers of the context, by backend id.
        handles: The handles of these tensors.
        inputs: The names of the inputs that need no copy.
        outputs: The names of the outputs that need no copy.
        copied: The reason why each other input or output is copied, by its name.
    """

    managers: Mapping[str, MemoryManager]
    handles: Handles = field(default_factory=dict)
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    copied: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _Uploaded:
    """A constant in memory of a backend's own, which all plans of a network share.

    Attributes:
        handle: The tensor.
        data: The constant's data. Plans find the upload by the id() of the data, which stays unique
            as long as the data are referred to here.
    """

    handle: TensorHandle
    data: NDArray[Any]


class LoadedPlan:
    """A plan with its workloads, its memory layout and the contexts that wait for runs.

    The plan does not change. Contexts are pooled, and one thread at a time uses each.

    Attributes:
        plan: The plan that runs.
        arena_bytes: The bytes of host memory that one context uses.
        context_bytes: The bytes of memory that one context uses, on the host and on devices.
        is_limited: Whether a run waits for its turn, as a backend limits the number of contexts.
    """

    def __init__(
        self,
        plan: Plan,
        participants: Participants,
        allocators: Mapping[str, Allocator],
        strategies: MemoryStrategies | None,
        sink: TensorSink | None = None,
        watch: Watch | None = None,
        idle_memory: IdleMemory | None = None,
    ) -> None:
        """Make the workloads and plan the memory.

        Args:
            plan: The plan that runs.
            participants: The backends of the network.
            allocators: The allocators of working memory, by backend id.
            strategies: The strategies that lay out the working memory; None for the default.
            sink: Receives the tensors of Debug layers.
            watch: Is called after each layer of each run.
            idle_memory: Limits the memory of the idle contexts of all plans of the network.
        """
        self.plan = plan
        self._participants = participants
        self._candidates = {candidate.id: candidate for candidate in participants.all}
        self.is_limited = any(
            self._candidates[each].model.context_limit is not None
            for each in {layer.backend for layer in plan.layers} & self._candidates.keys()
        )
        self._sink = sink
        self._watch = watch
        self._workloads = [self._workload(layer) for layer in plan.layers]
        self._uploads: list[_Uploaded] = []
        self._constants = self._placed_constants()
        self._lifetimes = lifetimes(plan)
        self._arenas = self._planned_arenas(allocators, strategies)
        self.arena_bytes = sum([arena.layout.size for arena in self._arenas.values()])
        self._foreign = {each.outputs[0] for each in plan.layers if each.type == "MemImport"}
        self._strategies = strategies
        self._blocks = self._planned_blocks()
        self._smaller_blocks: dict[frozenset[PlannedTensor], list[_DeviceBlock]] = {}
        self._unplaced = self._unplaced_tensors()
        self._waits = _awaited(plan)
        self.context_bytes = self.arena_bytes + sum(self._device_bytes().values())
        self._pool: deque[Context] = deque()
        limit = participants.context_limit
        self._idle_memory = IdleMemory(limit=limit) if idle_memory is None else idle_memory
        self._closed = False

    @property
    def idle_bytes(self) -> int:
        """The bytes of working memory of the idle contexts of this plan."""
        return len(self._pool) * self.context_bytes

    @property
    def output_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shape of each output, None if it is known only after the layer has run."""
        return {
            name: tensor.info.static_shape if tensor is not None and tensor.info.is_static else None
            for name, tensor in self.plan.outputs.items()
        }

    def acquire(self, control: RunControl | None = None) -> Context:
        """Return a context for one run, pooled or new.

        Where a backend limits the contexts of a network, the run waits for its turn. Where there is
        no memory for a new context, the runtime frees the memory that it keeps for later runs, and
        then waits for another run of this network to give its context back.

        Args:
            control: The deadline and the cancel token of the run, which also end the wait.

        Raises:
            ResourceExhaustedError: There is no memory, and no run to wait for.
            CancelledError: The caller cancelled the run.
            DeadlineExceededError: The deadline of the run has passed.
        """
        if not self.is_limited:
            return self._acquired(control)
        self._idle_memory.take_turn(control)
        try:
            return self._acquired(control)
        except BaseException:
            self._idle_memory.end_turn()
            raise

    def _acquired(self, control: RunControl | None) -> Context:
        is_trimmed = False
        while True:
            seen = self._idle_memory.returned
            try:
                context = self._pool.pop()  # used last: its memory is still in the CPU's cache
            except IndexError:
                made = self._made_or_exhausted()
                if isinstance(made, ResourceExhaustedError):
                    if is_trimmed and not self._idle_memory.wait(seen, control):
                        raise made from made.__cause__
                    if not is_trimmed:
                        self._idle_memory.trim()
                        is_trimmed = True
                    continue
                context = made
            if not context.is_repeatable:  # bound calls keep repeatable contexts between runs
                self._idle_memory.take()
            return context

    def release(self, context: Context) -> None:
        """Return a context to the pool after a run, or close it if the pool is full."""
        try:
            if self._closed or len(self._pool) >= POOL_LIMIT:
                context.close()
            else:
                self._pool.append(context)
                self._idle_memory.make_room(self)
        finally:
            self._give_back(context)

    def drop(self, context: Context) -> None:
        """Close a context after a failed run, as its tensors have undefined content."""
        try:
            context.close()
        finally:
            self._give_back(context)

    def _give_back(self, context: Context) -> None:
        if not context.is_repeatable:
            self._idle_memory.give_back()
        if self.is_limited:
            self._idle_memory.end_turn()

    def bound(self, binding: Binding) -> tuple[Context, dict[str, str]]:
        """Return a context that uses a caller's memory for inputs and outputs where it can.

        All shapes of the plan must be known.

        Returns:
            The context, and the reason for each input or output that every run copies, by its name.
        """
        direct = self._tensors_on(binding)
        context = self._context(binding, direct)
        chosen = binding.chosen
        return context, {name: why for name, why in direct.copied.items() if name not in chosen}

    def kept(
        self, name: str, output: str, count: int, managers: Mapping[str, MemoryManager]
    ) -> list[KeptHandle]:
        """Return new tensors for a state in the memory of the backends that read and write it.

        The list is empty, and the state stays in host memory, if the input or the output is in host
        memory, if the two are in different kinds of memory, or if contexts with these memory
        managers cannot use such a tensor as their input and output.

        Args:
            name: The name of the input that reads the state.
            output: The name of the output that is the next value of the state.
            count: The number of tensors to make.
            managers: The memory managers of all contexts that will use the tensors, by backend id.
        """
        read, made = self.plan.inputs[name], self.plan.outputs[output]
        if made is None or made.factory != read.factory or _is_at_rest(read) or _is_at_rest(made):
            return []
        found: list[KeptHandle] = []
        on_memory = partial(self._on_slice, made, managers)
        for _ in range(count):
            tensor = self._created(read, None)
            if tensor.as_buffer() is None:
                return []
            kept = KeptHandle(read.factory, tensor, made.owner, tensor, on_memory)
            reader, writer = (self._on(each, kept, managers) for each in (read, made))
            if isinstance(reader, str) or isinstance(writer, str):
                return []
            found.append(KeptHandle(read.factory, tensor, made.owner, writer, on_memory))
        return found

    def imports(self, name: str, source: MemorySource) -> bool:
        """Return whether the tensor of an input or output can import memory of a source.

        It is False for tensors in host memory, which use a caller's host memory without an import.
        """
        return any(self._imports(tensor, source) for tensor in self._ports(name))

    def owners(self, name: str) -> set[str]:
        """Return the ids of the backends that write or read an input or output."""
        return {tensor.owner for tensor in self._ports(name)}

    def close(self) -> None:
        """Free the idle contexts; a context in use is freed when its run ends."""
        self._closed = True
        self._idle_memory.forget(self)
        self.drop_contexts()

    def drop_contexts(self) -> None:
        """Free the idle contexts.

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
                closing = closing or Closing(f"the plan of the network {self.plan.name!r}")
                closing.note(error)
        if closing is not None:
            closing.end()

    def _made_or_exhausted(self) -> Context | ResourceExhaustedError:
        """Return a new context, or the error that memory is exhausted.

        The error has no traceback, as the frames of it would keep the memory allocated so far.
        """
        self._idle_memory.make_room(self, self.context_bytes)
        try:
            return self._context(None, _CallerTensors(self.managers()))
        except ResourceExhaustedError as error:
            return error.with_traceback(None)

    # -- once per plan --------------------------------------------------------------------------

    def _workload(self, layer: PlannedLayer) -> Workload:
        if layer.type in CARRIERS:
            return CopyWorkload()
        if isinstance(layer.compiled, Observation) and self._sink is not None:
            return self._sink.workload(layer.compiled)
        candidate = self._candidate(layer)
        backend, program = candidate.backend, layer.compiled
        made: Workload
        if isinstance(program, Program) and isinstance(backend, CachingBackend):
            inputs = [each and each.info for each in layer.inputs]
            given = (program, inputs, [each.info for each in layer.outputs])
            made = call(candidate.id, backend, "program_workload", *given, about=layer)
        else:
            assert layer.layer is not None  # plans without a graph have programs only
            made = candidate.workload(layer.layer)
        return made

    def _candidate(self, layer: PlannedLayer) -> Candidate:
        try:
            return self._candidates[layer.backend]
        except KeyError:
            raise BackendError(
                f"layer {layer.name!r} ({layer.type}) is assigned to backend {layer.backend!r}, "
                "which is not among the backends of this network: name it in backends="
            ) from None

    def _placed_constants(self) -> Handles:
        """Return the handles of the constants, each in the memory that its readers use."""
        placed: Handles = {}
        read = [tensor for layer in self.plan.layers for tensor in layer.inputs]
        for tensor in (*read, *self.plan.outputs.values()):
            if tensor is not None and tensor.constant is not None and tensor not in placed:
                placed[tensor] = self._constant(tensor, tensor.constant)
        return placed

    def _constant(self, tensor: PlannedTensor, data: NDArray[Any]) -> TensorHandle:
        """Return the handle of a constant; the plans of one network share uploaded constants."""
        if tensor.factory == HOST_FACTORY_ID:
            contiguous = np.ascontiguousarray(data).reshape(data.shape)
            return ArrayHandle(tensor.info, contiguous)

        def upload() -> _Uploaded:
            handle = self._created(tensor, None)
            handle.copy_from(np.ascontiguousarray(data).reshape(data.shape))
            return _Uploaded(handle, data)

        key = ("constant", tensor.factory, id(data), tensor.info)
        uploaded = self._candidates[tensor.owner].model.shared(key, upload)
        self._uploads.append(uploaded)
        return uploaded.handle

    def _planned_arenas(
        self, allocators: Mapping[str, Allocator], strategies: MemoryStrategies | None
    ) -> dict[str, _Arena]:
        """Lay out the host tensors and the scratch memory of each backend in an arena."""
        owned: dict[str, list[PlannedTensor]] = {}
        for tensor in self._lifetimes:
            if _is_in_arena(tensor):
                owned.setdefault(tensor.owner, []).append(tensor)
        scratch: dict[str, list[tuple[PlannedLayer, Block]]] = {}
        for step, (layer, workload) in enumerate(
            zip(self.plan.layers, self._workloads, strict=True), 1
        ):
            size = call(layer.backend, workload, "scratch_bytes", about=layer)
            if size:
                scratch.setdefault(layer.backend, []).append((layer, Block(step, step, size)))
        arenas: dict[str, _Arena] = {}
        for backend_id in dict.fromkeys((*owned, *scratch)):
            tensors, beside = owned.get(backend_id, []), scratch.get(backend_id, [])
            blocks = [Block(*self._lifetimes[each], each.info.size_bytes) for each in tensors]
            blocks += [block for _, block in beside]
            if strategies is None:
                layout = single_axis_priority_list(blocks)
            else:
                layout = strategies.place(backend_id, blocks)
            sizes = [(layer, block.size) for layer, block in beside]
            allocator = self._allocator(backend_id, allocators)
            arenas[backend_id] = _Arena(tensors, sizes, layout, allocator)
        return arenas

    def _blocks_without(self, elsewhere: Collection[PlannedTensor]) -> list[_DeviceBlock]:
        """Return the blocks of a context whose given tensors are in a caller's memory."""
        left_out = frozenset(
            [tensor for block in self._blocks for tensor in block.tensors if tensor in elsewhere]
        )
        if not left_out:
            return self._blocks
        if left_out not in self._smaller_blocks:
            self._smaller_blocks[left_out] = self._planned_blocks(left_out)
        return self._smaller_blocks[left_out]

    def _planned_blocks(self, left_out: Collection[PlannedTensor] = ()) -> list[_DeviceBlock]:
        """Lay out the tensors of factories that make blocks.

        See :attr:`TensorHandleFactory.block_alignment`.
        """
        strategies = self._strategies
        owned: dict[tuple[str, str], list[PlannedTensor]] = {}
        for tensor in self._lifetimes:
            factory = self._participants.factories.get(tensor.factory)
            if factory is None or tensor in self._foreign or not tensor.info.is_static:
                continue
            if factory.block_alignment and tensor not in left_out:
                owned.setdefault((tensor.factory, tensor.owner), []).append(tensor)
        blocks: list[_DeviceBlock] = []
        for (factory_id, owner), tensors in owned.items():
            factory = self._participants.factories[factory_id]
            # The planner aligns offsets to ALIGNMENT units. A unit is one byte, or several bytes
            # where the factory needs a coarser alignment.
            unit = max(factory.block_alignment // ALIGNMENT, 1)
            sizes = [
                Block(*self._lifetimes[each], -(-each.info.size_bytes // unit)) for each in tensors
            ]
            layout = (
                single_axis_priority_list(sizes)
                if strategies is None
                else strategies.place(owner, sizes)
            )
            offsets = [offset * unit for offset in layout.offsets]
            placed = dict(zip(tensors, offsets, strict=True))
            blocks.append(_DeviceBlock(factory, owner, placed, max(layout.size * unit, 1)))
        return blocks

    def _unplaced_tensors(self) -> list[PlannedTensor]:
        """Return the device tensors that are in no block; each gets memory of its own."""
        placed = {tensor for block in self._blocks for tensor in block.tensors} | self._foreign
        return [
            tensor
            for tensor in self._lifetimes
            if tensor.factory != HOST_FACTORY_ID and tensor not in placed
        ]

    def _device_bytes(self) -> dict[str, int]:
        """Return the bytes of device memory of one context, by the id of the factory."""
        found: dict[str, int] = {}
        for block in self._blocks:
            found[block.factory.id] = found.get(block.factory.id, 0) + block.size
        for tensor in self._unplaced:
            size = tensor.info.size_bytes if tensor.info.is_static else 0
            found[tensor.factory] = found.get(tensor.factory, 0) + size
        return found

    def _allocator(self, backend_id: str, allocators: Mapping[str, Allocator]) -> Allocator:
        if backend_id in allocators:
            return allocators[backend_id]
        candidate = self._candidates.get(backend_id)
        if candidate is None:
            return HostAllocator()
        made: Allocator = call(candidate.id, candidate.backend, "default_allocator")
        return made

    # -- tensors --------------------------------------------------------------------------------

    def _ports(self, name: str) -> list[PlannedTensor]:
        """Return the tensors of an input or output."""
        ports = (self.plan.inputs.get(name), self.plan.outputs.get(name))
        return [tensor for tensor in ports if tensor is not None]

    def _imports(self, tensor: PlannedTensor, source: MemorySource) -> bool:
        """Return whether a tensor's own factory imports from a source."""
        factory = self._participants.factories.import_factory(tensor.factory)
        if factory is None or not tensor.info.is_static or tensor.constant is not None:
            return False
        return source in factory.import_sources

    def _imports_device(self, tensor: PlannedTensor, device: Device) -> bool:
        """Return whether the factory of a tensor imports memory of a device."""
        factory = self._participants.factories.import_factory(tensor.factory)
        return factory is not None and device in factory.import_devices

    def _created(self, tensor: PlannedTensor, manager: MemoryManager | None) -> TensorHandle:
        factory = self._participants.factories[tensor.factory]
        about = f"tensor {tensor.name!r}"
        made: TensorHandle = call(
            tensor.owner, factory, "create", tensor.info, manager, about=about
        )
        return made

    def _imported(
        self, tensor: PlannedTensor, handle: TensorHandle, managers: Mapping[str, MemoryManager]
    ) -> TensorHandle | None:
        """Return a handle of a tensor on the memory of another handle, None if it is refused."""
        factory = self._participants.factories.import_factory(tensor.factory)
        if factory is None:
            return None
        about = f"tensor {tensor.name!r}"
        method = "import_memory"
        beside: tuple[MemoryManager | None, ...] = ()
        if type(factory).import_in is not TensorHandleFactory.import_in:
            method, beside = "import_in", (managers.get(tensor.owner),)
        made: TensorHandle | None = call(
            tensor.owner, factory, method, tensor.info, handle, *beside, about=about
        )
        return made

    def _on_slice(
        self, tensor: PlannedTensor, managers: Mapping[str, MemoryManager], memory: ForeignHandle
    ) -> TensorHandle | None:
        """Return a handle of a tensor on a slice of its memory, None if the backend refuses it."""
        with contextlib.suppress(MemoryImportError):  # the slice is not aligned for the device
            return self._imported(replace(tensor, info=memory.info), memory, managers)
        return None

    def _on(
        self, tensor: PlannedTensor, given: TensorHandle, managers: Mapping[str, MemoryManager]
    ) -> TensorHandle | str:
        """Return a handle of a tensor on a caller's memory, or the reason why it needs a copy."""
        owner = tensor.owner or "the host"
        if isinstance(given, KeptHandle):
            is_same = given.factory == tensor.factory
            if is_same and tensor.owner not in managers:  # the backend has no queue per context
                return given.tensor
            given = given.tensor
        device = HOST if isinstance(given, ArrayHandle) else _device_of(given)
        if _is_in_arena(tensor):
            if device == HOST and given.memory_source in HOST_SOURCES:
                return given
            return f"{owner} reads memory of the host"
        if device == HOST:
            if not self._imports(tensor, given.memory_source):
                return f"{owner} has memory of its own"
        elif not self._imports_device(tensor, device):
            return f"{owner} does not reach {device}"
        return self._imported(tensor, given, managers) or f"{owner} did not take this memory"

    def _tensors_on(self, binding: Binding) -> _CallerTensors:
        """Return the tensors that use a caller's memory.

        An output may be given the memory of an input, as for a state. The output is written there
        if all steps that read the input come before the step that writes the output, or if that
        step writes only the elements that change; else it is copied after the run.
        """
        direct = _CallerTensors(self.managers() if binding.managers is None else binding.managers)
        read: dict[PlannedTensor, TensorHandle] = {}
        passed_on: dict[PlannedTensor, str] = {}
        for name, tensor in self.plan.inputs.items():
            passed_on[tensor] = f"it is the input {name!r}"
            given = binding.inputs[name]
            handle = self._on(tensor, given, direct.managers)
            if isinstance(handle, str):
                direct.copied[name] = _copied(f"the input {name!r}", given, tensor, handle)
            else:
                direct.handles[tensor], read[tensor] = handle, given
                direct.inputs.add(name)
        for name, made in self.plan.outputs.items():
            given = binding.outputs[name]
            replaced = self.plan.inputs.get(self.plan.in_place.get(name, ""))
            others = {each: at for each, at in read.items() if each is not replaced}
            why = self._why_apart(made, given, others, passed_on)
            if why and isinstance(given, ForeignHandle) and _device_of(given) != HOST:
                raise MemoryImportError(
                    f"the output {name!r} cannot be written on {_device_of(given)}, as {why}: give "
                    "it memory of its own, or of the host"
                )
            handle = why if made is None or why else self._on(made, given, direct.managers)
            if isinstance(handle, str):
                direct.copied[name] = _copied(f"the output {name!r}", given, made, handle)
            elif made is not None:
                direct.handles[made] = handle
                direct.outputs.add(name)
                passed_on[made] = f"it is the output {name!r}"
        return direct

    def _why_apart(
        self,
        made: PlannedTensor | None,
        given: TensorHandle,
        read: Mapping[PlannedTensor, TensorHandle],
        passed_on: Mapping[PlannedTensor, str],
    ) -> str:
        """Return why an output cannot be in a caller's memory of any device, or "" if it can.

        Args:
            made: The tensor of the output; None if it exists only during a run.
            given: The caller's memory for the output.
            read: The inputs that are read from a caller's memory, each with this memory.
            passed_on: The tensors that are an input or an earlier output, each with the reason.
        """
        if made is None:
            return "its tensor exists only after the layer has run"
        if made.constant is not None:
            return "it is a constant"
        if made in passed_on:
            return passed_on[made]
        ends = [self._lifetimes[t][1] for t, each in read.items() if _share(each, given)]
        if any(end >= self._lifetimes[made][0] for end in ends):
            return "the layer that writes it reads an input in its memory"
        return ""

    # -- contexts -------------------------------------------------------------------------------

    def _context(self, binding: Binding | None, direct: _CallerTensors) -> Context:
        """Return a new context; with a binding it uses the caller's memory."""
        managers = direct.managers
        memory: list[tuple[Allocator, NDArray[np.uint8]]] = []
        handles: Handles = dict(self._constants)
        scratch: dict[PlannedLayer, NDArray[np.uint8]] = {}
        for backend_id, arena in self._arenas.items():
            block = allocated(backend_id, arena.allocator, arena.layout.size)
            memory.append((arena.allocator, block))
            _place(arena, block, handles, scratch)
        for shared in self._blocks_without(direct.handles):
            handles.update(_in_block(shared, managers.get(shared.owner)))
        handles.update(direct.handles)
        for tensor in self._lifetimes:
            if tensor not in handles and tensor not in self._foreign:
                is_computed = tensor.factory == HOST_FACTORY_ID
                handles[tensor] = (
                    ComputedHandle(tensor.info)
                    if is_computed
                    else self._created(tensor, managers.get(tensor.owner))
                )
        steps = []
        for layer, workload in zip(self.plan.layers, self._workloads, strict=True):
            if not self._is_imported(layer, handles, managers):
                step = self._step(layer, workload, handles, scratch.get(layer), managers)
                steps.append((layer, step))
        outputs = [
            (name, None if tensor is None else handles[tensor])
            for name, tensor in self.plan.outputs.items()
        ]
        submit = None
        if binding is not None:
            self._choose_arrays(binding, handles)
            steps = self._with_copies(steps, binding, direct, handles)
            submit = None if managers else self._submit(steps)
        return Context(
            [(name, handles[tensor]) for name, tensor in self.plan.inputs.items()],
            outputs,
            steps,
            managers,
            memory,
            {name: self.owners(name) for name in (*self.plan.inputs, *self.plan.outputs)},
            submit,
        )

    def managers(self) -> dict[str, MemoryManager]:
        """Return new memory managers for one context, by the ids of the backends that use them.

        A context without memory managers acquires and releases no memory around its runs.
        """
        managers: dict[str, MemoryManager] = {}
        used = {layer.backend for layer in self.plan.layers}
        used.update(tensor.owner for tensor in self._lifetimes)
        for backend_id, candidate in self._candidates.items():
            backend = candidate.backend
            if backend_id not in used:
                continue
            if type(backend).create_memory_manager is not Backend.create_memory_manager:
                manager = call(backend.id, backend, "create_memory_manager")
                if manager is not None:
                    managers[backend_id] = manager
        return managers

    def _is_imported(
        self, layer: PlannedLayer, handles: Handles, managers: Mapping[str, MemoryManager]
    ) -> bool:
        """Let the output of a MemImport layer use the memory of its input, if possible.

        Otherwise the output gets memory of its own, and a step copies the input.

        Returns:
            Whether the layer needs no step; False for layers of other types.
        """
        if layer.type != "MemImport":
            return False
        (source,), (target,) = layer.inputs, layer.outputs
        imported = None if source is None else self._imported(target, handles[source], managers)
        if imported is not None:
            handles[target] = imported
        elif target not in handles:
            handles[target] = self._created(target, managers.get(target.owner))
        return imported is not None

    def _step(
        self,
        layer: PlannedLayer,
        workload: Workload,
        handles: Handles,
        scratch: NDArray[np.uint8] | None,
        managers: Mapping[str, MemoryManager],
    ) -> Step:
        inputs = [None if tensor is None else handles[tensor] for tensor in layer.inputs]
        outputs = [handles[tensor] for tensor in layer.outputs]
        method = "bind" if scratch is None else "bind_with_scratch"
        beside: tuple[object, ...] = () if scratch is None else (scratch,)
        if scratch is None and type(workload).bind_in is not Workload.bind_in:
            method, beside = "bind_in", (managers.get(layer.backend),)
        owner = layer.backend or "the host"
        step: Step = call(owner, workload, method, inputs, outputs, *beside, about=layer)
        step = blamed(step, layer.backend, layer.name)
        if layer in self._waits:
            manager = managers.get(layer.backend)
            waits = [_waiting(each.owner, handles[each], manager) for each in self._waits[layer]]
            step = _after(waits, step)
        if self._watch is not None and layer.layer is not None:
            step = _watched(step, partial(self._watch, layer.layer, outputs))
        return step

    def _submit(
        self, steps: Sequence[tuple[PlannedLayer, Step]]
    ) -> Callable[[int | None], Task] | None:
        """Return a function that submits the only step of a plan to its backend.

        It is None if the plan has several steps, or if the backend lacks AsyncExecution.
        """
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

    def _choose_arrays(self, binding: Binding, handles: Handles) -> None:
        """Choose this context's arrays for inputs and outputs that the caller left open."""
        arrays = {**binding.inputs, **binding.outputs}
        for name in binding.free:
            for tensor in self._ports(name)[-1:]:
                handle = handles[tensor]
                is_own = tensor.constant is None and not _is_in_arena(tensor)
                given = arrays[name]
                if is_own and isinstance(handle, ArrayHandle) and handle.map() is not given.map():
                    binding.chosen[name] = handle.map()

    def _with_copies(
        self,
        steps: Sequence[tuple[PlannedLayer, Step]],
        binding: Binding,
        direct: _CallerTensors,
        handles: Handles,
    ) -> list[tuple[PlannedLayer, Step]]:
        """Return the steps with copies of inputs before them and of outputs after them.

        If a backend other than the owner of a kept state reads the state, its queue waits for the
        work that the owner has enqueued, and the queue of the owner then waits for that backend.
        """
        managers = direct.managers
        before: list[tuple[PlannedLayer, Step]] = []
        after: list[tuple[PlannedLayer, Step]] = []
        for name, tensor in self.plan.inputs.items():
            layer, given = PlannedLayer(name, "Input", "", (), (tensor,)), binding.inputs[name]
            if name not in direct.inputs and name not in binding.chosen:
                before.append((layer, _copying(given, handles[tensor])))
            elif isinstance(given, KeptHandle) and given.owner != tensor.owner:
                waits, goes_on = managers.get(tensor.owner), managers.get(given.owner)
                before.append((layer, _waiting(given.owner, given, waits)))
                after.append((layer, _waiting(tensor.owner, handles[tensor], goes_on)))
        for name, made in self.plan.outputs.items():
            if made is None or name in binding.chosen:
                continue
            layer, given = PlannedLayer(name, "Output", "", (made,), ()), binding.outputs[name]
            if name not in direct.outputs:
                after.append((layer, _copying(handles[made], given)))
            elif isinstance(given, KeptHandle) and given.owner == made.owner:
                continue  # the next run is enqueued after this one in the same queue
            elif not isinstance(handles[made], ArrayHandle):
                after.append((layer, partial(_wait_on_host, made.owner, handles[made])))
        return [*before, *steps, *after]


def _copying(source: TensorHandle, target: TensorHandle) -> Step:
    """Return a step that copies a tensor into another one."""
    if isinstance(source, ArrayHandle):
        return partial(target.copy_from, source.map())
    return CopyWorkload().bind([source], [target])


def _copied(what: str, given: TensorHandle, tensor: PlannedTensor | None, why: str) -> str:
    """Return the reason why a caller's tensor is copied, after a check that the host can copy it.

    Raises:
        MemoryImportError: The tensor is in memory that the host cannot reach.
    """
    device = _device_of(given) if isinstance(given, ForeignHandle) else HOST
    if device == HOST:
        return why
    raise MemoryImportError(unreachable(what, device, [tensor.owner] if tensor else []))


def _device_of(handle: TensorHandle) -> Device:
    """Return the device of a tensor; a tensor without a buffer is on the host, which maps it."""
    buffer = handle.as_buffer()
    return HOST if buffer is None or buffer.device.is_host else buffer.device


def _share(one: TensorHandle, other: TensorHandle) -> bool:
    """Return whether the memory of two tensors of a caller may overlap."""
    if isinstance(one, ArrayHandle) and isinstance(other, ArrayHandle):
        return np.may_share_memory(one.map(), other.map())
    a, b = one.as_buffer(), other.as_buffer()
    return a is not None and b is not None and overlap(a, b)


def _is_in_arena(tensor: PlannedTensor) -> bool:
    """Return whether a tensor has its memory in an arena."""
    is_host = tensor.factory == HOST_FACTORY_ID
    return is_host and tensor.constant is None and tensor.info.is_static


def _place(
    arena: _Arena,
    memory: NDArray[np.uint8],
    handles: Handles,
    scratch: dict[PlannedLayer, NDArray[np.uint8]],
) -> None:
    """Add the handles and the scratch memory of an arena, at their offsets in its memory."""
    source, start = arena.allocator.memory_source, address_of(memory)
    offsets = iter(arena.layout.offsets)  # of the tensors, then of the scratch memory
    for tensor, offset in zip(arena.tensors, offsets, strict=False):
        info = tensor.info
        shape, dtype = info.static_shape, info.data_type.numpy_dtype
        handles[tensor] = handle_at(memory, offset, info, shape, dtype, source, start)
    for (layer, size), offset in zip(arena.scratch, offsets, strict=True):
        scratch[layer] = memory[offset : offset + size]


def _in_block(shared: _DeviceBlock, manager: MemoryManager | None) -> Handles:
    """Allocate a block of device memory and return the handles of the tensors in it."""
    block = call(shared.owner, shared.factory, "create_block", shared.size, manager)
    return {
        tensor: call(
            shared.owner,
            shared.factory,
            "create_in",
            tensor.info,
            block,
            offset,
            about=f"tensor {tensor.name!r}",
        )
        for tensor, offset in shared.tensors.items()
    }


def memory_of(
    plans: Iterable[LoadedPlan], states: Iterable[NDArray[Any] | KeptHandle]
) -> dict[str, dict[str, int]]:
    """Return the bytes that plans and states use, by the id of the tensor-handle factory.

    "working" counts the memory of one run of the largest plan; "constants" the constants outside of
    compiled programs, each once; "states" the values that are kept between runs.
    """
    working: dict[str, int] = {HOST_FACTORY_ID: 0}
    constants: dict[str, dict[int, int]] = {}
    for plan in plans:
        for kind, size in {HOST_FACTORY_ID: plan.arena_bytes, **plan._device_bytes()}.items():
            working[kind] = max(working.get(kind, 0), size)
        for tensor in plan._constants:
            if tensor.constant is not None:
                data = tensor.constant
                constants.setdefault(tensor.factory, {})[id(data)] = data.nbytes
    kept: dict[str, int] = {}
    for state in states:
        kind = state.factory if isinstance(state, KeptHandle) else HOST_FACTORY_ID
        kept[kind] = kept.get(kind, 0) + state.nbytes
    return {
        kind: {
            "working": working.get(kind, 0),
            "constants": sum(constants.get(kind, {}).values()),
            "states": kept.get(kind, 0),
        }
        for kind in (working | constants | kept)
    }


def _watched(step: Step, watch: Callable[[], object]) -> Step:
    def watched_step() -> None:
        step()
        watch()

    return watched_step


class IdleMemory:
    """Limits the memory of the idle contexts of all plans of one network.

    The idle contexts of all plans together use at most the memory of one context of the largest
    plan plus :data:`SLACK_BYTES`; a single plan keeps a context for each thread that ran it.
    The contexts of the plan that has not run for longest are dropped first; making a context again
    takes less than a millisecond.

    Args:
        trim: Frees the memory that all networks of the runtime keep for later runs.
        limit: How many runs may have a context at a time; None for any number.

    Attributes:
        trim: See the argument.
        returned: How many contexts were given back by runs so far.
    """

    def __init__(self, trim: Callable[[], object] = lambda: None, limit: int | None = None) -> None:
        self.trim = trim
        self._turns = None if limit is None else threading.Semaphore(limit)
        self.returned = 0
        self._taken = 0
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # By plan: an upper bound of its idle bytes, from its last call of make_room().
        self._plans: OrderedDict[LoadedPlan, int] = OrderedDict()
        self._bytes = 0  # the sum of these bounds

    def make_room(self, plan: LoadedPlan, further: int = 0) -> None:
        """Drop idle contexts of other plans until the limit of idle memory holds.

        Args:
            plan: The plan that took a context back, or is about to make one.
            further: The bytes of the context that the plan is about to make.
        """
        with self._lock:
            kept = plan.idle_bytes
            self._bytes += kept - self._plans.pop(plan, 0)
            self._plans[plan] = kept
            if self._bytes + further - SLACK_BYTES <= plan.context_bytes or len(self._plans) == 1:
                return  # in most calls: no other plan needs a look
            idle = [each.idle_bytes for each in self._plans]
            self._plans.update(zip(self._plans, idle, strict=True))
            self._bytes = sum(idle)
            most = max([each.context_bytes for each in self._plans])
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

    def take_turn(self, control: RunControl | None) -> None:
        """Wait until fewer runs than the limit have a context.

        Args:
            control: The deadline and the cancel token of the run, which also end the wait.

        Raises:
            CancelledError: The caller cancelled the run.
            DeadlineExceededError: The deadline of the run has passed.
        """
        assert self._turns is not None
        seconds = None if control is None else _TICK_SECONDS
        while not self._turns.acquire(timeout=seconds):
            reason = None if control is None else control.reason_to_stop()
            if reason is not None:
                raise reason

    def end_turn(self) -> None:
        """Let another run have a context."""
        assert self._turns is not None
        self._turns.release()

    def take(self) -> None:
        """Count a context that a run uses, until :meth:`give_back`."""
        with self._lock:
            self._taken += 1

    def give_back(self) -> None:
        """Count a context that a run has given back, and wake the runs that wait for one."""
        with self._changed:
            self._taken -= 1
            self.returned += 1
            self._changed.notify_all()

    def wait(self, seen: int, control: RunControl | None) -> bool:
        """Wait until a run gives its context back.

        Args:
            seen: The value of :attr:`returned` before the allocation that failed.
            control: The deadline and the cancel token of the run, which also end the wait.

        Returns:
            Whether a context was given back; False if no run has a context.
        """
        seconds = None if control is None else _TICK_SECONDS
        with self._changed:
            while self.returned == seen and self._taken:
                self._changed.wait(seconds)
                reason = None if control is None else control.reason_to_stop()
                if reason is not None:
                    raise reason
            return self.returned != seen

    def forget(self, plan: LoadedPlan) -> None:
        """Count the memory of a closed plan no longer."""
        with self._lock:
            self._bytes -= self._plans.pop(plan, 0)


def _awaited(plan: Plan) -> dict[PlannedLayer, list[PlannedTensor]]:
    """Return, by layer, the tensors whose enqueued work must end before the layer runs.

    Backends that share memory may each have a queue. A layer that uses such memory after layers of
    another backend reads their results, or writes where they may still read: it must wait for the
    work that these layers enqueued.
    """
    memory: dict[str, str] = {}
    for layer in plan.layers:
        if layer.type == "MemImport" and layer.inputs[0] is not None:
            source = layer.inputs[0].factory
            memory[layer.outputs[0].factory] = memory.get(source, source)
    unfinished: dict[str, dict[str, list[PlannedTensor]]] = {}

    def noted(tensor: PlannedTensor, by: str, places: Iterable[str]) -> None:
        for place in places:
            unfinished.setdefault(place, {}).setdefault(by, []).append(tensor)

    def places_of(tensors: Iterable[PlannedTensor | None]) -> list[str]:
        factories = [each.factory for each in tensors if each is not None]
        return list(dict.fromkeys(memory.get(factory, factory) for factory in factories))

    for tensor in plan.inputs.values():
        if not _is_at_rest(tensor):
            noted(tensor, tensor.owner, places_of([tensor]))
    waits: dict[PlannedLayer, list[PlannedTensor]] = {}
    for layer in plan.layers:
        if layer.type in CARRIERS:
            for tensor in layer.outputs:  # a copy waits for its input, but may itself be enqueued
                if layer.type == "MemCopy" and not _is_at_rest(tensor):
                    noted(tensor, tensor.owner, places_of([tensor]))
            continue
        touched = places_of((*layer.inputs, *layer.outputs))
        for place in touched:
            others = unfinished.get(place, {})
            for backend in [each for each in others if each != layer.backend]:
                waits.setdefault(layer, []).extend(others.pop(backend))
        for tensor in layer.outputs:
            if not _is_at_rest(tensor):
                noted(tensor, layer.backend, touched)  # other layers must not yet overwrite inputs
    return waits


def _is_at_rest(tensor: PlannedTensor) -> bool:
    """Return whether no queue has work on a tensor: it is a constant or in host memory."""
    return tensor.factory == HOST_FACTORY_ID or tensor.constant is not None


def _waiting(owner: str, handle: TensorHandle, manager: MemoryManager | None) -> Step:
    """Return a step that lets one queue wait for the work on a tensor in another queue.

    Args:
        owner: The id of the backend that has enqueued work on the tensor.
        handle: The tensor.
        manager: The memory manager whose queue waits; if None, the host waits.
    """
    if manager is None:
        return partial(_wait_on_host, owner, handle)

    def wait() -> None:
        event: Event | None = call(owner, handle, "written")
        if event is not None:
            manager.wait_for(event)

    return wait


def _after(waits: Sequence[Step], step: Step) -> Step:
    """Return a step that runs all waits before a step."""

    def run() -> None:
        for wait in waits:
            wait()
        step()

    return run


def _wait_on_host(owner: str, handle: TensorHandle) -> None:
    """Wait until the enqueued work on a tensor has ended, or until the run must end."""
    event: Event | None = call(owner, handle, "written")
    if event is not None:
        event.wait()
