# SPDX-License-Identifier: MIT
"""Conformance cases of LSTM layers, step by step in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.recurrent import (
    LstmActivation,
    LstmDescriptor,
    QLstmDescriptor,
    QuantizedLstmDescriptor,
    UnidirectionalSequenceLstmDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.operands import FLOATS, CaseTensor, bias_tensor, tensor, values

_BATCH, _INPUTS, _UNITS, _OUTPUTS, _STEPS = 2, 3, 4, 2, 3


GATES = ("input", "forget", "cell", "output")


BIASES = ("input_gate_bias", "forget_gate_bias", "cell_bias", "output_gate_bias")


TOLERANCES = {
    DataType.FLOAT64: Tolerance("chains of float64", rtol=1e-9, atol=1e-10),
    DataType.FLOAT32: Tolerance("chains of float32", rtol=2e-4, atol=2e-5),
    DataType.FLOAT16: Tolerance("chains of float16", rtol=2e-2, atol=2e-2),
    DataType.BFLOAT16: Tolerance("chains of bfloat16", rtol=1e-1, atol=1e-1),
}


_VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"cifg_enabled": False, "activation_func": LstmActivation.TANH},
    "coupled gates": {"cifg_enabled": True, "activation_func": LstmActivation.TANH},
    "no activation": {"cifg_enabled": False, "activation_func": LstmActivation.NONE},
    "ReLu": {"cifg_enabled": False, "activation_func": LstmActivation.RELU},
    "ReLu6": {"cifg_enabled": False, "activation_func": LstmActivation.RELU6},
    "Sigmoid": {"cifg_enabled": False, "activation_func": LstmActivation.SIGMOID},
    "peephole and clip": {
        "cifg_enabled": False,
        "activation_func": LstmActivation.TANH,
        "peephole_enabled": True,
        "clipping_thres_cell": 0.3,
    },
    "projection": {
        "cifg_enabled": True,
        "activation_func": LstmActivation.TANH,
        "projection_enabled": True,
        "clipping_thres_proj": 0.4,
    },
    "layer normalization": {
        "cifg_enabled": False,
        "activation_func": LstmActivation.TANH,
        "layer_norm_enabled": True,
    },
    "everything": {
        "cifg_enabled": False,
        "activation_func": LstmActivation.TANH,
        "peephole_enabled": True,
        "projection_enabled": True,
        "layer_norm_enabled": True,
    },
}


def sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    """Return the logistic function of each element."""
    result: NDArray[Any] = 1 / (1 + np.exp(-x))
    return result


def _activated(number: int, x: NDArray[Any]) -> NDArray[Any]:
    functions: dict[int, NDArray[Any]] = {
        0: x,
        1: np.maximum(x, 0),
        3: np.clip(x, 0, 6),
        4: np.tanh(x),
        6: sigmoid(x),
    }
    return functions[number]


def shapes_of(d: LstmDescriptor) -> dict[str, tuple[int, ...]]:
    """Return the shape of every parameter that the layer needs."""
    width = _OUTPUTS if d.projection_enabled else _UNITS
    shapes: dict[str, tuple[int, ...]] = {}
    for gate, bias in zip(GATES, BIASES, strict=True):
        if gate == "input" and d.cifg_enabled:
            continue
        shapes[f"input_to_{gate}_weights"] = (_UNITS, _INPUTS)
        shapes[f"recurrent_to_{gate}_weights"] = (_UNITS, width)
        shapes[bias] = (_UNITS,)
        if d.peephole_enabled and gate != "cell":
            shapes[f"cell_to_{gate}_weights"] = (_UNITS,)
        if d.layer_norm_enabled:
            shapes[f"{gate}_layer_norm_weights"] = (_UNITS,)
    if d.projection_enabled:
        shapes["projection_weights"] = (_OUTPUTS, _UNITS)
        shapes["projection_bias"] = (_OUTPUTS,)
    return shapes


def _parameters(data_type: DataType, d: LstmDescriptor) -> dict[str, CaseTensor]:
    """Return parameters that differ between gates and exceed ReLu6's limit."""
    found = {
        name: values(data_type, shape, -1, 1, seed=seed, constant=True)
        for seed, (name, shape) in enumerate(shapes_of(d).items(), 10)
    }
    if d.activation_func == _RELU6:
        found["cell_bias"] = tensor(data_type, np.arange(4.0, 4.0 + _UNITS), constant=True)
    return found


_RELU6 = 3


def _gate(
    name: str,
    d: LstmDescriptor,
    real: Mapping[str, NDArray[Any]],
    x: NDArray[Any],
    h: NDArray[Any],
    c: NDArray[Any],
) -> NDArray[Any]:
    y: NDArray[Any] = (
        x @ real[f"input_to_{name}_weights"].T + h @ real[f"recurrent_to_{name}_weights"].T
    )
    if d.peephole_enabled and name != "cell":
        y = y + real[f"cell_to_{name}_weights"] * c
    bias = real[BIASES[GATES.index(name)]]
    if not d.layer_norm_enabled:
        return np.asarray(y + bias)
    centered = y - y.mean(-1, keepdims=True)
    normal = centered / np.sqrt((centered**2).mean(-1, keepdims=True))
    result: NDArray[Any] = normal * real[f"{name}_layer_norm_weights"] + bias
    return result


def step(
    d: LstmDescriptor,
    real: Mapping[str, NDArray[Any]],
    x: NDArray[Any],
    h: NDArray[Any],
    c: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return output and cell of one step."""
    keep = sigmoid(_gate("forget", d, real, x, h, c))
    write = 1 - keep if d.cifg_enabled else sigmoid(_gate("input", d, real, x, h, c))
    c_new = keep * c + write * _activated(d.activation_func, _gate("cell", d, real, x, h, c))
    if d.clipping_thres_cell:
        c_new = np.clip(c_new, -d.clipping_thres_cell, d.clipping_thres_cell)
    show = sigmoid(_gate("output", d, real, x, h, c_new))
    y = show * _activated(d.activation_func, c_new)
    if d.projection_enabled:
        y = y @ real["projection_weights"].T + real["projection_bias"]
        if d.clipping_thres_proj:
            y = np.clip(y, -d.clipping_thres_proj, d.clipping_thres_proj)
    return y, c_new


def _states(data_type: DataType, d: LstmDescriptor) -> dict[str, CaseTensor]:
    width = _OUTPUTS if d.projection_enabled else _UNITS
    return {
        "output_state_in": values(data_type, (_BATCH, width), -1, 1, seed=2),
        "cell_state_in": values(data_type, (_BATCH, _UNITS), -1, 1, seed=3),
    }


@cases(LstmDescriptor, types=FLOATS)
def lstm(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each option alone, and all together."""
    for name, parameters in _VARIANTS.items():
        d = LstmDescriptor(**parameters)
        states, named = _states(data_type, d), _parameters(data_type, d)
        x = values(data_type, (_BATCH, _INPUTS), seed=1)
        real = {each: operand.real for each, operand in named.items()}
        h, c = (state.real for state in states.values())
        y, cell = step(d, real, x.real, h, c)
        scratch = np.zeros((_BATCH, _UNITS * (3 if d.cifg_enabled else 4)))
        yield case(
            data_type,
            name,
            d,
            {"input": x, **states, **named},
            (scratch, y, cell, y),
            outputs=[None] * 4,
            tolerance=TOLERANCES[data_type],
            edge=name == "everything",
            open_outputs=[0],
        )


@cases(UnidirectionalSequenceLstmDescriptor, types=FLOATS)
def unidirectional_sequence_lstm(data_type: DataType) -> Iterator[LayerCase]:
    """Cover several steps, both time axes, and one step."""
    for name, parameters in _VARIANTS.items():
        for time_major in (False, True):
            steps = 1 if name == "everything" else _STEPS
            d = UnidirectionalSequenceLstmDescriptor(time_major=time_major, **parameters)
            states, named = _states(data_type, d), _parameters(data_type, d)
            shape = (steps, _BATCH, _INPUTS) if time_major else (_BATCH, steps, _INPUTS)
            x = values(data_type, shape, seed=1)
            real = {each: operand.real for each, operand in named.items()}
            h, c = (state.real for state in states.values())
            outputs = []
            for moment in range(steps):
                h, c = step(d, real, x.real[moment] if time_major else x.real[:, moment], h, c)
                outputs.append(h)
            yield case(
                data_type,
                f"{name}, time major {time_major}",
                d,
                {"input": x, **states, **named},
                (h, c, np.stack(outputs, 0 if time_major else 1)),
                outputs=[None] * 3,
                tolerance=TOLERANCES[data_type],
                edge=steps == 1,
            )


_S16, _S8 = DataType.QSYMM_S16, DataType.QSYMM_S8


_BATCH, _INPUTS, _UNITS, _OUTPUTS, _STEPS = 2, 3, 4, 2, 3


_ROUNDED = Tolerance("gates and cell are rounded to 16 bits along the way", steps=2)


_STEPWISE = Tolerance("gates and cell are rounded to 16 bits along the way", steps=3)


def _drawn(shape: tuple[int, ...], seed: int, reach: float = 0.9) -> NDArray[Any]:
    return np.random.default_rng(seed).uniform(-reach, reach, shape)


def _stored(
    data_type: DataType, reals: NDArray[Any], scale: float, *, constant: bool = False
) -> CaseTensor:
    return tensor(data_type, reals, info=TensorInfo(None, data_type, scale), constant=constant)


_SIXTEEN_BITS: dict[str, dict[str, Any]] = {
    "plain": {},
    "coupled gates and a clipped cell": {"cifg_enabled": True, "clipping_thres_cell": 0.25},
    "peephole": {"peephole_enabled": True},
    "projection": {"projection_enabled": True, "clipping_thres_proj": 0.3},
    "layer normalization": {"layer_norm_enabled": True},
    "a cell beyond the gates": {},
}


@cases(LstmDescriptor, types=[_S16])
def lstm_in_16_bits(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each option, with a scale for each tensor."""
    for name, options in _SIXTEEN_BITS.items():
        d = LstmDescriptor(
            **{"activation_func": LstmActivation.TANH, "cifg_enabled": False, **options}
        )
        width = _OUTPUTS if d.projection_enabled else _UNITS
        far = name == "a cell beyond the gates"
        x = _stored(data_type, _drawn((_BATCH, _INPUTS), 1), 2.0**-6)
        h = _stored(data_type, _drawn((_BATCH, width), 2), 2.0**-6)
        c = _stored(data_type, _drawn((_BATCH, _UNITS), 3, 7.0 if far else 0.9), 2.0**-12)
        named = {
            each: _stored(
                data_type,
                _drawn(shape, seed, 0.5) + (3 if far and each == "forget_gate_bias" else 0),
                2.0**-13 if each.endswith("bias") else 2.0**-7,
                constant=True,
            )
            for seed, (each, shape) in enumerate(shapes_of(d).items(), 10)
        }
        real = {each: operand.real for each, operand in named.items()}
        y, cell = step(d, real, x.real, h.real, c.real)
        gates, fine = (TensorInfo(None, data_type, 2.0**power) for power in (-13, -12))
        scratch = np.zeros((_BATCH, _UNITS * (3 if d.cifg_enabled else 4)))
        yield case(
            data_type,
            name,
            d,
            {"input": x, "output_state_in": h, "cell_state_in": c, **named},
            (scratch, y, cell, y),
            outputs=[gates, fine, fine, fine],
            tolerance=_STEPWISE,
            edge=far,
            open_outputs=[0],
        )


def _sequence(
    data_type: DataType, name: str, d: UnidirectionalSequenceLstmDescriptor, kinds: tuple[Any, Any]
) -> LayerCase:
    """Make a case with other types of weights and biases.

    Args:
        data_type: The type of the data.
        name: The name of the case.
        d: Its parameters.
        kinds: The data types of weights and of biases; None for those of the data.
    """
    weight_type, bias_type = kinds
    width = _OUTPUTS if d.projection_enabled else _UNITS
    shape = (_STEPS, _BATCH, _INPUTS) if d.time_major else (_BATCH, _STEPS, _INPUTS)
    long = _S16 if data_type.is_quantized else data_type
    x, h = (
        values(data_type, shape, -1, 1, seed=1),
        values(data_type, (_BATCH, width), -1, 1, seed=2),
    )
    c = values(long, (_BATCH, _UNITS), -1, 1, seed=3)
    inputs = {"input": x, "output_state_in": h, "cell_state_in": c}
    for seed, (each, sizes) in enumerate(shapes_of(d).items(), 10):
        if not each.endswith("bias"):
            inputs[each] = values(weight_type, sizes, -1, 1, seed=seed, constant=True)
    for seed, (gate, each) in enumerate(zip(GATES, BIASES, strict=True), 30):
        reals = _drawn((_UNITS,), seed)
        weights = inputs.get(f"input_to_{gate}_weights")
        if weights is None:
            continue
        if bias_type is DataType.SIGNED32:
            inputs[each] = _in_steps(reals, x, weights)
        else:
            inputs[each] = tensor(bias_type, reals, constant=True)
    if d.projection_enabled:
        inputs["projection_bias"] = values(DataType.FLOAT32, (_OUTPUTS,), seed=40, constant=True)
    real = {each: operand.real for each, operand in inputs.items()}
    hidden, cell, outputs = h.real, c.real, []
    for moment in range(_STEPS):
        now = x.real[moment] if d.time_major else x.real[:, moment]
        hidden, cell = step(d, real, now, hidden, cell)
        outputs.append(hidden)
    results = hidden, cell, np.stack(outputs, 0 if d.time_major else 1)
    return case(
        data_type,
        name,
        d,
        inputs,
        results,
        outputs=[None, long, None],
        tolerance=TOLERANCES.get(data_type),
        edge=True,
    )


def _in_steps(reals: NDArray[Any], x: CaseTensor, weights: CaseTensor) -> CaseTensor:
    """Return a Signed32 bias in steps of data times weights."""
    if x.info.is_quantized:
        return bias_tensor(reals, x, weights)
    stored = np.rint(reals / weights.info.scale).astype(np.int32)
    info = TensorInfo(stored.shape, DataType.SIGNED32)
    return CaseTensor(info, stored, stored * weights.info.scale, True)


_TANH: dict[str, Any] = {"activation_func": LstmActivation.TANH}


@cases(UnidirectionalSequenceLstmDescriptor, types=FLOATS)
def hybrid_sequence(data_type: DataType) -> Iterator[LayerCase]:
    """Cover 8-bit weights beside floats, with three bias types.

    Biases are floats and integers of eight and 32 bits.
    """
    plain = UnidirectionalSequenceLstmDescriptor(**_TANH, time_major=True)
    every = UnidirectionalSequenceLstmDescriptor(
        **_TANH, cifg_enabled=False, peephole_enabled=True, projection_enabled=True
    )
    kinds = (DataType.QASYMM_S8, DataType.FLOAT32)
    yield _sequence(data_type, "weights in eight bits", plain, kinds)
    yield _sequence(data_type, "all weights in eight bits", every, kinds)
    yield _sequence(data_type, "biases in eight bits", plain, (_S8, DataType.QASYMM_S8))
    yield _sequence(data_type, "biases in 32 bits", plain, (_S8, DataType.SIGNED32))


@cases(UnidirectionalSequenceLstmDescriptor, types=[DataType.QASYMM_S8])
def quantized_sequence(data_type: DataType) -> Iterator[LayerCase]:
    """Cover 8-bit data: coupled gates, all gates, time first."""
    kinds = (_S8, DataType.SIGNED32)
    for name, options in (
        ("coupled gates", {}),
        ("all gates", {"cifg_enabled": False}),
        ("time in front", {"cifg_enabled": False, "time_major": True}),
        ("projection", {"projection_enabled": True}),
    ):
        d = UnidirectionalSequenceLstmDescriptor(**{**_TANH, **options})
        yield _sequence(data_type, name, d, kinds)


def _cell_step(
    gates: Mapping[str, NDArray[Any]], c: NDArray[Any], clip: float = 0.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return output gate and cell of one step.

    Without an "input" gate the gates are coupled (CIFG).
    """
    keep = sigmoid(gates["forget"])
    write = sigmoid(gates["input"]) if "input" in gates else 1 - keep
    cell = keep * c + write * np.tanh(gates["cell"])
    return sigmoid(gates["output"]), np.clip(cell, -clip, clip) if clip else cell


_Q_LSTM: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("all gates", {}, False),
    ("coupled gates", {"cifg_enabled": True}, False),
    ("a clipped cell", {"cell_clip": 0.25}, False),
    ("peephole", {"peephole_enabled": True}, False),
    ("coupled gates with peephole", {"cifg_enabled": True, "peephole_enabled": True}, False),
    ("a projection", {"projection_enabled": True}, False),
    ("a clipped projection", {"projection_enabled": True, "projection_clip": 0.2}, False),
    ("normalized", {"layer_norm_enabled": True}, False),
    ("coupled gates, normalized", {"cifg_enabled": True, "layer_norm_enabled": True}, False),
    ("one unit", {"cifg_enabled": True}, True),
)


@cases(QLstmDescriptor, types=[DataType.QASYMM_S8])
def q_lstm(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each option, some together, one unit, and biases.

    Biases count behind a normalization only.
    """
    for name, options, edge in _Q_LSTM:
        d = QLstmDescriptor(
            **{"cifg_enabled": False, **options},
            input_intermediate_scale=2.0**-13,
            forget_intermediate_scale=2.0**-14,
            cell_intermediate_scale=2.0**-13,
            output_intermediate_scale=2.0**-14,
            hidden_state_scale=2.0**-7,
            hidden_state_zero_point=-100 if "projection_enabled" in options else 3,
        )
        yield _q_lstm_case(data_type, name, d, 1 if name == "one unit" else _UNITS, edge)


def _q_lstm_case(
    data_type: DataType, name: str, d: QLstmDescriptor, units: int, edge: bool
) -> LayerCase:
    hidden = TensorInfo(None, data_type, d.hidden_state_scale, d.hidden_state_zero_point)
    state = TensorInfo(None, data_type, 2.0**-7, -9) if d.projection_enabled else hidden
    long = TensorInfo(None, _S16, 2.0**-11)
    width = _OUTPUTS if d.projection_enabled else units
    x = tensor(
        data_type, _drawn((_BATCH, _INPUTS), 1), info=TensorInfo(None, data_type, 2.0**-7, 5)
    )
    h = tensor(data_type, _drawn((_BATCH, width), 2), info=TensorInfo(None, data_type, 2.0**-7, -7))
    c = tensor(_S16, _drawn((_BATCH, units), 3, 3.0), info=long)
    inputs: dict[str, CaseTensor] = {"input": x, "output_state_in": h, "cell_state_in": c}
    gates: dict[str, NDArray[Any]] = {}
    for seed, gate in enumerate(GATES, 4):
        if gate != "input" or not d.cifg_enabled:
            added, gates[gate] = _q_lstm_gate(d, gate, (x, h), units, 10 * seed)
            inputs |= added
    if d.peephole_enabled:
        for seed, gate in enumerate(gates):
            if gate != "cell":
                weights = _stored(_S16, _drawn((units,), 80 + seed), 2.0**-15, constant=True)
                inputs[f"cell_to_{gate}_weights"] = weights
    seen = _peeped(gates, inputs, c.real)
    _, cell = _cell_step(seen, c.real, d.cell_clip)
    show, _ = _cell_step(_peeped(gates, inputs, cell), c.real, d.cell_clip)
    y = show * np.tanh(cell)
    if d.projection_enabled:
        # Sums and differences of outputs, which the steps of the result hold exactly.
        weights = _stored(_S8, np.array([[1, -1, 0, 0], [0, 0, 1, 0]]), 1.0, constant=True)
        bias = tensor(DataType.SIGNED32, np.array([20, -11]), constant=True)
        inputs |= {"projection_weights": weights, "projection_bias": bias}
        y = tensor(data_type, y, info=hidden).real @ weights.real.T
        y = y + bias.stored * d.hidden_state_scale
        if d.projection_clip:
            y = np.clip(y, -d.projection_clip, d.projection_clip)
    return case(
        data_type,
        name,
        d,
        inputs,
        (y, cell, y),
        outputs=[state, long, state],
        tolerance=_STEPWISE,
        edge=edge,
    )


def _q_lstm_gate(
    d: QLstmDescriptor, gate: str, data: tuple[CaseTensor, CaseTensor], units: int, seed: int
) -> tuple[dict[str, CaseTensor], NDArray[Any]]:
    """Return a gate's parameters and its sum before the peephole."""
    x, h = data
    w, r = (
        _stored(_S8, _drawn((units, width), seed + place, 0.3), 2.0**-7, constant=True)
        for place, width in enumerate((x.real.shape[1], h.real.shape[1]))
    )
    named = {f"input_to_{gate}_weights": w, f"recurrent_to_{gate}_weights": r}
    y = x.real @ w.real.T + h.real @ r.real.T
    # Behind the normalization a step of the bias is 1/1024 of one of the weights.
    steps = np.rint(_drawn((units,), seed + 2, 0.4) * 2**25).astype(np.int32)
    named[BIASES[GATES.index(gate)]] = tensor(DataType.SIGNED32, steps, constant=True)
    if d.layer_norm_enabled:
        norm = _stored(_S16, _drawn((units,), seed + 3), 2.0**-15, constant=True)
        named[f"{gate}_layer_norm_weights"] = norm
        y = (y - y.mean(-1, keepdims=True)) / y.std(-1, keepdims=True) * norm.real
        y = y + steps * (norm.info.scale / 1024)
    return named, y


def _peeped(
    gates: Mapping[str, NDArray[Any]], inputs: Mapping[str, CaseTensor], cell: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """Return the gates' sums with their peepholes."""
    names = {gate: f"cell_to_{gate}_weights" for gate in gates}
    return {
        gate: y + inputs[names[gate]].real * cell if names[gate] in inputs else y
        for gate, y in gates.items()
    }


@cases(QuantizedLstmDescriptor, types=[DataType.QASYMM_U8])
def quantized_lstm(data_type: DataType) -> Iterator[LayerCase]:
    """Cover biases, a batch of one, one unit."""
    state = TensorInfo(None, data_type, 1 / 128, 128)
    long = TensorInfo(None, DataType.QSYMM_S16, 1 / 2048)
    weight = TensorInfo(None, data_type, 1 / 140, 120)
    for name, batch, units, edge in (
        ("some units", 2, 4, False),
        ("a batch of one", 1, 3, True),
        ("one unit", 2, 1, True),
    ):
        x = tensor(data_type, _drawn((batch, 3), 1), info=state)
        h = tensor(data_type, _drawn((batch, units), 2), info=state)
        c = tensor(DataType.QSYMM_S16, 2 + _drawn((batch, units), 3), info=long)
        inputs = {"input": x, "previous_cell_state_in": c, "previous_output_in": h}
        gates: dict[str, NDArray[Any]] = {}
        for seed, gate in enumerate(GATES, 4):
            w, r = (
                tensor(data_type, _drawn(shape, 10 * seed), info=weight, constant=True)
                for shape in ((units, 3), (units, units))
            )
            bias = bias_tensor(_drawn((units,), 10 * seed + 1), x, w)
            inputs[f"input_to_{gate}_weights"], inputs[f"recurrent_to_{gate}_weights"] = w, r
            inputs[BIASES[GATES.index(gate)]] = bias
            gates[gate] = x.real @ w.real.T + h.real @ r.real.T + bias.real
        show, cell = _cell_step(gates, c.real)
        yield case(
            data_type,
            name,
            QuantizedLstmDescriptor(),
            inputs,
            (cell, show * np.tanh(cell)),
            outputs=[long, state],
            tolerance=_ROUNDED,
            edge=edge,
        )
