# SPDX-License-Identifier: MIT
"""Operations beyond Arm NN make the shapes the table infers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from armnn.layers import LAYERS, infer_outputs
from armnn.tensor import info_of
from armnn.types import GridPadding, ResizeMethod, SequenceDirection
from armnn_backend_ref.ops import OPS

Array = NDArray[Any]
Case = tuple[list[Array | None], dict[str, Any]]

SIZE = st.integers(0, 4)
COUNT = st.integers(1, 4)
SHAPE = st.lists(SIZE, min_size=1, max_size=4).map(tuple)
MATRICES = st.lists(SIZE, min_size=2, max_size=4).map(tuple)


def floats(*shape: int) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def bytes_of(*shape: int) -> Array:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def axis_of(draw: st.DrawFn, shape: tuple[int, ...]) -> int:
    return draw(st.integers(-len(shape), len(shape) - 1))


@st.composite
def normalized(draw: st.DrawFn) -> Case:
    shape = draw(SHAPE.filter(all))
    axis = axis_of(draw, shape)
    return [floats(*shape), floats(*shape[axis:])], {"axis": axis}


@st.composite
def grouped(draw: st.DrawFn) -> Case:
    groups, members, batch, size = draw(st.tuples(COUNT, COUNT, SIZE, COUNT))
    channels = groups * members
    x = floats(batch, channels, size)
    return [x, floats(channels), floats(channels)], {"num_groups": groups}


@st.composite
def multiplied(draw: st.DrawFn) -> Case:
    batch, rows, inner, columns = draw(st.tuples(SIZE, SIZE, SIZE, SIZE))
    equation = draw(st.sampled_from(["...ij,jk->...ik", "bij,jk", "bij,jk->kb", "bij,jk->"]))
    return [floats(batch, rows, inner), floats(inner, columns)], {"equation": equation}


@st.composite
def multiplied_exactly(draw: st.DrawFn) -> Case:
    batch, rows, inner, columns = draw(st.tuples(SIZE, SIZE, SIZE, SIZE))
    zero, other = draw(st.sampled_from([(None, None), ((), ()), ((rows,), (columns,))]))
    zeros = [None if shape is None else bytes_of(*shape) for shape in (zero, other)]
    return [bytes_of(batch, rows, inner), bytes_of(inner, columns), *zeros], {}


@st.composite
def recurrent(draw: st.DrawFn, gates: int, absent: int) -> Case:
    steps, batch, size, units = draw(st.tuples(SIZE, SIZE, COUNT, COUNT))
    direction, time_major = draw(st.tuples(st.sampled_from(SequenceDirection), st.booleans()))
    ways = 2 if direction is SequenceDirection.BIDIRECTIONAL else 1
    x = floats(steps, batch, size) if time_major else floats(batch, steps, size)
    lengths = np.full(batch, steps) if draw(st.booleans()) else None
    weights = floats(ways, gates * units, size), floats(ways, gates * units, units)
    operands = [x, *weights, None, lengths, *[None] * absent]
    return operands, {"direction": direction, "time_major": time_major}


@st.composite
def chosen(draw: st.DrawFn) -> Case:
    shape = draw(SHAPE)
    axis = axis_of(draw, shape)
    k = draw(st.integers(0, shape[axis]))
    return [floats(*shape)], {"axis": axis, "k": k, "largest": draw(st.booleans())}


@st.composite
def along_axis(draw: st.DrawFn) -> Case:
    shape = draw(SHAPE)
    return [floats(*shape)], {"axis": axis_of(draw, shape)}


@st.composite
def hot(draw: st.DrawFn) -> Case:
    shape = draw(st.lists(SIZE, max_size=3).map(tuple))
    axis, depth = draw(st.tuples(st.integers(-len(shape) - 1, len(shape)), SIZE))
    return [np.zeros(shape, np.int64), floats(2)], {"axis": axis, "depth": depth}


@st.composite
def triangular(draw: st.DrawFn) -> Case:
    return [floats(*draw(MATRICES))], {"k": draw(st.integers(-3, 3)), "upper": draw(st.booleans())}


@st.composite
def by_element(draw: st.DrawFn, with_updates: bool) -> Case:
    shape = draw(SHAPE.filter(all))
    axis = axis_of(draw, shape)
    smaller = [draw(st.integers(0, size)) for size in shape]
    smaller[axis] = draw(SIZE)
    indices = np.zeros(smaller, np.int64)
    updates = [floats(*smaller)] if with_updates else []
    return [floats(*shape), indices, *updates], {"axis": axis}


@st.composite
def compressed(draw: st.DrawFn) -> Case:
    shape = draw(SHAPE)
    axis = axis_of(draw, shape)
    condition = draw(st.lists(st.booleans(), max_size=shape[axis]))
    return [floats(*shape), np.array(condition, np.bool_)], {"axis": axis}


@st.composite
def counted(draw: st.DrawFn) -> Case:
    dtype = draw(st.sampled_from([np.int64, np.float32]))
    start, limit = draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9)))
    delta = draw(st.sampled_from([-3, -1, 1, 2, 5]))
    return [np.array(number, dtype) for number in (start, limit, delta)], {}


@st.composite
def attended(draw: st.DrawFn) -> Case:
    batch, groups, repeats, queries, keys = draw(st.tuples(SIZE, COUNT, COUNT, SIZE, SIZE))
    size, values = draw(st.tuples(SIZE, SIZE))
    query = floats(batch, groups * repeats, queries, size)
    key, value = floats(batch, groups, keys, size), floats(batch, groups, keys, values)
    mask = floats(queries, keys) if draw(st.booleans()) else None
    return [query, key, value, mask], {"causal": draw(st.booleans())}


@st.composite
def rotated(draw: st.DrawFn) -> Case:
    batch, heads, positions, pairs = draw(st.tuples(SIZE, SIZE, SIZE, SIZE))
    x = floats(batch, heads, positions, 2 * pairs + draw(SIZE))
    angles = floats(positions, pairs)
    return [x, angles, angles], {"interleaved": draw(st.booleans())}


@st.composite
def sampled(draw: st.DrawFn) -> Case:
    batch, channels, *sizes = draw(st.tuples(SIZE, SIZE, COUNT, COUNT))
    places = draw(st.tuples(SIZE, SIZE))
    modes = {
        "method": draw(st.sampled_from(ResizeMethod)),
        "padding_mode": draw(st.sampled_from(GridPadding)),
        "align_corners": draw(st.booleans()),
    }
    return [floats(batch, channels, *sizes), floats(batch, *places, 2)], modes


@st.composite
def aligned(draw: st.DrawFn) -> Case:
    batch, channels, height, width, count = draw(st.tuples(COUNT, SIZE, COUNT, COUNT, SIZE))
    operands: list[Array | None] = [
        floats(batch, channels, height, width), floats(count, 4), np.zeros(count, np.int64)
    ]  # fmt: skip
    return operands, {"output_height": draw(COUNT), "output_width": draw(COUNT)}


@st.composite
def resized(draw: st.DrawFn) -> Case:
    width, height = draw(st.tuples(COUNT, COUNT))
    x = floats(draw(SIZE), draw(SIZE), draw(COUNT), draw(COUNT))
    corners = draw(st.booleans())
    size = {"target_width": width, "target_height": height}
    return [x], {**size, "method": ResizeMethod.CUBIC, "align_corners": corners}


@st.composite
def suppressed(draw: st.DrawFn) -> Case:
    batch, classes, boxes, limit = draw(st.tuples(SIZE, SIZE, SIZE, SIZE))
    operands: list[Array | None] = [floats(batch, boxes, 4), floats(batch, classes, boxes)]
    return operands, {"max_output_boxes_per_class": limit, "iou_threshold": 0.5}


@st.composite
def convolved(draw: st.DrawFn) -> Case:
    batch, channels, height, width = draw(st.tuples(SIZE, COUNT, COUNT, COUNT))
    outputs, rows, columns = draw(st.tuples(COUNT, st.integers(1, height), st.integers(1, width)))
    x, weights = (
        bytes_of(batch, channels, height, width),
        bytes_of(outputs, channels, rows, columns),
    )
    return [x, weights, None, bytes_of(outputs)], {"stride_x": draw(COUNT), "pad_top": draw(SIZE)}


@st.composite
def reversed_steps(draw: st.DrawFn) -> Case:
    steps, batch, size = draw(st.tuples(SIZE, SIZE, SIZE))
    return [floats(steps, batch, size), np.full(batch, steps)], {}


@st.composite
def either(draw: st.DrawFn) -> Case:
    rows, columns = draw(st.tuples(SIZE, SIZE))
    return [floats(columns) > 0, floats(rows, 1), floats(rows, columns)], {}


@st.composite
def plain(draw: st.DrawFn) -> Case:
    return [floats(*draw(st.lists(SIZE, max_size=4)))], {}


@st.composite
def squares(draw: st.DrawFn) -> Case:
    size = draw(SIZE)
    return [floats(*draw(st.lists(SIZE, max_size=2)), size, size)], {}


CASES: dict[str, st.SearchStrategy[Case]] = {
    "LayerNormalization": normalized(),
    "RmsNormalization": normalized(),
    "GroupNormalization": grouped(),
    "IsNaN": plain(),
    "IsInf": plain(),
    "Einsum": multiplied(),
    "MatMulInteger": multiplied_exactly(),
    "Rnn": recurrent(1, 1),
    "Gru": recurrent(3, 1),
    "SequenceLstm": recurrent(4, 3),
    "ReverseSequence": reversed_steps(),
    "NonZero": plain(),
    "Where": either(),
    "TopK": chosen(),
    "CumSum": along_axis(),
    "CumProd": along_axis(),
    "OneHot": hot(),
    "Trilu": triangular(),
    "GatherElements": by_element(with_updates=False),
    "ScatterElements": by_element(with_updates=True),
    "Compress": compressed(),
    "Unique": along_axis(),
    "Determinant": squares(),
    "BitCast": plain(),
    "Range": counted(),
    "Attention": attended(),
    "RotaryEmbedding": rotated(),
    "GridSample": sampled(),
    "RoiAlign": aligned(),
    "Resize": resized(),
    "NonMaxSuppression": suppressed(),
    "ConvolutionInteger": convolved(),
    "DynamicQuantize": plain(),
}


def test_every_layer_beyond_arm_nn_has_a_case() -> None:
    beyond = {spec.name for spec in LAYERS.values() if spec.number >= 1000}
    assert beyond <= set(CASES)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_result_has_the_shape_that_is_inferred(name: str, data: st.DataObject) -> None:
    operands, parameters = data.draw(CASES[name])
    spec = LAYERS[name]
    descriptor = spec.descriptor(**parameters)
    infos = [None if operand is None else info_of(operand) for operand in operands]
    infos += [None] * (0 if spec.is_variadic else len(spec.inputs) - len(infos))
    requested = [None] * len(spec.output_slots(descriptor))
    outputs = infer_outputs(spec, descriptor, infos, operands, requested)
    given_values = list(operands)
    if not spec.is_variadic:
        given_values += [None] * (sum(s.fills is None for s in spec.inputs) - len(operands))
    first = (descriptor, outputs) if OPS[name].typed else (descriptor,)
    with np.errstate(all="ignore"):
        results = OPS[name].function(*first, *given_values)
    results = results if isinstance(results, tuple) else (results,)
    for result, info in zip(results, outputs, strict=True):
        assert info.shape is not None
        assert len(result.shape) == len(info.shape)
        for size, dim in zip(result.shape, info.shape, strict=True):
            assert dim is None or size == dim
