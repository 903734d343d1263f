# SPDX-License-Identifier: MIT
"""A backend that crashes on some inputs."""

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

import armnn
from armnn.backends import (
    BACKEND_API_VERSION,
    SUPPORTED,
    Backend,
    ModelContext,
    Support,
    TensorHandle,
    Workload,
)
from armnn.graph import Layer


class Positive(Workload):
    """Keeps positive elements; a 1 in front crashes it."""

    def bind(
        self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]
    ) -> Callable[[], None]:
        """Return the step."""
        (source,), (target,) = inputs, outputs

        def step() -> None:
            assert source is not None
            if source.map()[0, 0] == 1:
                ctypes.memset(0, 0, 1)  # SIGSEGV
            np.maximum(source.map(), 0, out=target.map())

        return step


class Crashing(Backend):
    """Takes activations."""

    id = "Crashing"
    api_version = BACKEND_API_VERSION

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Take activations only."""
        return SUPPORTED if layer.type == "Activation" else Support.no("activations only")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return the workload."""
        return Positive()


armnn.register_backend("Crashing", Crashing)
