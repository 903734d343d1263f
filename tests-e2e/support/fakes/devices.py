# SPDX-License-Identifier: MIT
"""A device with an address space of its own, a slow queue and counters, and a backend on it."""

from __future__ import annotations

import itertools
import queue
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import armnn
from armnn.backends import (
    BACKEND_API_VERSION,
    ArrayHandle,
    Backend,
    BackendVersion,
    Event,
    MemoryManager,
    ModelContext,
    OptionValue,
    Step,
    Support,
    TensorHandle,
    TensorHandleFactories,
    TensorHandleFactory,
    Workload,
)
from armnn.errors import ResourceExhaustedError
from armnn_backend_ref.backend import RefBackend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

_POLL_SECONDS = 0.001

QUEUED_DEVICE = (4, 9)
"""The device as DLPack numbers it; its buffers have numbers as OpenCL's have handles."""


@dataclass
class Counts:
    """What was asked of a device since it was made.

    Attributes:
        waits: How often the host waited for kernels that had not ended; they may have, so that
            counts are equal without it.
    """

    buffers: int = 0
    bytes: int = 0
    uploads: int = 0
    downloads: int = 0
    kernels: int = 0
    waits: int = field(default=0, compare=False)

    def since(self, before: Counts) -> Counts:
        """Return what was asked after another count."""
        return Counts(*(getattr(self, f.name) - getattr(before, f.name) for f in fields(Counts)))


class Buffer:
    """Memory of a device: a number, which says nothing to the host."""

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size


class Device:
    """Runs kernels one after the other, in a thread of its own.

    Args:
        beside: A device whose memory it shares, as a second queue of it.

    Attributes:
        counts: See :class:`Counts`.
        seconds: What each kernel takes at least.
        finished: How many kernels have ended.
        limit: How many bytes its buffers may have; 0 for any number.
    """

    def __init__(self, beside: Device | None = None) -> None:
        self.counts = Counts()
        self.seconds = 0.0
        self.limit = 0
        self._numbers = itertools.count(1)
        self._memory: dict[int, NDArray[np.uint8]] = {}
        self._buffers: weakref.WeakValueDictionary[int, Buffer] = weakref.WeakValueDictionary()
        if beside is not None:
            self._numbers, self._memory = beside._numbers, beside._memory
            self._buffers = beside._buffers
        self._queue: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._enqueued = self.finished = 0
        self._failure: Exception | None = None
        threading.Thread(target=self._work, name="fake-device", daemon=True).start()

    @property
    def used(self) -> int:
        """The bytes of its buffers."""
        return sum(len(memory) for memory in tuple(self._memory.values()))

    def allocate(self, size: int) -> Buffer:
        """Return a buffer, freed with its last reference.

        Raises:
            ResourceExhaustedError: The limit is reached.
        """
        if self.limit and self.used + size > self.limit:
            raise ResourceExhaustedError(f"the device has {self.limit - self.used} bytes left")
        made = Buffer(next(self._numbers), size)
        self._memory[made.number] = np.full(size, 0xA5, np.uint8)
        self._buffers[made.number] = made
        self.counts.buffers += 1
        self.counts.bytes += size
        weakref.finalize(made, self._memory.pop, made.number)
        return made

    def tensor(self, array: NDArray[Any]) -> armnn.Buffer:
        """Return an array as a caller's tensor on the device."""
        made = self.allocate(array.nbytes)
        whole = armnn.Buffer(QUEUED_DEVICE, made.size, made, data=made.number)
        given = whole.tensor(armnn.tensor.info_of(array))
        self.read(given)[...] = array
        return given

    def read(self, given: armnn.Buffer) -> NDArray[Any]:
        """Return a caller's tensor on the device as kernels see it."""
        part = self._memory[given.data][given.offset : given.offset + given.nbytes]
        return part.view(given.dtype).reshape(given.shape)

    def buffer(self, number: int) -> Buffer | None:
        """Return a buffer by its number, if there is one."""
        return self._buffers.get(number)

    def enqueue(self, kernel: Callable[[], object]) -> None:
        """Let a kernel run after those before it, and return at once."""
        self.counts.kernels += 1
        self._enqueued += 1
        self._queue.put(kernel)

    def finish(self) -> None:
        """Wait for the kernels so far; end early if the run must.

        Raises:
            Exception: A kernel failed.
        """
        self.event().wait()

    def event(self) -> QueueEvent:
        """Return the event of the kernels so far."""
        return QueueEvent(self, self._enqueued)

    def has_finished(self, count: int) -> bool:
        """Return whether so many kernels have ended.

        Raises:
            Exception: A kernel failed.
        """
        if self.finished < count:
            return False
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return True

    def inside(self, buffer: Buffer, offset: int, info: TensorInfo) -> NDArray[Any]:
        """Return a tensor as kernels see it."""
        part = self._memory[buffer.number][offset : offset + info.size_bytes]
        return part.view(info.data_type.numpy_dtype).reshape(info.static_shape)

    def _work(self) -> None:
        while True:
            kernel = self._queue.get()
            if self.seconds:
                time.sleep(self.seconds)
            try:
                kernel()
            except Exception as error:
                self._failure = error
            self.finished += 1


class QueueEvent(Event):
    """So many kernels of a device."""

    def __init__(self, device: Device, count: int) -> None:
        self.device, self._count = device, count

    @property
    def is_done(self) -> bool:
        return self.device.has_finished(self._count)

    @property
    def has_passed(self) -> bool:
        """Whether they have ended, well or not."""
        return self.device.finished >= self._count

    def wait(self) -> None:
        self.device.counts.waits += not self.is_done
        super().wait()


class QueuedHandle(TensorHandle):
    """A tensor in a buffer of a device."""

    def __init__(self, info: TensorInfo, device: Device, buffer: Buffer, offset: int) -> None:
        self.info = info
        self._device, self._buffer, self._offset = device, buffer, offset
        self._copy: NDArray[Any] | None = None

    @property
    def inside(self) -> NDArray[Any]:
        """The tensor as kernels see it."""
        return self._device.inside(self._buffer, self._offset, self.info)

    def map(self) -> NDArray[Any]:
        self._copy = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        self.copy_to(self._copy)
        return self._copy

    def unmap(self) -> None:
        if self._copy is not None:
            self.copy_from(self._copy)
            self._copy = None

    def written(self) -> QueueEvent:
        return self._device.event()

    def as_buffer(self) -> armnn.Buffer:
        whole = armnn.Buffer(
            QUEUED_DEVICE, self._buffer.size, self._buffer, data=self._buffer.number
        )
        return whole.tensor(self.info, self._offset)

    def copy_from(self, array: NDArray[Any]) -> None:
        self._device.finish()  # a kernel may still read what is there
        self._device.counts.uploads += 1
        np.copyto(self.inside, array)

    def copy_to(self, array: NDArray[Any]) -> None:
        self._device.finish()
        self._device.counts.downloads += 1
        np.copyto(array, self.inside)


class QueuedFactory(TensorHandleFactory):
    """Makes tensors of a device; in blocks if it has an alignment."""

    import_devices = frozenset({QUEUED_DEVICE})

    def __init__(self, factory_id: str, device: Device, alignment: int) -> None:
        self.id, self.block_alignment = factory_id, alignment
        self._device = device

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:
        return self.create_in(info, self.create_block(max(info.size_bytes, 1), memory), 0)

    def create_block(self, size: int, memory: MemoryManager | None) -> object:
        device = memory.device if isinstance(memory, QueueOfContext) else self._device
        return device, device.allocate(size)

    def create_in(self, info: TensorInfo, block: object, offset: int) -> TensorHandle:
        assert isinstance(block, tuple)
        device, buffer = block
        assert offset % max(self.block_alignment, 1) == 0
        assert offset + info.size_bytes <= buffer.size
        return QueuedHandle(info, device, buffer, offset)

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        given = handle.as_buffer()
        assert given is not None
        found = self._device.buffer(given.data)
        return None if found is None else QueuedHandle(info, self._device, found, given.offset)


class QueueOfContext(MemoryManager):
    """Whose queue orders the tensors of a context."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def acquire(self) -> None:
        pass

    def release(self) -> None:
        pass

    def wait_for(self, event: Event) -> None:
        if isinstance(event, QueueEvent):
            self.device.enqueue(partial(_block_until, event))
        else:
            event.wait()


def _block_until(event: QueueEvent) -> None:
    """Let the device of another queue wait; a kernel there that fails is told of by its own."""
    while not event.has_passed:
        time.sleep(_POLL_SECONDS)


class QueuedBackend(Backend):
    """Runs float32 layers of CpuRef as kernels of a device; the host reaches no tensor.

    Attributes:
        device: All of its runtimes share it.
        layers: The types of layers that it runs.
    """

    id: ClassVar[str] = "Queued"
    api_version: ClassVar[BackendVersion] = BACKEND_API_VERSION
    alignment: ClassVar[int] = 128
    device: ClassVar[Device] = Device()
    layers: ClassVar[tuple[str, ...]] = (
        "Addition", "Activation", "Multiplication", "FullyConnected"
    )  # fmt: skip

    def __init__(self) -> None:
        self._inner = RefBackend()

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        if layer.type not in self.layers:
            return Support.no(f"{self.id} has no kernel for it")
        return self._inner.supports(layer, ModelContext({}))

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        inner = self._inner.create_model_context({})
        return _Kernel(self._inner.create_workload(layer, inner), self.device)

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        return ModelContext(options)

    def create_memory_manager(self) -> MemoryManager:
        return QueueOfContext(self.device)

    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        return (f"{self.id}.memory",)

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        registry.register(QueuedFactory(f"{self.id}.memory", self.device, self.alignment))


class UnplacedBackend(QueuedBackend):
    """One whose tensors have buffers of their own, as before Backend API 1.3."""

    id = "Unplaced"
    alignment = 0
    device = Device()


class SecondQueue(QueuedBackend):
    """Runs activations by a queue of its own in the memory of Queued."""

    id = "SecondQueue"
    device = Device(beside=QueuedBackend.device)
    layers = ("Activation",)
    handle_factory_preferences = (f"{QueuedBackend.id}.memory",)

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        registry.register(QueuedFactory(f"{QueuedBackend.id}.memory", self.device, self.alignment))


class SecondFactory(SecondQueue):
    """One whose tensors are those of a factory of its own, on the same device."""

    id = "SecondFactory"
    device = Device(beside=QueuedBackend.device)
    handle_factory_preferences = ("SecondFactory.memory",)

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        registry.register(QueuedFactory("SecondFactory.memory", self.device, self.alignment))


class PositionsOnHost(QueuedBackend):
    """Reads the positions of Gather, and writes those of ArgMinMax, in host memory."""

    id = "PositionsOnHost"
    layers = ("Addition", "ArgMinMax", "Gather")

    def host_inputs(self, layer: Layer, model: ModelContext) -> Collection[int]:
        return (1,) if layer.type == "Gather" else ()

    def host_outputs(self, layer: Layer, model: ModelContext) -> Collection[int]:
        return range(layer.type == "ArgMinMax")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        made = super().create_workload(layer, model)
        return made if layer.type == "Addition" else _WithPositions(made, layer, self.device)


class _WithPositions(Workload):
    def __init__(self, inner: Workload, layer: Layer, device: Device) -> None:
        self._inner, self._type, self._device = inner, layer.type, device

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        if self._type == "Gather":
            data, positions = inputs
            assert isinstance(positions, ArrayHandle)

            def enqueue() -> None:
                read = ArrayHandle(positions.info, positions.map().copy())
                self._inner.bind([data, read], outputs)()

            return enqueue
        assert isinstance(outputs[0], ArrayHandle)
        step = self._inner.bind(inputs, outputs)

        def compute() -> None:
            step()
            self._device.finish()

        return compute


class _Kernel(Workload):
    def __init__(self, inner: Workload, device: Device) -> None:
        self._inner, self._device = inner, device

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        step = self._inner.bind(
            [None if handle is None else _on_device(handle) for handle in inputs],
            [_on_device(handle) for handle in outputs],
        )
        handles = (inputs, outputs)  # buffers live as long as the step

        def enqueue() -> None:
            assert handles
            self._device.enqueue(step)

        return enqueue


def _on_device(handle: TensorHandle) -> ArrayHandle:
    if isinstance(handle, ArrayHandle):
        return handle
    assert isinstance(handle, QueuedHandle), f"{handle!r} is not on the device"
    return ArrayHandle(handle.info, handle.inside)
