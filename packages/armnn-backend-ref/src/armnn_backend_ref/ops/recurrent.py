# SPDX-License-Identifier: MIT
"""LSTM layers: one cell for float, sequence and quantised ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.layers import LAYERS
from armnn.layers.recurrent import (
    LstmActivation,
    LstmDescriptor,
    QLstmDescriptor,
    QuantizedLstmDescriptor,
    UnidirectionalSequenceLstmDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops._lstm_cell import (
    BIASES,
    EXACT,
    Cell,
    Function,
    Parameters,
    Storage,
    accumulated,
    clipped,
    same,
    sigmoid,
    stored,
)
from armnn_backend_ref.ops._registry import Array, op

_S16 = DataType.QSYMM_S16

_GATE_SCALE = 2.0**-12
"""The steps of the gates of QuantizedLstm before their activation."""

_BIASED_SCALE = 1 / 4096
"""The steps of a gate of QLstm between its normalisation and its activation."""

_LAYER_NORM_STEPS = 1024
"""A normalised gate of QLstm has as many times the product of the steps of input and weights."""

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

    A quantised layer keeps its gates in the steps of the scratch buffer, as Arm NN does.
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
    Arm NN does: each sum of products after each of its terms, a gate once it is normalised,
    weighted, biased and activated, the cell, and the output before its projection. The biases
    belong to the normalisation: without it, Android and Arm NN do not add any.
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
        parameters: Of the layer.
        output: [batch,U].
        clip: Where the projection is clipped; 0 for nowhere.
        store: What is left of a sum after each of its terms; None for all.
    """
    weights = parameters["projection_weights"]
    bias = parameters.get("projection_bias")
    start = np.zeros((), output.dtype) if bias is None else bias
    if store is not None:
        start = store(start)
    return clipped(accumulated(start, output, weights, store), clip)
