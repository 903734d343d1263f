# SPDX-License-Identifier: MIT
"""The enumerations of layers' parameters; their home is :mod:`armnn.types`.

They are made when the first of them is used: a prepared model has no parameters.
"""

from __future__ import annotations

import functools

from armnn._enumeration import ArmnnEnum


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
    """What a Comparison layer asks of each pair."""

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
    """What a LogicalBinary layer computes."""

    LOGICAL_AND = 0, "LogicalAnd"
    LOGICAL_OR = 1, "LogicalOr"
    LOGICAL_XOR = 1000, "LogicalXor"


class UnaryOperation(ArmnnEnum):
    """What an ElementwiseUnary layer computes."""

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
    """What an ElementwiseBinary layer computes."""

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
    """What a Pad layer writes outside of its input."""

    CONSTANT = 0, "Constant"
    REFLECT = 1, "Reflect"
    SYMMETRIC = 2, "Symmetric"


class NormalizationAlgorithmChannel(ArmnnEnum):
    """Along which axis a Normalization layer looks for neighbours."""

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
    """What a Fused layer computes."""

    ADD_MUL_ADD = 0, "AddMulAdd"


class ScatterNdFunction(ArmnnEnum):
    """How ScatterNd combines an update with what is there."""

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


for _kind in tuple(globals().values()):
    if isinstance(_kind, type) and issubclass(_kind, ArmnnEnum) and _kind is not ArmnnEnum:
        _kind.__module__ = "armnn.types"  # what pickles and messages name
