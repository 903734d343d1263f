# SPDX-License-Identifier: MIT
"""Which layers onnxruntime runs: ONNX's limits and the provider's answers."""

from __future__ import annotations

from typing import Any

from armnn.backends import SUPPORTED, ModelContext, Support
from armnn.graph import Layer
from armnn.types import ActivationFunction, DataLayout, DataType, ResizeMethod
from armnn_backend_onnxruntime.devices import device_of
from armnn_backend_onnxruntime.sessions import TRUST, first_line, make_session
from armnn_parser_onnx.export import NotExportableError, layer_view, to_onnx


def support_of(layer: Layer, model: ModelContext) -> Support:
    """Return whether a device runs a layer, or why not."""
    for name, values in (("input", layer.inputs), ("output", layer.outputs)):
        for index, value in enumerate(values):
            if value is not None and not value.info.is_static:
                return Support.no(f"the shape of {name} {index} depends on computed values.")
    if not model.options.get(TRUST, False) and (reason := _different(layer)):
        return Support.no(reason)
    try:
        make_session(to_onnx(layer_view(layer)), model.options, optimize=False)
    except NotExportableError as error:
        return Support.no(str(error))
    except Exception as error:  # onnxruntime's have no common class
        return Support.no(
            f"{device_of(model.options)} of onnxruntime does not run it: {first_line(error)}"
        )
    return SUPPORTED


def _different(layer: Layer) -> str:
    """Return why a layer's result would be another one, or "".

    The conformance kit found each of these; no session refuses them.
    """
    d: Any = layer.descriptor
    types = [value.info.data_type for value in layer.inputs if value is not None]
    is_double = DataType.FLOAT64 in types[:1]
    function = getattr(d, "function", None)
    cubic = layer.type == "Resize" and d.method is ResizeMethod.CUBIC
    reasons = {
        "it clips, and onnxruntime does not clip the cell state before its activation.": getattr(
            d, "clip", 0
        ),
        "onnxruntime moves cubic samples to channels last, where it cannot compute them.": cubic
        and d.data_layout is not DataLayout.NCHW,
        "onnxruntime computes Shrink in Float32.": function is ActivationFunction.SHRINK
        and types[0] not in (DataType.FLOAT32, DataType.FLOAT16),
        "onnxruntime computes GeluTanH of Float64 with constants of Float32.": is_double
        and function is ActivationFunction.GELU_TANH,
        f"onnxruntime has no {layer.type} of Float64, and notices when it runs.": is_double
        and layer.type in ("Gru", "SequenceLstm"),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")
