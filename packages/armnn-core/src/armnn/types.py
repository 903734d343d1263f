# SPDX-License-Identifier: MIT
"""The enumerations of Arm NN: data types, layouts and functions.

Names and numbers are Arm NN's (``include/armnn/Types.hpp``); what Arm NN lacks starts at 1000.
Each member knows ``arm_name``, its spelling in Arm NN and in files, and ``since``, the Backend API
version that introduced it. Wherever a member is expected, ``ArmnnEnum.of`` says what will do.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from armnn._arguments import shown
from armnn._enumeration import ArmnnEnum
from armnn._lazy import np
from armnn.errors import UnknownNameError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from armnn._functions import (
        ActivationFunction,
        ArgMinMaxFunction,
        BinaryOperation,
        ComparisonOperation,
        DataLayout,
        FusedKernelType,
        GridPadding,
        LogicalBinaryOperation,
        NormalizationAlgorithmChannel,
        NormalizationAlgorithmMethod,
        OutputShapeRounding,
        PaddingMethod,
        PaddingMode,
        PoolingAlgorithm,
        ReduceOperation,
        ResizeMethod,
        ResizeRounding,
        ScatterNdFunction,
        SequenceDirection,
        UnaryOperation,
    )

DataTypeLike: TypeAlias = "DataType | str | int | type[Any] | np.dtype[Any]"
"""What :meth:`DataType.of` takes: a member, a name, a number, or a type of NumPy's."""


class DataType(ArmnnEnum):
    """The data type of a tensor's elements.

    The types up to 9 are Arm NN's. ``UNSIGNED8`` is a plain integer; ``QASYMM_U8`` is a real value
    in eight bits. The types from ``INT4`` on are storage only: Cast, Quantize and Dequantize know
    them, nothing computes in them.
    """

    numpy_name: str
    bits: int

    def __new__(
        cls,
        value: int,
        arm_name: str,
        numpy_name: str = "",
        bits: int = 0,
        since: tuple[int, int] = (1, 0),
    ) -> Self:
        """Make a member; ``bits`` is a packed element's size."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.arm_name = arm_name
        member.since = since
        member.numpy_name = numpy_name
        member.bits = bits
        return member

    FLOAT16 = 0, "Float16", "float16", 16
    FLOAT32 = 1, "Float32", "float32", 32
    QASYMM_U8 = 2, "QAsymmU8", "uint8", 8
    SIGNED32 = 3, "Signed32", "int32", 32
    BOOLEAN = 4, "Boolean", "bool", 8
    QSYMM_S16 = 5, "QSymmS16", "int16", 16
    QSYMM_S8 = 6, "QSymmS8", "int8", 8
    QASYMM_S8 = 7, "QAsymmS8", "int8", 8
    BFLOAT16 = 8, "BFloat16", "bfloat16", 16
    SIGNED64 = 9, "Signed64", "int64", 64
    FLOAT64 = 1000, "Float64", "float64", 64
    SIGNED8 = 1001, "Signed8", "int8", 8
    SIGNED16 = 1002, "Signed16", "int16", 16
    UNSIGNED8 = 1003, "Unsigned8", "uint8", 8
    UNSIGNED16 = 1004, "Unsigned16", "uint16", 16
    UNSIGNED32 = 1005, "Unsigned32", "uint32", 32
    UNSIGNED64 = 1006, "Unsigned64", "uint64", 64
    INT4 = 1007, "Int4", "int4", 4
    UINT4 = 1008, "UInt4", "uint4", 4
    INT2 = 1009, "Int2", "int2", 2
    UINT2 = 1010, "UInt2", "uint2", 2
    FLOAT8_E4M3FN = 1011, "Float8E4M3FN", "float8_e4m3fn", 8
    FLOAT8_E4M3FNUZ = 1012, "Float8E4M3FNUZ", "float8_e4m3fnuz", 8
    FLOAT8_E5M2 = 1013, "Float8E5M2", "float8_e5m2", 8
    FLOAT8_E5M2FNUZ = 1014, "Float8E5M2FNUZ", "float8_e5m2fnuz", 8
    FLOAT8_E8M0FNU = 1015, "Float8E8M0FNU", "float8_e8m0fnu", 8
    FLOAT4_E2M1FN = 1016, "Float4E2M1FN", "float4_e2m1fn", 4

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy type of one element, ``ml_dtypes``' included."""
        known = _DTYPES.get(self)
        return _numpy_dtype(self) if known is None else known

    @property
    def is_quantized(self) -> bool:
        """Whether an element means ``scale * (stored - zero_point)``."""
        return self in _QUANTIZED

    @property
    def is_float(self) -> bool:
        """Whether an element is a floating point number."""
        return self.numpy_name.startswith(("float", "bfloat"))

    @property
    def is_integer(self) -> bool:
        """Whether an element is an integer, neither quantised nor Boolean."""
        return not (self.is_float or self.is_quantized or self is DataType.BOOLEAN)

    @property
    def is_storage_only(self) -> bool:
        """Whether only Cast, Quantize and Dequantize know the type."""
        return self >= DataType.INT4

    @classmethod
    def from_numpy(cls, dtype: DTypeLike) -> DataType:
        """Return a NumPy type's plain, never quantised, data type.

        Raises:
            UnknownNameError: No data type is stored like that; it is a KeyError.
        """
        try:
            known = np.dtype(dtype)
        except (TypeError, ValueError, AttributeError) as error:  # np.dtype() raises all of them
            raise UnknownNameError(
                f"{shown(dtype)} is no NumPy type, expected one such as np.float32"
            ) from error
        return _plain_type(known)

    @classmethod
    def _meant_by(cls, value: object) -> DataType | None:
        """Return a NumPy type's plain data type, None for others."""
        found = super()._meant_by(value)
        dtype = _dtype_of(value) if isinstance(value, type) else value
        name = dtype.name if isinstance(dtype, np.dtype) else dtype
        if found is not None or not isinstance(name, str):
            return found
        return next((e for e in cls if e.numpy_name == name and not e.is_quantized), None)

    @classmethod
    def _listed(cls) -> str:
        return f"{super()._listed()}, or a NumPy type such as np.float32"


_QUANTIZED = (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8, DataType.QSYMM_S16)
_DTYPES: dict[DataType, np.dtype[Any]] = {}


@functools.cache
def _plain_type(dtype: np.dtype[Any]) -> DataType:
    for member in DataType:
        if member.numpy_name == dtype.name and not member.is_quantized:
            return member
    known = ", ".join(dict.fromkeys(kind.numpy_name for kind in DataType))
    raise UnknownNameError(f"there is no data type for {dtype}: expected one of {known}")


def _dtype_of(kind: type) -> np.dtype[Any] | None:
    """Return the NumPy type of a number class, None otherwise."""
    if kind in (bool, int, float):
        return np.dtype(kind)
    try:
        return kind(0).dtype if issubclass(kind, np.generic) else None
    except (TypeError, ValueError):  # an abstract one, such as np.floating
        return None


def _numpy_dtype(data_type: DataType) -> np.dtype[Any]:
    name = data_type.numpy_name
    try:
        made = np.dtype(name)
    except TypeError:
        import ml_dtypes  # imported late: most networks never need it

        made = np.dtype(getattr(ml_dtypes, name))
    return _DTYPES.setdefault(data_type, made)


class QuantizedArithmetic(ArmnnEnum):
    """The rounding of quantised layers.

    A backend that ignores it says so. ``REAL`` decodes, computes and encodes, as Arm NN's reference
    does. ``INTEGER`` uses whole numbers and fixed-point factors, as TensorFlow Lite's does.
    """

    REAL = 1000, "Real"
    INTEGER = 1001, "Integer"


class MemorySource(ArmnnEnum):
    """The origin of a tensor's memory, as a bit mask."""

    UNDEFINED = 0, "Undefined"
    MALLOC = 1, "Malloc"
    DMA_BUF = 2, "DmaBuf"
    DMA_BUF_PROTECTED = 4, "DmaBufProtected"
    GRALLOC = 8, "Gralloc"
    MEMFD = 1024, "Memfd", (1, 2)


def __getattr__(name: str) -> Any:
    """Import the enumerations of layers' parameters."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from armnn import _functions  # late: making them is the dearest part of importing types

    found = globals()[name] = getattr(_functions, name)
    return found


def __dir__() -> list[str]:
    """Return the names that are there, imported or not."""
    return sorted({*globals(), *__all__})


__all__ = [
    "ActivationFunction",
    "ArgMinMaxFunction",
    "ArmnnEnum",
    "BinaryOperation",
    "ComparisonOperation",
    "DataLayout",
    "DataType",
    "DataTypeLike",
    "FusedKernelType",
    "GridPadding",
    "LogicalBinaryOperation",
    "MemorySource",
    "NormalizationAlgorithmChannel",
    "NormalizationAlgorithmMethod",
    "OutputShapeRounding",
    "PaddingMethod",
    "PaddingMode",
    "PoolingAlgorithm",
    "QuantizedArithmetic",
    "ReduceOperation",
    "ResizeMethod",
    "ResizeRounding",
    "ScatterNdFunction",
    "SequenceDirection",
    "UnaryOperation",
]
