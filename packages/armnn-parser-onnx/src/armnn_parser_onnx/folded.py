# SPDX-License-Identifier: MIT
"""Quantized operators as one layer on stored values.

``definitions.py`` says what the operators mean: layers on floats between Dequantize and Quantize.
The optimizer folds these five to ten layers into one; here it is made at once, with the names that
it gets there. Of QGemm it computes the constants only, which is done here as well. Whatever is
unusual is left to the definitions, as are all errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ArmnnError
from armnn.graph import Value
from armnn.layers import LAYERS
from armnn.layers.convolution import Convolution2dDescriptor, DepthwiseConvolution2dDescriptor
from armnn.layers.elementwise import ElementwiseBinaryDescriptor
from armnn.quantization import dequantize
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, DataType
from armnn_parser_onnx.graph import Quantization
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.convolution import check_channels, groups_of, read_window
from armnn_parser_onnx.schemas import MICROSOFT

_STORED = {np.dtype(np.uint8): DataType.QASYMM_U8, np.dtype(np.int8): DataType.QASYMM_S8}

_MOST_STEPS = 2**21
"""Up to which a bias that became a float of 32 bits is a whole number of usual steps again."""

_USUAL = (2.0**-100, 2.0**100)
"""Between which a step and all such biases are ordinary floats of 32 bits."""


def folded(operation: Operation) -> Value | None:
    """Add the only layer of an operator, if one does."""
    add = _LAYERS.get((operation.schema.domain, operation.op_type))
    if add is None:
        return None
    try:
        made = add(operation)
    except ArmnnError:  # which the definition raises as well, in its own words
        return None
    if made is not None:
        operation.network.is_folded = True
    return made


def _convolution(operation: Operation) -> Value | None:
    """Add a convolution along two axes."""
    image, taken = _stored(operation, 0), _quantization(operation, 4)
    given, bias, made = _given(operation, 3), _given(operation, 8), _output(operation, 6)
    if image is None or taken is None or given is None or made is None:
        return None
    if given.ndim != 4 or len(operation.shape()) != 4 or operation.integer("channels_last", 0):
        return None
    if operation.integers("kernel_shape") not in (None, given.shape[2:]) or not given.size:
        return None
    if given.dtype != taken[0].numpy_dtype or len(taken[1]) not in (1, given.shape[0]):
        return None
    if operation.has_input(8) and not (bias is not None and _is_usual(bias, given, image, taken)):
        return None
    groups = groups_of(operation, given.shape[1], given.shape[0])
    check_channels(operation, groups * given.shape[1])
    window = read_window(operation, given.shape[2:], operation.shape()[2:])
    network, name = operation.network, _name(operation, "made")
    is_depthwise = groups > 1 and given.shape[1] == 1
    if is_depthwise:  # the weights [O, 1, H, W] become [1, H, W, O]
        given = np.ascontiguousarray(given.transpose(1, 2, 3, 0))
    stored_name = f"{name}/stored" if is_depthwise else _name(operation, "weights/stored")
    info = _weights_info(given.shape, taken, axis=3 if is_depthwise else 0)
    inputs = [image, network.add_constant(given, info, name=network.unique_name(stored_name))]
    if bias is not None:
        steps = network.unique_name(f"{name}/stored")
        inputs.append(network.add_constant(bias, name=steps))
    kind = DepthwiseConvolution2dDescriptor if is_depthwise else Convolution2dDescriptor
    layer_type = "DepthwiseConvolution2d" if is_depthwise else "Convolution2d"
    descriptor = kind(**window.parameters())
    return network.add(layer_type, inputs, descriptor, name=name, outputs=[made]).output


def _is_usual(bias: NDArray[Any], weights: NDArray[Any], image: Value, taken: Quantization) -> bool:
    """Return whether floats would not change a bias."""
    steps = [image.info.scale * each for each in (min(taken[1]), max(taken[1]))]
    return (
        bias.dtype == np.int32
        and bias.shape == weights.shape[:1]
        and all(_USUAL[0] <= each <= _USUAL[1] for each in steps)
        and bool(bias.min() >= -_MOST_STEPS and bias.max() <= _MOST_STEPS)
    )


def _weights_info(shape: tuple[int, ...], taken: Quantization, axis: int) -> TensorInfo:
    data_type, scales, points = taken
    if len(scales) == 1:
        return TensorInfo(shape, data_type, scales, points)
    if data_type is DataType.QASYMM_S8 and not any(points):
        data_type = DataType.QSYMM_S8
    return TensorInfo(shape, data_type, scales, points, axis)


def _binary(function: BinaryOperation) -> Callable[[Operation], Value | None]:
    descriptor = ElementwiseBinaryDescriptor(operation=function)

    def add(operation: Operation) -> Value | None:
        first, second, made = (
            _operand(operation, 0, "a"),
            _operand(operation, 3, "b"),
            _output(operation, 6),
        )
        if first is None or second is None or made is None:
            return None
        if first.constant is not None and second.constant is not None:
            return None  # it is computed once
        name = _name(operation, "made")
        return operation.network.add(
            "ElementwiseBinary", [first, second], descriptor, name=name, outputs=[made]
        ).output

    return add


def _softmax(operation: Operation) -> Value | None:
    """Add a Softmax along one axis."""
    given, made = _stored(operation, 0), _output(operation, 3)
    if given is None or made is None or operation.integer("opset", 13) < 13:
        return None
    axis = operation.axis(operation.integer("axis"), len(operation.shape()))
    return _add(operation, "Softmax", [given], "made", made, axis=axis)


def _global_average_pool(operation: Operation) -> Value | None:
    """Add the mean of all axes behind the channels."""
    image, made = _stored(operation, 0), _output(operation, 3)
    if image is None or made is None or operation.integer("channels_last"):
        return None
    axes = tuple(range(2, len(operation.shape())))
    return (
        _add(operation, "Mean", [image], "made", made, axis=axes, keep_dims=True) if axes else None
    )


def _gemm(operation: Operation) -> Value | None:
    """Add a product and a sum of floats, with constants."""
    rows, taken, made = _stored(operation, 0), _quantization(operation, 4), _output(operation, 7)
    given, steps = _given(operation, 3), _given(operation, 6)
    if rows is None or taken is None or made is None or given is None or steps is None:
        return None
    if given.dtype != taken[0].numpy_dtype or len(taken[1]) != 1 or operation.real("alpha") != 1:
        return None
    moved = operation.flag("transA"), operation.flag("transB")
    left, right = operation.shape()[:: -1 if moved[0] else 1], given.shape[:: -1 if moved[1] else 1]
    if len(left) != 2 or len(right) != 2 or left[1] != right[0]:
        return None
    if steps.dtype != np.int32 or steps.shape != right[1:]:
        return None
    network = operation.network
    real = _add(operation, "Dequantize", [rows], "a", DataType.FLOAT32)
    with np.errstate(all="ignore"):  # as where the layers are computed
        scale = np.asarray(operation.known(1) * operation.known(4))
        bias = steps.astype(np.float32) * scale
    weights = dequantize(given, TensorInfo(given.shape, *taken))
    product = _add(
        operation,
        "BatchMatMul",
        [real, network.add_constant(weights, name=_name(operation, "b"))],
        "made/product",
        transpose_x=moved[0],
        transpose_y=moved[1],
    )
    addend = network.add_constant(bias, name=_name(operation, "c"))
    total = _add(
        operation, "ElementwiseBinary", [product, addend], "made", operation=BinaryOperation.ADD
    )
    return _add(operation, "Quantize", [total], "", made)


def _add(
    operation: Operation,
    kind: str,
    inputs: Sequence[Value],
    part: str,
    made: TensorInfo | DataType | None = None,
    /,
    **parameters: Any,
) -> Value:
    """Add a layer of one output, with its definition's name."""
    descriptor = LAYERS[kind].descriptor(**parameters)
    name = _name(operation, part)
    return operation.network.add(kind, inputs, descriptor, name=name, outputs=[made]).output


def _stored(operation: Operation, index: int) -> Value | None:
    """Return a computed input, if it is quantized as the node states."""
    value = operation.graph.known.get(operation.inputs[index])
    said = _quantization(operation, index + 1)
    if value is None or said is None or value.constant is not None or not value.info.is_static:
        return None
    info = value.info
    is_same = info.is_quantized and (info.scales, info.zero_points, info.axis) == (*said[1:], None)
    return value if is_same else None


def _operand(operation: Operation, index: int, part: str) -> Value | None:
    """Return an input, if it is quantized as the node states.

    A constant gets a layer.
    """
    data = _given(operation, index)
    if data is None:
        return _stored(operation, index)
    said = _quantization(operation, index + 1)
    if said is None or len(said[1]) != 1 or data.dtype != said[0].numpy_dtype:
        return None
    name = _name(operation, f"{part}/stored")
    return operation.network.add_constant(data, TensorInfo(data.shape, *said), name=name)


def _given(operation: Operation, index: int) -> NDArray[Any] | None:
    """Return a constant's data, unless it is quantized already."""
    known = (
        operation.graph.known.get(operation.inputs[index]) if operation.has_input(index) else None
    )
    return None if known is not None and known.info.is_quantized else operation.constant(index)


def _output(operation: Operation, index: int) -> TensorInfo | None:
    """Return the description of the node's output."""
    said = _quantization(operation, index)
    return None if said is None or len(said[1]) != 1 else TensorInfo(None, *said)


def _quantization(operation: Operation, index: int) -> Quantization | None:
    """Return the quantization that a scale and its zero point describe.

    They are read for what makes a value, and for all that read it.
    """
    names, known = operation.inputs[index : index + 2], operation.graph.quantizations
    if names not in known:
        known[names] = _said(operation, index)
    return known[names]


def _said(operation: Operation, index: int) -> Quantization | None:
    scale, point = operation.constant(index), operation.constant(index + 1)
    if scale is None or point is None or scale.dtype != np.float32:
        return None
    stored = _STORED.get(point.dtype)
    scales, points = tuple(scale.reshape(-1).tolist()), tuple(point.reshape(-1).tolist())
    if scale.ndim > 1 or scale.shape != point.shape or stored is None:
        return None
    if not scales or not all(0 < each < np.inf for each in scales):
        return None
    return stored, scales, points


def _name(operation: Operation, part: str) -> str:
    """Return the name of a layer in the operator's definition."""
    output = operation.outputs[0]
    return operation.graph.unique_name(f"{output}/{part}" if part else output)


_LAYERS: dict[tuple[str, str], Callable[[Operation], Value | None]] = {
    ("", "QLinearConv"): _convolution,
    (MICROSOFT, "QLinearConv"): _convolution,
    (MICROSOFT, "QLinearAdd"): _binary(BinaryOperation.ADD),
    (MICROSOFT, "QLinearMul"): _binary(BinaryOperation.MUL),
    (MICROSOFT, "QLinearSoftmax"): _softmax,
    (MICROSOFT, "QLinearGlobalAveragePool"): _global_average_pool,
    (MICROSOFT, "QGemm"): _gemm,
}
