# SPDX-License-Identifier: MIT
"""Whole sequences: RNN, GRU, LSTM, DynamicQuantizeLSTM and ReverseSequence."""

from __future__ import annotations

from typing import Any

from armnn.graph import Value
from armnn.layers import LAYERS
from armnn.parsing.conversion import RefusedError
from armnn.types import ActivationFunction, SequenceDirection
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.schemas import MICROSOFT

_DIRECTIONS = {
    "forward": SequenceDirection.FORWARD,
    "reverse": SequenceDirection.REVERSE,
    "bidirectional": SequenceDirection.BIDIRECTIONAL,
}

_ACTIVATIONS = {
    "relu": (ActivationFunction.RELU, 0.0, 0.0),
    "tanh": (ActivationFunction.TANH, 1.0, 1.0),
    "sigmoid": (ActivationFunction.SIGMOID, 0.0, 0.0),
    "affine": (ActivationFunction.LINEAR, 1.0, 0.0),
    "leakyrelu": (ActivationFunction.LEAKY_RELU, 0.01, 0.0),
    "thresholdedrelu": (ActivationFunction.THRESHOLDED_RELU, 1.0, 0.0),
    "scaledtanh": (ActivationFunction.TANH, 1.0, 1.0),
    "hardsigmoid": (ActivationFunction.HARD_SIGMOID, 0.2, 0.5),
    "elu": (ActivationFunction.ELU, 1.0, 0.0),
    "softsign": (ActivationFunction.SOFT_SIGN, 0.0, 0.0),
    "softplus": (ActivationFunction.SOFT_RELU, 0.0, 0.0),
}
"""The activations by ONNX's names in lower case, with alpha and beta where a node says neither."""

_WITH_BETA = ("affine", "scaledtanh", "hardsigmoid")
_WITH_ALPHA = (*_WITH_BETA, "leakyrelu", "thresholdedrelu", "elu")


@operator("RNN")
def rnn(operation: Operation) -> list[Value]:
    """Add Rnn."""
    return _recurrent(operation, "Rnn", ["Tanh"])


@operator("GRU")
def gru(operation: Operation) -> list[Value]:
    """Add Gru."""
    return _recurrent(
        operation,
        "Gru",
        ["Sigmoid", "Tanh"],
        linear_before_reset=operation.flag("linear_before_reset"),
    )


@operator("LSTM")
def lstm(operation: Operation) -> list[Value]:
    """Add SequenceLstm."""
    return _lstm(operation, "SequenceLstm")


@operator("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(operation: Operation) -> list[Value]:
    """Add DynamicQuantizeLstm."""
    return _lstm(operation, "DynamicQuantizeLstm")


def _lstm(operation: Operation, layer_type: str) -> list[Value]:
    return _recurrent(
        operation,
        layer_type,
        ["Sigmoid", "Tanh", "Tanh"],
        input_forget=operation.flag("input_forget"),
    )


def _recurrent(
    operation: Operation, layer_type: str, default: list[str], **parameters: Any
) -> list[Value]:
    direction = _DIRECTIONS[operation.text("direction", _DIRECTIONS)]
    ways = 2 if direction is SequenceDirection.BIDIRECTIONAL else 1
    functions, a, b = _activations(operation, default * ways)
    batch_first = operation.flag("layout")
    inputs = [operation.optional_input(index) for index in range(len(operation.inputs))]
    layer = operation.network.add(
        layer_type,
        inputs,
        LAYERS[layer_type].descriptor(
            direction=direction,
            activations=functions,
            activation_a=a,
            activation_b=b,
            clip=operation.real("clip", 0.0),
            time_major=not batch_first,
            **parameters,
        ),
        name=operation.layer_name(),
    )
    return list(layer.outputs)


def _activations(
    operation: Operation, default: list[str]
) -> tuple[tuple[ActivationFunction, ...], tuple[float, ...], tuple[float, ...]]:
    names = [name.lower() for name in operation.texts("activations") or default]
    if len(names) != len(default):
        raise operation.error(f"got {len(names)} activations, expected {len(default)}")
    alphas = iter(operation.reals("activation_alpha") or ())
    betas = iter(operation.reals("activation_beta") or ())
    functions, a, b = [], [], []
    for name in names:
        if name not in _ACTIVATIONS:
            raise RefusedError(f"no layer computes the activation {name!r} in a sequence")
        function, alpha, beta = _ACTIVATIONS[name]
        functions.append(function)
        a.append(next(alphas, alpha) if name in _WITH_ALPHA else alpha)
        b.append(next(betas, beta) if name in _WITH_BETA else beta)
    return tuple(functions), tuple(a), tuple(b)


@operator("ReverseSequence", moves_data=True)
def reverse_sequence(operation: Operation) -> Value:
    """Add ReverseSequence."""
    return operation.network.add_reverse_sequence(
        operation.input(),
        operation.input(1),
        batch_axis=operation.integer("batch_axis"),
        time_axis=operation.integer("time_axis"),
        name=operation.layer_name(),
    )
