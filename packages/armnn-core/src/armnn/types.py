# SPDX-License-Identifier: MIT
"""The enumerations of Arm NN: data types, layouts and functions.

Names and numbers are Arm NN's (``include/armnn/Types.hpp``); what Arm NN lacks starts at 1000.
Each member knows ``arm_name``, its spelling in Arm NN and in files, and ``since``, the Backend API
version that introduced it. Wherever a member is expected, ``ArmnnEnum.of`` says what will do.
"""

from __future__ import annotations

import functools
from enum import IntEnum
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from armnn.arguments import closest, refused, shown
from armnn.errors import UnknownNameError

_MOST_LISTED = 12  # members: of more, a message that knows which one was meant lists none


class ArmnnEnum(IntEnum):
    """An integer enumeration whose members carry Arm NN's spelling."""

    arm_name: str
    since: tuple[int, int]

    def __new__(cls, value: int, arm_name: str, since: tuple[int, int] = (1, 0)) -> Self:
        """Make a member with its Arm NN spelling and version."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.arm_name = arm_name
        member.since = since
        return member

    @classmethod
    def from_arm_name(cls, arm_name: str) -> Self:
        """Return the member that Arm NN spells ``arm_name``.

        Raises:
            UnknownNameError: No member has that name; it is a KeyError.
        """
        for member in cls:
            if member.arm_name == arm_name:
                return member
        raise UnknownNameError(f"there is no {cls.__name__} {arm_name!r}{cls._hint(arm_name)}")

    @classmethod
    def of(cls, value: object, what: str = "") -> Self:
        """Return the member of a member, a name or number.

        A name is ``arm_name`` or Python's, exactly: "Max" or "MAX". A number is an ``int`` or a
        NumPy integer, not ``True``, and not a member of another enumeration.

        Args:
            value: The member, its name or its number.
            what: Its name in the message.

        Raises:
            InvalidArgumentError: None is meant; the message lists the names.
        """
        found = value if isinstance(value, cls) else cls._meant_by(value)
        if found is None:
            hint, names = cls._hint(value), cls._listed()
            if hint and len(cls) > _MOST_LISTED:
                names = f"a member of {cls.__name__}"
            raise refused(what or f"the {cls.__name__}", value, f"{names}{hint}")
        return found

    @classmethod
    def _meant_by(cls, value: object) -> Self | None:
        if isinstance(value, str):
            return next((each for each in cls if value in (each.arm_name, each.name)), None)
        if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, IntEnum)):
            return next((each for each in cls if each.value == value), None)
        return None

    @classmethod
    def _listed(cls) -> str:
        return f"one of {', '.join(each.arm_name for each in cls)}"

    @classmethod
    def _hint(cls, value: object) -> str:
        """Return a message's rest: the name probably meant."""
        if not isinstance(value, str):
            return ""
        names = {name: each.arm_name for each in cls for name in (each.name, each.arm_name)}
        close = closest(value, names, 0.6)
        return f"; did you mean {names[close]!r}?" if close else ""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        """Let the enumeration be called with the arguments of :meth:`of`."""
        return cls.of(value)


DataTypeLike: TypeAlias = "DataType | str | int | type[Any] | np.dtype[Any]"
"""The types that :meth:`DataType.of` takes: a member, a name, a number, or a type of NumPy's."""


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
        """Whether an element is an integer, neither quantized nor Boolean."""
        return not (self.is_float or self.is_quantized or self is DataType.BOOLEAN)

    @property
    def is_storage_only(self) -> bool:
        """Whether only Cast, Quantize and Dequantize know the type."""
        return self >= DataType.INT4

    @classmethod
    def from_numpy(cls, dtype: DTypeLike) -> DataType:
        """Return a NumPy type's plain, never quantized, data type.

        Raises:
            UnknownNameError: No data type is stored like that; it is a KeyError.
        """
        try:
            known = np.dtype(dtype)
        except (TypeError, ValueError, AttributeError) as error:  # np.dtype() raises all of them
            raise UnknownNameError(
                f"{shown(dtype)} is not a NumPy type: expected one such as np.float32"
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
    """The rounding of quantized layers.

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


class ActivationFunction(ArmnnEnum):
    """The function of an Activation layer, with a and b."""

    SIGMOID = 0, "Sigmoid"
    TANH = 1, "TanH"
    LINEAR = 2, "Linear"
    RELU = 3, "ReLu"
    BOUNDED_RELU = 4, "BoundedReLu"
    SOFT_RELU = 5, "SoftReLu"
    LEAKY_RELU = 6, "LeakyReLu"
    ABS = 7, "Abs"
    SQRT = 8, "Sqrt"
    SQUARE = 9, "Square"
    ELU = 10, "Elu"
    HARD_SWISH = 11, "HardSwish"
    GELU = 12, "Gelu"
    SOFT_SIGN = 1000, "SoftSign"
    MISH = 1001, "Mish"
    SELU = 1002, "Selu"
    CELU = 1003, "Celu"
    HARD_SIGMOID = 1004, "HardSigmoid"
    THRESHOLDED_RELU = 1005, "ThresholdedReLu"
    SHRINK = 1006, "Shrink"
    SWISH = 1007, "Swish"
    GELU_TANH = 1008, "GeluTanH"


class ArgMinMaxFunction(ArmnnEnum):
    """Which element ArgMinMax looks for."""

    MIN = 0, "Min"
    MAX = 1, "Max"


class ComparisonOperation(ArmnnEnum):
    """The relation that a Comparison layer tests for each pair."""

    EQUAL = 0, "Equal"
    GREATER = 1, "Greater"
    GREATER_OR_EQUAL = 2, "GreaterOrEqual"
    LESS = 3, "Less"
    LESS_OR_EQUAL = 4, "LessOrEqual"
    NOT_EQUAL = 5, "NotEqual"


class DataLayout(ArmnnEnum):
    """The axes of batch, channels and space in a tensor."""

    NCHW = 1, "NCHW"
    NHWC = 2, "NHWC"
    NDHWC = 3, "NDHWC"
    NCDHW = 4, "NCDHW"

    @property
    def channel_axis(self) -> int:
        """The axis of the channels."""
        return 1 if self in (DataLayout.NCHW, DataLayout.NCDHW) else len(self.name) - 1

    @property
    def spatial_axes(self) -> tuple[int, ...]:
        """The axes of depth (if any), height and width."""
        return _spatial_axes(self.name)


@functools.cache
def _spatial_axes(layout: str) -> tuple[int, ...]:
    return tuple(layout.index(axis) for axis in layout if axis in "DHW")


class LogicalBinaryOperation(ArmnnEnum):
    """The function of a LogicalBinary layer."""

    LOGICAL_AND = 0, "LogicalAnd"
    LOGICAL_OR = 1, "LogicalOr"
    LOGICAL_XOR = 1000, "LogicalXor"


class UnaryOperation(ArmnnEnum):
    """The function of an ElementwiseUnary layer."""

    ABS = 0, "Abs"
    EXP = 1, "Exp"
    SQRT = 2, "Sqrt"
    RSQRT = 3, "Rsqrt"
    NEG = 4, "Neg"
    LOGICAL_NOT = 5, "LogicalNot"
    LOG = 6, "Log"
    SIN = 7, "Sin"
    CEIL = 8, "Ceil"
    ERF = 1000, "Erf"
    ROUND = 1001, "Round"
    SIGN = 1002, "Sign"
    COS = 1003, "Cos"
    TAN = 1004, "Tan"
    ASIN = 1005, "Asin"
    ACOS = 1006, "Acos"
    ATAN = 1007, "Atan"
    SINH = 1008, "Sinh"
    COSH = 1009, "Cosh"
    ASINH = 1010, "Asinh"
    ACOSH = 1011, "Acosh"
    ATANH = 1012, "Atanh"
    RECIPROCAL = 1013, "Reciprocal"
    BITWISE_NOT = 1014, "BitwiseNot"


class BinaryOperation(ArmnnEnum):
    """The function of an ElementwiseBinary layer."""

    ADD = 0, "Add"
    DIV = 1, "Div"
    MAXIMUM = 2, "Maximum"
    MINIMUM = 3, "Minimum"
    MUL = 4, "Mul"
    SUB = 5, "Sub"
    SQ_DIFF = 6, "SqDiff"
    POWER = 7, "Power"
    MOD = 1000, "Mod"
    FMOD = 1001, "Fmod"
    FLOOR_DIV = 1002, "FloorDiv"
    BITWISE_AND = 1003, "BitwiseAnd"
    BITWISE_OR = 1004, "BitwiseOr"
    BITWISE_XOR = 1005, "BitwiseXor"
    SHIFT_LEFT = 1006, "ShiftLeft"
    SHIFT_RIGHT = 1007, "ShiftRight"


class PoolingAlgorithm(ArmnnEnum):
    """How a pooling layer sums up its window."""

    MAX = 0, "Max"
    AVERAGE = 1, "Average"
    L2 = 2, "L2"


class ReduceOperation(ArmnnEnum):
    """How a Reduce layer sums up its axes."""

    SUM = 0, "Sum"
    MAX = 1, "Max"
    MEAN = 2, "Mean"
    MIN = 3, "Min"
    PROD = 4, "Prod"


class ResizeMethod(ArmnnEnum):
    """How a Resize layer finds the value between two samples."""

    BILINEAR = 0, "Bilinear"
    NEAREST_NEIGHBOR = 1, "NearestNeighbor"
    CUBIC = 1000, "Cubic"


class ResizeRounding(ArmnnEnum):
    """The rule for the nearest sample; Arm NN knows TensorFlow's."""

    TENSORFLOW = 1000, "TensorFlow"
    ROUND_PREFER_FLOOR = 1001, "RoundPreferFloor"
    ROUND_PREFER_CEIL = 1002, "RoundPreferCeil"
    FLOOR = 1003, "Floor"
    CEIL = 1004, "Ceil"


class GridPadding(ArmnnEnum):
    """GridSample's values outside its input; Arm NN lacks the layer."""

    ZEROS = 1000, "Zeros"
    BORDER = 1001, "Border"
    REFLECTION = 1002, "Reflection"


class PaddingMethod(ArmnnEnum):
    """Whether padding counts in an average's divisor, never its values."""

    IGNORE_VALUE = 0, "IgnoreValue"
    EXCLUDE = 1, "Exclude"


class PaddingMode(ArmnnEnum):
    """The values that a Pad layer writes outside of its input."""

    CONSTANT = 0, "Constant"
    REFLECT = 1, "Reflect"
    SYMMETRIC = 2, "Symmetric"


class NormalizationAlgorithmChannel(ArmnnEnum):
    """Along which axis a Normalization layer looks for neighbors."""

    ACROSS = 0, "Across"
    WITHIN = 1, "Within"


class NormalizationAlgorithmMethod(ArmnnEnum):
    """Krichevsky 2012 (local brightness) or Jarret 2009 (local contrast)."""

    LOCAL_BRIGHTNESS = 0, "LocalBrightness"
    LOCAL_CONTRAST = 1, "LocalContrast"


class OutputShapeRounding(ArmnnEnum):
    """How a pooling layer rounds its output size."""

    FLOOR = 0, "Floor"
    CEILING = 1, "Ceiling"


class FusedKernelType(ArmnnEnum):
    """The function of a Fused layer."""

    ADD_MUL_ADD = 0, "AddMulAdd"


class ScatterNdFunction(ArmnnEnum):
    """How ScatterNd combines an update with the element that is there."""

    UPDATE = 0, "Update"
    ADD = 1, "Add"
    SUB = 2, "Sub"
    MAX = 3, "Max"
    MIN = 4, "Min"
    MUL = 5, "Mul"


class SequenceDirection(ArmnnEnum):
    """The direction of a recurrent layer; Arm NN knows forward."""

    FORWARD = 1000, "Forward"
    REVERSE = 1001, "Reverse"
    BIDIRECTIONAL = 1002, "Bidirectional"


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
