# SPDX-License-Identifier: MIT
"""Recurrent operators with gates: LSTMs in one or two directions.

States start at zero in every run, also where the file calls them variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from armnn.graph import Value
from armnn.layers.recurrent import UnidirectionalSequenceLstmDescriptor
from armnn.parsing.conversion import RefusedError, reshape
from armnn.parsing.flatbuffers import FlatTable
from armnn.types import ActivationFunction, ReduceOperation
from armnn_parser_tflite._bindings import ActivationFunctionType, LSTMKernelType
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.activation import FUSED, fused
from armnn_parser_tflite.operators.indexing import static
from armnn_parser_tflite.shapes import with_axis, without_axes
from armnn_parser_tflite.weights import real_like

_WEIGHTS = {
    "input_to_forget_weights": 2,
    "input_to_cell_weights": 3,
    "input_to_output_weights": 4,
    "recurrent_to_forget_weights": 6,
    "recurrent_to_cell_weights": 7,
    "recurrent_to_output_weights": 8,
    "forget_gate_bias": 13,
    "cell_bias": 14,
    "output_gate_bias": 15,
    "input_to_input_weights": 1,
    "recurrent_to_input_weights": 5,
    "input_gate_bias": 12,
    "cell_to_input_weights": 9,
    "cell_to_forget_weights": 10,
    "cell_to_output_weights": 11,
    "projection_weights": 16,
    "projection_bias": 17,
}


_NORMALIZATIONS = {
    "input_layer_norm_weights": 20,
    "forget_layer_norm_weights": 21,
    "cell_layer_norm_weights": 22,
    "output_layer_norm_weights": 23,
}


_UNIDIRECTIONAL = {
    "output_state_in": 18,
    "cell_state_in": 19,
    **_WEIGHTS,
    **_NORMALIZATIONS,
}
"""The inputs in the order of the layer, behind the first, and where the operator has them."""


_FORWARD = {"output_state_in": 35, "cell_state_in": 36, **_WEIGHTS}


_BACKWARD = {
    "output_state_in": 37,
    "cell_state_in": 38,
    **{name: index + 17 for name, index in _WEIGHTS.items()},
}


_AUXILIARY = range(39, 48)


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", newest=4)
def unidirectional_sequence_lstm(operation: Operation) -> Value:
    """Add UnidirectionalSequenceLstm on dequantized numbers.

    The results are quantized again.
    """
    options = operation.options("UnidirectionalSequenceLSTMOptions")
    make = partial(
        _lstm, operation, options, places=_UNIDIRECTIONAL, time_major=options.flag("TimeMajor")
    )
    value, info = operation.input(), operation.info()
    if not value.info.is_quantized:
        return make(value, name=operation.layer_name())
    real = operation.network.add_dequantize(value, name=operation.layer_name("real_input"))
    result = make(real, name=operation.layer_name("real"))
    return operation.network.add_quantize(result, name=operation.layer_name(), output=info)


@operator("LSTM", newest=4)
def one_step(operation: Operation) -> Value:
    """Add UnidirectionalSequenceLstm on a sequence of one step."""
    options = operation.options("LSTMOptions")
    if options.integer("KernelType") != LSTMKernelType.FULL:
        raise RefusedError("it is a basic one, whose weights are in one matrix")
    sequence = with_axis(operation, operation.input(), 0, "sequence")
    name = operation.layer_name("steps")
    steps = _lstm(operation, options, sequence, _UNIDIRECTIONAL, name, time_major=True)
    return without_axes(operation, steps, (0,))


@operator("BIDIRECTIONAL_SEQUENCE_LSTM", newest=3)
def bidirectional_sequence_lstm(operation: Operation) -> Sequence[Value]:
    """Add two UnidirectionalSequenceLstm, one for each direction."""
    options = operation.options("BidirectionalSequenceLSTMOptions")
    value = operation.input()
    if any(operation.has_input(index) for index in _AUXILIARY):
        raise RefusedError("it has an auxiliary input")
    network, time_major = operation.network, options.flag("TimeMajor")
    make = partial(_lstm, operation, options, time_major=time_major)
    forward = make(value, places=_FORWARD, name=operation.layer_name("forward"))
    axis = operation.integers_constant([0 if time_major else 1], "time")
    turned = network.add_reverse_v2(value, axis, name=operation.layer_name("turned"))
    made = make(turned, places=_BACKWARD, name=operation.layer_name("turned_result"))
    backward = network.add_reverse_v2(made, axis, name=operation.layer_name("backward"))
    if not options.flag("MergeOutputs"):
        return [forward, backward]
    return [network.add_concat([forward, backward], axis=2, name=operation.layer_name())]


def _lstm(
    operation: Operation,
    options: FlatTable,
    value: Value,
    places: Mapping[str, int],
    name: str,
    *,
    time_major: bool,
) -> Value:
    """Add UnidirectionalSequenceLstm and return the outputs of all steps.

    Args:
        operation: The operator.
        options: Its parameters.
        value: The real numbers that it reads.
        places: Which input has which role, in the order of the layer.
        name: The name of the layer.
        time_major: Whether the first axis is time.
    """
    if not value.info.data_type.is_float:
        raise RefusedError(f"its activations are {value.info.data_type.arm_name}")
    given = {role: _real(operation, index, value, role) for role, index in places.items()}
    descriptor = UnidirectionalSequenceLstmDescriptor(
        # A number will do, and the enumeration of these is younger than the cores this works with.
        activation_func=options.integer("FusedActivationFunction"),  # type: ignore[arg-type]  # see above
        clipping_thres_cell=options.real("CellClip"),
        clipping_thres_proj=options.real("ProjClip"),
        cifg_enabled=given["input_to_input_weights"] is None,
        peephole_enabled=given["cell_to_output_weights"] is not None,
        projection_enabled=given["projection_weights"] is not None,
        layer_norm_enabled=given.get("forget_layer_norm_weights") is not None,
        time_major=time_major,
    )
    inputs = [value, *given.values()]
    layer = operation.network.add("UnidirectionalSequenceLstm", inputs, descriptor, name=name)
    return layer.outputs[-1]


def _real(operation: Operation, index: int, like: Value, role: str) -> Value | None:
    """Return an input's real numbers, None if it is absent.

    A bias is a tensor of integers without a scale here, so the scale is read from the file.
    """
    value = operation.optional_input(index)
    if value is None:
        return None
    quantization = operation.graph.tensor(operation.record.inputs[index]).quantization
    if value.info.is_quantized or not value.info.data_type.is_integer or quantization is None:
        return real_like(operation, value, like, role)
    if len(quantization.scales) != 1 or any(quantization.zero_points):
        raise RefusedError(
            f"its input {index} has zero points or several scales: expected one scale"
        )
    real = operation.known(index).astype(np.float64) * quantization.scales[0]
    return operation.number(real, like, role)


_NO_ACTIVATION = (ActivationFunction.LINEAR, 1.0, 0.0)


@operator("RNN", newest=3)
def basic_rnn(operation: Operation) -> Value:
    """Add Rnn on a sequence of one step."""
    options = operation.options("RNNOptions")
    sequence = with_axis(operation, operation.input(), 0, "sequence")
    steps = _rnn(operation, options, sequence, (1, 2, 3, 4), time_major=True, part="steps")
    batch, units = static(operation, steps)[1:]
    return reshape(operation, steps, (batch, units))


@operator("UNIDIRECTIONAL_SEQUENCE_RNN", newest=3)
def unidirectional_sequence_rnn(operation: Operation) -> Value:
    """Add Rnn."""
    options = operation.options("SequenceRNNOptions")
    time_major = options.flag("TimeMajor")
    return _rnn(operation, options, operation.input(), (1, 2, 3, 4), time_major=time_major)


@operator("BIDIRECTIONAL_SEQUENCE_RNN", newest=3)
def bidirectional_sequence_rnn(operation: Operation) -> Sequence[Value]:
    """Add two Rnn, one for each direction of the sequence."""
    options = operation.options("BidirectionalSequenceRNNOptions")
    if any(operation.has_input(index) for index in (9, 10, 11)):
        raise RefusedError("it has an auxiliary input")
    network, value, time_major = operation.network, operation.input(), options.flag("TimeMajor")
    axis = operation.integers_constant([0 if time_major else 1], "time")
    forward = _rnn(operation, options, value, (1, 2, 3, 4), time_major=time_major, part="forward")
    turned = network.add_reverse_v2(value, axis, name=operation.layer_name("turned"))
    made = _rnn(
        operation, options, turned, (5, 6, 7, 8), time_major=time_major, part="turned_result"
    )
    backward = network.add_reverse_v2(made, axis, name=operation.layer_name("backward"))
    if not options.flag("MergeOutputs"):
        return [forward, backward]
    return [network.add_concat([forward, backward], axis=2, name=operation.layer_name())]


def _rnn(
    operation: Operation,
    options: FlatTable,
    value: Value,
    places: tuple[int, int, int, int],
    *,
    time_major: bool,
    part: str = "",
) -> Value:
    """Add Rnn and return all outputs.

    The axis for directions is removed.

    Args:
        operation: The operator.
        options: Its parameters.
        value: The sequence, of rank 3.
        places: Which inputs are the weights, the recurrent weights, the bias and the state.
        time_major: Whether the first axis is time.
        part: The name of the layer, behind that of the output.
    """
    if not value.info.data_type.is_float:
        raise RefusedError(f"its activations are {value.info.data_type.arm_name}")
    number = options.integer("FusedActivationFunction")
    if number not in FUSED and number != ActivationFunctionType.NONE:
        raise RefusedError(f"its activation number {number} is not supported")
    function, a, b = FUSED.get(number, _NO_ACTIVATION)
    weights, recurrent, bias, state = (
        real_like(operation, operation.input(index), value, f"real_{index}") for index in places
    )
    none = np.zeros(static(operation, bias), value.info.data_type.numpy_dtype)
    zeros = operation.network.add_constant(none, name=operation.layer_name("no_bias"))
    both = operation.network.add_concat([bias, zeros], axis=0, name=operation.layer_name("biases"))
    steps, _ = operation.network.add_rnn(
        value,
        with_axis(operation, weights, 0, "weights"),
        with_axis(operation, recurrent, 0, "recurrent"),
        with_axis(operation, both, 0, "bias"),
        None,
        with_axis(operation, state, 0 if time_major else 1, "state"),
        activations=(function,),
        activation_a=(a,),
        activation_b=(b,),
        time_major=time_major,
        name=operation.layer_name(f"{part or 'steps'}_by_direction"),
    )
    shape = static(operation, steps)
    axis = 1 if time_major else 2
    return reshape(operation, steps, (*shape[:axis], *shape[axis + 1 :]), part)


@operator("SVDF", newest=4)
def svdf(operation: Operation) -> Value:
    """Add products with features and times, and their sums.

    The times are multiplied with the features of all steps.
    """
    options = operation.options("SVDFOptions")
    network, value, rank = operation.network, operation.input(), options.integer("Rank")
    if not value.info.data_type.is_float:
        raise RefusedError(f"its activations are {value.info.data_type.arm_name}")
    features = real_like(operation, operation.input(1), value, "real_features")
    times = real_like(operation, operation.input(2), value, "real_times")
    shapes = [static(operation, each) for each in (value, features, times)]
    if any(len(shape) != 2 for shape in shapes):
        raise operation.error(f"its inputs have the shapes {shapes}: expected matrices")
    (batch, _), (filters, _), (_, memory) = shapes
    if rank < 1 or filters % rank or not memory:
        raise operation.error(f"{filters} filters with {memory} steps cannot be of rank {rank}")
    new = network.add_fully_connected(
        value, features, transpose_weight_matrix=True, name=operation.layer_name("new")
    )
    state = real_like(operation, operation.input(4), value, "real_state")
    past = network.add_slice(
        reshape(operation, state, (batch, filters, memory), "state"),
        begin=(0, 0, 1),
        size=(batch, filters, memory - 1),
        name=operation.layer_name("past"),
    )
    steps = network.add_concat(
        [past, reshape(operation, new, (batch, filters, 1), "now")],
        axis=2,
        name=operation.layer_name("steps"),
    )
    weighed = network.add_multiplication(steps, times, name=operation.layer_name("weighed"))
    grouped = reshape(operation, weighed, (batch, filters // rank, rank * memory), "grouped")
    total = network.add_reduce(
        grouped,
        axis=(2,),
        keep_dims=False,
        reduce_operation=ReduceOperation.SUM,
        name=operation.layer_name("sum"),
    )
    bias = operation.optional_input(3)
    if bias is None:
        bias = operation.number(0, value, "no_bias")
    return fused(operation, options, lambda label: network.add_addition(total, bias, name=label))
