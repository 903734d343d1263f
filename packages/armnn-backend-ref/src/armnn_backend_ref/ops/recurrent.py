# SPDX-License-Identifier: MIT
"""LSTM layers: one cell for float, sequence and quantized ones.

It computes in real values, or in the few bits that :class:`Storage` keeps of them.

Names: I is the size of the input, U the number of units, O the size of the output. The cell is that
of Hochreiter and Schmidhuber 1997 with peepholes and projection (Sak et al. 2014), coupled input
and forget gates (Greff et al. 2015) and layer normalization (Ba et al. 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from armnn.layers import LAYERS
from armnn.layers.recurrent import (
    LstmActivation,
    LstmDescriptor,
    QLstmDescriptor,
    QuantizedLstmDescriptor,
    UnidirectionalSequenceLstmDescriptor,
)
from armnn.quantization import round_half_away
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops._registry import Array, op

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
"""The variance that Arm NN and TensorFlow Lite take in the place of zero."""


def same(x: Array) -> Array:
    """Return the values as they are."""
    return x


def sigmoid(x: Array) -> Array:
    """Return the logistic function of the values."""
    y: Array = 1 / (1 + np.exp(-x))
    return y


def clipped(x: Array, limit: float) -> Array:
    """Clip the values to -limit..limit; 0 means no limit."""
    return np.clip(x, -limit, limit) if limit > 0 else x


def stored(info: TensorInfo) -> Function:
    """Return a function that rounds to a tensor's storable values.

    It rounds as ``quantize`` does.
    """
    return _stored(info.data_type, np.float32(info.scale), np.float32(info.zero_point))


def _stored(data_type: DataType, steps: Array | np.float32, zero: Array | np.float32) -> Function:
    limits = np.iinfo(data_type.numpy_dtype)
    low, high = np.float32(limits.min) - zero, np.float32(limits.max) - zero

    def store(values: Array) -> Array:
        kept: Array = np.clip(round_half_away(values / steps), low, high) * steps
        return kept

    return store


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Functions that round the inner values of a quantized cell.

    Attributes:
        sums: The type in which a gate is stored while its terms are added up, by gate; all of one
            data type.
        each_term: Whether it is stored after each term, as Arm NN does, or once.
        normalized: For a normalized gate, and again for it times its weights, by gate.
        biased: For a normalized gate with its bias.
        activated: For the result of an activation.
        cell: For the cell.
    """

    sums: Mapping[str, TensorInfo] = field(default_factory=dict)
    each_term: bool = False
    normalized: Mapping[str, Function] = field(default_factory=dict)
    biased: Function = same
    activated: Function = same
    cell: Function = same

    def store_of_sums(self, gates: Sequence[str], units: int) -> Function:
        """Return a function that rounds the sums of adjacent gates."""
        if not self.sums:
            return same
        infos = [self.sums[gate] for gate in gates]
        steps, zero = (
            np.repeat(np.array(values, np.float32), units)
            for values in ([info.scale for info in infos], [info.zero_point for info in infos])
        )
        return _stored(infos[0].data_type, steps, zero)


EXACT = Storage()
"""Nothing is rounded."""


def accumulated(total: Array, x: Array, weights: Array, store: Function | None) -> Array:
    """Return total + x @ weights transposed, rounded after each term.

    The shapes are x [batch,K] and weights [U,K]; ``store`` is called after each of the K terms.

    Rounding each partial sum is what Arm NN's reference does; a sum that is rounded once is many
    steps away from it. The loop is over the terms of a sum, for all sums at once.
    """
    if store is None:
        result: Array = total + x @ weights.T
        return result
    total = np.broadcast_to(total, (len(x), len(weights)))
    for term, column in zip(x.T, np.ascontiguousarray(weights.T), strict=True):
        total = store(total + term[:, np.newaxis] * column)
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The parameters and options of a cell.

    Attributes:
        parameters: Weights [U,I], [U,O] and biases [U] by the names of the layer's inputs; those of
            the input gate are absent if it is one minus the forget gate.
        peephole: Whether the gates see the cell.
        layer_norm: Whether the gates are normalized before their bias is added.
        activation: The function of the cell candidate and of the cell on its way to the output.
        clip: Where the cell is clipped; 0 for nowhere.
        storage: The functions that round its inner values.
    """

    parameters: Parameters
    peephole: bool = False
    layer_norm: bool = False
    activation: Function = np.tanh
    clip: float = 0.0
    storage: Storage = EXACT

    def step(self, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        """Return output [batch,U], not yet projected, and cell [batch,U]."""
        keep = self.storage
        sums = self._sums(x, hidden)
        forget = keep.activated(sigmoid(self._gate("forget", sums, cell)))
        if "input" in sums:
            write = keep.activated(sigmoid(self._gate("input", sums, cell)))
        else:
            write = keep.activated(1 - forget)
        candidate = keep.activated(self.activation(self._gate("cell", sums, None)))
        cell = keep.cell(keep.cell(forget * cell) + write * candidate)
        cell = keep.cell(clipped(cell, self.clip))
        show = keep.activated(sigmoid(self._gate("output", sums, cell)))
        return show * keep.activated(self.activation(cell)), cell

    def _sums(self, x: Array, hidden: Array) -> dict[str, Array]:
        """Return the summed products of each gate.

        They include the bias of a gate that is not normalized.
        """
        named = self.parameters
        weights = {
            gate: (named[f"input_to_{gate}_weights"], named[f"recurrent_to_{gate}_weights"])
            for gate in BIASES
            if f"input_to_{gate}_weights" in named
        }
        starts = [named[BIASES[gate]] for gate in weights]
        if self.layer_norm:
            starts = [np.zeros_like(bias) for bias in starts]
        if not self.storage.each_term:
            pairs = zip(starts, weights.items(), strict=True)
            return {gate: start + x @ w.T + hidden @ r.T for start, (gate, (w, r)) in pairs}
        store = self.storage.store_of_sums(tuple(weights), len(starts[0]))
        matrix = np.concatenate([np.concatenate(pair, 1) for pair in weights.values()])
        inputs = np.concatenate([x, hidden], 1)
        total = accumulated(store(np.concatenate(starts)), inputs, matrix, store)
        return dict(zip(weights, np.split(total, len(weights), -1), strict=True))

    def _gate(self, name: str, sums: Mapping[str, Array], cell: Array | None) -> Array:
        """Return the input of a gate's activation.

        ``cell`` is the cell state that the peephole reads.
        """
        keep, y = self.storage, sums[name]
        if self.peephole and cell is not None:
            y = y + self.parameters[f"cell_to_{name}_weights"] * cell
        y = keep.store_of_sums([name], y.shape[-1])(y)
        if not self.layer_norm:
            return y
        store = keep.normalized.get(name, same)
        y = store(store(_standardized(y)) * self.parameters[f"{name}_layer_norm_weights"])
        return keep.biased(y + self.parameters[BIASES[name]])


def _standardized(x: Array) -> Array:
    """Give each row mean 0 and variance 1.

    A row of equal numbers becomes zeros.
    """
    if x.size == 0:
        return x
    centered: Array = x - x.mean(-1, keepdims=True)
    variance = np.square(centered).mean(-1, keepdims=True)
    centered /= np.sqrt(np.where(variance == 0, x.dtype.type(_LAYER_NORM_EPSILON), variance))
    return centered


_S16 = DataType.QSYMM_S16

_GATE_SCALE = 2.0**-12
"""The steps of the gates of QuantizedLstm before their activation."""

_BIASED_SCALE = 1 / 4096
"""The steps of a gate of QLstm between its normalization and its activation."""

_LAYER_NORM_STEPS = 1024
"""A normalized gate of QLstm has as many times the product of the steps of input and weights."""

_ACTIVATIONS: dict[LstmActivation, Function] = {
    LstmActivation.NONE: same,
    LstmActivation.RELU: lambda x: np.maximum(x, 0),
    LstmActivation.RELU6: lambda x: np.clip(x, 0, 6),
    LstmActivation.TANH: np.tanh,
    LstmActivation.SIGMOID: sigmoid,
}


@op("Lstm", typed=True)
def lstm(
    d: LstmDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    hidden: Array,
    cell: Array,
    *parameters: Array | None,
) -> tuple[Array, ...]:
    """Return scratch (zero), output state, cell state and output.

    A quantized layer keeps its gates in the steps of the scratch buffer, as Arm NN does.
    """
    named = _named("Lstm", parameters)
    scratch, _, cells, result = outputs
    storage, project = EXACT, None
    store: Function = same
    if scratch.is_quantized:
        store = stored(scratch)
        project = stored(result) if result.is_quantized else None
        storage = Storage(
            sums=dict.fromkeys(BIASES, scratch),
            each_term=True,
            normalized=dict.fromkeys(BIASES, store),
            biased=store,
            activated=store,
            cell=stored(cells) if cells.is_quantized else same,
        )
    output, cell = _float_cell(d, named, storage).step(x, hidden, cell)
    if d.projection_enabled:
        output = _projected(named, store(output), d.clipping_thres_proj, project)
    return np.zeros(scratch.static_shape, x.dtype), store(output), cell, store(output)


@op("UnidirectionalSequenceLstm")
def unidirectional_sequence_lstm(
    d: UnidirectionalSequenceLstmDescriptor,
    x: Array,
    hidden: Array,
    cell: Array,
    *parameters: Array | None,
) -> tuple[Array, ...]:
    """Return the last output state, last cell state, all outputs."""
    named = _named("UnidirectionalSequenceLstm", parameters)
    body = _float_cell(d, named, EXACT)
    time = 0 if d.time_major else 1
    outputs = np.empty((*x.shape[:2], hidden.shape[1]), x.dtype)
    for moment, result in zip(np.moveaxis(x, time, 0), np.moveaxis(outputs, time, 0), strict=True):
        hidden, cell = body.step(moment, hidden, cell)
        if d.projection_enabled:
            hidden = _projected(named, hidden, d.clipping_thres_proj)
        result[...] = hidden
    return hidden, cell, outputs


@op("QLstm", typed=True, sees_inputs=True)
def q_lstm(
    d: QLstmDescriptor,
    outputs: Sequence[TensorInfo],
    inputs: Sequence[TensorInfo | None],
    x: Array,
    hidden: Array,
    cell: Array,
    *parameters: Array | None,
) -> tuple[Array, ...]:
    """Return output state, cell state and output of one step.

    It is computed in float32. What has a scale of its own is rounded to it, where and as often as
    Arm NN does: each sum of products after each of its terms, a gate once it is normalized,
    weighted, biased and activated, the cell, and the output before its projection. The biases
    belong to the normalization: without it, Android and Arm NN do not add any.
    """
    named = _named("QLstm", parameters)
    if not d.layer_norm_enabled:
        unbiased = {bias: np.zeros_like(named[bias]) for bias in BIASES.values() if bias in named}
        named = {**named, **unbiased}
    body = Cell(
        parameters=named,
        peephole=d.peephole_enabled,
        layer_norm=d.layer_norm_enabled,
        clip=d.cell_clip,
        storage=_q_lstm_storage(d, outputs[1], inputs),
    )
    output, cell = body.step(x, hidden, cell)
    before = TensorInfo(None, DataType.QASYMM_S8, d.hidden_state_scale, d.hidden_state_zero_point)
    output = stored(before)(output)
    if d.projection_enabled:
        wide = TensorInfo(None, _S16, outputs[2].scale, outputs[2].zero_point)
        output = _projected(named, output, d.projection_clip, stored(wide))
    return output, cell, output


def _q_lstm_storage(
    d: QLstmDescriptor, cells: TensorInfo, inputs: Sequence[TensorInfo | None]
) -> Storage:
    """Return how QLstm rounds its gates.

    Scales that are not used may be zero.
    """
    infos = {slot.name: info for slot, info in zip(LAYERS["QLstm"].inputs, inputs, strict=False)}
    scales = {
        "input": d.input_intermediate_scale,
        "forget": d.forget_intermediate_scale,
        "cell": d.cell_intermediate_scale,
        "output": d.output_intermediate_scale,
    }
    normalized = {}
    for gate in scales:
        x, weights = infos["input"], infos.get(f"{gate}_layer_norm_weights")
        if x is not None and weights is not None:
            step = np.float32(x.scale) * np.float32(weights.scale) * _LAYER_NORM_STEPS
            normalized[gate] = stored(TensorInfo(None, _S16, float(step)))
    activated = stored(cells)
    used = {gate: scale for gate, scale in scales.items() if scale > 0}
    return Storage(
        sums={gate: TensorInfo(None, _S16, scale) for gate, scale in used.items()},
        each_term=True,
        normalized=normalized,
        biased=stored(TensorInfo(None, _S16, _BIASED_SCALE)),
        activated=activated,
        cell=activated,
    )


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
    gates = dict.fromkeys(BIASES, TensorInfo(None, _S16, _GATE_SCALE))
    body = Cell(
        parameters=_named("QuantizedLstm", parameters),
        storage=Storage(sums=gates, cell=stored(outputs[0])),
    )
    output, cell = body.step(x, hidden, cell)
    return cell, output


def _named(layer: str, parameters: Sequence[Array | None]) -> Parameters:
    """Name the inputs behind data and states; omit absent ones."""
    pairs = zip(LAYERS[layer].inputs[3:], parameters, strict=True)
    return {slot.name: value for slot, value in pairs if value is not None}


def _float_cell(d: LstmDescriptor, parameters: Parameters, storage: Storage) -> Cell:
    return Cell(
        parameters=parameters,
        peephole=d.peephole_enabled,
        layer_norm=d.layer_norm_enabled,
        activation=_ACTIVATIONS[d.activation_func],
        clip=d.clipping_thres_cell,
        storage=storage,
    )


def _projected(
    parameters: Parameters, output: Array, clip: float, store: Function | None = None
) -> Array:
    """Project the output by weights [O,U] and bias [O]; clip.

    The result is [batch,O]; the bias is optional.

    Args:
        parameters: The parameters of the layer.
        output: [batch,U].
        clip: Where the projection is clipped; 0 for nowhere.
        store: Rounds a sum after each of its terms; None for no rounding.
    """
    weights = parameters["projection_weights"]
    bias = parameters.get("projection_bias")
    start = np.zeros((), output.dtype) if bias is None else bias
    if store is not None:
        start = store(start)
    return clipped(accumulated(start, output, weights, store), clip)
