# SPDX-License-Identifier: MIT
"""Changes TensorFlow Lite models for quantizers and for LiteRT."""

from __future__ import annotations

import importlib
from typing import Any

import flatbuffers  # type: ignore[import-untyped]  # it has no stubs
import numpy as np


def _opened(source: bytes) -> tuple[Any, Any]:
    """Return the schema's module and the model.

    All data of the model is within its tables.
    """
    schema = importlib.import_module("ai_edge_litert.schema_py_generated")
    model = schema.ModelT.InitFromPackedBuf(source, 0)
    for buffer in model.buffers:
        if buffer.offset > 1:  # newer files have data behind the tables
            buffer.data = np.frombuffer(source, np.uint8, buffer.size, buffer.offset)
            buffer.offset = buffer.size = 0
    return schema, model


def _packed(model: Any) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def plain_weights(source: bytes) -> bytes:
    """Return the model with float16 constants dequantized, and a signature.

    Quantizers want plain weights, and a signature by whose name they feed the model.
    """
    schema, model = _opened(source)
    for subgraph in model.subgraphs:
        subgraph.operators = [
            operator
            for operator in subgraph.operators
            if not _was_folded(schema, model, subgraph, operator)
        ]
        _drop_unused_tensors(subgraph)
    _drop_unused_data(model)
    model.signatureDefs = [_signature(schema, model.subgraphs[0])]
    return _packed(model)


def _was_folded(schema: Any, model: Any, subgraph: Any, operator: Any) -> bool:
    """Store a DEQUANTIZE of a constant as its output's data.

    Return whether that was done.
    """
    code = model.operatorCodes[operator.opcodeIndex]
    if max(code.builtinCode, code.deprecatedBuiltinCode) != schema.BuiltinOperator.DEQUANTIZE:
        return False
    given = subgraph.tensors[operator.inputs[0]]
    data = model.buffers[given.buffer].data
    if given.type != schema.TensorType.FLOAT16 or data is None or len(data) == 0:
        return False
    halves = np.frombuffer(np.asarray(data, np.uint8).tobytes(), np.float16)
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(halves.astype(np.float32).tobytes(), np.uint8)
    model.buffers.append(buffer)
    subgraph.tensors[operator.outputs[0]].buffer = len(model.buffers) - 1
    return True


def _drop_unused_tensors(subgraph: Any) -> None:
    used = {*map(int, subgraph.inputs), *map(int, subgraph.outputs)}
    for operator in subgraph.operators:
        used |= {*map(int, operator.inputs), *map(int, operator.outputs)}
    kept = sorted(index for index in used if index >= 0)
    places = {index: place for place, index in enumerate(kept)} | {-1: -1}
    subgraph.tensors = [subgraph.tensors[index] for index in kept]
    for holder in (subgraph, *subgraph.operators):
        holder.inputs = [places[int(index)] for index in holder.inputs]
        holder.outputs = [places[int(index)] for index in holder.outputs]


def _drop_unused_data(model: Any) -> None:
    used = {tensor.buffer for subgraph in model.subgraphs for tensor in subgraph.tensors}
    used |= {entry.buffer for entry in model.metadata or []}
    for index, buffer in enumerate(model.buffers):
        if index not in used:
            buffer.data = None


def _signature(schema: Any, subgraph: Any) -> Any:
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = b"serving_default", 0
    signature.inputs = [_entry(schema, subgraph, index) for index in subgraph.inputs]
    signature.outputs = [_entry(schema, subgraph, index) for index in subgraph.outputs]
    return signature


def _entry(schema: Any, subgraph: Any, index: int) -> Any:
    entry = schema.TensorMapT()
    entry.name, entry.tensorIndex = subgraph.tensors[index].name, index
    return entry


def with_builtin_transposed_convolutions(source: bytes) -> bytes:
    """Return the model with TRANSPOSE_CONV for MediaPipe's operator.

    LiteRT does not know the latter. Both have the same options in the same order, the builtin one
    as a table.
    """
    schema, model = _opened(source)
    for code in model.operatorCodes:
        if code.customCode == b"Convolution2DTransposeBias":
            code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.TRANSPOSE_CONV
            code.version, code.customCode = 3, None
    for subgraph in model.subgraphs:
        for operator in subgraph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            if code.builtinCode == schema.BuiltinOperator.TRANSPOSE_CONV:
                _make_builtin(schema, model, subgraph, operator)
    return _packed(model)


def _make_builtin(schema: Any, model: Any, subgraph: Any, operator: Any) -> None:
    padding, stride_width, stride_height = np.asarray(operator.customOptions, np.uint8).view("<i4")
    options = schema.TransposeConvOptionsT()
    options.padding = int(padding) - 1
    options.strideW, options.strideH = int(stride_width), int(stride_height)
    operator.builtinOptions = options
    operator.builtinOptionsType = schema.BuiltinOptions.TransposeConvOptions
    operator.customOptions = None
    shape = np.array(subgraph.tensors[operator.outputs[0]].shape, np.int32)
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(shape.tobytes(), np.uint8)
    model.buffers.append(buffer)
    tensor = schema.TensorT()
    tensor.name, tensor.shape = b"output_shape", [shape.size]
    tensor.type, tensor.buffer = schema.TensorType.INT32, len(model.buffers) - 1
    subgraph.tensors.append(tensor)
    data, weights, bias = operator.inputs
    operator.inputs = [len(subgraph.tensors) - 1, weights, data, bias]


def with_real_weights(source: bytes) -> bytes:
    """Return the model with 8-bit weights made float32.

    They are those under floating point activations. LiteRT rounds the activations of such operators
    to 8 bits while it runs; real weights keep it from that, so that it computes what the model was
    made of.
    """
    schema, model = _opened(source)
    for subgraph in model.subgraphs:
        for operator in subgraph.operators:
            tensors = [subgraph.tensors[index] for index in operator.inputs if index >= 0]
            if tensors and tensors[0].type == schema.TensorType.FLOAT32:
                for tensor in tensors[1:]:
                    _make_real(schema, model, tensor)
    return _packed(model)


def _make_real(schema: Any, model: Any, tensor: Any) -> None:
    data = model.buffers[tensor.buffer].data
    if tensor.type != schema.TensorType.INT8 or data is None or tensor.quantization is None:
        return
    stored = np.asarray(data, np.uint8).view(np.int8).reshape(tensor.shape).astype(np.float32)
    scales = np.asarray(tensor.quantization.scale, np.float32)
    places = [1] * stored.ndim
    if scales.size > 1:
        places[tensor.quantization.quantizedDimension] = scales.size
    real = stored * scales.reshape(places)
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(real.tobytes(), np.uint8)
    model.buffers.append(buffer)
    tensor.buffer, tensor.type = len(model.buffers) - 1, schema.TensorType.FLOAT32
    tensor.quantization = None
