# SPDX-License-Identifier: MIT
"""Conformance cases of sequences: ONNX's equations, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.layers import Descriptor
from armnn.layers.sequence import (
    DynamicQuantizeLstmDescriptor,
    GruDescriptor,
    ReverseSequenceDescriptor,
    RnnDescriptor,
    SequenceLstmDescriptor,
)
from armnn.types import ActivationFunction, DataType, SequenceDirection
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.operands import ANY, FLOATS, CaseTensor, tensor, values

Vector: TypeAlias = "NDArray[np.float64]"
Step: TypeAlias = Callable[[int, Vector, Vector, Vector], tuple[Vector, Vector]]
"""From direction, input, output and cell of the step before to output and cell of this step."""

_RELU, _TANH = ActivationFunction.RELU, ActivationFunction.TANH
_HARD, _SIGMOID = ActivationFunction.BOUNDED_RELU, ActivationFunction.SIGMOID
_BOTH = SequenceDirection.BIDIRECTIONAL

_COARSE = {
    DataType.FLOAT64: Tolerance("steps of float64", rtol=1e-10, atol=1e-11),
    DataType.FLOAT32: Tolerance("each step adds some roundings", rtol=1e-4, atol=2e-5),
    DataType.FLOAT16: Tolerance("each step adds some roundings of float16", rtol=2e-2, atol=1e-2),
    DataType.BFLOAT16: Tolerance("each step adds some of bfloat16", rtol=6e-2, atol=6e-2),
}


def _function(kind: ActivationFunction, a: float, b: float) -> Callable[[Vector], Vector]:
    scalar: dict[ActivationFunction, Callable[[float], float]] = {
        ActivationFunction.SIGMOID: lambda x: 1 / (1 + math.exp(-x)),
        _TANH: lambda x: a * math.tanh(b * x),
        _RELU: lambda x: max(0.0, x),
        _HARD: lambda x: min(a, max(b, x)),
    }
    return np.vectorize(scalar[kind], otypes=[np.float64])


def _functions(d: Any, way: int, count: int) -> list[Callable[[Vector], Vector]]:
    start = way * count % len(d.activations)
    chosen = range(start, start + count)
    limit = d.clip if d.clip else math.inf

    def clipped(function: Callable[[Vector], Vector]) -> Callable[[Vector], Vector]:
        return lambda x: function(np.clip(x, -limit, limit))

    made = (_function(d.activations[i], d.activation_a[i], d.activation_b[i]) for i in chosen)
    return list(map(clipped, made))


def _rnn_step(d: RnnDescriptor, t: dict[str, Any]) -> Step:
    def step(way: int, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        (f,) = _functions(d, way, 1)
        w, r = t["weights"][way], t["recurrent_weights"][way]
        first, second = np.split(t["bias"][way], 2)
        return f(w @ x + r @ h + first + second), c

    return step


def _gru_step(d: GruDescriptor, t: dict[str, Any]) -> Step:
    def step(way: int, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        f, g = _functions(d, way, 2)
        wz, wr, wh = np.split(t["weights"][way], 3)
        rz, rr, rh = np.split(t["recurrent_weights"][way], 3)
        bz, br, bh, cz, cr, ch = np.split(t["bias"][way], 6)
        z, r = f(wz @ x + rz @ h + bz + cz), f(wr @ x + rr @ h + br + cr)
        if d.linear_before_reset:
            n = g(wh @ x + r * (rh @ h + ch) + bh)
        else:
            n = g(wh @ x + rh @ (r * h) + bh + ch)
        return (1 - z) * n + z * h, c

    return step


def _lstm_step(d: SequenceLstmDescriptor, t: dict[str, Any]) -> Step:
    def step(way: int, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        f, g, k = _functions(d, way, 3)
        wi, wo, wf, wc = np.split(t["weights"][way], 4)
        ri, ro, rf, rc = np.split(t["recurrent_weights"][way], 4)
        first, second = np.split(t["bias"][way], 2)
        bi, bo, bf, bc = np.split(first + second, 4)
        pi, po, pf = np.split(t["peephole_weights"][way], 3)
        i = f(wi @ x + ri @ h + pi * c + bi)
        forget = 1 - i if d.input_forget else f(wf @ x + rf @ h + pf * c + bf)
        cell = forget * c + i * g(wc @ x + rc @ h + bc)
        o = f(wo @ x + ro @ h + po * cell + bo)
        return o * k(cell), cell

    return step


def _run(d: Any, step: Step, t: dict[str, Any]) -> tuple[Vector, Vector, Vector]:
    """Return all outputs, the last output and the last cell."""
    x = t["input"] if d.time_major else np.swapaxes(t["input"], 0, 1)
    steps, batch, _ = x.shape
    ways, units = d.num_directions, t["recurrent_weights"].shape[2]
    outputs = np.zeros((steps, ways, batch, units))
    states = [np.zeros((ways, batch, units)) for _ in range(2)]
    for state, name in zip(states, ("output_state_in", "cell_state_in"), strict=True):
        if t.get(name) is not None:
            state[:] = t[name] if d.time_major else np.swapaxes(t[name], 0, 1)
    lengths = t.get("sequence_lengths")
    for way, item in np.ndindex(ways, batch):
        length = steps if lengths is None else int(lengths[item])
        backward = d.direction is SequenceDirection.REVERSE or way == 1
        h, c = states[0][way, item], states[1][way, item]
        for number in range(length)[::-1] if backward else range(length):
            h, c = step(way, x[number, item], h, c)
            outputs[number, way, item] = h
        states[0][way, item], states[1][way, item] = h, c
    if d.time_major:
        return outputs, states[0], states[1]
    last, cell = (np.swapaxes(state, 0, 1) for state in states)
    return np.moveaxis(outputs, 2, 0), last, cell


_MAKE_STEP: dict[type[Descriptor], Callable[[Any, dict[str, Any]], Step]] = {
    RnnDescriptor: _rnn_step,
    GruDescriptor: _gru_step,
    SequenceLstmDescriptor: _lstm_step,
}
_GATES = {RnnDescriptor: 1, GruDescriptor: 3, SequenceLstmDescriptor: 4}


def _case(
    data_type: DataType,
    name: str,
    d: Any,
    sizes: tuple[int, int, int, int],
    optional: tuple[str, ...],
    edge: bool,
) -> LayerCase:
    """Make a case of steps, items, inputs and units."""
    steps, batch, width, units = sizes
    ways, gates = d.num_directions, _GATES[type(d)]
    state = (ways, batch, units) if d.time_major else (batch, ways, units)
    shapes = {
        "input": (steps, batch, width) if d.time_major else (batch, steps, width),
        "weights": (ways, gates * units, width),
        "recurrent_weights": (ways, gates * units, units),
        "bias": (ways, 2 * gates * units),
        "output_state_in": state,
        "cell_state_in": state,
        "peephole_weights": (ways, 3 * units),
    }
    given: dict[str, CaseTensor] = {
        key: values(data_type, shape, -1, 1, seed=seed)
        for seed, (key, shape) in enumerate(shapes.items())
        if seed < 3 or key in optional
    }
    if "sequence_lengths" in optional:
        lengths = np.arange(batch, dtype=np.int32) % steps + 1
        given["sequence_lengths"] = tensor(DataType.SIGNED32, lengths)
    reals: dict[str, Any] = {key: operand.real for key, operand in given.items()}
    for key in ("bias", "peephole_weights"):
        reals.setdefault(key, np.zeros(shapes[key]))
    expected = _run(d, _MAKE_STEP[type(d)](d, reals), reals)
    count = 3 if isinstance(d, SequenceLstmDescriptor) else 2
    return case(
        data_type,
        name,
        d,
        given,
        expected[:count],
        outputs=(None,) * count,
        tolerance=_COARSE[data_type],
        edge=edge,
    )


_COMMON: list[tuple[str, dict[str, Any], tuple[int, int, int, int], tuple[str, ...], bool]] = [
    ("forward", {}, (3, 2, 4, 3), ("bias",), False),
    ("time first", {"time_major": True}, (3, 2, 4, 3), ("bias", "output_state_in"), False),
    ("reverse", {"direction": SequenceDirection.REVERSE}, (3, 2, 2, 3), (), False),
    ("both ways", {"direction": _BOTH}, (3, 2, 2, 3), ("bias", "output_state_in"), False),
    (
        "both ways, time first",
        {"direction": _BOTH, "time_major": True},
        (3, 2, 2, 3),
        ("bias", "output_state_in"),
        False,
    ),
    ("ends earlier", {"direction": _BOTH}, (4, 3, 2, 2), ("bias", "sequence_lengths"), True),
    ("clipped", {"clip": 0.25}, (3, 2, 4, 3), ("bias",), False),
    ("one of everything", {}, (1, 1, 1, 1), ("bias", "output_state_in"), True),
]


@cases(RnnDescriptor, types=FLOATS)
def rnn(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the common options, and other activations."""
    for name, options, sizes, optional, edge in _COMMON:
        yield _case(data_type, name, RnnDescriptor(**options), sizes, optional, edge)
    d = RnnDescriptor(
        direction=_BOTH, activations=(_HARD, _RELU), activation_a=(0.5, 0), activation_b=(-0.25, 0)
    )
    yield _case(data_type, "another activation each way", d, (3, 2, 2, 3), ("bias",), False)


@cases(GruDescriptor, types=FLOATS)
def gru(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the common options, late reset, other activations.

    A late reset is one after the product.
    """
    for name, options, sizes, optional, edge in _COMMON:
        yield _case(data_type, name, GruDescriptor(**options), sizes, optional, edge)
    d = GruDescriptor(linear_before_reset=True)
    yield _case(data_type, "reset after", d, (3, 2, 4, 3), ("bias", "output_state_in"), False)
    chosen = (_SIGMOID, _TANH, _SIGMOID, _RELU)
    d = GruDescriptor(
        direction=_BOTH, activations=chosen, activation_a=(1,) * 4, activation_b=(1,) * 4
    )
    yield _case(data_type, "another activation each way", d, (3, 2, 2, 3), ("bias",), False)
    d = GruDescriptor(activations=(_HARD, _TANH), activation_a=(1, 0.5), activation_b=(0, 2))
    yield _case(data_type, "other activations", d, (3, 2, 4, 3), ("bias",), False)


@cases(SequenceLstmDescriptor, types=FLOATS)
def sequence_lstm(data_type: DataType) -> Iterator[LayerCase]:
    """Cover common options, peepholes, coupled gates, initial cells."""
    for name, options, sizes, optional, edge in _COMMON:
        yield _case(data_type, name, SequenceLstmDescriptor(**options), sizes, optional, edge)
    full = ("bias", "output_state_in", "cell_state_in", "peephole_weights")
    yield _case(data_type, "peepholes", SequenceLstmDescriptor(), (3, 2, 4, 3), full, False)
    chosen = (_SIGMOID, _TANH, _TANH, _SIGMOID, _RELU, _TANH)
    d = SequenceLstmDescriptor(
        direction=_BOTH, activations=chosen, activation_a=(1,) * 6, activation_b=(1,) * 6
    )
    yield _case(data_type, "another activation each way", d, (3, 2, 2, 3), ("bias",), False)
    d = SequenceLstmDescriptor(direction=_BOTH, time_major=True, input_forget=True)
    yield _case(data_type, "coupled gates both ways", d, (3, 2, 2, 3), full, False)
    d = SequenceLstmDescriptor(
        activations=(_HARD, _TANH, _RELU), activation_a=(1, 0.5, 0), activation_b=(0, 2, 0)
    )
    yield _case(data_type, "other activations", d, (3, 2, 4, 3), full, False)


_DYNAMIC = Tolerance(
    "no output is near the middle of two steps, so that all backends round it alike",
    rtol=1e-4,
    atol=2e-5,
)


def _rounded(x: Vector) -> Vector:
    """Round numbers to the 256 steps that span them and zero."""
    low, high = min(x.min(initial=0.0), 0.0), max(x.max(initial=0.0), 0.0)
    step = (high - low) / 255 or 1.0
    zero = np.rint(-low / step)
    result: Vector = (np.clip(np.rint(x / step) + zero, 0, 255) - zero) * step
    return result


def _dynamic_case(
    name: str,
    d: DynamicQuantizeLstmDescriptor,
    sizes: tuple[int, int, int, int],
    kind: DataType,
    optional: tuple[str, ...] = ("bias",),
    *,
    per_column: bool = False,
    edge: bool = False,
) -> LayerCase:
    steps, batch, width, units = sizes
    ways = d.num_directions
    count = (ways, 4 * units) if per_column else (ways,)
    state = (ways, batch, units) if d.time_major else (batch, ways, units)
    float32, middle = DataType.FLOAT32, 120 if kind is DataType.UNSIGNED8 else 3
    low = 0 if kind is DataType.UNSIGNED8 else -128
    points = np.full(count, middle) + np.arange(ways).reshape(ways, *(1,) * (len(count) - 1))
    given: dict[str, CaseTensor] = {
        "input": values(
            float32, (steps, batch, width) if d.time_major else (batch, steps, width), seed=1
        ),
        "weights": values(kind, (ways, width, 4 * units), low, low + 255, seed=2, constant=True),
        "recurrent_weights": values(
            kind, (ways, units, 4 * units), low, low + 255, seed=3, constant=True
        ),
        "bias": values(float32, (ways, 8 * units), -1, 1, seed=4),
        "output_state_in": values(float32, state, -1, 1, seed=5),
        "cell_state_in": values(float32, state, -1, 1, seed=6),
        "peephole_weights": values(float32, (ways, 3 * units), -1, 1, seed=7),
        "sequence_lengths": tensor(DataType.SIGNED32, np.arange(batch) % steps + 1),
    }
    needed = ("input", "weights", "recurrent_weights", *optional)
    given = {key: operand for key, operand in given.items() if key in needed}
    for part, seed in (("weight", 8), ("recurrent", 9)):
        given[f"{part}_scales"] = values(float32, count, 0.005, 0.02, seed=seed, constant=True)
        given[f"{part}_zero_points"] = tensor(kind, points, constant=True)
    reals: dict[str, Any] = {key: operand.real for key, operand in given.items()}
    for part, key in (("weight", "weights"), ("recurrent", "recurrent_weights")):
        scales, zeros = (
            np.broadcast_to(reals[f"{part}_{each}"].reshape(ways, 1, -1), (ways, 1, 4 * units))
            for each in ("scales", "zero_points")
        )
        reals[key] = np.swapaxes((reals[key].astype(np.float64) - zeros) * scales, 1, 2)
    reals["input"] = _rounded(reals["input"])
    reals.setdefault("bias", np.zeros((ways, 8 * units)))
    reals.setdefault("peephole_weights", np.zeros((ways, 3 * units)))
    step = _lstm_step(d, reals)
    expected = _run(d, lambda way, x, h, c: step(way, x, _rounded(h), c), reals)
    return case(
        float32, name, d, given, expected, outputs=(None,) * 3, tolerance=_DYNAMIC, edge=edge
    )


@cases(DynamicQuantizeLstmDescriptor, types=(DataType.FLOAT32,))
def dynamic_quantize_lstm(_data_type: DataType) -> Iterator[LayerCase]:
    """Cover both types of weights, scales of columns, several items, and items that end earlier."""
    descriptor = DynamicQuantizeLstmDescriptor
    signed, unsigned = DataType.SIGNED8, DataType.UNSIGNED8
    states = ("bias", "output_state_in", "cell_state_in")
    yield _dynamic_case("forward", descriptor(), (4, 2, 3, 5), signed, states)
    reverse = descriptor(direction=SequenceDirection.REVERSE, time_major=True)
    yield _dynamic_case("reverse, unsigned, time first", reverse, (3, 3, 2, 4), unsigned)
    both = descriptor(direction=_BOTH)
    yield _dynamic_case(
        "both ways, a scale per column", both, (3, 2, 5, 9), signed, states, per_column=True
    )
    every = (*states, "peephole_weights")
    coupled = descriptor(direction=_BOTH, time_major=True, input_forget=True, clip=0.75)
    yield _dynamic_case("peepholes, coupled gates, clipped", coupled, (3, 2, 3, 4), unsigned, every)
    chosen = (_HARD, _TANH, _RELU)
    other = descriptor(activations=chosen, activation_a=(1, 0.5, 0), activation_b=(0, 2, 0))
    yield _dynamic_case("other activations", other, (3, 2, 4, 3), signed)
    ended = (*states, "sequence_lengths")
    yield _dynamic_case("ends earlier", both, (4, 3, 2, 3), signed, ended, edge=True)
    yield _dynamic_case("one of everything", descriptor(), (1, 1, 1, 1), signed, states, edge=True)
    wide = descriptor(time_major=True)
    yield _dynamic_case("more columns than a register", wide, (2, 1, 19, 37), signed, states)


@cases(ReverseSequenceDescriptor, types=ANY)
def reverse_sequence(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both axis orders, more axes, shortest and longest lengths."""
    for name, shape, lengths, batch_axis, time_axis, edge in (
        ("time first", (4, 3), [4, 1, 3], 1, 0, False),
        ("batch first", (3, 4), [2, 4, 1], 0, 1, False),
        ("axes from the end", (2, 1, 1, 2, 3), [3, 2], -2, -1, False),
        ("one step", (1, 2), [1, 1], 1, 0, True),
    ):
        x = values(data_type, shape, seed=3)
        lines = np.moveaxis(x.real, (batch_axis, time_axis), (0, 1)).copy()
        for item, length in enumerate(lengths):
            lines[item, :length] = lines[item, :length][::-1].copy()
        d = ReverseSequenceDescriptor(batch_axis=batch_axis, time_axis=time_axis)
        inputs = [x, tensor(DataType.SIGNED64, np.array(lengths))]
        expected = np.moveaxis(lines, (0, 1), (batch_axis, time_axis))
        yield case(data_type, name, d, inputs, expected, like=x, edge=edge)
