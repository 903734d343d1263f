# SPDX-License-Identifier: MIT
"""A backend that crashes on some inputs."""

import ctypes

import numpy as np

import armnn
from armnn.backends import BACKEND_API_VERSION, SUPPORTED, Backend, Support, Workload


class Positive(Workload):
    """Keeps positive elements; a 1 in front crashes it."""

    def bind(self, inputs, outputs):
        """Return the step."""
        (source,), (target,) = inputs, outputs

        def step() -> None:
            if source.map()[0, 0] == 1:
                ctypes.memset(0, 0, 1)  # SIGSEGV
            np.maximum(source.map(), 0, out=target.map())

        return step


class Crashing(Backend):
    """Takes activations."""

    id = "Crashing"
    api_version = BACKEND_API_VERSION

    def supports(self, layer, model) -> Support:
        """Take activations only."""
        return SUPPORTED if layer.type == "Activation" else Support.no("activations only")

    def create_workload(self, layer, model) -> Workload:
        """Return the workload."""
        return Positive()


armnn.register_backend("Crashing", Crashing)
