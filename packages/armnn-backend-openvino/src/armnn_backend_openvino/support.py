# SPDX-License-Identifier: MIT
"""Which layers OpenVINO runs: ONNX's limits and the device's answers."""

from __future__ import annotations

import re
from typing import Any

from armnn.backends import SUPPORTED, Support
from armnn.graph import Layer
from armnn.types import ActivationFunction, BinaryOperation, DataType
from armnn_backend_openvino.devices import core
from armnn_parser_onnx.export import NotExportableError, layer_view, to_onnx

TYPES = (DataType.FLOAT32, DataType.FLOAT16, DataType.SIGNED32, DataType.BOOLEAN)
"""What OpenVINO's CPU device computes in as it is: 64-bit types become 32-bit ones there."""

_THROUGH_FLOAT = ("Activation", "BatchMatMul", "Comparison", "Division", "Mean", "Reduce")
"""Layers of integers that OpenVINO computes in Float32, found by `armnn compare`."""

_ZERO_IS_DEFAULT = (ActivationFunction.HARD_SIGMOID, ActivationFunction.SELU)
"""Activations whose parameters become ONNX's defaults if they are 0."""

_ACTIVATIONS = {"Rnn": 1, "Gru": 2, "SequenceLstm": 3}
"""How many activations a direction has."""

_DIFFERENT_PARAMETERS = {
    "clip": "it clips, and OpenVINO clips the cell state, too.",
    "exclude_outside": "OpenVINO does not exclude samples outside of the picture.",
    "input_forget": "OpenVINO does not couple the gates of an LSTM.",
}
"""Fields of descriptors that, if they are set, OpenVINO takes differently."""


def support_of(layer: Layer, device: str, *, trusting: bool = False) -> Support:
    """Return whether a device runs a layer, or why not.

    Args:
        layer: The layer.
        device: OpenVINO's name of it.
        trusting: Whether layers with results that are known to be wrong are run, too.
    """
    values = [
        *((f"input {index}", value) for index, value in enumerate(layer.inputs)),
        *((f"output {index}", value) for index, value in enumerate(layer.outputs)),
    ]
    for name, value in values:
        if value is None:
            continue
        if value.info.data_type not in TYPES:
            expected = ", ".join(data_type.arm_name for data_type in TYPES)
            return Support.no(f"{name} is {value.info.data_type.arm_name}, expected {expected}.")
        if not value.info.is_static:
            return Support.no(f"the shape of {name} depends on computed values.")
        if 0 in value.info.static_shape:
            return Support.no(f"{name} is empty, which OpenVINO does not run.")
    if not trusting and (reason := _different(layer)):
        return Support.no(reason)
    try:
        model = core().read_model(to_onnx(layer_view(layer)))
        refused = {node.get_friendly_name() for node in model.get_ordered_ops()}
        refused -= core().query_model(model, device).keys()
    except NotExportableError as error:
        return Support.no(str(error))
    except RuntimeError as error:
        # OpenVINO numbers its nodes anew each time; a question has one answer.
        words = re.sub(r"(\w)[-_]\d+\b", r"\1", " ".join(str(error).split()))
        return Support.no(f"OpenVINO does not read it: {words}")
    if refused:
        return Support.no(f"device {device} of OpenVINO does not run {', '.join(sorted(refused))}.")
    return SUPPORTED


def _different(layer: Layer) -> str:
    """Return why a layer's result would be another one, or ""."""
    d: Any = layer.descriptor
    for field, reason in _DIFFERENT_PARAMETERS.items():
        if getattr(d, field, False):
            return reason
    if layer.type == "SequenceLstm" and layer.input("peephole_weights") is not None:
        return "OpenVINO does not run an LSTM with peepholes."
    count = _ACTIVATIONS.get(layer.type, 0)
    if count and d.activations[:count] != d.activations[-count:]:
        return "OpenVINO takes the activations of the first direction for both."
    if layer.type == "Normalization" and d.k != int(d.k):
        return f"OpenVINO cuts k, which is {d.k}, to a whole number."
    if getattr(d, "function", None) in _ZERO_IS_DEFAULT and not (d.a and d.b):
        return "OpenVINO takes a parameter of 0 for one that is not given."
    (first, *_) = layer.inputs
    if first is None or first.info.data_type is not DataType.SIGNED32:
        return ""
    inexact = getattr(d, "operation", None) in (BinaryOperation.DIV, BinaryOperation.POWER)
    if inexact or layer.type in _THROUGH_FLOAT:
        return "OpenVINO computes it in Float32, which does not hold all numbers of Signed32."
    return ""
