# SPDX-License-Identifier: MIT
"""AcmeNpu: small dense layers, with Acme's shared kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from acme_kernels import NumpyWorkload, float32_only, fully_connected
from armnn.backends import Backend, BackendVersion, ModelContext, Support, Workload

if TYPE_CHECKING:
    from armnn import Layer

MOST_OUTPUTS = 64


class AcmeNpu(Backend):
    """Runs FullyConnected as long as it is small."""

    id: ClassVar[str] = "AcmeNpu"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 0)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether it fits the device."""
        if layer.type != "FullyConnected":
            return Support.no(f"AcmeNpu has no {layer.type}")
        outputs = layer.output.info.static_shape[-1]
        if outputs > MOST_OUTPUTS:
            return Support.no(f"{outputs} outputs, expected at most {MOST_OUTPUTS}")
        return float32_only(layer)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer."""
        return NumpyWorkload(fully_connected(layer))
