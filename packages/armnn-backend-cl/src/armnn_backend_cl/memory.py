# SPDX-License-Identifier: MIT
"""Tensors in the memory of an OpenCL device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pyopencl as cl

from armnn import Buffer
from armnn.backends import (
    MapAccess,
    MemoryManager,
    TensorHandle,
    TensorHandleFactory,
    raise_if_stopped,
)
from armnn.errors import (
    DeviceLostError,
    ExecutionError,
    MemoryImportError,
    ResourceExhaustedError,
)
from armnn_backend_cl.device import Device, Queue, QueueEvent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo

OPENCL: Final = 4
"""The number of OpenCL's devices in DLPack."""


@dataclass(frozen=True, slots=True)
class Block:
    """A buffer of a device and the queue of the context that it belongs to.

    Attributes:
        buffer: The memory.
        queue: None for constants, which belong to all contexts.
    """

    buffer: cl.Buffer
    queue: Queue | None


class DeviceTensor(TensorHandle):
    """A tensor at an offset in a buffer of a device.

    Attributes:
        buffer: The buffer.
        offset: Where it begins there, in bytes.
        queue: What orders its use; None for a constant.
    """

    def __init__(self, info: TensorInfo, device: Device, block: Block, offset: int) -> None:
        self.info = info
        self.device = device
        self.buffer, self.queue = block.buffer, block.queue
        self.offset = offset
        self._staging: NDArray[Any] | None = None
        self._staged: QueueEvent | None = None
        self._mapped: NDArray[Any] | None = None

    def map(self) -> NDArray[Any]:
        """Return a copy of the tensor, which :meth:`unmap` writes back."""
        return self.map_for(MapAccess.WRITE)

    def map_for(self, access: MapAccess) -> NDArray[Any]:
        """Return a copy of the tensor; a copy that is only read is not written back."""
        copied: NDArray[Any] = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        if access is not MapAccess.DISCARD:
            self.copy_to(copied)
        self._mapped = None if access is MapAccess.READ else copied
        return copied

    def unmap(self) -> None:
        """Write the copy back."""
        if self._mapped is not None:
            self.copy_from(self._mapped)
            self._mapped = None

    def copy_from(self, array: NDArray[Any]) -> None:
        """Copy an array into the tensor; the copy is enqueued, and the array free at once."""
        if array.nbytes == 0:
            return
        if self.queue is None:
            commands = Queue(self.device).commands
            self._write(commands, np.ascontiguousarray(array), is_blocking=True)
            return
        if self._staging is None:
            self._staging = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        elif self._staged is not None:
            self._staged.wait_for_end()  # an earlier run may have ended before it was read
        np.copyto(self._staging, array)
        self.queue.last = self._write(self.queue.commands, self._staging, is_blocking=False)
        self._staged = self.queue.event()

    def copy_to(self, array: NDArray[Any]) -> None:
        """Copy the tensor into an array, after the commands that were enqueued."""
        if array.nbytes == 0:
            if self.queue is not None and self.queue.has_checks:
                self.queue.finish()
            return
        target = array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)
        if self.queue is None:
            commands = Queue(self.device).commands
        else:
            commands = self.queue.commands
            if raise_if_stopped():  # the driver's own wait has no end before the device's
                self.queue.finish()
        with self.device.failures():
            cl.enqueue_copy(commands, target, self.buffer, src_offset=self.offset)
        if self.queue is not None:
            self.queue.raise_faults()
        if target is not array:
            array[...] = target

    def copy_on_device(self, source: TensorHandle) -> bool:
        """Enqueue a copy of another tensor of the device; return whether that can be."""
        queue = self.queue
        if queue is None or not isinstance(source, DeviceTensor) or source.device != self.device:
            return False
        size, begin, other = self.info.size_bytes, self.offset, source.offset
        if self.buffer == source.buffer and begin < other + size and other < begin + size:
            return False  # drivers refuse ranges that overlap
        event = None if source.queue is queue else source.written()
        if event is not None:
            queue.wait_for(event)
        if size:
            with self.device.failures():
                queue.last = cl.enqueue_copy(
                    queue.commands,
                    self.buffer,
                    source.buffer,
                    src_offset=other,
                    dst_offset=begin,
                    byte_count=size,
                )
        return True

    def written(self) -> QueueEvent | None:
        """Return the event of the commands enqueued so far; None of a constant."""
        return None if self.queue is None else self.queue.event()

    def as_buffer(self) -> Buffer:
        """Return its memory on the OpenCL device."""
        device = (OPENCL, self.device.index)
        whole = Buffer(device, self.buffer.size, self.buffer, data=self.buffer.int_ptr)
        return whole.tensor(self.info, self.offset)

    def _write(
        self, commands: cl.CommandQueue, array: NDArray[Any], *, is_blocking: bool
    ) -> cl.Event:
        with self.device.failures():
            return cl.enqueue_copy(
                commands, self.buffer, array, dst_offset=self.offset, is_blocking=is_blocking
            )


class DeviceMemory(TensorHandleFactory):
    """Makes the tensors of a device, in one block for each execution context."""

    def __init__(self, device: Device) -> None:
        self.id = f"opencl:{device.index}"
        self.block_alignment = device.alignment
        self.import_devices = frozenset({(OPENCL, device.index)})
        self._device = device

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> DeviceTensor:
        """Return a tensor in a buffer of its own."""
        return self.create_in(info, self.create_block(max(info.size_bytes, 1), memory), 0)

    def create_block(self, size: int, memory: MemoryManager | None) -> Block:
        """Return a new buffer.

        Raises:
            ResourceExhaustedError: The device has no such memory left, or allows no such buffer.
        """
        assert memory is None or isinstance(memory, Queue)
        return Block(allocate(self._device, size, memory), memory)

    def create_in(self, info: TensorInfo, block: object, offset: int) -> DeviceTensor:
        """Return a tensor in a block."""
        assert isinstance(block, Block)
        return DeviceTensor(info, self._device, block, offset)

    def import_in(
        self, info: TensorInfo, handle: TensorHandle, memory: MemoryManager | None
    ) -> DeviceTensor | None:
        """Return a tensor on a caller's buffer of the same OpenCL context, None of another.

        Raises:
            MemoryImportError: There is no such buffer, it ends before the tensor does, or the
                tensor begins within an element.
        """
        given = handle.as_buffer()
        if given is None or given.device != (OPENCL, self._device.index):
            return None
        try:
            buffer = cast("cl.Buffer", cl.Buffer.from_int_ptr(given.data, retain=True))
        except cl.Error as error:
            raise MemoryImportError(
                f"the data of {given!r} is {given.data:#x}, which OpenCL does not know as a "
                f"buffer: {error}; pass the int_ptr of a pyopencl.Buffer"
            ) from error
        if buffer.context != self._device.context:
            return None
        # Drivers do not check what kernels read and write.
        if given.offset + given.nbytes > buffer.size:
            raise MemoryImportError(
                f"the OpenCL buffer of {given!r} has {buffer.size} bytes, expected at least "
                f"{given.offset + given.nbytes}: {given.nbytes} from byte {given.offset} on"
            )
        itemsize = info.data_type.numpy_dtype.itemsize
        if given.offset % itemsize:
            raise MemoryImportError(
                f"{given!r} begins at byte {given.offset} of its OpenCL buffer: expected a "
                f"multiple of {itemsize}, the bytes of an element"
            )
        assert isinstance(memory, Queue)
        return DeviceTensor(info, self._device, Block(buffer, memory), given.offset)


def allocate(
    device: Device,
    size: int,
    queue: Queue | None = None,
    content: NDArray[Any] | None = None,
) -> cl.Buffer:
    """Return a new buffer.

    Args:
        device: Where it is.
        size: In bytes.
        queue: One that brings the buffer onto the device now: drivers may else put that off to the
            first kernel, in a run, when it is too late to wait for memory.
        content: Its content, which does not change.

    Raises:
        ResourceExhaustedError: The device has no such memory left, or allows no such buffer.
        DeviceLostError: The device is gone.
    """
    device.check_process()
    most = device.device.max_mem_alloc_size
    if size > most:
        raise ResourceExhaustedError(
            f"{device.name} allows buffers of {most} bytes: got {size}, which one execution "
            "context of this model, or one of its constants, takes"
        )
    try:
        if content is not None:
            flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
            return cl.Buffer(device.context, flags, hostbuf=content)
        made = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, size)
        if queue is not None:
            undefined = cl.mem_migration_flags.CONTENT_UNDEFINED
            queue.last = cl.enqueue_migrate_mem_objects(queue.commands, [made], undefined)
    except cl.Error as error:
        failure = device.failure(error.code, str(error))
        if isinstance(failure, DeviceLostError):
            raise failure from error
        raise ResourceExhaustedError(
            f"{device.name} has no memory for a buffer of {size} bytes: {error}"
        ) from error
    return made


def on_device(handle: TensorHandle) -> DeviceTensor:
    """Return a handle that a kernel can read.

    Raises:
        ExecutionError: It is not one of this backend's.
    """
    if not isinstance(handle, DeviceTensor):
        raise ExecutionError(f"a kernel of OpenCL cannot read {handle!r}: it is not on its device")
    return handle
