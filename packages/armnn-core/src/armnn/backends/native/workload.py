# SPDX-License-Identifier: MIT
"""A program as a workload: bound once per execution context, then one call per run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.backends.base import Step, Workload
from armnn.backends.control import current_control
from armnn.backends.memory import ArrayHandle
from armnn.backends.native.calls import has_stored, raise_stored, watched_call
from armnn.backends.native.codes import call, new_error
from armnn.backends.native.memory import Arena, struct
from armnn.backends.native.program import check_open
from armnn.backends.native.tensors import tensor_of
from armnn.errors import BackendError, ExecutionError
from armnn_backend_api import ctypes_mirror as abi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.memory import TensorHandle
    from armnn.backends.native.program import NativeProgram
    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

_ALIGNMENT_LIMIT: Final = 1 << 21  # a huge page
_PADDING_LIMIT: Final = 1 << 21


class NativeWorkload(Workload):
    """Runs a program."""

    def __init__(self, program: NativeProgram, positions: Sequence[int], layer: Layer) -> None:
        """Prepare to run a program in the place of a layer.

        Args:
            program: The program.
            positions: Which of the layer's inputs execute receives, in its order: the constants
                went into the program, and a value that is read twice is passed once.
            layer: The layer.
        """
        self._program = program
        self._positions = tuple(positions)
        self._inputs = tuple(layer.input_infos[at] for at in positions)
        self._outputs = layer.output_infos

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that executes the program.

        Raises:
            BackendError: A tensor is missing, or has another size than the program was made for.
            ArmnnError: The backend makes no execution context.
        """
        given = [inputs[at] if at < len(inputs) else None for at in self._positions]
        return _BoundProgram(
            self._program,
            self._checked("input", given, self._inputs),
            self._checked("output", outputs, self._outputs),
        )

    def _checked(
        self,
        side: str,
        handles: Sequence[TensorHandle | None],
        infos: Sequence[TensorInfo | None],
    ) -> list[TensorHandle]:
        """C would read or write past the end of what is too small."""
        present = [handle for handle in handles if handle is not None]
        sizes = [handle.info.size_bytes for handle in present]
        expected = [info.size_bytes for info in infos if info is not None]
        if sizes != expected:
            raise BackendError(
                f"{self._program.title} cannot be bound: got {side}s of {sizes} bytes, expected "
                f"{expected}"
            )
        return present


class _BoundProgram:
    """A program with a context and its tensors: everything that execute needs, prepared."""

    __slots__ = (
        "_arena",
        "_args",
        "_context",
        "_error",
        "_execute",
        "_library",
        "_ports",
        "_prepared_args",
        "_prepared_error",
        "_program",
        "_where",
    )

    def __init__(
        self,
        program: NativeProgram,
        inputs: Sequence[TensorHandle],
        outputs: Sequence[TensorHandle],
    ) -> None:
        self._program = program
        self._library = program.library
        self._context = program.context()
        self._where = ctypes.c_void_p(self._context.pointer)
        self._execute: Callable[..., int] = program.library.required("execute")
        self._arena = Arena()
        self._args = struct(abi.ExecuteArgs)
        self._error = new_error()
        self._prepared_args = ctypes.byref(self._args)
        self._prepared_error = ctypes.byref(self._error)
        self._ports: list[_Port] = []
        self._args.inputs, self._args.num_inputs = self._tensors(inputs, is_output=False)
        self._args.outputs, self._args.num_outputs = self._tensors(outputs, is_output=True)

    def __call__(self) -> None:
        """Execute the program once.

        Raises:
            ExecutionError: It failed, was cancelled or ran out of time, or this context is in use.
            BaseException: What a host callback raised meanwhile.
        """
        context = self._context
        if context.is_running:
            raise ExecutionError(
                f"{self._program.title} runs already in this execution context: each thread needs "
                "one of its own"
            )
        context.is_running = True
        try:
            if self._library.has_ended:
                check_open(self._library)
            if self._ports or current_control.get() is not None:
                code = self._execute_watched()
            else:
                code = self._execute(self._where, self._prepared_args, self._prepared_error)
        finally:
            context.is_running = False
        if code:
            raise self._program.failure(code, self._error)
        if has_stored():
            raise_stored()

    def _execute_watched(self) -> int:
        """Execute with a call_id for callbacks, and with tensors whose memory may have moved."""
        for port in self._ports:
            port.enter()
        try:
            with watched_call() as (call_id, deadline_ns):
                self._args.call_id, self._args.deadline_ns = call_id, deadline_ns
                code = self._execute(self._where, self._prepared_args, self._prepared_error)
                self._args.call_id = self._args.deadline_ns = 0
        finally:
            for port in self._ports:
                port.leave()
        return code

    def _tensors(self, handles: Sequence[TensorHandle], *, is_output: bool) -> tuple[Any, int]:
        pointers = self._arena.array(ctypes.POINTER(abi.Tensor), len(handles))
        for index, handle in enumerate(handles):
            need = self._requirement(index, handle.info.size_bytes, is_output=is_output)
            array = handle.map()
            if isinstance(handle, ArrayHandle) and _fits(array, need):
                self._arena.hold(array)
                pointers[index] = ctypes.pointer(tensor_of(array, self._arena))
                continue
            handle.unmap()
            port = _Port(handle, need, is_output=is_output)
            self._ports.append(port)
            pointers[index] = ctypes.pointer(port.tensor)
        return pointers, len(handles)

    def _requirement(self, index: int, handle_bytes: int, *, is_output: bool) -> abi.IoRequirement:
        need = struct(abi.IoRequirement)
        if self._library.function("io_requirement") is not None:
            side = "output" if is_output else "input"
            call(
                self._library,
                "io_requirement",
                f"say what {side} {index} of {self._program.title} must be like",
                self._program.pointer,
                int(is_output),
                index,
                ctypes.byref(need),
            )
            if not _is_sane(need, handle_bytes):
                raise BackendError(
                    f"backend {self._library.id!r} ({self._library.path}) wants {need.min_bytes} "
                    f"bytes aligned to {need.min_align} for {side} {index} of "
                    f"{self._program.title}: expected a power of two up to {_ALIGNMENT_LIMIT} and "
                    f"not much more than the {handle_bytes} bytes of the tensor"
                )
        return need


class _Port:
    """A tensor that execute cannot use where it lies: it is copied to memory that fits."""

    def __init__(self, handle: TensorHandle, need: abi.IoRequirement, *, is_output: bool) -> None:
        self._handle = handle
        self._is_output = is_output
        self._arena = Arena()
        info = handle.info
        dtype = info.data_type.numpy_dtype
        size = max(info.size_bytes, need.min_bytes)
        alignment = max(need.min_align, dtype.itemsize, 1)
        block = np.empty(size + alignment, np.uint8)
        start = -block.ctypes.data % alignment
        raw = block[start : start + info.size_bytes]
        self._array: NDArray[Any] = raw.view(dtype).reshape(info.static_shape)
        self._arena.hold(block)
        self.tensor = tensor_of(self._array, self._arena)

    def enter(self) -> None:
        """Bring the input."""
        if not self._is_output:
            np.copyto(self._array, self._handle.map())
            self._handle.unmap()

    def leave(self) -> None:
        """Take the output away."""
        if self._is_output:
            np.copyto(self._handle.map(), self._array)
            self._handle.unmap()


def _is_sane(need: abi.IoRequirement, size: int) -> bool:
    align = need.min_align
    return (
        align <= _ALIGNMENT_LIMIT
        and align & (align - 1) == 0
        and need.min_bytes <= 2 * size + _PADDING_LIMIT
    )


def _fits(array: NDArray[Any], need: abi.IoRequirement) -> bool:
    alignment = max(need.min_align, array.dtype.itemsize, 1)
    return (
        array.flags.c_contiguous
        and array.nbytes >= need.min_bytes
        and array.ctypes.data % alignment == 0
    )
