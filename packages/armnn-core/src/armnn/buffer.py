# SPDX-License-Identifier: MIT
"""Memory on a device, exchanged with other libraries by DLPack.

A :class:`Buffer` is to memory of any device what ``memoryview`` is to that of the host: a range of
bytes with an owner, a type, a shape and strides. It takes the memory of any object with
``__dlpack__`` (arrays of NumPy, PyTorch, CuPy, JAX), and such libraries take a buffer, without a
copy. Capsules of DLPack 1 (``dltensor_versioned``) and those before it (``dltensor``) are known.

DLPack is a C interface, which ctypes speaks here. A function in Python can be its deleter only as
long as the interpreter lives, but consumers may keep memory for longer. So capsules are made by
NumPy, whose deleter is C and may be called by any thread at any time; what NumPy cannot say (types
of ``ml_dtypes``, devices) is written into the struct of the capsule afterwards, before anyone has
it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import integer, refused, shown
from armnn.errors import InvalidArgumentError, MemoryImportError
from armnn.tensor import TensorInfo
from armnn.types import DataType

if TYPE_CHECKING:
    from typing import Self


class _Version(ctypes.Structure):
    """DLPackVersion."""

    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))


class _Device(ctypes.Structure):
    """DLDevice."""

    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    """DLDataType."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    """DLTensor; strides count elements, and NULL means C order."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Unversioned(ctypes.Structure):
    """DLManagedTensor, of DLPack before version 1."""

    _fields_ = (
        ("tensor", _Tensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, of DLPack 1."""

    _fields_ = (
        ("version", _Version),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_IS_READ_ONLY, _IS_COPIED, _IS_PADDED = 1, 2, 4
"""The flags of a versioned tensor; padded are elements below a byte that have one each."""

_VERSION: Final = (1, 1)
"""The version of DLPack that this file is written for: the first that can say "padded"."""

_LAYOUTS: Final = {b"dltensor_versioned": _Versioned, b"dltensor": _Unversioned}
"""The struct in a capsule, by its name."""

_USED: Final = {name: b"used_" + name for name in _LAYOUTS}
"""The name that a capsule has once it is consumed."""

_SOME_ADDRESS: Final = 64
_MOST_AXES: Final = 64  # as NumPy has it

_python = ctypes.pythonapi
_is_capsule = _python.PyCapsule_IsValid
_is_capsule.argtypes, _is_capsule.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_pointer_of = _python.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
_set_name = _python.PyCapsule_SetName
_set_name.argtypes, _set_name.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
for _name in _USED.values():
    # A capsule keeps the address of its name and may outlive this module.
    _python.Py_IncRef(ctypes.py_object(_name))

_DELETER: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""A call of it releases the interpreter's lock: deleters take it when they need it."""

_CODES: Final[dict[str, tuple[int, int]]] = {
    **{f"int{bits}": (0, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    "bool": (6, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float4_e2m1fn": (17, 4),
}
"""DLPack's code and bits of an element, by NumPy's name; those that armnn has data types for."""

_TYPES: Final = {_CODES[each.numpy_name]: each for each in DataType if not each.is_quantized}
"""The data type of an element by DLPack's code and bits."""

_UNKNOWN: Final = {
    3: "opaque handles",
    5: "complex numbers",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    15: "float6_e2m3fn",
    16: "float6_e3m2fn",
}
"""DLPack's names of the type codes that there is no data type for."""

_DEVICES: Final = {
    1: "cpu",
    2: "cuda",
    3: "cuda_host",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    11: "rocm_host",
    12: "ext_dev",
    13: "cuda_managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
    17: "maia",
    18: "trn",
}
_BY_HANDLE: Final = ("opencl", "vulkan", "metal", "webgpu")
"""Where DLPack's pointer to the data is the number of an object, and no address."""
_REACHED: Final = ("cpu", "cuda_host", "rocm_host", "cuda_managed")


class Device(NamedTuple):
    """Where memory is, in the terms of ``__dlpack_device__``.

    Attributes:
        type: DLPack's number of the kind of device: 1 is the host, 2 CUDA, 4 OpenCL.
        id: Which one of them.
    """

    type: int
    id: int = 0

    @property
    def is_host(self) -> bool:
        """Whether the host reads and writes the memory: its own, pinned or managed memory."""
        return _DEVICES.get(self.type) in _REACHED

    def __str__(self) -> str:
        name = _DEVICES.get(self.type, f"device type {self.type}")
        return name if name == "cpu" else f"{name}:{self.id}"


HOST: Final = Device(1)


class SupportsDLPack(Protocol):
    """An object whose memory other libraries can use."""

    def __dlpack__(self) -> Any: ...


class _Borrowed:
    """The struct of a consumed capsule, whose deleter is called once, when nothing needs it."""

    __slots__ = ("_address", "_delete", "_producer")

    def __init__(self, address: int, producer: object) -> None:
        self._address = address
        self._delete: Callable[[int], None] | None = None
        self._producer = producer  # a tensor without deleter belongs to the object that gave it

    def take(self, deleter: int) -> None:
        """Call a deleter at the end, which frees the tensor without its producer."""
        self._delete, self._producer = _DELETER(deleter), None

    def __reduce__(self) -> NoReturn:
        raise TypeError("memory of another library is neither copied nor pickled: copy an array")

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        # Python calls it once, in any thread. A deleter in Python may be gone when the interpreter
        # ends, and so may the module's names: the memory goes with the process then.
        if self._delete is not None and not ends():
            self._delete(self._address)


class _Memory:
    """The owner of the memory of a NumPy array on a buffer."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self._owner = owner


class Buffer:
    """Memory on a device.

    ``Buffer.from_dlpack(tensor)`` is the memory of another library's tensor, and
    ``Buffer.from_numpy(array)`` that of an array; ``torch.from_dlpack(buffer)`` and the like take a
    buffer. None of them copies. A backend's own memory is ``Buffer(device, nbytes, owner,
    data=...)``.

    Attributes:
        device: Where it is.
        nbytes: The bytes of its elements.
        owner: The object that keeps the memory valid; the buffer, arrays on it and capsules refer
            to it.
        data: Its address; of a device without addresses, such as OpenCL, the handle of its memory.
        offset: The bytes from there to the first element.
        dtype: NumPy's type of an element; of types below a byte one element is a byte.
        shape: The elements along each axis.
        strides: The bytes from one element to the next along each axis.
        is_readonly: Whether it must not be written to.
        is_copy: Whether it was copied for this buffer, so that what is written into it reaches
            nobody else.
    """

    __slots__ = (
        "__weakref__",
        "data",
        "device",
        "dtype",
        "is_copy",
        "is_readonly",
        "nbytes",
        "offset",
        "owner",
        "shape",
        "strides",
    )

    def __init__(
        self,
        device: Device | tuple[int, int],
        nbytes: int,
        owner: object,
        *,
        data: int,
        offset: int = 0,
        is_readonly: bool = False,
    ) -> None:
        """Describe bytes on a device.

        Args:
            device: See the attribute, as for the rest.
            nbytes: How many there are.
            owner: The object that keeps them valid.
            data: Their address or handle.
            offset: The bytes from there to the first one.
            is_readonly: Whether they must not be written to.

        Raises:
            InvalidArgumentError: A number is negative or none, or host memory has no address.
        """
        self.device = _checked_device(device)
        self.nbytes = _natural(nbytes, "the nbytes of a buffer")
        self.owner = owner
        self.data = _natural(data, "the data of a buffer", 2**64)
        self.offset = _natural(offset, "the offset of a buffer")
        if self.nbytes and self.device.is_host and not self.data + self.offset:
            raise InvalidArgumentError(
                f"{self.nbytes} bytes of the host cannot be at address 0: give their data"
            )
        if self.device.is_host and self.data + self.offset >= 2**64:
            raise InvalidArgumentError(
                f"no host has an address {self.data} + {self.offset}, data and offset of a buffer: "
                "expected less than 2**64"
            )
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self.shape: tuple[int, ...] = (self.nbytes,)
        self.strides: tuple[int, ...] = (1,)
        self.is_readonly = bool(is_readonly)
        self.is_copy = False

    @classmethod
    def from_numpy(cls, array: NDArray[Any]) -> Self:
        """Return the memory of an array, of NumPy's types or those of ``ml_dtypes``.

        Raises:
            InvalidArgumentError: It is not an array, or DLPack has no name for its type.
        """
        if not isinstance(array, np.ndarray):
            raise refused("the array", array, "an array of NumPy's")
        if array.dtype.name not in _CODES or not array.dtype.isnative:
            raise InvalidArgumentError(
                f"an array of {array.dtype} cannot be a buffer: expected one of {_listed()}"
            )
        address, is_readonly = array.__array_interface__["data"]
        made = cls(HOST, array.nbytes, array, data=address, is_readonly=is_readonly)
        made.dtype, made.shape, made.strides = array.dtype, array.shape, array.strides
        return made

    @classmethod
    def from_dlpack(cls, producer: SupportsDLPack, /, *, copy: bool | None = None) -> Self:
        """Return the memory of an object with ``__dlpack__``, on whatever device it is.

        It is not copied, but for packed elements of less than a byte, which become a byte each.

        Args:
            producer: The object. What it raises itself passes.
            copy: True wants a copy of it, made by the object; False refuses any.

        Raises:
            MemoryImportError: It has another major version of DLPack, or a type or shape that
                buffers do not have; or it can only be copied, with ``copy=False``.
            InvalidArgumentError: It has no ``__dlpack__``, or that returns something else.
        """
        if not hasattr(producer, "__dlpack__"):
            raise refused("the object", producer, "one with __dlpack__, such as an array or tensor")
        capsule = _capsule_of(producer, copy)
        for name in _LAYOUTS:
            if _is_capsule(capsule, name):
                break
        else:
            raise refused(
                f"what __dlpack__ of {shown(producer)} returned",
                capsule,
                "a capsule of DLPack that was not consumed",
            )
        address = _pointer_of(capsule, name)
        managed: Any = _LAYOUTS[name].from_address(address)
        # An error up to here leaves the capsule as it is: its destructor calls the deleter.
        made = cls._described(managed, producer)
        bits = managed.tensor.dtype.bits
        is_packed = bits < 8 and not (_flags_of(managed) & _IS_PADDED)
        if is_packed and copy is False:
            raise _unusable(
                producer,
                f"holds packed {made.dtype}: elements of a byte each are a "
                "copy, which copy=False refuses",
            )
        if is_packed and not (made.device.is_host and made.is_contiguous):
            raise _unusable(
                producer,
                f"holds packed {made.dtype} on {made.device} with strides "
                f"{list(made.strides)}: expected them in C order on the host",
            )
        made.owner = _consumed(capsule, name, address, managed.deleter, producer)
        if not is_packed:
            return made
        unpacked = cls.from_numpy(_unpacked(made, bits))
        unpacked.is_copy = True
        return unpacked

    @classmethod
    def _described(cls, managed: Any, producer: object) -> Self:
        """Return the buffer that a struct describes, without an owner."""
        version = managed.version if isinstance(managed, _Versioned) else None
        if version is not None and version.major != _VERSION[0]:
            raise _unusable(
                producer,
                f"is described by DLPack {version.major}.{version.minor}: expected version 1",
            )
        tensor = managed.tensor
        kind = tensor.dtype
        data_type = _TYPES.get((kind.code, kind.bits))
        if data_type is None or kind.lanes != 1:
            known = _UNKNOWN.get(kind.code, f"elements of DLPack's type {kind.code}")
            raise _unusable(
                producer,
                f"holds {known} of {kind.bits} bits, {kind.lanes} at once: "
                f"expected one at once of {_listed()}",
            )
        if not 0 <= tensor.ndim <= _MOST_AXES:
            raise _unusable(producer, f"has {tensor.ndim} axes: expected at most {_MOST_AXES}")
        if tensor.ndim and not tensor.shape:
            raise _unusable(producer, f"has {tensor.ndim} axes and no shape: expected one")
        shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
        dtype = data_type.numpy_dtype
        nbytes = prod(shape) * dtype.itemsize
        # NumPy has no array of these either, not even where another axis is empty.
        if min(shape, default=0) < 0 or prod(filter(None, shape)) * dtype.itemsize >= 2**63:
            raise _unusable(producer, f"has the shape {list(shape)}, which no memory has")
        flags = _flags_of(managed)
        made = cls(
            (tensor.device.device_type, tensor.device.device_id),
            nbytes,
            None,
            data=tensor.data or 0,
            offset=tensor.byte_offset,
            is_readonly=bool(flags & _IS_READ_ONLY),
        )
        made.dtype, made.shape = dtype, shape
        if tensor.ndim and tensor.strides:
            made.strides = tuple([step * dtype.itemsize for step in tensor.strides[: tensor.ndim]])
        else:
            made.strides = _row_major(shape, dtype.itemsize)
        if not all(-(2**63) <= step < 2**63 for step in made.strides):
            raise _unusable(
                producer, f"has strides of {list(made.strides)} bytes, which no memory has"
            )
        made.is_copy = bool(flags & _IS_COPIED)
        return made

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements are one behind the other, in C order."""
        expected = _row_major(self.shape, self.dtype.itemsize)
        rows = zip(self.shape, self.strides, expected, strict=True)
        return 0 in self.shape or all(size == 1 or a == b for size, a, b in rows)

    def tensor(self, info: TensorInfo, offset: int = 0) -> Buffer:
        """Return a part of it as the tensor that an info describes.

        Args:
            info: The shape and data type; its shape is known in full.
            offset: The bytes from the first element of this buffer.

        Raises:
            InvalidArgumentError: It is not contiguous, or has fewer bytes; or the info is none.
        """
        if not isinstance(info, TensorInfo):
            raise refused("what describes a tensor of a buffer", info, "a TensorInfo")
        size = info.size_bytes
        begin = _natural(offset, "the offset of a tensor")
        if not self.is_contiguous or begin + size > self.nbytes:
            raise InvalidArgumentError(
                f"{self} has no room for {info}, {size} bytes at {begin}: expected contiguous "
                f"memory of at least {begin + size} bytes"
            )
        made = Buffer(
            self.device,
            size,
            self.owner,
            data=self.data,
            offset=self.offset + begin,
            is_readonly=self.is_readonly,
        )
        made.dtype, made.shape = info.data_type.numpy_dtype, info.static_shape
        made.strides = _row_major(made.shape, made.dtype.itemsize)
        made.is_copy = self.is_copy
        return made

    def numpy(self) -> NDArray[Any]:
        """Return an array on the memory, read-only if the buffer is.

        Raises:
            MemoryImportError: The host does not reach the device.
        """
        if not self.device.is_host:
            raise MemoryImportError(
                f"{self} cannot be an array: the host does not reach {self.device}; copy it to the "
                "host with the library that made it"
            )
        stored = self._elements()
        return stored if stored.dtype == self.dtype else stored.view(self.dtype)

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        """Return an array on the memory, for ``np.asarray``.

        Raises:
            TypeError: The host does not reach the device.
        """
        try:
            array = self.numpy()
        except MemoryImportError as error:
            raise TypeError(str(error)) from error
        return np.array(array, dtype, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the numbers of the device, for ``from_dlpack`` of another library."""
        return self.device

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Return a capsule with the memory, for ``from_dlpack`` of another library.

        Args:
            stream: None: nothing runs on the memory when a call of armnn has returned.
            max_version: The version of DLPack that the caller knows; without it a capsule of the
                time before version 1 is returned.
            dl_device: Where the caller wants the memory.
            copy: Whether the caller wants a copy; of memory on the host it can have one.

        Raises:
            BufferError: The caller wants another device or a stream, or its version of DLPack
                cannot say what the buffer is.
            InvalidArgumentError: A version or device is none.
        """
        known = None if max_version is None else _pair(max_version, "max_version")
        newest = None if known is None or known[0] < 1 else known
        if stream is not None and self.device.is_host:
            raise BufferError(f"{self} takes no stream: got {shown(stream)}, expected None")
        if dl_device is not None:
            wanted = Device(*_pair(dl_device, "dl_device"))
            if wanted != self.device and not (self.device.is_host and wanted == HOST):
                raise BufferError(f"{self} cannot be had on {wanted}")
        if _CODES[self.dtype.name][1] < 8 and (newest is None or newest < _VERSION):
            raise BufferError(
                f"{self} has a byte for each element, which DLPack before 1.1 cannot say: expected "
                "max_version=(1, 1)"
            )
        if self.is_readonly and not copy and newest is None:
            raise BufferError(
                f"{self} is read-only, which DLPack before 1.0 cannot say: expected "
                "max_version=(1, 0)"
            )
        if copy:
            if not self.device.is_host:
                raise BufferError(f"{self} cannot be copied: the host does not reach it")
            copied = Buffer.from_numpy(self.numpy().copy())
            return copied._exported(versioned=newest is not None, is_copy=True)
        return self._exported(versioned=newest is not None, is_copy=False)

    def _exported(self, *, versioned: bool, is_copy: bool) -> object:
        """Return a capsule, made by NumPy from numbers of the elements' size."""
        elements: Any = self._elements()
        code, bits = _CODES[self.dtype.name]
        try:
            capsule = elements.__dlpack__(**({"max_version": (1, 0)} if versioned else {}))
        except TypeError:  # NumPy before 2.1, whose capsules have no flags
            versioned = False
            capsule = elements.__dlpack__()
        if bits < 8 and not versioned:
            raise BufferError(f"{self} can be exported by NumPy from 2.1 on")
        name = b"dltensor_versioned" if versioned else b"dltensor"
        managed: Any = _LAYOUTS[name].from_address(_pointer_of(capsule, name))
        tensor = managed.tensor
        tensor.dtype.code, tensor.dtype.bits = code, bits
        tensor.device = _Device(*self.device)
        if not self.nbytes:
            tensor.data = None
        elif not self.device.is_host:
            tensor.data, tensor.byte_offset = self.data, self.offset
        if versioned:
            if bits < 8 or code > _CODES["bool"][0]:
                managed.version.minor = max(managed.version.minor, _VERSION[1])
            managed.flags |= (_IS_COPIED if is_copy else 0) | (_IS_PADDED if bits < 8 else 0)
        return capsule

    def _elements(self) -> NDArray[Any]:
        """Return an array of the elements' bits, whose memory only the host may touch."""
        stored = np.dtype(bool if self.dtype == np.bool_ else f"u{self.dtype.itemsize}")
        address = self.data + self.offset or _SOME_ADDRESS  # NumPy wants one for no elements, too
        interface = {
            "version": 3,
            "shape": self.shape,
            "typestr": stored.str,
            "strides": self.strides,
            "data": (address, self.is_readonly),
        }
        return np.asarray(_Memory(interface, self.owner))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self} is neither copied nor pickled: copy or pickle its numpy()")

    def __repr__(self) -> str:
        shape = ",".join(map(str, self.shape))
        return f"<Buffer of {self.dtype}[{shape}] on {self.device}>"


def device_of(value: object) -> Device | None:
    """Return the device of an object with DLPack's methods, None for others.

    Objects of the time before ``__dlpack_device__`` are on the host.

    Raises:
        InvalidArgumentError: The object names no device.
    """
    if isinstance(value, Buffer):
        return value.device
    if not hasattr(value, "__dlpack__"):
        return None
    ask: Callable[[], Any] | None = getattr(value, "__dlpack_device__", None)
    return HOST if ask is None else _checked_device(ask())


def overlap(one: Buffer, other: Buffer) -> bool:
    """Return whether two contiguous buffers may have bytes in common."""
    if one.device != other.device or not (one.nbytes and other.nbytes):
        return False
    if _DEVICES.get(one.device.type) in _BY_HANDLE and one.data != other.data:
        return False  # numbers of objects, between which there are no bytes
    begin, start = one.data + one.offset, other.data + other.offset
    return begin < start + other.nbytes and start < begin + one.nbytes


def unreachable(what: str, device: Device, backends: Iterable[str]) -> str:
    """Return the message about memory that none of some backends reaches."""
    by = " and ".join(filter(None, backends)) or "the host"
    return (
        f"{what} is on {device}, which is not reachable from {by}: copy it to the host with the "
        "library that made it, such as by tensor.cpu()"
    )


def _capsule_of(producer: Any, copy: bool | None) -> object:
    """Return a capsule of the newest version that an object knows."""
    wanted = {} if copy is None else {"copy": copy}
    try:
        return producer.__dlpack__(max_version=_VERSION, **wanted)
    except TypeError as error:
        # The keywords are of 2023; older objects are asked again without, and copy nothing.
        if copy:
            raise MemoryImportError(
                f"{shown(producer)} makes no copy: {error}; copy it with its own library"
            ) from error
    return producer.__dlpack__()


def _unusable(producer: object, why: str) -> MemoryImportError:
    """Return the error of memory that no buffer can be."""
    return MemoryImportError(f"the memory of {shown(producer)} {why}")


def _flags_of(managed: Any) -> int:
    """Return the flags of a tensor; before version 1 there are none."""
    return int(managed.flags) if isinstance(managed, _Versioned) else 0


def _consumed(
    capsule: object, name: bytes, address: int, deleter: int | None, producer: object
) -> _Borrowed:
    """Take the memory of a capsule, which has the name of a consumed one afterwards."""
    owner = _Borrowed(address, producer)
    _set_name(capsule, _USED[name])
    if deleter:
        owner.take(deleter)
    return owner


def _unpacked(packed: Buffer, bits: int) -> NDArray[Any]:
    """Return elements of less than a byte, lowest bits first, as a byte each."""
    count = prod(packed.shape)
    size, begin = -(-count * bits // 8), packed.offset
    stored = Buffer(packed.device, size, packed.owner, data=packed.data, offset=begin).numpy()
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    elements: NDArray[Any] = (stored[:, np.newaxis] >> shifts) & (2**bits - 1)
    return elements.reshape(-1)[:count].reshape(packed.shape).view(packed.dtype)


def _row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of C order, in bytes."""
    strides = []
    for size in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(size, 1)
    return tuple(reversed(strides))


def _checked_device(value: Any) -> Device:
    try:
        kind, number = value
        return Device(int(kind), int(number))
    except (TypeError, ValueError) as error:
        raise refused("the device of a buffer", value, "DLPack's two numbers") from error


def _pair(value: Any, what: str) -> tuple[int, int]:
    try:
        one, other = value
        return int(one), int(other)
    except (TypeError, ValueError) as error:
        raise refused(f"the {what} of __dlpack__", value, "two whole numbers") from error


def _natural(value: object, what: str, end: int = 2**63) -> int:
    if type(value) is int and 0 <= value < end:
        return value
    found = integer(value, what)
    if found < 0:
        raise refused(what, value, "a whole number from 0 up")
    return found


def _listed() -> str:
    return ", ".join(_CODES)


__all__ = ["HOST", "Buffer", "Device", "SupportsDLPack", "device_of", "overlap", "unreachable"]
