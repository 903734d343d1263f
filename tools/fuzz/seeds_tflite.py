# SPDX-License-Identifier: MIT
"""Small TensorFlow Lite files for the fuzzer, and changes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np
import tflite  # type: ignore[import-untyped]  # has no annotations
from flatbuffers import flexbuffers  # type: ignore[import-untyped]  # has no annotations

from armnn_parser_tflite.schema import constants
from tools.fuzz.flat_mutants import mutate
from tools.fuzz.flat_writer import Table, finish, i8, i32, reals, table, u8, u32, u64

__all__ = ["COMPANIONS", "mutate", "seeds"]

COMPANIONS: Mapping[str, bytes] = {"weights.bin": np.ones(18, np.float32).tobytes()}
"""Files beside the model."""

_OPTIONS = tflite.BuiltinOptions
_FLOAT32, _INT32, _BOOL, _INT8, _RESOURCE = 0, 2, 6, 9, 13
_SHAPES = {"image": (1, 4, 4, 2), "matrix": (2, 8), "list": (2,), "scalar": ()}


def seeds() -> Mapping[str, bytes]:
    """Return the files by name.

    Some are made by hand, and there is one for each builtin operator.
    """
    found = {
        "quantized": _quantized(),
        "sparse": _sparse(),
        "external": _external(),
        "loop": _loop(),
        "variables": _variables(),
        "detection": _detection(),
    }
    for number, name in sorted(constants(tflite.BuiltinOperator).items()):
        for shape in ("image", "matrix"):
            found[f"{name.lower()}_{shape}"] = _any_operator(number, shape)
    return found


def _model(
    codes: Sequence[Table],
    subgraphs: Sequence[Table],
    data: Sequence[bytes] = (),
    **rest: object,
) -> bytes:
    """Return a file with ``data`` behind the empty buffer 0."""
    buffers = [table(), *(table({0: content}) for content in data)]
    fields = {0: u32(3), 1: [*codes], 2: [*subgraphs], 3: "made by a fuzzer", 4: buffers}
    signature = table({0: [table({0: "in", 1: u32(0)})], 1: [], 2: "serve", 4: u32(0)})
    return finish(table({**fields, 7: [signature], **{int(key[1:]): rest[key] for key in rest}}))


def _code(number: int, version: int = 1, custom: str = "") -> Table:
    fields = {0: i8(min(number, 127)), 2: i32(version), 3: i32(number)}
    return table(fields | ({1: custom} if custom else {}))


def _tensor(shape: Sequence[int], kind: int = _FLOAT32, buffer: int = 0, **rest: object) -> Table:
    fields = {0: np.array(shape, np.int32), 1: i8(kind), 2: u32(buffer), 3: "t"}
    return table({**fields, **{int(key[1:]): rest[key] for key in rest}})


def _steps(scales: Sequence[float], zero_point: int = 0, axis: int = 0) -> Table:
    points = np.full(len(scales), zero_point, np.int64)
    return table({2: reals(scales), 3: points, 6: i32(axis)})


def _subgraph(
    tensors: Sequence[Table],
    operators: Sequence[Table],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> Table:
    ends = {1: np.array(inputs, np.int32), 2: np.array(outputs, np.int32)}
    return table({0: [*tensors], **ends, 3: [*operators], 4: "main"})


def _operator(
    code: int,
    inputs: Sequence[int],
    outputs: Sequence[int],
    kind: int = 0,
    options: Table | None = None,
    **rest: object,
) -> Table:
    ends = {1: np.array(inputs, np.int32), 2: np.array(outputs, np.int32)}
    chosen = {} if options is None else {3: u8(kind), 4: options}
    return table({0: u32(code), **ends, **chosen, **{int(key[1:]): rest[key] for key in rest}})


def _any_operator(number: int, shape: str) -> bytes:
    """Return an operator with common inputs.

    They are an image or matrix, a list of integers, weights and a scalar.
    """
    weights = np.ones((2, 2, 2, 2) if shape == "image" else (3, 8), np.float32)
    tensors = [
        _tensor(_SHAPES[shape]),
        _tensor((2,), _INT32, 1),
        _tensor(weights.shape, _FLOAT32, 2),
        _tensor((), _INT32, 3),
        _tensor(_SHAPES[shape]),
    ]
    data = [np.array([1, 0], np.int32).tobytes(), weights.tobytes(), b"\1\0\0\0"]
    orders = ([0, 1, 2, 3], [0, 2], [0, 1], [0, 0], [0, 3], [0])
    operators = [_operator(0, order, [4]) for order in orders]
    graphs = [_subgraph(tensors, [one], [0], [4]) for one in operators]
    chosen = number % len(graphs)
    return _model([_code(number)], [graphs[chosen], *graphs[:2]], data)


def _quantized() -> bytes:
    """Return convolution, pooling and matrix product on 8-bit integers."""
    rng = np.random.default_rng(0)
    kernel = rng.integers(-128, 128, (3, 2, 2, 2)).astype(np.int8)
    matrix = rng.integers(-128, 128, (5, 12)).astype(np.int8)
    bias = np.arange(3, dtype=np.int32)
    small = _steps([0.5], 3)
    tensors = [
        _tensor((1, 4, 4, 2), _INT8, 0, _4=small, _7=np.array([-1, 4, 4, 2], np.int32)),
        _tensor(kernel.shape, _INT8, 1, _4=_steps([0.1, 0.2, 0.3])),
        _tensor((3,), _INT32, 2, _4=_steps([0.05, 0.1, 0.15])),
        _tensor((1, 4, 4, 3), _INT8, 0, _4=small),
        _tensor((1, 2, 2, 3), _INT8, 0, _4=small),
        _tensor(matrix.shape, _INT8, 3, _4=_steps([0.1])),
        _tensor((1, 5), _INT8, 0, _4=small),
        _tensor((1, 5)),
    ]
    convolution = table({1: i32(1), 2: i32(1), 3: i8(1), 4: i32(1), 5: i32(1)})
    pooling = table({0: i8(1), 1: i32(2), 2: i32(2), 3: i32(2), 4: i32(2)})
    operators = [
        _operator(0, [0, 1, 2], [3], _OPTIONS.Conv2DOptions, convolution),
        _operator(1, [3], [4], _OPTIONS.Pool2DOptions, pooling),
        _operator(2, [4, 5, -1], [6], _OPTIONS.FullyConnectedOptions, table()),
        _operator(3, [6], [7]),
    ]
    codes = [_code(number) for number in (3, 1, 9, 6)]
    data = [kernel.tobytes(), bias.tobytes(), matrix.tobytes()]
    return _model(codes, [_subgraph(tensors, operators, [0], [7])], data)


def _sparse() -> bytes:
    """Return the sum of an input and a sparse matrix."""

    def vector(values: Sequence[int]) -> Table:
        return table({0: np.array(values, np.int32)})

    levels = [
        table({0: i8(0), 1: i32(4)}),
        table({0: i8(1), 2: u8(1), 3: vector([0, 1, 1, 2, 3]), 4: u8(1), 5: vector([1, 0, 3])}),
    ]
    sparsity = table({0: np.array([0, 1], np.int32), 1: np.zeros(0, np.int32), 2: levels})
    tensors = [_tensor((4, 4)), _tensor((4, 4), _FLOAT32, 1, _6=sparsity), _tensor((4, 4))]
    operators = [_operator(0, [0, 1], [2])]
    data = [np.ones(3, np.float32).tobytes()]
    return _model([_code(0)], [_subgraph(tensors, operators, [0], [2])], data)


def _external() -> bytes:
    """Return the sum of an input and external weights.

    They are in a file beside the model.
    """
    tensors = [_tensor((18,)), _tensor((18,), _10=u32(7)), _tensor((18,))]
    group = table({0: "weights.bin"})
    place = table({0: u32(7), 1: u32(0), 2: u64(0), 3: u64(72), 4: "unpacked"})
    graph = _subgraph(tensors, [_operator(0, [0, 1], [2])], [0], [2])
    return _model([_code(0)], [graph], _8=[group], _9=[place])


def _loop() -> bytes:
    """Return a WHILE that counts to three around an IF."""
    count, value, flag = _tensor((), _INT32), _tensor((2,)), _tensor((), _BOOL)
    limit, one = _tensor((), _INT32, 1), _tensor((), _INT32, 2)
    main = _subgraph(
        [_tensor((), _INT32, 3), value, count, value],
        [_operator(0, [0, 1], [2, 3], _OPTIONS.WhileOptions, table({0: i32(1), 1: i32(2)}))],
        [1],
        [2, 3],
    )
    condition = _subgraph([count, value, limit, flag], [_operator(1, [0, 2], [3])], [0, 1], [3])
    body = _subgraph(
        [count, value, one, count, limit, flag, value],
        [
            _operator(2, [0, 2], [3]),
            _operator(1, [0, 4], [5]),
            _operator(3, [5, 1], [6], _OPTIONS.IfOptions, table({0: i32(3), 1: i32(3)})),
        ],
        [0, 1],
        [3, 6],
    )
    negative = _subgraph([value, value], [_operator(4, [0], [1])], [0], [1])
    numbers = [struct.pack("<i", number) for number in (3, 1, 0)]
    codes = [_code(number) for number in (119, 58, 0, 118, 59)]
    return _model(codes, [main, condition, body, negative], numbers)


def _variables() -> bytes:
    """Return a sum that is kept from run to run."""
    handle, value = _tensor((), _RESOURCE), _tensor((2,))
    name = table({1: "sum"})
    var = _operator(0, [], [0], 111, name)
    main = _subgraph(
        [handle, value, value, value],
        [
            _operator(3, [], [], _OPTIONS.CallOnceOptions, table({0: i32(1)})),
            var,
            _operator(1, [0], [1]),
            _operator(4, [1, 2], [3]),
            _operator(2, [0, 3], []),
        ],
        [2],
        [3],
    )
    first = _subgraph([handle, _tensor((2,), _FLOAT32, 1)], [var, _operator(2, [0, 1], [])], [], [])
    codes = [_code(number) for number in (142, 143, 144, 129, 0)]
    return _model(codes, [main, first], [np.ones(2, np.float32).tobytes()])


def _detection() -> bytes:
    """Return the custom operators with options of both kinds."""
    settings = flexbuffers.Builder()
    with settings.Map():
        for name in ("max_detections", "max_classes_per_detection", "num_classes"):
            settings.Int(name, 1)
        for name in ("nms_score_threshold", "nms_iou_threshold"):
            settings.Float(name, 0.5)
        for name in ("y_scale", "x_scale", "h_scale", "w_scale"):
            settings.Float(name, 5.0)
    options = bytes(settings.Finish())
    tensors = [
        _tensor((1, 4, 4, 2)),
        _tensor((3, 2, 2, 2), _FLOAT32, 1),
        _tensor((1, 8, 8, 3)),
        _tensor((1, 2, 4)),
        _tensor((1, 2, 2)),
        _tensor((2, 4), _FLOAT32, 2),
        *(_tensor((1, 4, 4)) for _ in range(4)),
    ]
    operators = [
        _operator(0, [0, 1], [2], _5=np.frombuffer(struct.pack("<3i", 1, 2, 2), np.uint8)),
        _operator(1, [3, 4, 5], [6, 7, 8, 9], _5=np.frombuffer(options, np.uint8)),
    ]
    codes = [
        _code(32, custom="Convolution2DTransposeBias"),
        _code(32, custom="TFLite_Detection_PostProcess"),
    ]
    data = [np.ones(24, np.float32).tobytes(), np.ones(8, np.float32).tobytes()]
    graph = _subgraph(tensors, operators, [0, 3, 4], [2, 6, 7, 8, 9])
    return _model(codes, [graph], data)
