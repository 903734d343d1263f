# SPDX-License-Identifier: MIT
"""Layers over whole sequences: Rnn, Gru, SequenceLstm, DynamicQuantizeLstm, ReverseSequence.

They are defined as in ONNX and onnxruntime, in one direction or both. Names in the shapes: T steps,
N items of the batch, I inputs and U units of a step, D directions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import SEQUENCES, apply, normalized_axis, require_rank, require_shape
from armnn.layers._spec import Inputs, InputSlot, Numerics, Shapes, layer, result, slot
from armnn.layers.activation import ActivationDescriptor
from armnn.tensor import Shape, TensorInfo
from armnn.types import ActivationFunction, SequenceDirection

_SIGMOID, _TANH = ActivationFunction.SIGMOID, ActivationFunction.TANH


class _RecurrentDescriptor(Descriptor):
    """The common part of the recurrent layers."""

    __slots__ = ()

    direction: SequenceDirection
    activations: tuple[ActivationFunction, ...]
    activation_a: tuple[float, ...]
    activation_b: tuple[float, ...]
    clip: float
    time_major: bool

    gates: ClassVar[int]
    """How many blocks of U rows the weights have."""

    num_activations: ClassVar[int]
    """How many activations one direction has."""

    weights_transposed: ClassVar[bool] = False
    """Whether a column of the weights, not a row, belongs to a gate of a unit."""

    def check(self) -> None:
        """Raise InvalidArgumentError if a parameter is outside of its range."""
        given = [len(values) for values in (self.activations, self.activation_a, self.activation_b)]
        allowed = sorted({self.num_activations, self.num_activations * self.num_directions})
        if given[0] not in allowed or given.count(given[0]) != 3:
            raise InvalidArgumentError(
                f"{type(self).__name__}: got {given[0]} activations, {given[1]} activation_a and "
                f"{given[2]} activation_b, expected {' or '.join(map(str, allowed))} of each"
            )

    @property
    def num_directions(self) -> int:
        """How many times the sequence is read."""
        return 2 if self.direction is SequenceDirection.BIDIRECTIONAL else 1

    def activations_of(self, way: int) -> list[ActivationDescriptor]:
        """Return one direction's activations, in the descriptor's order."""
        first = way * self.num_activations % len(self.activations)
        return [
            ActivationDescriptor(
                function=self.activations[place],
                a=self.activation_a[place],
                b=self.activation_b[place],
            )
            for place in range(first, first + self.num_activations)
        ]


def _recurrent(descriptor: _RecurrentDescriptor, inputs: Inputs) -> Shapes:
    first, second, size = require_rank(inputs, "input", 3)
    time, batch = (first, second) if descriptor.time_major else (second, first)
    units = require_rank(inputs, "recurrent_weights", 3)[1 if descriptor.weights_transposed else 2]
    directions, gates = descriptor.num_directions, descriptor.gates
    rows, biases, peepholes = (
        apply(lambda number, factor=factor: factor * number, units)
        for factor in (gates, 2 * gates, 3)
    )
    state = (directions, batch, units) if descriptor.time_major else (batch, directions, units)
    matrices = [(rows, size), (rows, units)]
    if descriptor.weights_transposed:
        matrices = [matrix[::-1] for matrix in matrices]
    expected: dict[str, Shape] = {
        "weights": (directions, *matrices[0]),
        "recurrent_weights": (directions, *matrices[1]),
        "bias": (directions, biases),
        "sequence_lengths": (batch,),
        "output_state_in": state,
        "cell_state_in": state,
        "peephole_weights": (directions, peepholes),
    }
    for input_slot in inputs.spec.inputs[1:]:
        name = input_slot.name
        if name in expected:
            require_shape(inputs, name, expected[name])
        else:  # scales and zero points
            per_column = len(inputs.shape(name)) == 2
            require_shape(inputs, name, (directions, rows) if per_column else (directions,))
    steps = (time, directions, batch) if descriptor.time_major else (batch, time, directions)
    return [(*steps, units)] + [state] * (len(inputs.spec.outputs) - 1)


def _inputs(gates: str, *, of_bytes: bool = False) -> list[InputSlot]:
    rows = f"{len(gates)}*U" if len(gates) > 1 else "U"
    order = f", gates in the order {gates}" if len(gates) > 1 else ""
    return [
        slot("input", "[T,N,I] if ``time_major``, else [N,T,I]."),
        slot(
            "weights",
            f"[D,I,{rows}], Signed8 or Unsigned8{order}." if of_bytes else f"[D,{rows},I]{order}.",
        ),
        slot(
            "recurrent_weights",
            f"[D,U,{rows}], Signed8 or Unsigned8." if of_bytes else f"[D,{rows},U].",
        ),
        slot(
            "bias",
            f"[D,{2 * len(gates)}*U]: those of the weights, then those of the recurrent ones.",
            optional=True,
        ),
        slot(
            "sequence_lengths", "[N], integers: how many steps of each item count.", optional=True
        ),
        slot(
            "output_state_in",
            "[D,N,U] if ``time_major``, else [N,D,U]: the state before the first step.",
            optional=True,
        ),
    ]


_OUTPUTS = [
    result(
        "output",
        "[T,D,N,U] if ``time_major``, else [N,T,D,U]: the output of each step, 0 where the item "
        "has ended.",
    ),
    result("output_state_out", "As output_state_in: the output of the last step."),
]


def _step_products(_descriptor: Descriptor, inputs: Inputs, _outputs: Sequence[TensorInfo]) -> int:
    """Count multiply-adds: each step takes every matrix once.

    The matrices of both directions are in one input.
    """
    names = [each.name for each in inputs.spec.inputs if each.name.endswith("weights")]
    matrices = sum(math.prod(inputs.sizes(name)) for name in names)
    return math.prod(inputs.sizes("input")[:2]) * matrices


@layer(
    1008,
    inputs=_inputs("h"),
    outputs=_OUTPUTS,
    infer=_recurrent,
    numerics=Numerics(overflows="gates are sums of products in float32"),
    axes=SEQUENCES,
    multiply_adds=_step_products,
)
class RnnDescriptor(_RecurrentDescriptor):
    """h = f(x * weights + h * recurrent_weights + biases).

    It is computed for each step x, with both biases (ONNX: RNN).

    Attributes:
        direction: In which order the steps are read.
        activations: f; for both directions one after the other, or one for both.
        activation_a: The parameter ``a`` of each activation, see Activation.
        activation_b: The parameter ``b`` of each activation.
        clip: The input of an activation is clipped to [-clip, clip]; 0 for no clipping.
        time_major: Whether the steps are the first axis, before the batch.
    """

    gates: ClassVar[int] = 1
    num_activations: ClassVar[int] = 1

    direction: SequenceDirection = SequenceDirection.FORWARD
    activations: tuple[ActivationFunction, ...] = (_TANH,)
    activation_a: tuple[float, ...] = (1.0,)
    activation_b: tuple[float, ...] = (1.0,)
    clip: float = parameter(0.0, at_least=0)
    time_major: bool = False


@layer(
    1009,
    inputs=_inputs("zrh"),
    outputs=_OUTPUTS,
    infer=_recurrent,
    numerics=Numerics(overflows="gates are sums of products in float32"),
    axes=SEQUENCES,
    multiply_adds=_step_products,
)
class GruDescriptor(_RecurrentDescriptor):
    """Gated recurrent units (Cho et al. 2014, ONNX: GRU).

    For each step x, with weights W, recurrent weights R and biases B and C: z = f(x*Wz + h*Rz + Bz
    + Cz), r = f(x*Wr + h*Rr + Br + Cr), n = g(x*Wh + (r.h)*Rh + Bh + Ch), h = (1-z).n + z.h.

    Attributes:
        direction: In which order the steps are read.
        activations: f and g; for both directions one after the other, or once for both.
        activation_a: The parameter ``a`` of each activation, see Activation.
        activation_b: The parameter ``b`` of each activation.
        clip: The input of an activation is clipped to [-clip, clip]; 0 for no clipping.
        time_major: Whether the steps are the first axis, before the batch.
        linear_before_reset: Whether n is g(x*Wh + r.(h*Rh + Ch) + Bh) instead.
    """

    gates: ClassVar[int] = 3
    num_activations: ClassVar[int] = 2

    direction: SequenceDirection = SequenceDirection.FORWARD
    activations: tuple[ActivationFunction, ...] = (_SIGMOID, _TANH)
    activation_a: tuple[float, ...] = (1.0, 1.0)
    activation_b: tuple[float, ...] = (1.0, 1.0)
    clip: float = parameter(0.0, at_least=0)
    time_major: bool = False
    linear_before_reset: bool = False


_LSTM_INPUTS = [
    slot("cell_state_in", "As output_state_in: the cell before the first step.", optional=True),
    slot("peephole_weights", "[D,3*U]: how the gates i, o and f see the cell.", optional=True),
]
_LSTM_OUTPUTS = [
    *_OUTPUTS,
    result("cell_state_out", "As cell_state_in: the cell of the last step."),
]


@layer(
    1010,
    inputs=[*_inputs("iofc"), *_LSTM_INPUTS],
    outputs=_LSTM_OUTPUTS,
    infer=_recurrent,
    numerics=Numerics(overflows="gates are sums of products in float32"),
    axes=SEQUENCES,
    multiply_adds=_step_products,
)
class SequenceLstmDescriptor(_RecurrentDescriptor):
    """Long short-term memory (Hochreiter and Schmidhuber 1997, ONNX: LSTM).

    For each step x, with weights W, recurrent weights R, both biases in B and peepholes P:
    i = f(x*Wi + h*Ri + Pi.c + Bi), r = f(x*Wf + h*Rf + Pf.c + Bf), c = r.c + i.g(x*Wc + h*Rc + Bc),
    o = f(x*Wo + h*Ro + Po.c + Bo), h = o.k(c).

    Attributes:
        direction: In which order the steps are read.
        activations: f, g and k; for both directions one after the other, or once for both.
        activation_a: The parameter ``a`` of each activation, see Activation.
        activation_b: The parameter ``b`` of each activation.
        clip: The input of an activation is clipped to [-clip, clip]; 0 for no clipping.
        time_major: Whether the steps are the first axis, before the batch.
        input_forget: Whether r is 1-i.
    """

    gates: ClassVar[int] = 4
    num_activations: ClassVar[int] = 3

    direction: SequenceDirection = SequenceDirection.FORWARD
    activations: tuple[ActivationFunction, ...] = (_SIGMOID, _TANH, _TANH)
    activation_a: tuple[float, ...] = (1.0, 1.0, 1.0)
    activation_b: tuple[float, ...] = (1.0, 1.0, 1.0)
    clip: float = parameter(0.0, at_least=0)
    time_major: bool = False
    input_forget: bool = False


@layer(
    1036,
    inputs=[
        *_inputs("iofc", of_bytes=True),
        *_LSTM_INPUTS,
        slot("weight_scales", "[D], or [D,4*U] of each column."),
        slot("weight_zero_points", "[D] or [D,4*U], of the type of the weights."),
        slot("recurrent_scales", "[D] or [D,4*U]."),
        slot("recurrent_zero_points", "[D] or [D,4*U], of the type of the recurrent weights."),
    ],
    outputs=_LSTM_OUTPUTS,
    infer=_recurrent,
    numerics=Numerics(rounds_inside=True),
    axes=SEQUENCES,
    multiply_adds=_step_products,
)
class DynamicQuantizeLstmDescriptor(SequenceLstmDescriptor):
    """A SequenceLstm with weights of bytes (onnxruntime: DynamicQuantizeLSTM).

    A weight is scale * (byte - zero point). The products of the weights with the input, and of the
    recurrent weights with the output of the step before, are exact sums of products of bytes:
    before, all of the input is rounded as DynamicQuantize does, and so is the output of each step,
    each item of the batch by itself. (onnxruntime rounds together the items that one of its threads
    computes, so with several items its results depend on its number of threads, and leaves out
    steps of the input behind the longest item.) Peepholes, biases and cells are not rounded.
    """

    weights_transposed: ClassVar[bool] = True


def _reverse_sequence(descriptor: ReverseSequenceDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    batch = normalized_axis(descriptor.batch_axis, len(shape))
    if batch == normalized_axis(descriptor.time_axis, len(shape)):
        raise ShapeError(f"the axis {batch} is both that of the batch and that of time")
    require_shape(inputs, "sequence_lengths", (shape[batch],))
    return [shape]


@layer(
    1011,
    inputs=[
        slot("input", "A tensor of rank 2 or more."),
        slot("sequence_lengths", "[N], integers: how many steps of each item are reversed."),
    ],
    infer=_reverse_sequence,
    moves_data=True,
)
class ReverseSequenceDescriptor(Descriptor):
    """The first steps of each item in reverse order.

    The others stay as they are (ONNX: ReverseSequence).

    Attributes:
        batch_axis: The axis of the batch; counted from the end if negative.
        time_axis: The axis of the steps; counted from the end if negative.
    """

    batch_axis: int = 1
    time_axis: int = 0
