# SPDX-License-Identifier: MIT
"""Tensors in memory that C may not use."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.ffi.errors import call
from armnn.backends.ffi.values import tensor_of
from armnn.backends.memory import ArrayHandle, TensorHandle, address_of
from armnn.backends.native.extensions.device_memory import NativeHandle, NativeHandleFactory
from armnn.backends.native.programs.program import NativeProgram
from armnn.errors import BackendError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, struct

_NO_REQUIREMENT: Final = struct(abi.IoRequirement)
_ALIGNMENT_LIMIT: Final = 1 << 21  # a huge page
_PADDING_LIMIT: Final = 1 << 21


class Ports:
    """Describes the tensors of one bound program for its calls.

    Args:
        program: The program.
        arena: Holds what the descriptions point to.
    """

    def __init__(self, program: NativeProgram, arena: Arena) -> None:
        self._program = program
        self._arena = arena
        self._device = _device_only(program)

    def tensor(
        self, index: int, handle: TensorHandle, *, is_output: bool
    ) -> tuple[abi.Tensor, Port | DevicePort | None]:
        """Return a tensor for C, and what copies it.

        Args:
            index: Its place among the inputs or outputs.
            handle: The tensor.
            is_output: Whether the program writes it.

        Raises:
            BackendError: The backend asks for more memory than makes sense.
            ArmnnError: The backend does not say what it needs.
        """
        own = _own_handle(handle, self._program)
        if own is not None:
            return own.describe(self._arena), None
        if self._device is not None:
            on_device = DevicePort(handle, self._device, is_output=is_output)
            return on_device.device.describe(self._arena), on_device
        need = _requirement(self._program, index, handle.info.size_bytes, is_output=is_output)
        array = handle.map()
        if isinstance(handle, ArrayHandle) and _fits(array, need):
            self._arena.hold(array)
            return tensor_of(array, self._arena), None
        handle.unmap()
        port = Port(handle, need, is_output=is_output)
        return port.tensor, port


class Port:
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


class DevicePort:
    """A tensor copied to a buffer of a device.

    Attributes:
        device: The tensor there.
    """

    def __init__(
        self, handle: TensorHandle, factory: NativeHandleFactory, *, is_output: bool
    ) -> None:
        self._handle = handle
        self._is_output = is_output
        self.device = factory.create(handle.info)

    def enter(self) -> None:
        """Bring the input."""
        if not self._is_output:
            self.device.copy_from(self._handle.map())
            self._handle.unmap()

    def leave(self) -> None:
        """Take the output away."""
        if self._is_output:
            self._handle.copy_from(self.device.map())


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
    return need


def _device_only(program: NativeProgram) -> NativeHandleFactory | None:
    """Return a program's factory, None if it takes host memory."""
    table = program.library.device_memory
    if table is None or table.takes_host_memory:
        return None
    return NativeHandleFactory(program.backend, table)


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
