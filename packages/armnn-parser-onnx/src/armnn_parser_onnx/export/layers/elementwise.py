# SPDX-License-Identifier: MIT
"""Element by element: one operand, two operands, comparisons, choices, casts."""

from __future__ import annotations

from armnn.types import BinaryOperation, ComparisonOperation, DataType, UnaryOperation
from armnn_parser_onnx.export.operation import Operation, exports

_BINARY_LAYERS = {
    "Addition": "Add",
    "Subtraction": "Sub",
    "Multiplication": "Mul",
    "Division": "Div",
    "Maximum": "Max",
    "Minimum": "Min",
}
_BINARY_OPERATIONS = {
    BinaryOperation.ADD: "Add",
    BinaryOperation.DIV: "Div",
    BinaryOperation.MAXIMUM: "Max",
    BinaryOperation.MINIMUM: "Min",
    BinaryOperation.MUL: "Mul",
    BinaryOperation.SUB: "Sub",
    BinaryOperation.POWER: "Pow",
    BinaryOperation.BITWISE_AND: "BitwiseAnd",
    BinaryOperation.BITWISE_OR: "BitwiseOr",
    BinaryOperation.BITWISE_XOR: "BitwiseXor",
}
_UNARY_OPERATIONS = {
    UnaryOperation.ABS: "Abs",
    UnaryOperation.EXP: "Exp",
    UnaryOperation.SQRT: "Sqrt",
    UnaryOperation.NEG: "Neg",
    UnaryOperation.LOGICAL_NOT: "Not",
    UnaryOperation.LOG: "Log",
    UnaryOperation.SIN: "Sin",
    UnaryOperation.CEIL: "Ceil",
    UnaryOperation.ERF: "Erf",
    UnaryOperation.ROUND: "Round",
    UnaryOperation.SIGN: "Sign",
    UnaryOperation.COS: "Cos",
    UnaryOperation.TAN: "Tan",
    UnaryOperation.ASIN: "Asin",
    UnaryOperation.ACOS: "Acos",
    UnaryOperation.ATAN: "Atan",
    UnaryOperation.SINH: "Sinh",
    UnaryOperation.COSH: "Cosh",
    UnaryOperation.ASINH: "Asinh",
    UnaryOperation.ACOSH: "Acosh",
    UnaryOperation.ATANH: "Atanh",
    UnaryOperation.RECIPROCAL: "Reciprocal",
    UnaryOperation.BITWISE_NOT: "BitwiseNot",
}
_COMPARISONS = {
    ComparisonOperation.EQUAL: "Equal",
    ComparisonOperation.GREATER: "Greater",
    ComparisonOperation.GREATER_OR_EQUAL: "GreaterOrEqual",
    ComparisonOperation.LESS: "Less",
    ComparisonOperation.LESS_OR_EQUAL: "LessOrEqual",
}


@exports(*_BINARY_LAYERS)
def binary_layer(op: Operation) -> str:
    """Write the operator that the layer type names."""
    return _binary(op, _BINARY_LAYERS[op.layer.type])


@exports("ElementwiseBinary")
def elementwise_binary(op: Operation) -> str:
    """Write a binary operator, except integer quotients and remainders.

    Those differ too much from the layer's.
    """
    operation: BinaryOperation = op.d.operation
    if operation is BinaryOperation.SQ_DIFF:
        difference = op.emit("Sub", *op.inputs)
        return op.emit("Mul", difference, difference)
    if operation not in _BINARY_OPERATIONS:
        op.refuse(f"its operation {operation.arm_name} has no counterpart")
    return _binary(op, _BINARY_OPERATIONS[operation])


@exports("ElementwiseUnary")
def elementwise_unary(op: Operation) -> str:
    """Write the operator of the operation."""
    operation: UnaryOperation = op.d.operation
    if operation is UnaryOperation.RSQRT:
        return op.emit("Reciprocal", op.emit("Sqrt", op.x))
    of_integers = (UnaryOperation.BITWISE_NOT, UnaryOperation.ABS, UnaryOperation.NEG)
    if op.info.data_type.is_integer and operation not in of_integers:
        op.refuse(f"it is {operation.arm_name} of {op.info.data_type.arm_name}")
    return op.emit(_UNARY_OPERATIONS[operation], op.x)


@exports("Floor")
def floor(op: Operation) -> str:
    """Floor; an integer is its own."""
    return op.emit("Floor" if op.info.data_type.is_float else "Identity", op.x)


@exports("Comparison")
def comparison(op: Operation) -> str:
    """Write the comparison; NotEqual is the opposite of Equal."""
    operation: ComparisonOperation = op.d.operation
    if operation is ComparisonOperation.NOT_EQUAL:
        return op.emit("Not", op.emit("Equal", *op.inputs))
    if op.info.data_type is DataType.BOOLEAN and operation is not ComparisonOperation.EQUAL:
        op.refuse("it orders Booleans, which ONNX does not")
    return op.emit(_COMPARISONS[operation], *op.inputs)


@exports("LogicalBinary")
def logical_binary(op: Operation) -> str:
    """Write And, Or or Xor."""
    return op.emit(op.d.operation.arm_name.removeprefix("Logical"), *op.inputs)


@exports("Where")
def where(op: Operation) -> str:
    """Write Where."""
    return op.emit("Where", *op.inputs)


@exports("IsNaN")
def is_nan(op: Operation) -> str:
    """IsNaN."""
    return op.emit("IsNaN", op.x)


@exports("IsInf")
def is_inf(op: Operation) -> str:
    """IsInf."""
    return op.emit(
        "IsInf",
        op.x,
        detect_positive=int(op.d.detect_positive),
        detect_negative=int(op.d.detect_negative),
    )


@exports("Cast", "ConvertFp16ToFp32", "ConvertFp32ToFp16")
def cast(op: Operation) -> str:
    """Write Cast among types that compute.

    The result of floats that do not fit is up to the reader.
    """
    target = op.layer.outputs[0].info.data_type
    if op.info.data_type.is_storage_only or target.is_storage_only:
        op.refuse(f"it casts {op.info.data_type.arm_name} to {target.arm_name}")
    if op.info.data_type.is_float and target.is_integer:
        op.refuse(f"ONNX leaves open what {target.arm_name} floats become that do not fit")
    return op.cast(op.x, target)


def _binary(op: Operation, op_type: str) -> str:
    return op.emit(op_type, *op.inputs)
