# SPDX-License-Identifier: MIT
"""Small ONNX files for the fuzzer, and decodable changes."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]  # has no annotations
from google.protobuf.message import (  # type: ignore[import-untyped]  # has no annotations
    DecodeError,
    EncodeError,
    Message,
)
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

COMPANIONS: Mapping[str, bytes] = {"weights.bin": np.ones(18, np.float32).tobytes()}
"""Files beside the model."""

_NODE_CASES_EVERY = 9
"""One of so many node tests of onnx is a seed."""

_INTEGERS = (-(2**63), -(2**31), -129, -2, -1, 0, 1, 2, 3, 7, 28, 255, 2**20, 2**31, 2**40, 2**62)
_REALS = (float("nan"), float("inf"), -1.0, 0.0, 1e-30, 0.5, 1e30)


def seeds() -> Mapping[str, bytes]:
    """Return the files by name."""
    found = {"handmade": _handmade(), "external": _handmade(external=True), "control": _control()}
    return found | dict(node_tests()[::_NODE_CASES_EVERY])


def node_tests() -> list[tuple[str, bytes]]:
    """Return ONNX's node tests by name, sorted."""
    # Their data is not wanted; that of pooling takes most of the seconds.
    pooling = patch("onnx.reference.ops.op_pool_common.pool", _pooled)
    with warnings.catch_warnings(), pooling:
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        np.random.seed(0)
        cases = sorted(load_model_tests(kind="node"), key=lambda case: str(case.name))
    named = [(str(case.name), case.model) for case in cases if case.model is not None]
    return [(name, model.SerializeToString()) for name, model in named]


def _pooled(
    padded: NDArray[Any],
    shape: Sequence[int],
    _kernel: object,
    _strides: object,
    made: Sequence[int],
    *_: object,
    **_more: object,
) -> NDArray[Any]:
    return np.zeros([*shape[:2], *made], padded.dtype)


def mutate(source: random.Random, data: bytes) -> bytes:
    """Return a file with one to three fields changed."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return data
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        _change(source, source.choice(_messages(model)))
    try:
        return bytes(model.SerializeToString())
    except (EncodeError, ValueError):
        return data


def _messages(message: Message) -> list[Message]:
    """Return a message and all messages in it."""
    found = [message]
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                found += _messages(inner)
    return found


def _change(source: random.Random, message: Message) -> None:
    fields = [*message.DESCRIPTOR.fields] if source.random() < 0.2 else _set_fields(message)
    if not fields:
        return
    field = source.choice(fields)
    if source.random() < 0.1:
        message.ClearField(field.name)
        return
    value: Any = getattr(message, field.name)
    if not field.is_repeated:
        if field.type != FieldDescriptor.TYPE_MESSAGE:
            _assign(message, field, _other(source, field, value))
        return
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        _shuffle_messages(source, value)
    elif not len(value) or source.random() < 0.3:
        value.append(_other(source, field, b"" if field.type == FieldDescriptor.TYPE_BYTES else ""))
    else:
        place = source.randrange(len(value))
        if source.random() < 0.2:
            del value[place]
        else:
            value[place] = _other(source, field, value[place])


def _set_fields(message: Message) -> list[FieldDescriptor]:
    return [field for field, _ in message.ListFields()]


def _assign(message: Message, field: FieldDescriptor, value: Any) -> None:
    try:
        setattr(message, field.name, value)
    except ValueError:  # the number is none of an enumeration
        setattr(message, field.name, field.enum_type.values[0].number)


def _other(source: random.Random, field: FieldDescriptor, value: Any) -> Any:
    """Return another value for a field."""
    if field.type == FieldDescriptor.TYPE_STRING:
        names = ["", "x", "y", "é", "/../w", "a" * 300, str(value) + "2", str(value)[:-1]]
        return source.choice([*names, *_OPERATORS])
    if field.type == FieldDescriptor.TYPE_BYTES:
        raw = bytes(value) if value else b""
        return source.choice([b"", raw + b"\0", raw[:-1], raw * 2, b"\xff" * len(raw), b"../x"])
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return source.choice(_REALS)
    chosen = source.choice(_INTEGERS)
    narrow = field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_ENUM)
    if field.type == FieldDescriptor.TYPE_UINT64:
        return chosen % 2**64
    return chosen % 32 if narrow else chosen


_OPERATORS = ("Add", "Cast", "Conv", "Expand", "If", "Loop", "Range", "Reshape", "Slice", "Tile")


def _shuffle_messages(source: random.Random, values: Any) -> None:
    if not len(values):
        values.add()
        return
    place = source.randrange(len(values))
    match source.randrange(3):
        case 0:
            del values[place]
        case 1:
            values.add().CopyFrom(values[place])
        case _:
            values[place].CopyFrom(source.choice(values))


def _handmade(*, external: bool = False) -> bytes:
    """Return a file with attributes, initializers, quantization and function."""
    twice = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 21)],
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("QuantizeLinear", ["c", "scale"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale"], ["d"]),
        helper.make_node("Reshape", ["d", "s"], ["r"]),
        helper.make_node("Twice", ["r"], ["t"], domain="own"),
        helper.make_node("Softmax", ["t"], ["y"], axis=-1),
    ]
    weights = numpy_helper.from_array(np.ones((2, 1, 3, 3), np.float32), "w")
    if external:
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "72")):
            weights.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            weights,
            numpy_helper.from_array(np.array([1, -1]), "s"),
            numpy_helper.from_array(np.array(0.5, np.float32), "scale"),
        ],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, functions=[twice], opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())


def _control() -> bytes:
    """Return a file with a loop in a conditional branch."""
    real = TensorProto.FLOAT
    step = helper.make_graph(
        [
            helper.make_node("Add", ["v", "x"], ["v_out"]),
            helper.make_node("Identity", ["go"], ["go_out"]),
        ],
        "step",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", real, [2]),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v_out", real, [2]),
        ],
    )
    branches = {
        "then_branch": [helper.make_node("Loop", ["count", "", "x"], ["then"], body=step)],
        "else_branch": [helper.make_node("Neg", ["x"], ["else"])],
    }
    graphs = {
        name: helper.make_graph(
            nodes, name, [], [helper.make_tensor_value_info(name[:4], real, [2])]
        )
        for name, nodes in branches.items()
    }
    graph = helper.make_graph(
        [helper.make_node("If", ["condition"], ["y"], **graphs)],
        "graph",
        [helper.make_tensor_value_info("x", real, [2])],
        [helper.make_tensor_value_info("y", real, None)],
        [
            numpy_helper.from_array(np.array(True), "condition"),
            numpy_helper.from_array(np.array(3), "count"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=8)
    return bytes(made.SerializeToString())
