# SPDX-License-Identifier: MIT
"""onnxruntime's operators, and ONNX's quantized ones, as nodes of others in textual form.

Quantized operators become real ones between DequantizeLinear and QuantizeLinear. A node is
``output, ... = Operator <name = number, name: kind = @attribute> (input, ...)``, which is a part of
ONNX's textual form; what stands between ``<`` and ``>`` may be left out. A number is an integer, a
float, or a list of integers in brackets.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from armnn.errors import ParseError
from armnn_parser_onnx.messages import (
    FLOAT,
    FLOATS,
    INT,
    INTS,
    STRING,
    STRINGS,
    Attribute,
    Function,
    Node,
    Opset,
    make_attribute,
)
from armnn_parser_onnx.schemas import MICROSOFT, Schema

_NODE = re.compile(r"\s*([\w\s,]+?)\s*=\s*(\w+)\s*(?:<([^>]*)>)?\s*\(([^)]*)\)\s*")
_ATTRIBUTE = re.compile(r"\s*(\w+)\s*(?::\s*\w+\s*)?=\s*(@\w+|\[[^\]]*\]|[^,\s]+)\s*(?:,|$)")


def _read_nodes(text: str) -> list[Node]:
    """Return the nodes of a text.

    They must not be changed: texts that were read before have the same ones.

    Raises:
        ValueError: It is not in this form.
    """
    return [*_nodes_of(text)]


@functools.lru_cache(64)
def _nodes_of(text: str) -> tuple[Node, ...]:
    """Return the nodes, once for each of few texts."""
    nodes, place = [], 0
    while place < len(text):
        found = _NODE.match(text, place)
        if found is None:
            raise ValueError(f"no node at {text[place : place + 40]!r}")
        outputs, operator, attributes, inputs = found.groups()
        nodes.append(
            Node(
                op_type=operator,
                input=_names(inputs),
                output=_names(outputs),
                attribute=[
                    _attribute(name, value) for name, value in _ATTRIBUTE.findall(attributes or "")
                ],
            )
        )
        place = found.end()
    return tuple(nodes)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")] if text.strip() else []


def _attribute(name: str, text: str) -> Attribute:
    if text.startswith("@"):
        return Attribute(name=name, ref_attr_name=text[1:])
    if text.startswith("["):
        return make_attribute(name, [int(each) for each in text[1:-1].split(",")])
    is_integer = text.removeprefix("-").isdigit()
    return make_attribute(name, int(text) if is_integer else float(text))


_OPSET = 21
"""The version of the operators in the definitions."""

_Definition: TypeAlias = "str | Callable[[Node], str]"
"""The nodes, or a function that writes them for a node."""


def definition_of(node: Node, schema: Schema) -> Function:
    """Return the function that defines a node.

    Inputs have the names of the schema; ``@name`` in a node is the attribute of that name.
    """
    definition = DEFINITIONS[schema.domain, schema.name]
    body = definition if isinstance(definition, str) else definition(node)
    inputs = [parameter.name for parameter in schema.inputs]
    if schema.inputs[-1].variadic:
        count = len(node.input) - len(inputs) + 1
        inputs[-1:] = [f"input_{index}" for index in range(count)]
    return Function(
        input=inputs,
        output=[parameter.name for parameter in schema.outputs],
        node=_read_nodes(body),
        opset_import=[Opset(version=_OPSET)],
    )


def _given(node: Node, index: int) -> bool:
    return index < len(node.input) and bool(node.input[index])


def _attributes(node: Node, *names: str) -> str:
    """Return references to those attributes that a node has."""
    held = {attribute.name: attribute for attribute in node.attribute}
    listed = [f"{name}: {_KINDS[held[name].type]} = @{name}" for name in names if name in held]
    return f"<{', '.join(listed)}>" if listed else ""


_KINDS = {
    INT: "int",
    INTS: "ints",
    FLOAT: "float",
    FLOATS: "floats",
    STRING: "string",
    STRINGS: "strings",
}

_WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")


def _integer(node: Node, name: str, default: int = 0) -> int:
    return next((a.i for a in node.attribute if a.name == name), default)


def _channels_last(node: Node, body: str) -> str:
    """Transpose around a body that expects the channels of images last.

    The body reads ``real`` and makes ``made``.
    """
    if not _integer(node, "channels_last"):
        return body
    body = re.sub(r"\breal\b", "real_first", body)
    body = re.sub(r"\bmade\b", "made_first", body)
    return (
        f"real_first = Transpose <perm = [0, 3, 1, 2]> (real) {body} "
        f"made = Transpose <perm = [0, 2, 3, 1]> (made_first)"
    )


def _q_linear_conv(node: Node) -> str:
    bias, added = "", ""
    if _given(node, 8):
        bias = "bias = DequantizeLinear <axis = 0> (B, bias_scale)"
        bias = f"bias_scale = Mul (x_scale, w_scale) {bias}"
        added = ", bias"
    convolution = f"made = Conv {_attributes(node, *_WINDOW, 'group')} (real, weights{added})"
    return (
        "real = DequantizeLinear (x, x_scale, x_zero_point) "
        "weights = DequantizeLinear <axis = 0> (w, w_scale, w_zero_point) "
        f"{bias} {_channels_last(node, convolution)} "
        "y = QuantizeLinear (made, y_scale, y_zero_point)"
    )


_TWO = (
    "a = DequantizeLinear (A, A_scale, A_zero_point) "
    "b = DequantizeLinear (B, B_scale, B_zero_point) "
)
_ONE = "real = DequantizeLinear (X, X_scale, X_zero_point) "
_BACK = " Y = QuantizeLinear (made, Y_scale, Y_zero_point)"


def _q_linear_softmax(node: Node) -> str:
    """Define QLinearSoftmax; before opset 13, it flattens axes.

    An attribute says so; the axes from ``axis`` on are one then.
    """
    softmax = f"made = Softmax {_attributes(node, 'axis')} (real)"
    if _integer(node, "opset", 13) < 13:
        softmax = (
            f"shape = Shape (real) flat = Flatten {_attributes(node, 'axis')} (real) "
            "weights = Softmax <axis = 1> (flat) made = Reshape (weights, shape)"
        )
    return _ONE + softmax + _BACK


def _q_linear_average_pool(node: Node) -> str:
    names = (*_WINDOW, "ceil_mode", "count_include_pad")
    pool = f"made = AveragePool {_attributes(node, *names)} (real)"
    return _ONE + _channels_last(node, pool) + _BACK


def _q_linear_global_average_pool(node: Node) -> str:
    return _ONE + _channels_last(node, "made = GlobalAveragePool (real)") + _BACK


def _q_linear_concat(node: Node) -> str:
    count = (len(node.input) - 2) // 3
    parts = [
        f"real_{index} = DequantizeLinear "
        f"(input_{3 * index}, input_{3 * index + 1}, input_{3 * index + 2})"
        for index in range(count)
    ]
    names = ", ".join(f"real_{index}" for index in range(count))
    joined = f"made = Concat {_attributes(node, 'axis')} ({names})"
    return f"{' '.join(parts)} {joined} Y = QuantizeLinear (made, Y_scale, Y_zero_point)"


def _q_gemm(node: Node) -> str:
    """Define QGemm; the addend counts in steps of the product.

    Without a scale the output is real.
    """
    added, bias = "", ""
    if _given(node, 6):
        bias = (
            "c_scale = Mul (a_scale, b_scale) c_real = Cast <to = 1> (C) c = Mul (c_real, c_scale) "
        )
        added = ", c"
    axis = 0 if _integer(node, "transB") else 1
    made = "made" if _given(node, 7) else "Y"
    last = "Y = QuantizeLinear (made, y_scale, y_zero_point)" if made == "made" else ""
    return (
        "a = DequantizeLinear (A, a_scale, a_zero_point) "
        f"b = DequantizeLinear <axis = {axis}> (B, b_scale, b_zero_point) {bias} "
        f"{made} = Gemm {_attributes(node, 'alpha', 'transA', 'transB')} (a, b{added}) {last}"
    )


def _nhwc_max_pool(node: Node) -> str:
    return (
        "first = Transpose <perm = [0, 3, 1, 2]> (x) "
        f"pooled = MaxPool {_attributes(node, *_WINDOW, 'ceil_mode')} (first) "
        "y = Transpose <perm = [0, 2, 3, 1]> (pooled)"
    )


def _mat_mul_integer_to_float(node: Node) -> str:
    zeros = [
        name if _given(node, index) else ""
        for index, name in ((4, "a_zero_point"), (5, "b_zero_point"))
    ]
    operands = ", ".join(["A", "B", *zeros]).rstrip(", ")
    return (
        f"sums = MatMulInteger ({operands}) whole = Cast <to = 1> (sums) "
        "scale = Mul (a_scale, b_scale) " + _scaled(node, bias=6)
    )


def _dynamic_quantize_mat_mul(node: Node) -> str:
    zero = ", b_zero_point" if _given(node, 3) else ""
    return (
        "a, a_scale, a_zero_point = DynamicQuantizeLinear (A) "
        f"sums = MatMulInteger (a, B, a_zero_point{zero}) whole = Cast <to = 1> (sums) "
        "scale = Mul (a_scale, b_scale) " + _scaled(node, bias=4)
    )


def _scaled(node: Node, bias: int) -> str:
    if not _given(node, bias):
        return "Y = Mul (whole, scale)"
    return "product = Mul (whole, scale) Y = Add (product, bias)"


def _fused_conv(node: Node) -> str:
    names = ["X", "W"] + (["B"] if _given(node, 2) else [])
    convolution = f"product = Conv {_attributes(node, *_WINDOW, 'group')} ({', '.join(names)})"
    added = "sum = Add (product, Z)" if _given(node, 3) else "sum = Identity (product)"
    parameters = next(
        (tuple(a.floats) for a in node.attribute if a.name == "activation_params"), ()
    )
    return f"{convolution} {added} {_activated(node, 'sum', parameters)}"


def _fused_gemm(node: Node) -> str:
    names = ["A", "B"] + (["C"] if _given(node, 2) else [])
    held = _attributes(node, "alpha", "beta", "transA", "transB")
    alpha = next((a.f for a in node.attribute if a.name == "activation_alpha"), 0.01)
    return f"sum = Gemm {held} ({', '.join(names)}) {_activated(node, 'sum', (alpha,))}"


def _activated(node: Node, value: str, parameters: Sequence[float]) -> str:
    """Apply the function that an attribute names.

    Raises:
        ParseError: It is not known, or has too few parameters.
    """
    activations = (a.s.decode("utf-8", "replace") for a in node.attribute if a.name == "activation")
    name = next(activations, "")
    if not name:
        return f"Y = Identity ({value})"
    if name not in _PARAMETERS or len(parameters) < len(_PARAMETERS[name]):
        raise ParseError(
            f"the activation {name!r} with {len(parameters)} parameters is not supported: expected "
            f"one of {', '.join(_PARAMETERS)}, with all that it needs"
        )
    numbers = [float(number) for number in parameters]
    if name == "Clip":
        bounds = " ".join(
            f"{bound} = Constant <value_float = {number!r}> ()"
            for bound, number in zip(("low", "high"), numbers, strict=False)
        )
        return f"{bounds} Y = Clip ({value}, low, high)"
    held = ", ".join(
        f"{key} = {number!r}" for key, number in zip(_PARAMETERS[name], numbers, strict=False)
    )
    return f"Y = {name} {f'<{held}>' if held else ''} ({value})"


_PARAMETERS = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "HardSwish": (),
    "LeakyRelu": ("alpha",),
    "Clip": ("min", "max"),
    "HardSigmoid": ("alpha", "beta"),
}
"""The parameters of a fused activation."""

DEFINITIONS: dict[tuple[str, str], _Definition] = {
    ("", "QLinearConv"): _q_linear_conv,
    ("", "QLinearMatMul"): (
        "left = DequantizeLinear <axis = -2> (a, a_scale, a_zero_point) "
        "right = DequantizeLinear <axis = -1> (b, b_scale, b_zero_point) "
        "made = MatMul (left, right) y = QuantizeLinear <axis = -2> (made, y_scale, y_zero_point)"
    ),
    (MICROSOFT, "QLinearConv"): _q_linear_conv,
    (MICROSOFT, "QLinearAdd"): (
        f"{_TWO} made = Add (a, b) C = QuantizeLinear (made, C_scale, C_zero_point)"
    ),
    (MICROSOFT, "QLinearMul"): (
        f"{_TWO} made = Mul (a, b) C = QuantizeLinear (made, C_scale, C_zero_point)"
    ),
    (MICROSOFT, "QLinearSigmoid"): f"{_ONE} made = Sigmoid (real) {_BACK}",
    (MICROSOFT, "QLinearLeakyRelu"): (
        f"{_ONE} made = LeakyRelu <alpha: float = @alpha> (real) {_BACK}"
    ),
    (MICROSOFT, "QLinearSoftmax"): _q_linear_softmax,
    (MICROSOFT, "QLinearGlobalAveragePool"): _q_linear_global_average_pool,
    (MICROSOFT, "QLinearAveragePool"): _q_linear_average_pool,
    (MICROSOFT, "QLinearConcat"): _q_linear_concat,
    (MICROSOFT, "QGemm"): _q_gemm,
    (MICROSOFT, "NhwcMaxPool"): _nhwc_max_pool,
    (MICROSOFT, "QuantizeLinear"): (
        "y = QuantizeLinear <axis: int = @axis> (x, y_scale, y_zero_point)"
    ),
    (MICROSOFT, "DequantizeLinear"): (
        "y = DequantizeLinear <axis: int = @axis> (x, x_scale, x_zero_point)"
    ),
    (MICROSOFT, "MatMulIntegerToFloat"): _mat_mul_integer_to_float,
    (MICROSOFT, "DynamicQuantizeMatMul"): _dynamic_quantize_mat_mul,
    (MICROSOFT, "FusedConv"): _fused_conv,
    (MICROSOFT, "FusedGemm"): _fused_gemm,
}
