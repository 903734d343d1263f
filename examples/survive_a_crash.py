# SPDX-License-Identifier: MIT
"""Survives the crash of a backend: ``python examples/survive_a_crash.py``."""

import logging

import crashing_backend  # noqa: F401  # it registers the backend
import numpy as np

import armnn

logging.getLogger("armnn").setLevel(logging.ERROR)  # the last line says it

network = armnn.Network("example")
x = network.add_input("x", armnn.TensorInfo((1, 3)))
network.add_output("y", network.add_activation(x, function="ReLu", name="positive"))

options = armnn.CreationOptions(isolate=["Crashing"])
with armnn.Runtime(options) as runtime:
    model = runtime.load_model(network, backends=["Crashing", "CpuRef"])
    for first in (0, 1):
        print(model.run({"x": np.array([[first, -2, 3]], np.float32)})["y"])
    print(*model.faults)
