# SPDX-License-Identifier: MIT
"""AcmeCpu: dense layers, with Acme's shared kernels."""

from __future__ import annotations

from typing import ClassVar

from acme_kernels import NumpyWorkload, float32_only, fully_connected, relu
from armnn import ActivationFunction, Layer
from armnn.backends import Backend, BackendVersion, ModelContext, Support, Workload


class AcmeCpu(Backend):
    """Runs FullyConnected and ReLu."""

    id: ClassVar[str] = "AcmeCpu"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 0)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether it is one of the two, in Float32."""
        if layer.type == "FullyConnected" or _is_relu(layer):
            return float32_only(layer)
        return Support.no(f"AcmeCpu has no {layer.type}")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer."""
        return NumpyWorkload(relu if _is_relu(layer) else fully_connected(layer))


def _is_relu(layer: Layer) -> bool:
    function = getattr(layer.descriptor, "function", None)
    return layer.type == "Activation" and function is ActivationFunction.RELU
