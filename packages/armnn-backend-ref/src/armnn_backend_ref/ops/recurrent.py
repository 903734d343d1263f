# SPDX-License-Identifier: MIT
"""Long short-term memory: one cell for the float, sequence and quantised layers.

Names: I is the size of the input, U the number of units, O the size of the output. The cell is that
of Hochreiter and Schmidhuber 1997 with peepholes and projection (Sak et al. 2014), coupled input
and forget gates (Greff et al. 2015) and layer normalisation (Ba et al. 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from armnn.layers import LAYERS
from armnn.quantization import dequantize, quantize
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops._registry import Array, op

if TYPE_CHECKING:
    from armnn.layers.recurrent import (
        LstmDescriptor,
        QLstmDescriptor,
        QuantizedLstmDescriptor,
        UnidirectionalSequenceLstmDescriptor,
    )

Function: TypeAlias = Callable[[Array], Array]
Parameters: TypeAlias = Mapping[str, Array]

BIASES = {
    "input": "input_gate_bias",
    "forget": "forget_gate_bias",
    "cell": "cell_bias",
    "output": "output_gate_bias",
}
"""The bias of each gate."""

_LAYER_NORM_EPSILON = 1e-8
"""What Arm NN and TensorFlow Lite take for a variance of zero."""

_GATE_SCALE = 2.0**-12
"""The steps of the gates of QuantizedLstm before their activation."""


def _same(x: Array) -> Array:
    return x


def _sigmoid(x: Array) -> Array:
    y: Array = 1 / (1 + np.exp(-x))
    return y


_ACTIVATIONS: dict[int, Function] = {
    0: _same,
    1: lambda x: np.maximum(x, 0),
    3: lambda x: np.clip(x, 0, 6),
    4: np.tanh,
    6: _sigmoid,
}
"""TensorFlow Lite's numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """The parameters and options of a cell.

    Attributes:
        parameters: Weights [U,I], [U,O] and biases [U] by the names of the layer's inputs.
        coupled: Whether the input gate is one minus the forget gate.
        peephole: Whether the gates see the cell.
        layer_norm: Whether the gates are normalised before their bias is added.
        activation: Of the cell candidate and of the cell on its way to the output.
        clip: Where the cell is clipped; 0 for nowhere.
        store_gate: What is left of a gate before its activation when it is stored, by gate.
        store_cell: What is left of the cell when it is stored.
    """

    parameters: Parameters
    coupled: bool = False
    peephole: bool = False
    layer_norm: bool = False
    activation: Function = np.tanh
    clip: float = 0.0
    store_gate: Mapping[str, Function] = field(default_factory=dict)
    store_cell: Function = _same

    def step(self, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        """Return output [batch,U], before its projection, and cell [batch,U] of one step."""
        forget = _sigmoid(self._gate("forget", x, hidden, cell))
        write = 1 - forget if self.coupled else _sigmoid(self._gate("input", x, hidden, cell))
        candidate = self.activation(self._gate("cell", x, hidden, None))
        cell = self.store_cell(_clipped(forget * cell + write * candidate, self.clip))
        show = _sigmoid(self._gate("output", x, hidden, cell))
        return show * self.activation(cell), cell

    def _gate(self, name: str, x: Array, hidden: Array, cell: Array | None) -> Array:
        """Return what enters the activation of a gate; ``cell`` is what its peephole shows."""
        y: Array = x @ self.parameters[f"input_to_{name}_weights"].T
        y += hidden @ self.parameters[f"recurrent_to_{name}_weights"].T
        if self.peephole and cell is not None:
            y += self.parameters[f"cell_to_{name}_weights"] * cell
        bias = self.parameters[BIASES[name]]
        store = self.store_gate.get(name, _same)
        if not self.layer_norm:
            return store(y + bias)
        return _normalized(store(y)) * self.parameters[f"{name}_layer_norm_weights"] + bias


@op("Lstm")
def lstm(
    d: LstmDescriptor, x: Array, hidden: Array, cell: Array, *parameters: Array | None
) -> tuple[Array, ...]:
    """Return scratch, output state, cell state and output of one step; scratch is zero."""
    named = _named("Lstm", parameters)
    output, cell = _float_cell(d, named).step(x, hidden, cell)
    output = _projected(d.projection_enabled, d.clipping_thres_proj, named, output)
    scratch = np.zeros((len(x), cell.shape[1] * (3 if d.cifg_enabled else 4)), x.dtype)
    return scratch, output, cell, output


@op("UnidirectionalSequenceLstm")
def unidirectional_sequence_lstm(
    d: UnidirectionalSequenceLstmDescriptor,
    x: Array,
    hidden: Array,
    cell: Array,
    *parameters: Array | None,
) -> tuple[Array, ...]:
    """Return the last output state, the last cell state and the outputs of all steps."""
    named = _named("UnidirectionalSequenceLstm", parameters)
    body = _float_cell(d, named)
    time = 0 if d.time_major else 1
    outputs = np.empty((*x.shape[:2], hidden.shape[1]), x.dtype)
    for moment, result in zip(np.moveaxis(x, time, 0), np.moveaxis(outputs, time, 0), strict=True):
        unprojected, cell = body.step(moment, hidden, cell)
        hidden = _projected(d.projection_enabled, d.clipping_thres_proj, named, unprojected)
        result[...] = hidden
    return hidden, cell, outputs


@op("QLstm", typed=True)
def q_lstm(
    d: QLstmDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    hidden: Array,
    cell: Array,
    *parameters: Array | None,
) -> tuple[Array, ...]:
    """Return output state, cell state and output of one step.

    It is computed in float32. What has a scale of its own is rounded to it: the gates before layer
    normalisation and activation, the cell, and the output before its projection.
    """
    named = _named("QLstm", parameters)
    scales = {
        "input": d.input_intermediate_scale,
        "forget": d.forget_intermediate_scale,
        "cell": d.cell_intermediate_scale,
        "output": d.output_intermediate_scale,
    }
    body = _Cell(
        parameters=named,
        coupled=d.cifg_enabled,
        peephole=d.peephole_enabled,
        layer_norm=d.layer_norm_enabled,
        clip=d.cell_clip,
        store_gate={gate: _stored(DataType.QSYMM_S16, scale) for gate, scale in scales.items()},
        store_cell=_stored(DataType.QSYMM_S16, outputs[1].scale),
    )
    output, cell = body.step(x, hidden, cell)
    store = _stored(DataType.QASYMM_S8, d.hidden_state_scale, d.hidden_state_zero_point)
    output = _projected(d.projection_enabled, d.projection_clip, named, store(output))
    return output, cell, output


@op("QuantizedLstm", typed=True)
def quantized_lstm(
    _d: QuantizedLstmDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    cell: Array,
    hidden: Array,
    *parameters: Array | None,
) -> tuple[Array, ...]:
    """Return cell state and output of one step (Android's QUANTIZED_16BIT_LSTM)."""
    store = _stored(DataType.QSYMM_S16, _GATE_SCALE)
    body = _Cell(
        parameters=_named("QuantizedLstm", parameters),
        store_gate=dict.fromkeys(BIASES, store),
        store_cell=_stored(DataType.QSYMM_S16, outputs[0].scale),
    )
    output, cell = body.step(x, hidden, cell)
    return cell, output


def _named(layer: str, parameters: Sequence[Array | None]) -> Parameters:
    """Name the inputs that follow the data and the states; absent ones are left out."""
    pairs = zip(LAYERS[layer].inputs[3:], parameters, strict=True)
    return {slot.name: value for slot, value in pairs if value is not None}


def _float_cell(d: LstmDescriptor, parameters: Parameters) -> _Cell:
    return _Cell(
        parameters=parameters,
        coupled=d.cifg_enabled,
        peephole=d.peephole_enabled,
        layer_norm=d.layer_norm_enabled,
        activation=_ACTIVATIONS[d.activation_func],
        clip=d.clipping_thres_cell,
    )


def _projected(enabled: bool, clip: float, parameters: Parameters, output: Array) -> Array:
    """Return the output as [batch,O], through weights [O,U] and perhaps a bias [O] if enabled."""
    if not enabled:
        return output
    y = output @ parameters["projection_weights"].T
    if "projection_bias" in parameters:
        y += parameters["projection_bias"]
    return _clipped(y, clip)


def _clipped(x: Array, limit: float) -> Array:
    return np.clip(x, -limit, limit) if limit > 0 else x


def _normalized(x: Array) -> Array:
    """Give each row a mean of zero and a variance of one; a row of equal numbers becomes zeros."""
    centred: Array = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    centred /= np.sqrt(np.where(variance == 0, x.dtype.type(_LAYER_NORM_EPSILON), variance))
    return centred


def _stored(data_type: DataType, scale: float, zero_point: int = 0) -> Function:
    """Return what rounds real values to those that can be stored."""

    def store(values: Array) -> Array:
        info = TensorInfo(values.shape, data_type, scale, zero_point)
        return dequantize(quantize(values, info), info)

    return store
