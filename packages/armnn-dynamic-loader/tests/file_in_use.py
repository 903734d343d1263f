# SPDX-License-Identifier: MIT
"""A program that calls a backend from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from armnn import CreationOptions, LoadedNetwork, Network, Runtime, TensorInfo


def loaded(runtime: Runtime) -> LoadedNetwork:
    """Load a rectifier on the file."""
    network = Network("rectifier")
    x = network.add_input("x", TensorInfo((3, 5)))
    network.add_output("y", network.add_activation(x, function="ReLu", name="rectified"))
    return runtime.load_model(network, ["Faulty", "CpuRef"])


def fed(code: int) -> dict[str, Any]:
    """Return an input that asks for a fault."""
    made = np.linspace(-2, 2, 15, dtype=np.float32).reshape(3, 5)
    made[0, 0] = code
    return {"x": made}


def main(folder: str, code: int) -> None:
    """Call the backend in this process, with a fault."""
    options = CreationOptions(dynamic_backends_path=folder, isolate="auto")
    with Runtime(options) as runtime:
        loaded(runtime).run(fed(code))
