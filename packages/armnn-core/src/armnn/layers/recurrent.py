# SPDX-License-Identifier: MIT
"""Recurrent layers: Lstm, UnidirectionalSequenceLstm, QLstm and QuantizedLstm.

The parameters that Arm NN keeps in the layer (``LstmInputParams``) are inputs here, with the same
names. N is the batch, T the time, I the size of the input, U the number of cells, O the size of
the output: O is U unless there is a projection. The gates are those of Hochreiter and Schmidhuber
1997 with the options of Sak et al. 2014 (peephole, projection) and Ba et al. 2016 (layer
normalization).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import SEQUENCES, require_rank, require_shape
from armnn.layers._spec import Inputs, Numerics, Shapes, layer, result, slot
from armnn.tensor import Dimension, TensorInfo
from armnn.types import ArmnnEnum

__all__ = [
    "LstmActivation",
    "LstmDescriptor",
    "QLstmDescriptor",
    "QuantizedLstmDescriptor",
    "UnidirectionalSequenceLstmDescriptor",
]


class LstmActivation(ArmnnEnum):
    """The activation of an Lstm's cell, by TensorFlow Lite's numbers.

    It is that of the cell's candidate and of the output.
    """

    NONE = 0, "None"
    RELU = 1, "ReLu"
    RELU6 = 3, "ReLu6"
    TANH = 4, "TanH"
    SIGMOID = 6, "Sigmoid"


_GATES = ("input", "forget", "cell", "output")
_NEEDED = (
    *(slot(f"input_to_{gate}_weights", "Shape [U,I].") for gate in _GATES[1:]),
    *(slot(f"recurrent_to_{gate}_weights", "Shape [U,O].") for gate in _GATES[1:]),
    *(slot(name, "Shape [U].") for name in ("forget_gate_bias", "cell_bias", "output_gate_bias")),
)
_OPTIONS = {
    "input_to_input_weights": "[U,I]; absent if ``cifg_enabled``.",
    "recurrent_to_input_weights": "[U,O]; absent if ``cifg_enabled``.",
    "input_gate_bias": "[U]; absent if ``cifg_enabled``.",
    "cell_to_input_weights": "[U]; if ``peephole_enabled`` and not ``cifg_enabled``.",
    "cell_to_forget_weights": "[U]; if ``peephole_enabled``.",
    "cell_to_output_weights": "[U]; if ``peephole_enabled``.",
    "projection_weights": "[O,U]; if ``projection_enabled``.",
    "projection_bias": "[O]; may be there if ``projection_enabled``.",
    "input_layer_norm_weights": "[U]; if ``layer_norm_enabled`` and not ``cifg_enabled``.",
    "forget_layer_norm_weights": "[U]; if ``layer_norm_enabled``.",
    "cell_layer_norm_weights": "[U]; if ``layer_norm_enabled``.",
    "output_layer_norm_weights": "[U]; if ``layer_norm_enabled``.",
}
_STATES_AND_PARAMETERS = (
    slot("output_state_in", "[N,O], the output of the step before."),
    slot("cell_state_in", "[N,U], the cells after the step before."),
    *_NEEDED,
    *(slot(name, doc, optional=True) for name, doc in _OPTIONS.items()),
)
_STATES_OUT = (
    result("output_state_out", "Shape [N,O].", like="output_state_in"),
    result("cell_state_out", "Shape [N,U].", like="cell_state_in"),
)


def _output_and_cells(
    descriptor: LstmDescriptor | QLstmDescriptor,
    inputs: Inputs,
    batch: Dimension,
    features: Dimension,
) -> tuple[Dimension, Dimension]:
    """Return O and U, the state sizes, with parameters checked."""
    outputs = require_rank(inputs, "output_state_in", 2)[1]
    cells = require_rank(inputs, "cell_state_in", 2)[1]
    require_shape(inputs, "output_state_in", (batch, outputs))
    require_shape(inputs, "cell_state_in", (batch, cells))
    for name in [input_slot.name for input_slot in inputs.spec.inputs[3:]]:
        if name == "projection_weights":
            require_shape(inputs, name, (outputs, cells))
        elif name == "projection_bias":
            require_shape(inputs, name, (outputs,))
        elif name.startswith("input_to_"):
            require_shape(inputs, name, (cells, features))
        elif name.startswith("recurrent_to_"):
            require_shape(inputs, name, (cells, outputs))
        else:
            require_shape(inputs, name, (cells,))
    _check_presence(descriptor, inputs)
    return outputs, cells


def _check_presence(descriptor: LstmDescriptor | QLstmDescriptor, inputs: Inputs) -> None:
    """Check that the optional inputs match the descriptor.

    Raises:
        ShapeError: One is missing, or is given but would not be used.
    """
    flags = {
        "cell_to_": descriptor.peephole_enabled,
        "projection_": descriptor.projection_enabled,
        "layer_norm_": descriptor.layer_norm_enabled,
    }
    for name in _OPTIONS:
        wanted = all(enabled for part, enabled in flags.items() if part in name)
        if name in _OF_INPUT_GATE:
            wanted = wanted and not descriptor.cifg_enabled
        given = inputs.get(name) is not None
        if wanted != given and not (wanted and name == "projection_bias"):
            raise ShapeError(
                f"the input {name!r} is {'given' if given else 'missing'}, but cifg_enabled is "
                f"{descriptor.cifg_enabled}, peephole_enabled {descriptor.peephole_enabled}, "
                f"projection_enabled {descriptor.projection_enabled} and layer_norm_enabled "
                f"{descriptor.layer_norm_enabled}"
            )


_OF_INPUT_GATE = (
    "input_to_input_weights",
    "recurrent_to_input_weights",
    "input_gate_bias",
    "cell_to_input_weights",
    "input_layer_norm_weights",
)
"""The parameters that a cell with coupled gates does without."""


def _lstm(descriptor: LstmDescriptor, inputs: Inputs) -> Shapes:
    batch, features = require_rank(inputs, "input", 2)
    outputs, cells = _output_and_cells(descriptor, inputs, batch, features)
    gates = 3 if descriptor.cifg_enabled else 4
    scratch = cells * gates if isinstance(cells, int) else None
    return [(batch, scratch), (batch, outputs), (batch, cells), (batch, outputs)]


def _gate_products(_descriptor: Descriptor, inputs: Inputs, _outputs: Sequence[TensorInfo]) -> int:
    """Count multiply-adds: each step takes every matrix once.

    The same holds for peephole vectors.
    """
    weights = [
        math.prod(inputs.sizes(each.name))
        for each in inputs.spec.inputs
        if each.name.endswith("_weights") and "layer_norm" not in each.name
    ]
    return math.prod(inputs.sizes("input")[:-1]) * sum(weights)


@layer(
    28,
    inputs=[slot("input", "Shape [N,I]."), *_STATES_AND_PARAMETERS],
    outputs=[
        result(
            "scratch_buffer",
            "[N,4*U], or [N,3*U] if ``cifg_enabled``; its values are open. A quantized layer keeps "
            "its gates in the steps of this output.",
        ),
        *_STATES_OUT,
        result("output", "[N,O], the same as output_state_out.", like="output_state_in"),
    ],
    infer=_lstm,
    numerics=Numerics(overflows="gates are sums of products in float32"),
    axes=SEQUENCES,
    multiply_adds=_gate_products,
)
class LstmDescriptor(Descriptor):
    """One step of a long short-term memory.

    Attributes:
        activation_func: The function of the cell candidate and the output.
        clipping_thres_cell: Where the cell is clipped; 0 for nowhere.
        clipping_thres_proj: Where the projection is clipped; 0 for nowhere.
        cifg_enabled: Whether the input gate is one minus the forget gate.
        peephole_enabled: Whether the gates see the cell.
        projection_enabled: Whether the output is projected.
        layer_norm_enabled: Whether the gates are normalized.
        time_major: Whether the time is the first axis (UnidirectionalSequenceLstm only).
        input_intermediate_scale: Not used by this layer, kept from Arm NN; so are the next five.
        forget_intermediate_scale: As above.
        cell_intermediate_scale: As above.
        output_intermediate_scale: As above.
        hidden_state_zero_point: As above.
        hidden_state_scale: As above.
    """

    activation_func: LstmActivation = LstmActivation.RELU
    clipping_thres_cell: float = parameter(0.0, at_least=0)
    clipping_thres_proj: float = parameter(0.0, at_least=0)
    cifg_enabled: bool = True
    peephole_enabled: bool = False
    projection_enabled: bool = False
    layer_norm_enabled: bool = False
    time_major: bool = False
    input_intermediate_scale: float = 0.0
    forget_intermediate_scale: float = 0.0
    cell_intermediate_scale: float = 0.0
    output_intermediate_scale: float = 0.0
    hidden_state_zero_point: int = 0
    hidden_state_scale: float = 0.0


def _sequence(descriptor: UnidirectionalSequenceLstmDescriptor, inputs: Inputs) -> Shapes:
    first, second, features = require_rank(inputs, "input", 3)
    batch = second if descriptor.time_major else first
    outputs, cells = _output_and_cells(descriptor, inputs, batch, features)
    return [(batch, outputs), (batch, cells), (first, second, outputs)]


@layer(
    66,
    inputs=[slot("input", "[N,T,I], or [T,N,I] if ``time_major``."), *_STATES_AND_PARAMETERS],
    outputs=[
        *_STATES_OUT,
        result("output", "[N,T,O], or [T,N,O] if ``time_major``.", like="output_state_in"),
    ],
    infer=_sequence,
    numerics=Numerics(overflows="gates are sums of products in float32"),
    axes=SEQUENCES,
    multiply_adds=_gate_products,
)
class UnidirectionalSequenceLstmDescriptor(LstmDescriptor):
    """A long short-term memory over a sequence; parameters of Lstm.

    Weights and biases may be quantized beside float data. A Signed32 bias counts in steps of the
    data times those of the weights, of which floats have one; as for QLstm, behind quantized layer
    normalization in 1/1024 of the steps of its weights.
    """


def _q_lstm(descriptor: QLstmDescriptor, inputs: Inputs) -> Shapes:
    batch, features = require_rank(inputs, "input", 2)
    outputs, cells = _output_and_cells(descriptor, inputs, batch, features)
    return [(batch, outputs), (batch, cells), (batch, outputs)]


@layer(
    29,
    inputs=[slot("input", "Shape [N,I], type QAsymmS8."), *_STATES_AND_PARAMETERS],
    outputs=[
        *_STATES_OUT,
        result("output", "[N,O], the same as output_state_out.", like="output_state_in"),
    ],
    infer=_q_lstm,
    numerics=Numerics(rounds_inside=True),
    axes=SEQUENCES,
    multiply_adds=_gate_products,
)
class QLstmDescriptor(Descriptor):
    """One LSTM step in 8 bits, with a 16-bit cell.

    Activated gates have the steps of the cell. The biases of the gates belong to the normalization
    and count in 1/1024 of the steps of its weights; without it they are not added (Android's
    QUANTIZED_LSTM). That of the projection counts in steps of the output before the projection
    times those of the weights.

    Attributes:
        cell_clip: Where the cell is clipped; 0 for nowhere.
        projection_clip: Where the projection is clipped; 0 for nowhere.
        cifg_enabled: Whether the input gate is one minus the forget gate.
        peephole_enabled: Whether the gates see the cell.
        projection_enabled: Whether the output is projected.
        layer_norm_enabled: Whether the gates are normalized.
        input_intermediate_scale: The scale of the input gate before its activation.
        forget_intermediate_scale: The scale of the forget gate before its activation.
        cell_intermediate_scale: The scale of the cell candidate before its activation.
        output_intermediate_scale: The scale of the output gate before its activation.
        hidden_state_zero_point: The zero point of the output before its projection.
        hidden_state_scale: The scale of the output before its projection.
    """

    cell_clip: float = parameter(0.0, at_least=0)
    projection_clip: float = parameter(0.0, at_least=0)
    cifg_enabled: bool = True
    peephole_enabled: bool = False
    projection_enabled: bool = False
    layer_norm_enabled: bool = False
    input_intermediate_scale: float = 0.0
    forget_intermediate_scale: float = 0.0
    cell_intermediate_scale: float = 0.0
    output_intermediate_scale: float = 0.0
    hidden_state_zero_point: int = 0
    hidden_state_scale: float = parameter(0.0, at_least=0)


def _quantized_lstm(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    batch, features = require_rank(inputs, "input", 2)
    outputs = require_rank(inputs, "previous_output_in", 2)[1]
    for name in ("previous_cell_state_in", "previous_output_in"):
        require_shape(inputs, name, (batch, outputs))
    for gate in _GATES:
        require_shape(inputs, f"input_to_{gate}_weights", (outputs, features))
        require_shape(inputs, f"recurrent_to_{gate}_weights", (outputs, outputs))
        require_shape(inputs, "cell_bias" if gate == "cell" else f"{gate}_gate_bias", (outputs,))
    return [(batch, outputs), (batch, outputs)]


@layer(
    46,
    inputs=[
        slot("input", "Shape [N,I], type QAsymmU8."),
        slot("previous_cell_state_in", "Shape [N,U], type QSymmS16."),
        slot("previous_output_in", "Shape [N,U], type QAsymmU8."),
        *(slot(f"input_to_{gate}_weights", "Shape [U,I].") for gate in _GATES),
        *(slot(f"recurrent_to_{gate}_weights", "Shape [U,U].") for gate in _GATES),
        slot("input_gate_bias", "Shape [U]."),
        slot("forget_gate_bias", "Shape [U]."),
        slot("cell_bias", "Shape [U]."),
        slot("output_gate_bias", "Shape [U]."),
    ],
    outputs=[
        result("cell_state_out", "Shape [N,U].", like="previous_cell_state_in"),
        result("output", "Shape [N,U].", like="previous_output_in"),
    ],
    infer=_quantized_lstm,
    numerics=Numerics(rounds_inside=True),
    axes=SEQUENCES,
    multiply_adds=_gate_products,
)
class QuantizedLstmDescriptor(Descriptor):
    """One step of Android's 8-bit LSTM.

    It is that of the neural networks API 1.2.
    """
