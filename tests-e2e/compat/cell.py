# SPDX-License-Identifier: MIT
"""Runs one cell of the matrix; prints events as JSON.

A core and a backend are on the path. ``python cell.py BACKEND LAYER [FOLDER]``; a backend in C is
in the folder.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import armnn
from armnn.backends import BACKEND_API_VERSION
from armnn.layers.reduction import ArgMinMaxDescriptor

PICTURE = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
WEIGHTS = np.array([[[[1, 2], [3, 4]]]], np.float32)
EQUALS = np.array([3, 7, 7, 1], np.float32)
SUMMAND = np.array([1, 2, 3], np.float32)


def convolution() -> armnn.Network:
    """Return a network of one convolution."""
    network = armnn.Network("convolution")
    x = network.add_input("x", armnn.TensorInfo(PICTURE.shape))
    network.add_output("y", network.add_convolution2d(x, WEIGHTS, pad_left=1, pad_top=1))
    return network


def addition() -> armnn.Network:
    """Return a network of one addition of two inputs."""
    network = armnn.Network("addition")
    x, z = (network.add_input(name, armnn.TensorInfo(SUMMAND.shape)) for name in "xz")
    network.add_output("y", network.add_addition(x, z))
    return network


def last_of_equals() -> armnn.Network:
    """Return a network with a parameter of Backend API 1.1."""
    network = armnn.Network("last of equals")
    x = network.add_input("x", armnn.TensorInfo(EQUALS.shape))
    parameters: dict[str, Any] = {"function": armnn.ArgMinMaxFunction.MAX}
    parameters["select_last_index"] = True
    output = armnn.DataType.SIGNED64
    network.add_output("y", network.add_arg_min_max(x, **parameters, output=output))
    return network


NETWORKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Convolution2d": (convolution, {"x": PICTURE}),
    "Addition": (addition, {"x": SUMMAND, "z": 10 * SUMMAND}),
    "ArgMinMax": (last_of_equals, {"x": EQUALS}),
}
"""What runs, by the type of its layer: a network, and the inputs of a run."""


def tried(runtime: armnn.Runtime, layer: str, backends: list[str]) -> Any:
    """Run and unload a network; return results, backends and refusals."""
    network, inputs = NETWORKS[layer]
    optimized = runtime.optimize(network(), backends=backends)
    with runtime.load_network(optimized) as loaded:
        y = loaded.run(inputs)["y"].tolist()
        (row,) = (r for r in loaded.report.rows if r.type in ("PreCompiled", layer))
        return {"result": y, "backend": row.backend, "reason": row.reason}


def observed(backend: str, layer: str, folder: str | None = None) -> dict[str, Any]:
    """Return the events with the backend.

    If it is refused, CpuRef takes part.
    """
    found: dict[str, Any] = {"core": armnn.__version__, "api": str(BACKEND_API_VERSION)}
    with armnn.Runtime(armnn.CreationOptions(dynamic_backends_path=folder)) as runtime:
        try:
            found["layer"] = tried(runtime, layer, [backend])
        except armnn.ArmnnError as error:
            found["refusal"] = str(error)
            if backend != "CpuRef":
                found["instead"] = tried(runtime, layer, ["CpuRef"])
        else:
            if backend == "Compat":
                known = "select_last_index" in ArgMinMaxDescriptor.__dataclass_fields__
                chosen = [backend, "CpuRef"]
                found["field"] = tried(runtime, "ArgMinMax", chosen) if known else None
    return found


if __name__ == "__main__":
    print(json.dumps(observed(*sys.argv[1:])))
