# SPDX-License-Identifier: MIT
"""Memory on a device, exchanged with other libraries by DLPack.

A :class:`Buffer` is to memory of any device what ``memoryview`` is to that of the host: a range of
bytes with an owner, a type, a shape and strides. A buffer can be made on the memory of any object
with ``__dlpack__`` (arrays of NumPy, PyTorch, CuPy, JAX), and such libraries can make their arrays
on the memory of a buffer, both without a copy. Capsules of DLPack 1 (``dltensor_versioned``) and of
earlier versions (``dltensor``) are supported.

DLPack is a C interface, which is accessed with ctypes here. A deleter in Python would work only
while the interpreter runs, but consumers may keep memory for longer. So NumPy makes the capsules:
its deleter is in C and may be called by any thread at any time. Types and devices that NumPy cannot
express are written into the struct of the capsule before the capsule is returned.
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
"""The flags of DLManagedTensorVersioned; "padded" means a byte for each element of fewer bits."""

_VERSION: Final = (1, 1)
"""The version of DLPack that this module implements: the first that has the flag "padded"."""

_LAYOUTS: Final = {b"dltensor_versioned": _Versioned, b"dltensor": _Unversioned}
"""The struct in a capsule, by the name of the capsule."""

_USED: Final = {name: b"used_" + name for name in _LAYOUTS}
"""The name that a capsule has once it is consumed."""

_SOME_ADDRESS: Final = 64  # of arrays without elements, for which NumPy refuses address 0
_MOST_AXES: Final = 64  # the limit of NumPy

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
"""The type of a deleter; its call releases the GIL, which a deleter takes if it needs it."""

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
"""DLPack's type code and bits of an element by NumPy's name, for the types that armnn supports."""

_TYPES: Final = {_CODES[each.numpy_name]: each for each in DataType if not each.is_quantized}
"""The data type of an element by DLPack's type code and bits."""

_UNKNOWN: Final = {
    3: "opaque handles",
    5: "complex numbers",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    15: "float6_e2m3fn",
    16: "float6_e3m2fn",
}
"""DLPack's names of the type codes for which armnn has no data type."""

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
"""The kinds of devices for which DLPack's data pointer is a handle and not an address."""
_REACHED: Final = ("cpu", "cuda_host", "rocm_host", "cuda_managed")
"""The kinds of devices whose memory the host can read and write."""


class Device(NamedTuple):
    """The device of some memory, as ``__dlpack_device__`` returns it.

    Attributes:
        type: DLPack's number of the kind of device: 1 is the host, 2 CUDA, 4 OpenCL.
        id: The index among the devices of this kind.
    """

    type: int
    id: int = 0

    @property
    def is_host(self) -> bool:
        """Whether the host can read and write the memory: host, pinned or managed memory."""
        return _DEVICES.get(self.type) in _REACHED

    def __str__(self) -> str:
        name = _DEVICES.get(self.type, f"device type {self.type}")
        return name if name == "cpu" else f"{name}:{self.id}"


HOST: Final = Device(1)


class SupportsDLPack(Protocol):
    """An object whose memory other libraries can use."""

    def __dlpack__(self) -> Any: ...


class _Borrowed:
    """The struct of a consumed capsule; its deleter is called once, with the last reference."""

    __slots__ = ("_address", "_delete", "_producer")

    def __init__(self, address: int, producer: object) -> None:
        self._address = address
        self._delete: Callable[[int], None] | None = None
        self._producer = producer  # keeps a tensor without a deleter valid

    def take(self, deleter: int) -> None:
        """Call a deleter at the end; the tensor then needs no reference to its producer."""
        self._delete, self._producer = _DELETER(deleter), None

    def __reduce__(self) -> NoReturn:
        raise TypeError("memory of another library is neither copied nor pickled: copy an array")

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        # Python calls this once, in any thread. When the interpreter ends, a deleter in Python and
        # the names of this module may be gone already: the system frees the memory then.
        if self._delete is not None and not ends():
            self._delete(self._address)


class _Memory:
    """An object from which NumPy makes an array on the memory of a buffer."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self._owner = owner


class Buffer:
    """Memory on a device.

    ``Buffer.from_dlpack(tensor)`` is on the memory of another library's tensor,
    ``Buffer.from_numpy(array)`` on the memory of an array; ``torch.from_dlpack(buffer)`` and the
    like return a tensor on the memory of a buffer. None of them copies. A backend describes its own
    memory with ``Buffer(device, nbytes, owner, data=...)``.

    Attributes:
        device: The device of the memory.
        nbytes: The bytes of all elements.
        owner: The object that keeps the memory valid; the buffer, arrays on it and capsules refer
            to it.
        data: The address of the memory; for a device without addresses, such as OpenCL, its handle.
        offset: The bytes from ``data`` to the first element.
        dtype: NumPy's type of an element; an element of fewer than 8 bits takes a byte.
        shape: The number of elements along each axis.
        strides: The bytes from one element to the next along each axis.
        is_readonly: Whether the memory must not be written to.
        is_copy: Whether the memory was copied for this buffer, so that no other object sees writes
            into it.
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
            device: The device of the bytes.
            nbytes: The number of bytes.
            owner: The object that keeps the bytes valid.
            data: The address or the handle of the memory; see the attribute.
            offset: The number of bytes from ``data`` to the first byte.
            is_readonly: Whether the bytes must not be written to.

        Raises:
            InvalidArgumentError: A number is negative or not a whole number, or host memory has no
                address.
        """
        self.device = _checked_device(device)
        self.nbytes = _natural(nbytes, "the nbytes of a buffer")
        self.owner = owner
        self.data = _natural(data, "the data of a buffer", 2**64)
        self.offset = _natural(offset, "the offset of a buffer")
        if self.nbytes and self.device.is_host and not self.data + self.offset:
            raise InvalidArgumentError(
                f"a buffer of {self.nbytes} bytes on the host cannot be at address 0: give its "
                "address as data="
            )
        if self.device.is_host and self.data + self.offset >= 2**64:
            raise InvalidArgumentError(
                f"a buffer on the host has data {self.data} and offset {self.offset}, whose sum is "
                "no address: expected less than 2**64"
            )
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self.shape: tuple[int, ...] = (self.nbytes,)
        self.strides: tuple[int, ...] = (1,)
        self.is_readonly = bool(is_readonly)
        self.is_copy = False

    @classmethod
    def from_numpy(cls, array: NDArray[Any]) -> Self:
        """Return a buffer on the memory of an array, of a type of NumPy or of ``ml_dtypes``.

        Raises:
            InvalidArgumentError: It is not an array, or DLPack has no code for its type.
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
        """Return a buffer on the memory of an object with ``__dlpack__``, on any device.

        The memory is copied only if several elements are packed into a byte: in the copy each has a
        byte of its own.

        Args:
            producer: The object. Errors that its own ``__dlpack__`` raises are not changed.
            copy: True asks the object for a copy; False raises an error if a copy is needed.

        Raises:
            MemoryImportError: The object has another major version of DLPack, or a type or shape
                that buffers do not support; or a copy is needed with ``copy=False``.
            InvalidArgumentError: The object has no ``__dlpack__``, or that returns no capsule.
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
        # An error until _consumed() leaves the capsule unused: its destructor calls the deleter.
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
        # NumPy refuses such shapes as well, even if another axis has no elements.
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
        """Whether the elements are contiguous in C order."""
        expected = _row_major(self.shape, self.dtype.itemsize)
        rows = zip(self.shape, self.strides, expected, strict=True)
        return 0 in self.shape or all(size == 1 or a == b for size, a, b in rows)

    def tensor(self, info: TensorInfo, offset: int = 0) -> Buffer:
        """Return a buffer on a part of this memory, with the shape and type of a tensor.

        Args:
            info: The shape, known in full, and the data type of the tensor.
            offset: The bytes from the first element of this buffer to the tensor.

        Raises:
            InvalidArgumentError: This buffer is not contiguous, or is too small; or ``info`` is not
                a TensorInfo.
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
        """Return an array on the memory, read-only if the buffer is read-only.

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
            stream: The stream of the caller, which is ignored for devices and must be None for the
                host: no work on the memory is left when a call of armnn has returned.
            max_version: The newest version of DLPack that the caller supports; without it an
                unversioned capsule, as before DLPack 1, is returned.
            dl_device: The device on which the caller wants the memory.
            copy: Whether the caller wants a copy, which is possible in host memory only.

        Raises:
            BufferError: The caller wants another device, a stream of the host, or a copy of memory
                on a device; or its version of DLPack cannot describe the buffer.
            InvalidArgumentError: A version or device is not a pair of whole numbers.
        """
        known = None if max_version is None else _pair(max_version, "max_version")
        newest = None if known is None or known[0] < 1 else known
        if stream is not None and self.device.is_host:
            raise BufferError(f"{self} takes no stream: got {shown(stream)}, expected None")
        if dl_device is not None:
            wanted = Device(*_pair(dl_device, "dl_device"))
            if wanted != self.device and not (self.device.is_host and wanted == HOST):
                raise BufferError(
                    f"{self} cannot be exported to {wanted}: expected dl_device=None or its own "
                    "device"
                )
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
        """Return a capsule that NumPy makes of an array of unsigned integers of the same size.

        The type, the device and the flags of the buffer are then written into its struct.
        """
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
        """Return an array of unsigned integers on the memory, which may be on a device.

        Its elements must not be read or written if the host does not reach the memory.
        """
        stored = np.dtype(bool if self.dtype == np.bool_ else f"u{self.dtype.itemsize}")
        address = self.data + self.offset or _SOME_ADDRESS  # NumPy needs one even without elements
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

    An object that has ``__dlpack__`` but no ``__dlpack_device__`` is on the host.

    Raises:
        InvalidArgumentError: ``__dlpack_device__`` returned no pair of whole numbers.
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
        return False  # different handles are different objects
    begin, start = one.data + one.offset, other.data + other.offset
    return begin < start + other.nbytes and start < begin + one.nbytes


def unreachable(what: str, device: Device, backends: Iterable[str]) -> str:
    """Return the message of an error about memory that some backends cannot reach."""
    by = " and ".join(filter(None, backends)) or "the host"
    return (
        f"{what} is on {device}, which is not reachable from {by}: copy it to the host with the "
        "library that made it, such as by tensor.cpu()"
    )


def _capsule_of(producer: Any, copy: bool | None) -> object:
    """Return a capsule of the newest version of DLPack that an object supports."""
    wanted = {} if copy is None else {"copy": copy}
    try:
        return producer.__dlpack__(max_version=_VERSION, **wanted)
    except TypeError as error:
        # Objects from before DLPack 1 do not take these keywords, and cannot copy.
        if copy:
            raise MemoryImportError(
                f"{shown(producer)} cannot make a copy: {error}; copy it with its own library"
            ) from error
    return producer.__dlpack__()


def _unusable(producer: object, why: str) -> MemoryImportError:
    """Return the error that no buffer can be made on the memory of an object."""
    return MemoryImportError(f"the memory of {shown(producer)} {why}")


def _flags_of(managed: Any) -> int:
    """Return the flags of a tensor; an unversioned tensor has none."""
    return int(managed.flags) if isinstance(managed, _Versioned) else 0


def _consumed(
    capsule: object, name: bytes, address: int, deleter: int | None, producer: object
) -> _Borrowed:
    """Take over the memory of a capsule, and rename the capsule as DLPack demands."""
    owner = _Borrowed(address, producer)
    _set_name(capsule, _USED[name])
    if deleter:
        owner.take(deleter)
    return owner


def _unpacked(packed: Buffer, bits: int) -> NDArray[Any]:
    """Return packed elements, whose first is in the lowest bits of a byte, as a byte each."""
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
