# SPDX-License-Identifier: MIT
"""An object with ``__dlpack__`` that owes nothing to armnn or NumPy.

It lays out the bytes of DLPack's structs by hand, by the offsets that a C compiler gives them on a
machine of 64 bits, and so finds fields that armnn's own structs have in a wrong place.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from typing import Any

_libc = ctypes.CDLL(None)
_libc.malloc.restype, _libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
_libc.free.restype, _libc.free.argtypes = None, (ctypes.c_void_p,)
_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = (ctypes.py_object,)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

FLOAT32, FLOAT64, INT32, UINT8, BOOL, BFLOAT16 = (2, 32), (2, 64), (0, 32), (1, 8), (6, 8), (4, 16)

# Where the fields are: DLManagedTensorVersioned = version 0, context 8, deleter 16, flags 24,
# tensor 32; DLManagedTensor = tensor 0, context 48, deleter 56. DLTensor = data 0, device 8,
# axes 16, type 20, shape 24, strides 32, byte offset 40.
_TENSOR = struct.Struct("=QiiiBBHQQQ")


_given: list[Any] = []
"""The producers of tensors that were not deleted, whose deleters must stay."""


class Producer:
    """A tensor in memory of the C library.

    Attributes:
        deleted: How often its deleter was called.
        threads: The names of the threads that called it.
        asked: The keywords of each call of ``__dlpack__``.
    """

    def __init__(
        self,
        content: bytes,
        shape: Sequence[int],
        kind: tuple[int, int] = FLOAT32,
        *,
        strides: Sequence[int] | None = (),
        first: int = 0,
        byte_offset: int = 0,
        flags: int = 0,
        version: tuple[int, int] | None = (1, 0),
        device: tuple[int, int] = (1, 0),
        lanes: int = 1,
        axes: int | None = None,
        has_deleter: bool = True,
        null: bool = False,
        has_shape: bool = True,
        name: bytes | None = None,
    ) -> None:
        """Copy the content to memory of its own.

        Args:
            content: The bytes.
            shape: The shape in the struct.
            kind: Code and bits of an element.
            strides: In elements; () for those of C order, None for NULL.
            first: The byte that the data pointer is at.
            byte_offset: The field.
            flags: The field.
            version: That of a versioned tensor; None for a tensor without.
            device: The field.
            lanes: The field.
            axes: The field, if it is not the length of the shape.
            null: Whether the data pointer is NULL.
            has_shape: Whether the pointer to the shape is set, rather than NULL.
            has_deleter: Whether there is a deleter, rather than NULL.
            name: That of the capsule, if it is another.
        """
        self.deleted = 0
        self.threads: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.device = device
        self._version = version
        self._name = name or (b"dltensor" if version is None else b"dltensor_versioned")
        self._content = _libc.malloc(max(len(content), 1))
        ctypes.memmove(self._content, content, len(content))
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        if strides == ():
            steps, size = [], 1
            for length in reversed(shape):
                steps.insert(0, size)
                size *= length
            strides = steps
        self._strides = (
            None if strides is None else (ctypes.c_int64 * max(len(strides), 1))(*strides)
        )
        self._delete = _DELETER(self._deleter)
        self._destroy = _DESTRUCTOR(self._destructor)
        tensor = _TENSOR.pack(
            self._content + first if content and not null else 0,
            *device,
            len(shape) if axes is None else axes,
            *kind,
            lanes,
            ctypes.addressof(self._shape) if has_shape else 0,
            0 if self._strides is None else ctypes.addressof(self._strides),
            byte_offset,
        )
        deleter = ctypes.cast(self._delete, ctypes.c_void_p).value if has_deleter else 0
        if version is None:
            managed = tensor + struct.pack("=QQ", 0, deleter)
        else:
            managed = struct.pack("=IIQQQ", *version, 0, deleter, flags) + tensor
        self._managed = _libc.malloc(len(managed))
        ctypes.memmove(self._managed, managed, len(managed))

    @property
    def content(self) -> int:
        """The address of its memory."""
        return self._content

    def read(self, size: int) -> bytes:
        """Return bytes of its memory."""
        return ctypes.string_at(self._content, size)

    def capsule(self) -> Any:
        """Return a capsule with the struct."""
        _given.append(self)
        destroy = ctypes.cast(self._destroy, ctypes.c_void_p)
        return _python.PyCapsule_New(self._managed, self._name, destroy)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        return self.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def _deleter(self, managed: int) -> None:
        assert managed == self._managed
        self.deleted += 1
        self.threads.append(threading.current_thread().name)
        _given.remove(self)

    def _destructor(self, capsule: int) -> None:
        """Call the deleter of a capsule that nobody consumed, as DLPack wants it."""
        name = _python.PyCapsule_GetName(ctypes.cast(capsule, ctypes.py_object))
        if name in (b"dltensor", b"dltensor_versioned"):
            self._deleter(self._managed)


class OldProducer(Producer):
    """One of the time before the keywords of 2023."""

    def __dlpack__(self, stream: Any = None) -> Any:
        self.asked.append({"stream": stream})
        return self.capsule()
