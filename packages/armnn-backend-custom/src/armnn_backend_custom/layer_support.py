# SPDX-License-Identifier: MIT
"""The layers that Custom runs (Arm NN's tutorial: ``CustomLayerSupport``)."""

from __future__ import annotations

from armnn.backends import SUPPORTED, Support
from armnn.graph import Layer
from armnn.types import DataType

LAYERS = ("Input", "Output", "Addition", "MemCopy", "PreCompiled")


def support_of(layer: Layer) -> Support:
    """Say whether Custom runs a layer.

    Arm NN's own example looks at the first tensor only, and so promises additions that it then
    computes wrongly; here all inputs and outputs count.
    """
    if layer.type not in LAYERS:
        return Support.no(f"Custom runs {', '.join(LAYERS)}; got a layer of type {layer.type}.")
    tensors = [
        *((f"input {index}", value) for index, value in enumerate(layer.inputs)),
        *((f"output {index}", value) for index, value in enumerate(layer.outputs)),
    ]
    for name, value in tensors:
        if value is not None and value.info.data_type is not DataType.FLOAT32:
            return Support.no(
                f"Data type not supported. Custom runs Float32, "
                f"{name} is {value.info.data_type.arm_name}."
            )
    return SUPPORTED
