# SPDX-License-Identifier: MIT
"""A program as a workload, bound once per execution context, with one call per run."""

from __future__ import annotations

import ctypes
import functools
import operator
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.capi.calls import (
    NOBODY,
    Library,
    call,
    check_open,
    raise_stored,
    stored,
    watched_call,
)
from armnn.backends.capi.devices import NativeHandle, NativeHandleFactory, NativeQueue
from armnn.backends.capi.extensions import NativeTask
from armnn.backends.capi.programs import NativeProgram
from armnn.backends.capi.values import tensor_of
from armnn.backends.contract import RunControl, Step, Workload, controlled_runs, current_control
from armnn.backends.memory import (
    ArrayHandle,
    MapAccess,
    PlacedHandle,
    TensorHandle,
    address_of,
)
from armnn.errors import ArmnnError, BackendError, ExecutionError
from armnn.tensor import TensorInfo
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, new_error, struct

_NO_REQUIREMENT: Final = struct(abi.IoRequirement)
_ALIGNMENT_LIMIT: Final = 1 << 21  # a huge page
_PADDING_LIMIT: Final = 1 << 21
_KINDS: Final = (abi.MEMORY_ANY, abi.MEMORY_HOST, abi.MEMORY_DEVICE)


class _Ports:
    """Describes the tensors of one bound program for its calls.

    Args:
        program: The program.
        arena: Holds what the descriptions point to.
        queue: The queue that orders the use of tensors that it puts on the device.
    """

    def __init__(self, program: NativeProgram, arena: Arena, queue: NativeQueue | None) -> None:
        self._program = program
        self._arena = arena
        self._queue = queue

    def tensor(
        self, index: int, handle: TensorHandle, *, is_output: bool
    ) -> tuple[abi.Tensor, _Port | _DevicePort | None]:
        """Return a tensor for C, and a function that copies it.

        Args:
            index: Its place among the inputs or outputs.
            handle: The tensor.
            is_output: Whether the program writes it.

        Raises:
            BackendError: The backend asks for more memory than makes sense.
            ArmnnError: The backend does not say what it needs.
        """
        need = _requirement(self._program, index, handle.info.size_bytes, is_output=is_output)
        own = _own_handle(handle, self._program)
        if own is not None and need.memory_kind != abi.MEMORY_HOST:
            return own.describe(self._arena), None
        if self._is_for_device(need):
            on_device = _DevicePort(handle, self._factory, self._queue, is_output=is_output)
            return on_device.device.describe(self._arena), on_device
        if isinstance(handle, ArrayHandle) and _fits(handle.map(), need):
            array = handle.map()
            self._arena.hold(array)
            return tensor_of(array, self._arena), None
        port = _Port(handle, need, is_output=is_output)
        return port.tensor, port

    def _is_for_device(self, need: abi.IoRequirement) -> bool:
        """Return whether the program takes a tensor on its device only."""
        table = self._program.library.device_memory
        if table is None or need.memory_kind == abi.MEMORY_HOST:
            return False
        return need.memory_kind == abi.MEMORY_DEVICE or not table.takes_host_memory

    @functools.cached_property
    def _factory(self) -> NativeHandleFactory:
        """The factory of the device that the program was compiled for."""
        return NativeHandleFactory(self._program.backend, self._program.device)


class _Port:
    """A tensor copied to memory that execute can use."""

    def __init__(self, handle: TensorHandle, need: abi.IoRequirement, *, is_output: bool) -> None:
        self._handle = handle
        self._is_output = is_output
        self._arena = Arena()
        info = handle.info
        dtype = info.data_type.numpy_dtype
        size = max(info.size_bytes, need.min_bytes)
        alignment = max(need.min_align, dtype.itemsize, 1)
        block = np.empty(size + alignment, np.uint8)
        start = -address_of(block) % alignment
        raw = block[start : start + info.size_bytes]
        self._array: NDArray[Any] = raw.view(dtype).reshape(info.static_shape)
        self._arena.hold(block)
        self.tensor = tensor_of(self._array, self._arena)

    def enter(self) -> None:
        """Bring the input."""
        if not self._is_output:
            self._handle.copy_to(self._array)

    def leave(self) -> None:
        """Take the output away."""
        if self._is_output:
            self._handle.copy_from(self._array)


class _DevicePort:
    """A tensor copied to a buffer of a device.

    Attributes:
        device: The tensor there.
    """

    def __init__(
        self,
        handle: TensorHandle,
        factory: NativeHandleFactory,
        queue: NativeQueue | None,
        *,
        is_output: bool,
    ) -> None:
        self._handle = handle
        self._is_output = is_output
        self.device = factory.create(handle.info, queue)

    def enter(self) -> None:
        """Bring the input."""
        if not self._is_output:
            self.device.copy_from(self._handle.map_for(MapAccess.READ))
            self._handle.unmap()

    def leave(self) -> None:
        """Take the output away."""
        if self._is_output:
            self._handle.copy_from(self.device.map_for(MapAccess.READ))
            self.device.unmap()


def _requirement(
    program: NativeProgram, index: int, handle_bytes: int, *, is_output: bool
) -> abi.IoRequirement:
    library = program.library
    if library.function("io_requirement") is None:
        return _NO_REQUIREMENT
    need = struct(abi.IoRequirement)
    side = "output" if is_output else "input"
    call(
        library,
        "io_requirement",
        f"say what {side} {index} of {program.title} must be like",
        program.pointer,
        int(is_output),
        index,
        ctypes.byref(need),
    )
    if not _is_sane(need, handle_bytes):
        raise BackendError(
            f"backend {library.id!r} ({library.path}) wants {need.min_bytes} "
            f"bytes aligned to {need.min_align} for {side} {index} of "
            f"{program.title}: expected a power of two up to {_ALIGNMENT_LIMIT} and "
            f"not much more than the {handle_bytes} bytes of the tensor"
        )
    if need.memory_kind not in _KINDS:
        raise BackendError(
            f"backend {library.id!r} ({library.path}) wants memory of the kind {need.memory_kind} "
            f"for {side} {index} of {program.title}: expected an armnn_memory_kind"
        )
    return need


def host_places(
    program: NativeProgram, infos: Sequence[TensorInfo | None], *, is_output: bool
) -> list[int]:
    """Return the inputs or outputs that a program has in host memory in any case.

    Raises:
        BackendError: The backend asks for memory that makes no sense.
        ArmnnError: The backend does not say what it needs.
    """
    return [
        index
        for index, info in enumerate(infos)
        if info is not None
        and _requirement(program, index, info.size_bytes, is_output=is_output).memory_kind
        == abi.MEMORY_HOST
    ]


def _own_handle(handle: TensorHandle, program: NativeProgram) -> NativeHandle | None:
    """Return a tensor on the program's device, None of others."""
    if program.library.device_memory is None:
        return None
    if isinstance(handle, NativeHandle) and handle.backend is program.backend:
        return handle
    return None


def _is_sane(need: abi.IoRequirement, size: int) -> bool:
    """Return whether a requirement for so many bytes is plausible."""
    align = need.min_align
    return (
        align <= _ALIGNMENT_LIMIT
        and align & (align - 1) == 0
        and need.min_bytes <= 2 * size + _PADDING_LIMIT
    )


def _fits(array: NDArray[Any], need: abi.IoRequirement) -> bool:
    """Return whether a program can use an array uncopied."""
    alignment = max(need.min_align, array.dtype.itemsize, 1)
    return (
        array.flags.c_contiguous
        and array.nbytes >= need.min_bytes
        and address_of(array) % alignment == 0
    )


_info_of: Final = operator.attrgetter("info")

_QUICK_NS: Final = 10_000_000
"""A program that took less once is not submitted as a task, which takes 0.1 ms of a watched run.

It ends too soon for a user to notice that it does not stop at once. The least time counts, as the
others say how busy the machine is. A run that would not end before its deadline is submitted.
"""


class NativeWorkload(Workload):
    """Runs a program."""

    def __init__(
        self,
        program: NativeProgram,
        positions: Sequence[int],
        inputs: Sequence[TensorInfo | None],
        outputs: Sequence[TensorInfo],
    ) -> None:
        """Prepare to run a program in place of a layer.

        Args:
            program: The program.
            positions: Which of the layer's inputs execute receives, in its order: the constants
                went into the program, and a value that is read twice is passed once.
            inputs: The layer's inputs.
            outputs: Its outputs.
        """
        self._program = program
        self._positions = tuple(positions)
        self._inputs = tuple([inputs[at] for at in positions])
        self._outputs = tuple(outputs)

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that executes the program.

        Raises:
            BackendError: A tensor is missing, or has another size than the program was made for.
            ArmnnError: The backend makes no execution context.
        """
        given = [inputs[at] if at < len(inputs) else None for at in self._positions]
        bound = _BoundProgram(
            self._program,
            self._checked("input", given, self._inputs),
            self._checked("output", outputs, self._outputs),
        )
        return bound.run  # Python calls a method faster than an object

    def _checked(
        self,
        side: str,
        handles: Sequence[TensorHandle | None],
        infos: Sequence[TensorInfo | None],
    ) -> list[TensorHandle]:
        """Return the handles, checked for size.

        C would read or write past the end of a small one.
        """
        present = [handle for handle in handles if handle is not None]
        if all(map(operator.is_, map(_info_of, present), infos)) and len(present) == len(infos):
            return present  # nearly always
        sizes = [handle.info.size_bytes for handle in present]
        expected = [info.size_bytes for info in infos if info is not None]
        if sizes != expected:
            raise BackendError(
                f"{self._program.title} cannot be bound: got {side}s of {sizes} bytes, expected "
                f"{expected}"
            )
        return present


class _BoundProgram:
    """A program with context and tensors, ready for execute."""

    __slots__ = (
        "_arena",
        "_call",
        "_error",
        "_least_ns",
        "_others",
        "_ports",
        "_program",
        "_queue",
        "args",
        "context",
        "library",
    )

    def __init__(
        self,
        program: NativeProgram,
        inputs: Sequence[TensorHandle],
        outputs: Sequence[TensorHandle],
    ) -> None:
        self._program = program
        self.library = program.library
        self.context = program.context()
        self._arena = Arena()
        self.args = struct(abi.ExecuteArgs)
        self._error = new_error()
        self._queue = _queue_of(self.library, (*inputs, *outputs))
        execute = self.library.execute
        if self._queue is not None:
            execute = functools.partial(
                self.library.execute_on, ctypes.c_void_p(self._queue.stream.pointer)
            )
        self._call = (  # all that a run reads, at once; arguments are as ctypes passes them
            self.context,
            self.library,
            execute,
            ctypes.c_void_p.from_param(self.context.pointer),
            ctypes.byref(self.args),
            ctypes.byref(self._error),
        )
        self._ports: list[_Port | _DevicePort] = []
        self._others: _Ports | None = None
        self._least_ns = _QUICK_NS
        self.args.inputs, self.args.num_inputs = self._tensors(inputs, is_output=False)
        self.args.outputs, self.args.num_outputs = self._tensors(outputs, is_output=True)

    def run(self) -> None:
        """Execute the program once.

        Raises:
            ExecutionError: It failed, was cancelled or ran out of time, or this context is in use.
            BaseException: What a host callback raised meanwhile.
        """
        if self._ports or (controlled_runs and current_control.get() is not None):
            self._run_watched()
            return
        context, library, execute, where, args, error = self._call
        if context.is_running:  # what follows is _take_context, without the time of a call
            raise self._in_use()
        context.is_running = True
        try:
            if library.has_ended:
                check_open(library)
            code = execute(where, args, error)
        finally:
            context.is_running = False
        if code:
            raise self.failure(code, self._error)
        if stored:
            raise_stored()

    def enter(self) -> None:
        """Take the context, and copy in tensors C cannot use.

        Raises:
            ExecutionError: The context is in use.
            ArmnnError: A tensor cannot be copied, or the run must end.
        """
        self._take_context()
        try:
            for port in self._ports:
                port.enter()
        except BaseException:
            self.context.is_running = False
            raise

    def leave(self) -> None:
        """Copy out results C could not place; release the context.

        Raises:
            ArmnnError: A tensor cannot be copied, or the run must end.
        """
        try:
            for port in self._ports:
                port.leave()
        finally:
            self.context.is_running = False

    def failure(self, code: int, error: abi.Error) -> ArmnnError:
        """Return the exception of a call that failed."""
        return self._program.failure(code, error)

    def _take_context(self) -> None:
        if self.context.is_running:
            raise self._in_use()
        self.context.is_running = True

    def _in_use(self) -> ExecutionError:
        _ = self.context.pointer  # raises if it was closed
        return ExecutionError(
            f"{self._program.title} runs already in this execution context: each thread needs one "
            "of its own"
        )

    def _run_watched(self) -> None:
        """Run with a call_id and updated tensors.

        Callbacks find the call by it; the memory of tensors may have moved.
        """
        control = current_control.get()
        # A profiled run stays on its thread, by which the events of kernels belong to their layer.
        start = time.perf_counter_ns()
        is_plain = control is not None and control.profiler is None
        is_long = is_plain and control is not None and self._is_long(control, start)
        table = self.library.tasks if is_long and self._queue is None else None
        with watched_call() as (call_id, deadline_ns):
            if table is not None:
                with NativeTask(table, self, call_id, deadline_ns) as task:
                    task.wait()
            else:
                # A question of C to the host waits for Python's lock; a quick run asks none.
                self._run_here(NOBODY if is_plain and not is_long else call_id, deadline_ns)
        self._least_ns = min(self._least_ns, time.perf_counter_ns() - start)

    def _is_long(self, control: RunControl, start: int) -> bool:
        """Return whether one may have to stop a run."""
        left = _QUICK_NS if control.deadline_ns is None else control.deadline_ns - start
        return self._least_ns >= min(_QUICK_NS, left)

    def _run_here(self, call_id: int, deadline_ns: int) -> None:
        check_open(self.library)
        self.enter()
        try:
            self.args.call_id, self.args.deadline_ns = call_id, deadline_ns
            _, _, execute, where, args, error = self._call
            code = execute(where, args, error)
            self.args.call_id = self.args.deadline_ns = 0
        finally:
            self.leave()
        if code:
            raise self.failure(code, self._error)
        raise_stored()

    def _tensors(self, handles: Sequence[TensorHandle], *, is_output: bool) -> tuple[Any, int]:
        pointers = self._arena.array(_TENSOR_POINTER, len(handles))
        takes_any = self.library.takes_any_host_memory
        self._arena.hold(handles)
        for index, handle in enumerate(handles):
            if takes_any and type(handle) is PlacedHandle:
                tensor = tensor_of(handle.map(), self._arena, handle.address)
            else:
                tensor = self._other_tensor(index, handle, is_output=is_output)
            pointers[index] = ctypes.pointer(tensor)
        return pointers, len(handles)

    def _other_tensor(self, index: int, handle: TensorHandle, *, is_output: bool) -> abi.Tensor:
        """Return a tensor in memory of any kind."""
        if self._others is None:
            self._others = _Ports(self._program, self._arena, self._queue)
        tensor, port = self._others.tensor(index, handle, is_output=is_output)
        if port is not None:
            self._ports.append(port)
        return tensor


def _queue_of(library: Library, handles: Sequence[TensorHandle]) -> NativeQueue | None:
    """Return the queue of the tensors of one execution context, None without streams."""
    if library.device_memory is None:
        return None
    queues = [each.queue for each in handles if isinstance(each, NativeHandle)]
    return next((queue for queue in queues if queue is not None), None)


_TENSOR_POINTER: Final = ctypes.POINTER(abi.Tensor)
