# SPDX-License-Identifier: MIT
"""Models of a few operators, and LiteRT's reference results."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before LiteRT is imported: it is talkative

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import NDArray

import armnn
from armnn_parser_tflite.parser import parse

Array = NDArray[Any]

TYPES = {
    "float32": 0,
    "float16": 1,
    "int32": 2,
    "uint8": 3,
    "int64": 4,
    "bool": 6,
    "complex64": 8,
    "int16": 7,
    "int8": 9,
    "float64": 10,
    "resource": 13,
}


@dataclass
class Tensor:
    """A tensor of a model.

    Attributes:
        type: The name of its element type.
        shape: Its dimensions.
        data: Its data, if it is constant.
        scale: Its scale, or its scales.
        zero_point: Its zero point.
        axis: The axis of several scales.
        signature: Its dimensions, -1 where they are not known.
    """

    type: str = "float32"
    shape: Sequence[int] = ()
    data: Array | None = None
    scale: float | Sequence[float] | None = None
    zero_point: int = 0
    axis: int = 0
    signature: Sequence[int] | None = None
    is_variable: bool = False


def constant(data: Any, **rest: Any) -> Tensor:
    """Return a constant tensor."""
    array = np.asarray(data)
    return Tensor(array.dtype.name, array.shape, array, **rest)


@dataclass
class Op:
    """An operator: name, inputs, outputs and options.

    Inputs and outputs are names; options are by field.
    """

    name: str
    inputs: Sequence[str | None]
    outputs: Sequence[str] = ("y",)
    options: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    custom_options: bytes | None = None
    kind: str = ""


OPTION_KINDS = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "CONV_3D": "Conv3DOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "SUM": "ReducerOptions",
    "MEAN": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "LSTM": "LSTMOptions",
    "SVDF": "SVDFOptions",
    "RNN": "RNNOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNNOptions",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTMOptions",
}


@dataclass
class Part:
    """A subgraph.

    Attributes:
        ops: Its operators.
        tensors: Its tensors by name.
        inputs: The names of its inputs.
        outputs: The names of its outputs.
    """

    ops: Sequence[Op]
    tensors: Mapping[str, Tensor]
    inputs: Sequence[str] = ("x",)
    outputs: Sequence[str] = ("y",)


def build(
    ops: Sequence[Op] | Op,
    tensors: Mapping[str, Tensor],
    inputs: Sequence[str] = ("x",),
    outputs: Sequence[str] = ("y",),
    *,
    more: Sequence[Part] = (),
    edit: Callable[[Any], None] | None = None,
) -> bytes:
    """Return a model.

    Args:
        ops: Its operators.
        tensors: Its tensors by name.
        inputs: The names of its inputs.
        outputs: The names of its outputs.
        more: Its other subgraphs.
        edit: Changes the model before it is written.
    """
    main = Part([ops] if isinstance(ops, Op) else ops, tensors, inputs, outputs)
    model = schema.ModelT()
    model.version, model.description = 3, "made by a test"
    model.buffers, model.operatorCodes = [schema.BufferT()], []
    model.signatureDefs, model.metadata = [], []
    names = ["main", *(f"part_{at}" for at in range(1, len(more) + 1))]
    model.subgraphs = [
        _subgraph(model, name, part) for name, part in zip(names, (main, *more), strict=True)
    ]
    if edit is not None:
        edit(model)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _subgraph(model: Any, name: str, part: Part) -> Any:
    made, places = schema.SubGraphT(), {name: at for at, name in enumerate(part.tensors)}
    made.name = name
    made.tensors = [_tensor(model, at, tensor) for at, tensor in part.tensors.items()]
    made.inputs = [places[at] for at in part.inputs]
    made.outputs = [places[at] for at in part.outputs]
    made.operators = [_operator(model, op, places) for op in part.ops]
    return made


def _tensor(model: Any, name: str, tensor: Tensor) -> Any:
    made = schema.TensorT()
    made.name, made.shape, made.type = name, list(tensor.shape), TYPES[tensor.type]
    made.hasRank, made.isVariable = True, tensor.is_variable
    made.buffer = 0
    if tensor.signature is not None:
        made.shapeSignature = list(tensor.signature)
    if tensor.data is not None:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
        made.buffer = len(model.buffers)
        model.buffers.append(buffer)
    if tensor.scale is not None:
        scales = [tensor.scale] if isinstance(tensor.scale, float) else list(tensor.scale)
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale = scales
        made.quantization.zeroPoint = [tensor.zero_point] * len(scales)
        made.quantization.quantizedDimension = tensor.axis
    return made


def _operator(model: Any, op: Op, places: Mapping[str, int]) -> Any:
    code = schema.OperatorCodeT()
    builtin = getattr(schema.BuiltinOperator, op.name, schema.BuiltinOperator.CUSTOM)
    code.builtinCode, code.deprecatedBuiltinCode = builtin, min(builtin, 127)
    code.version = op.version
    if builtin == schema.BuiltinOperator.CUSTOM:
        code.customCode = op.name
    model.operatorCodes.append(code)
    made = schema.OperatorT()
    made.opcodeIndex = len(model.operatorCodes) - 1
    made.inputs = [-1 if name is None else places[name] for name in op.inputs]
    made.outputs = [places[name] for name in op.outputs]
    if op.custom_options is not None:
        made.customOptions = np.frombuffer(op.custom_options, np.uint8)
    kind = op.kind or OPTION_KINDS.get(op.name) or _camel(op.name) + "Options"
    if hasattr(schema, kind + "T"):
        made.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        made.builtinOptions = getattr(schema, kind + "T")()
        for name, value in op.options.items():
            assert hasattr(made.builtinOptions, name), name
            setattr(made.builtinOptions, name, value)
    return made


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def run(model: bytes, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Parse a model and run it on CpuRef."""
    network = parse(model)
    with armnn.Runtime() as runtime:
        loaded = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
        return dict(loaded.run(feeds))


def run_litert(model: bytes, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Run a model on LiteRT's reference kernels."""
    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    for given in interpreter.get_input_details():
        interpreter.resize_tensor_input(given["index"], feeds[given["name"]].shape)
    interpreter.allocate_tensors()
    for given in interpreter.get_input_details():
        interpreter.set_tensor(given["index"], feeds[given["name"]])
    interpreter.invoke()
    return {
        made["name"]: interpreter.get_tensor(made["index"])
        for made in interpreter.get_output_details()
    }


def check(
    ops: Sequence[Op] | Op,
    tensors: Mapping[str, Tensor],
    feeds: Mapping[str, Array],
    outputs: Sequence[str] = ("y",),
    *,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    steps: int = 1,
) -> dict[str, Array]:
    """Compare a model on CpuRef with LiteRT's reference kernels.

    Args:
        ops: The operators.
        tensors: The tensors that are neither inputs nor plain outputs of 32-bit numbers.
        feeds: The inputs.
        outputs: The names of the outputs.
        rtol: The relative difference that is allowed.
        atol: The absolute difference that is allowed.
        steps: How many steps quantized values may differ by.

    Returns:
        What CpuRef computed.
    """
    given = {
        name: tensors.get(name, Tensor(array.dtype.name, array.shape))
        for name, array in feeds.items()
    }
    made = {name: tensors.get(name, Tensor()) for name in outputs}
    model = build(ops, {**given, **tensors, **made}, list(feeds), outputs)
    expected = run_litert(model, feeds)
    results = run(model, feeds)
    assert list(results) == list(outputs)
    for name in outputs:
        ours, theirs = results[name], expected[name]
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        if made[name].scale is not None:
            assert np.abs(ours.astype(int) - theirs.astype(int)).max(initial=0) <= steps
        else:
            np.testing.assert_allclose(ours, theirs, rtol, atol)
    return results


@pytest.fixture
def lite() -> SimpleNamespace:
    """Return what makes models and runs them."""
    return SimpleNamespace(
        Op=Op,
        Part=Part,
        Tensor=Tensor,
        constant=constant,
        build=build,
        check=check,
        run=run,
        run_litert=run_litert,
        schema=schema,
    )


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded source of numbers."""
    return np.random.default_rng(7)
