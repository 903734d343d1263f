# SPDX-License-Identifier: MIT
"""``OrtValue``, ``OrtDevice``, names and numbers of element types, descriptions of memory."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from armnn.types import DataType
from armnn_compat.onnxruntime.errors import refusing

ELEMENTS: dict[int, tuple[str, str]] = {
    1: ("float", "float32"),
    2: ("uint8", "uint8"),
    3: ("int8", "int8"),
    4: ("uint16", "uint16"),
    5: ("int16", "int16"),
    6: ("int32", "int32"),
    7: ("int64", "int64"),
    8: ("string", "object"),
    9: ("bool", "bool"),
    10: ("float16", "float16"),
    11: ("double", "float64"),
    12: ("uint32", "uint32"),
    13: ("uint64", "uint64"),
    16: ("bfloat16", "bfloat16"),
    17: ("float8e4m3fn", "float8_e4m3fn"),
    18: ("float8e4m3fnuz", "float8_e4m3fnuz"),
    19: ("float8e5m2", "float8_e5m2"),
    20: ("float8e5m2fnuz", "float8_e5m2fnuz"),
    21: ("uint4", "uint4"),
    22: ("int4", "int4"),
    23: ("float4e2m1", "float4_e2m1fn"),
    24: ("float8e8m0", "float8_e8m0fnu"),
}
"""From the number of an element type (``TensorProto.DataType``) to onnxruntime's and NumPy's name
for it."""

_BY_NUMPY_NAME = {numpy_name: number for number, (_, numpy_name) in ELEMENTS.items()}

_DEVICES = {"cpu": 0, "cuda": 1, "gpu": 1, "npu": 3, "cann": 3, "dml": 4, "webgpu": 1}


def element_number(dtype: DTypeLike) -> int:
    """Return the element type's number of a NumPy type.

    Raises:
        RuntimeError: There is no such type.
    """
    try:
        return _BY_NUMPY_NAME[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise RuntimeError(f"{dtype!r} is not a valid NumPy type of a tensor") from None


def type_name(number: int) -> str:
    """Return onnxruntime's name of a tensor with these elements: "tensor(float)"."""
    name, _ = ELEMENTS.get(number, ("undefined", ""))
    return f"tensor({name})"


def numpy_type(element_type: int | DTypeLike) -> np.dtype[Any]:
    """Return the NumPy type of an element type.

    Raises:
        RuntimeError: There is no such type.
    """
    number = element_type if isinstance(element_type, int) else element_number(element_type)
    _, name = ELEMENTS.get(number, ("", ""))
    for data_type in DataType:
        if data_type.numpy_name == name:
            return data_type.numpy_dtype
    raise RuntimeError(f"{element_type!r} is not the type of the elements of a tensor")


def array_at(address: int, element_type: int | DTypeLike, shape: Sequence[int]) -> NDArray[Any]:
    """Return the array at an address, without a copy."""
    dtype = numpy_type(element_type)
    size = math.prod(shape) * dtype.itemsize
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.ctypeslib.as_array(memory).view(dtype).reshape(tuple(shape))


@dataclass(frozen=True, slots=True)
class OrtDevice:
    """Where data is: always in the memory of the processor."""

    _type: int = 0
    _id: int = 0

    @staticmethod
    def make(ort_device_name: str, device_id: int = 0, vendor_id: int = -1) -> OrtDevice:
        """Return a device by its name.

        Raises:
            RuntimeError: The name is not known.
        """
        del vendor_id  # one device at most has each name
        if ort_device_name.lower() not in _DEVICES:
            raise RuntimeError(f"Unsupported device type: {ort_device_name}")
        return OrtDevice(_DEVICES[ort_device_name.lower()], device_id)

    def device_type(self) -> int:
        """Return the number of the kind; 0 is the processor."""
        return self._type

    def device_id(self) -> int:
        """Return which of the kind it is."""
        return self._id

    def device_vendor_id(self) -> int:
        """Return 0, for no vendor."""
        return 0

    def device_mem_type(self) -> int:
        """Return 0, for ordinary memory."""
        return 0


def check_on_processor(device_type: str, what: str) -> None:
    """Refuse data on a device that is not there.

    Raises:
        RuntimeError: It is not the processor.
    """
    if OrtDevice.make(device_type).device_type() != 0:
        raise RuntimeError(
            f"{what} is requested on the device {device_type!r}: expected 'cpu', as backends copy "
            "what they need to their devices themselves"
        )


@refusing("as_sparse_tensor", "ort_value_from_sparse_tensor")
class OrtValue:
    """A tensor in host memory, which keeps its array.

    Use :meth:`ortvalue_from_numpy` or :meth:`ortvalue_from_shape_and_type`.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @classmethod
    def ortvalue_from_numpy(
        cls,
        numpy_obj: NDArray[Any],
        /,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Return a value that shares a contiguous array's memory.

        Raises:
            RuntimeError: It is not an array of numbers, or wanted elsewhere than on the processor.
        """
        del device_id, vendor_id
        check_on_processor(device_type, "a value")
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "OSU":
            raise RuntimeError(
                f"a value cannot be made from {type(numpy_obj).__name__}: expected a NumPy array "
                "of numbers"
            )
        return cls(np.asarray(numpy_obj, order="C"))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(
        cls, data: NDArray[Any], /, onnx_element_type: int
    ) -> OrtValue:
        """Return a value that reads an array as another type.

        Raises:
            RuntimeError: There is no such type, or its elements have another size.
        """
        dtype = numpy_type(onnx_element_type)
        if data.dtype.itemsize != dtype.itemsize:
            raise RuntimeError(
                f"an array of {data.dtype} cannot be read as {dtype}: expected elements of "
                f"{dtype.itemsize} bytes"
            )
        return cls(np.asarray(data, order="C").view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: int | DTypeLike,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Return a new value of zeros.

        Raises:
            RuntimeError: There is no such type, or it is wanted elsewhere than on the processor.
        """
        del device_id, vendor_id
        check_on_processor(device_type, "a value")
        return cls(np.zeros(tuple(shape), numpy_type(element_type)))

    def numpy(self) -> NDArray[Any]:
        """Return the array; it shares the value's memory."""
        return self._array

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self._array.__dlpack_device__()
        return int(kind), int(number)

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """Return a value that shares another library's tensor."""
        return cls(np.from_dlpack(data))

    def shape(self) -> list[int]:
        """Return the dimensions."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """Return the type: "tensor(float)"."""
        return type_name(self.element_type())

    def element_type(self) -> int:
        """Return the number of the type of the elements."""
        return element_number(self._array.dtype)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._array.ctypes.data

    def device_name(self) -> str:
        """Return "cpu"."""
        return "cpu"

    def tensor_size_in_bytes(self) -> int:
        """Return the size of the elements together."""
        return self._array.nbytes

    def has_value(self) -> bool:
        """Return true: no value is an optional one."""
        return True

    def is_tensor(self) -> bool:
        """Return true."""
        return True

    def is_sparse_tensor(self) -> bool:
        """Return false."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Return false."""
        return False

    def update_inplace(self, data: ArrayLike) -> None:
        """Copy an array into the value's memory.

        Raises:
            RuntimeError: It has another type or shape.
        """
        array = np.asarray(data)
        if array.dtype != self._array.dtype or array.shape != self._array.shape:
            raise RuntimeError(
                f"the value has the shape {self.shape()} and the type {self._array.dtype}: got "
                f"{list(array.shape)} and {array.dtype}"
            )
        self._array[...] = array


class OrtAllocatorType(IntEnum):
    """How an allocator gets memory."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(IntEnum):
    """The purpose of memory."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(IntEnum):
    """The processors that reach the memory of a device."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtMemoryInfoDeviceType(IntEnum):
    """Kinds of devices that have memory."""

    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3


class OrtHardwareDeviceType(IntEnum):
    """Kinds of devices that run nodes."""

    CPU = 0
    GPU = 1
    NPU = 2


class OrtDeviceVendorId(IntEnum):
    """The PCI numbers of vendors."""

    NONE = 0
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


class OrtExecutionProviderDevicePolicy(IntEnum):
    """Would choose a device; has no effect."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtCompileApiFlags(IntEnum):
    """The options that compiling ahead of time would refuse."""

    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2


class OrtSparseFormat(IntEnum):
    """How a sparse tensor would be stored."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


@dataclass(frozen=True, slots=True)
class OrtMemoryInfo:
    """Memory of a device."""

    name: str
    allocator_type: OrtAllocatorType
    device_id: int
    mem_type: OrtMemType
    device_vendor_id: int = 0
    device_mem_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        """Return the memory of a device of a vendor."""
        del device_type, alignment
        return OrtMemoryInfo(
            name, allocator_type, device_id, OrtMemType.DEFAULT, vendor_id, device_mem_type
        )


class OrtArenaCfg:
    """The sizes of an arena; -1 is the default.

    Args:
        sizes: The first four sizes in the order of the attributes, or all of them by name.

    Raises:
        TypeError: They are neither.
        ValueError: There is no size of a name.
    """

    max_mem: int = 0
    arena_extend_strategy: int = -1
    initial_chunk_size_bytes: int = -1
    max_dead_bytes_per_chunk: int = -1
    initial_growth_chunk_size_bytes: int = -1
    max_power_of_two_extend_bytes: int = -1

    def __init__(self, *sizes: int | Mapping[str, int]) -> None:
        known = list(OrtArenaCfg.__annotations__)
        if len(sizes) == 1 and isinstance(sizes[0], Mapping):
            given = dict(sizes[0])
        elif len(sizes) == 4 and not any(isinstance(size, Mapping) for size in sizes):
            given = dict(zip(known, sizes, strict=False))  # type: ignore[arg-type]  # checked above
        else:
            raise TypeError(f"OrtArenaCfg got {sizes!r}: expected four sizes, or sizes by name")
        for name, size in given.items():
            if name not in known:
                raise ValueError(f"Invalid OrtArenaCfg option: {name!r}; there are {known}")
            setattr(self, name, int(size))


def create_and_register_allocator(mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None) -> None:
    """Do nothing: each model plans an arena of its own."""
    del mem_info, arena_cfg


def create_and_register_allocator_v2(
    provider_type: str,
    mem_info: OrtMemoryInfo,
    options: Mapping[str, str],
    arena_cfg: OrtArenaCfg | None,
) -> None:
    """Do nothing: each model plans an arena of its own."""
    del provider_type, mem_info, options, arena_cfg


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: object = None) -> None:
    """Copy values into others of the same types and shapes.

    Raises:
        ValueError: There are more of one than of the other.
        RuntimeError: A type or shape differs.
    """
    del stream
    if len(src) != len(dst):
        raise ValueError(f"src has {len(src)} values and dst has {len(dst)}: expected as many")
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source.numpy())
