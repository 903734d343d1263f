# SPDX-License-Identifier: MIT
"""Conformance cases of long short-term memory: the equations, one step at a time in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.layers.recurrent import (
    LstmDescriptor,
    QLstmDescriptor,
    QuantizedLstmDescriptor,
    UnidirectionalSequenceLstmDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.testing.cases import EDGE, LayerCase, Tolerance, case, cases
from armnn.testing.operands import FLOATS, CaseTensor, bias_tensor, tensor, values
from armnn.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH, _INPUTS, _UNITS, _OUTPUTS, _STEPS = 2, 3, 4, 2, 3
_GATES = ("input", "forget", "cell", "output")
_BIASES = ("input_gate_bias", "forget_gate_bias", "cell_bias", "output_gate_bias")

_TOLERANCES = {
    DataType.FLOAT64: Tolerance("chains of float64", rtol=1e-9, atol=1e-10),
    DataType.FLOAT32: Tolerance("chains of float32", rtol=2e-4, atol=2e-5),
    DataType.FLOAT16: Tolerance("chains of float16", rtol=2e-2, atol=2e-2),
    DataType.BFLOAT16: Tolerance("chains of bfloat16", rtol=1e-1, atol=1e-1),
}

_VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"cifg_enabled": False, "activation_func": 4},
    "coupled gates": {"cifg_enabled": True, "activation_func": 4},
    "ReLu": {"cifg_enabled": False, "activation_func": 1},
    "Sigmoid": {"cifg_enabled": False, "activation_func": 6},
    "peephole and clip": {
        "cifg_enabled": False,
        "activation_func": 4,
        "peephole_enabled": True,
        "clipping_thres_cell": 0.3,
    },
    "projection": {
        "cifg_enabled": True,
        "activation_func": 4,
        "projection_enabled": True,
        "clipping_thres_proj": 0.4,
    },
    "layer normalisation": {
        "cifg_enabled": False,
        "activation_func": 4,
        "layer_norm_enabled": True,
    },
    "everything": {
        "cifg_enabled": False,
        "activation_func": 4,
        "peephole_enabled": True,
        "projection_enabled": True,
        "layer_norm_enabled": True,
    },
}


def _sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = 1 / (1 + np.exp(-x))
    return result


def _activated(number: int, x: NDArray[Any]) -> NDArray[Any]:
    functions: dict[int, NDArray[Any]] = {
        0: x,
        1: np.maximum(x, 0),
        3: np.clip(x, 0, 6),
        4: np.tanh(x),
        6: _sigmoid(x),
    }
    return functions[number]


def _parameters(data_type: DataType, d: LstmDescriptor) -> dict[str, CaseTensor]:
    """Return every parameter that the layer needs; those of each gate differ."""
    width = _OUTPUTS if d.projection_enabled else _UNITS
    shapes: dict[str, tuple[int, ...]] = {}
    for gate, bias in zip(_GATES, _BIASES, strict=True):
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
    return {
        name: values(data_type, shape, -1, 1, seed=seed, constant=True)
        for seed, (name, shape) in enumerate(shapes.items(), 10)
    }


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
    bias = real[_BIASES[_GATES.index(name)]]
    if not d.layer_norm_enabled:
        return np.asarray(y + bias)
    centred = y - y.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True))
    result: NDArray[Any] = normal * real[f"{name}_layer_norm_weights"] + bias
    return result


def _step(
    d: LstmDescriptor,
    real: Mapping[str, NDArray[Any]],
    x: NDArray[Any],
    h: NDArray[Any],
    c: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return output and cell of one step."""
    keep = _sigmoid(_gate("forget", d, real, x, h, c))
    write = 1 - keep if d.cifg_enabled else _sigmoid(_gate("input", d, real, x, h, c))
    c_new = keep * c + write * _activated(d.activation_func, _gate("cell", d, real, x, h, c))
    if d.clipping_thres_cell:
        c_new = np.clip(c_new, -d.clipping_thres_cell, d.clipping_thres_cell)
    show = _sigmoid(_gate("output", d, real, x, h, c_new))
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
    """Each option alone, and all together."""
    for name, parameters in _VARIANTS.items():
        d = LstmDescriptor(**parameters)
        states, named = _states(data_type, d), _parameters(data_type, d)
        x = values(data_type, (_BATCH, _INPUTS), seed=1)
        real = {each: operand.real for each, operand in named.items()}
        h, c = (state.real for state in states.values())
        y, cell = _step(d, real, x.real, h, c)
        scratch = np.zeros((_BATCH, _UNITS * (3 if d.cifg_enabled else 4)))
        yield case(
            data_type,
            name,
            d,
            {"input": x, **states, **named},
            (scratch, y, cell, y),
            outputs=[None] * 4,
            tolerance=_TOLERANCES[data_type],
            tags=[EDGE] if name == "everything" else [],
            open_outputs=[0],
        )


@cases(UnidirectionalSequenceLstmDescriptor, types=FLOATS)
def unidirectional_sequence_lstm(data_type: DataType) -> Iterator[LayerCase]:
    """The same over several steps, the time in front and behind the batch; one step."""
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
                h, c = _step(d, real, x.real[moment] if time_major else x.real[:, moment], h, c)
                outputs.append(h)
            yield case(
                data_type,
                f"{name}, time major {time_major}",
                d,
                {"input": x, **states, **named},
                (h, c, np.stack(outputs, 0 if time_major else 1)),
                outputs=[None] * 3,
                tolerance=_TOLERANCES[data_type],
                tags=[EDGE] if steps == 1 else [],
            )


_ROUNDED = Tolerance("gates and cell are rounded to 16 bits along the way", steps=2)
_STEPWISE = Tolerance("gates and cell are rounded to 16 bits along the way", steps=4)


def _quantized_step(
    gates: Mapping[str, NDArray[Any]], c: NDArray[Any], clip: float = 0.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return output and cell of one step from what enters the gates; without "input" it is cifg."""
    keep = _sigmoid(gates["forget"])
    write = _sigmoid(gates["input"]) if "input" in gates else 1 - keep
    cell = keep * c + write * np.tanh(gates["cell"])
    if clip:
        cell = np.clip(cell, -clip, clip)
    return _sigmoid(gates["output"]) * np.tanh(cell), cell


def _drawn(shape: tuple[int, ...], seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).uniform(-0.9, 0.9, shape)


@cases(QLstmDescriptor, types=[DataType.QASYMM_S8])
def q_lstm(data_type: DataType) -> Iterator[LayerCase]:
    """All gates, coupled ones, a clipped cell, a projection, layer normalisation, one unit."""
    for name, options, units, tags in (
        ("all gates", {"cifg_enabled": False}, 4, []),
        ("coupled gates", {"cifg_enabled": True}, 4, []),
        ("clipped", {"cifg_enabled": False, "cell_clip": 0.25}, 4, []),
        ("a projection", {"cifg_enabled": False, "projection_enabled": True}, 4, []),
        ("normalised", {"cifg_enabled": False, "layer_norm_enabled": True}, 4, []),
        ("one unit", {"cifg_enabled": True}, 1, [EDGE]),
    ):
        yield _q_lstm_case(data_type, name, options, units, tags)


def _q_lstm_case(
    data_type: DataType, name: str, options: dict[str, Any], units: int, tags: list[str]
) -> LayerCase:
    state = TensorInfo(None, data_type, 1 / 128, 3)
    long = TensorInfo(None, DataType.QSYMM_S16, 1 / 2048)
    d = QLstmDescriptor(
        **options,
        input_intermediate_scale=1 / 2048,
        forget_intermediate_scale=1 / 2048,
        cell_intermediate_scale=1 / 2048,
        output_intermediate_scale=1 / 2048,
        hidden_state_scale=1 / 128,
        hidden_state_zero_point=3,
    )
    width = _OUTPUTS if d.projection_enabled else units
    x = tensor(data_type, _drawn((2, 3), 1), info=state)
    h = tensor(data_type, _drawn((2, width), 2), info=state)
    c = tensor(DataType.QSYMM_S16, _drawn((2, units), 3), info=long)
    inputs: dict[str, CaseTensor] = {"input": x, "output_state_in": h, "cell_state_in": c}
    gates: dict[str, NDArray[Any]] = {}
    for seed, gate in enumerate(_GATES, 4):
        if gate == "input" and d.cifg_enabled:
            continue
        w, r = (
            tensor(DataType.QSYMM_S8, _drawn(shape, 10 * seed), constant=True)
            for shape in ((units, 3), (units, width))
        )
        inputs[f"input_to_{gate}_weights"], inputs[f"recurrent_to_{gate}_weights"] = w, r
        y = x.real @ w.real.T + h.real @ r.real.T
        bias = np.zeros(units, np.int32)
        if d.layer_norm_enabled:
            norm = tensor(DataType.QSYMM_S16, _drawn((units,), 10 * seed + 2), constant=True)
            inputs[f"{gate}_layer_norm_weights"] = norm
            bias = np.arange(-1, units - 1, dtype=np.int32) * 1024 * 4000
            y = (y - y.mean(-1, keepdims=True)) / y.std(-1, keepdims=True)
            # Behind the normalisation a step of the bias is 1/1024 of one of the weights.
            y = y * norm.real + bias * (norm.info.scale / 1024)
        stored = tensor(DataType.SIGNED32, bias, constant=True)
        inputs[_BIASES[_GATES.index(gate)]] = stored
        gates[gate] = y
    y, cell = _quantized_step(gates, c.real, d.cell_clip)
    if d.projection_enabled:
        project = tensor(DataType.QSYMM_S8, _drawn((_OUTPUTS, units), 99), constant=True)
        inputs["projection_weights"] = project
        y = y @ project.real.T
    return case(
        data_type,
        name,
        d,
        inputs,
        (y, cell, y),
        outputs=[state, long, state],
        tolerance=_STEPWISE,
        tags=tags,
    )


@cases(QuantizedLstmDescriptor, types=[DataType.QASYMM_U8])
def quantized_lstm(data_type: DataType) -> Iterator[LayerCase]:
    """Biases, a batch of one, one unit."""
    state = TensorInfo(None, data_type, 1 / 128, 128)
    long = TensorInfo(None, DataType.QSYMM_S16, 1 / 2048)
    weight = TensorInfo(None, data_type, 1 / 140, 120)
    for name, batch, units, tags in (
        ("some units", 2, 4, []),
        ("a batch of one", 1, 3, [EDGE]),
        ("one unit", 2, 1, [EDGE]),
    ):
        x = tensor(data_type, _drawn((batch, 3), 1), info=state)
        h = tensor(data_type, _drawn((batch, units), 2), info=state)
        c = tensor(DataType.QSYMM_S16, 2 + _drawn((batch, units), 3), info=long)
        inputs = {"input": x, "previous_cell_state_in": c, "previous_output_in": h}
        gates: dict[str, NDArray[Any]] = {}
        for seed, gate in enumerate(_GATES, 4):
            w, r = (
                tensor(data_type, _drawn(shape, 10 * seed), info=weight, constant=True)
                for shape in ((units, 3), (units, units))
            )
            bias = bias_tensor(_drawn((units,), 10 * seed + 1), x, w)
            inputs[f"input_to_{gate}_weights"], inputs[f"recurrent_to_{gate}_weights"] = w, r
            inputs[_BIASES[_GATES.index(gate)]] = bias
            gates[gate] = x.real @ w.real.T + h.real @ r.real.T + bias.real
        y, cell = _quantized_step(gates, c.real)
        yield case(
            data_type,
            name,
            QuantizedLstmDescriptor(),
            inputs,
            (cell, y),
            outputs=[long, state],
            tolerance=_ROUNDED,
            tags=tags,
        )
