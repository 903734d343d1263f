# SPDX-License-Identifier: MIT
"""A program whose backend ends it in a call."""

from __future__ import annotations

import os
import signal

import isolated_backends as samples
import numpy as np

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo


def network() -> Network:
    made = Network("rectifier")
    x = made.add_input("x", TensorInfo((2, 2)))
    made.add_output("y", made.add_activation(x, function="ReLu", name="rectified"))
    return made


def main(ending: str) -> None:
    """Call a backend; end as told.

    Args:
        ending: The name of a fault or of a signal from outside, "" to end well.
    """
    armnn.register_backend("Hostile", samples.Hostile)
    given = np.zeros((2, 2), np.float32)
    runtime = Runtime(CreationOptions(isolate="auto"))
    model = runtime.load_model(network(), ["Hostile"])
    model.run({"x": given})
    if ending in samples.CODES:
        given[0, 0] = samples.CODES[ending]
        model.run({"x": given})
    elif ending:
        os.kill(os.getpid(), signal.Signals[ending])
