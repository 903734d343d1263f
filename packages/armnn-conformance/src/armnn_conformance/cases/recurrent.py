# SPDX-License-Identifier: MIT
"""Conformance cases of LSTM layers, step by step in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.layers.recurrent import (
    LstmActivation,
    LstmDescriptor,
    UnidirectionalSequenceLstmDescriptor,
)
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.operands import FLOATS, CaseTensor, tensor, values

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    "layer normalisation": {
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
    centred = y - y.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True))
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
