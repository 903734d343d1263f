# SPDX-License-Identifier: MIT
"""A network on two backends, with a hostile name."""

from __future__ import annotations

import numpy as np
import pytest

from armnn import ActivationFunction, Network, TensorInfo
from armnn.backends import ModelContext, TensorHandleFactories
from armnn.optimizer import Candidate, OptimizedNetwork, OptimizerOptions, Participants, Report
from armnn.optimizer.phases import layers_before_backends
from fakes import NullBackend, SelectiveBackend

HOSTILE = "</script><script>window.hit = 1</script><img src=x onerror=alert(1)>\x1b[2J\u2028"


def hostile_network() -> Network:
    network = Network(HOSTILE)
    value = network.add_input("x", TensorInfo((2, 2)))
    value = network.add_addition(value, value, name="add")
    value = network.add_activation(value, function=ActivationFunction.RELU, name=HOSTILE)
    value = network.add_multiplication(
        value, network.add_constant(np.float32([[1, 2]]), name="scale"), name="mul"
    )
    network.add_output("y", value)
    return network


@pytest.fixture
def prepared() -> tuple[Network, Report]:
    """Return the layers and the report; "First" refuses the activation."""
    network = hostile_network()
    refusals = {"Activation": f"no {HOSTILE}"}
    backends = SelectiveBackend("First", refusals, default=True), NullBackend("Second")
    candidates = tuple(Candidate(each, ModelContext({})) for each in backends)
    factories = TensorHandleFactories()
    for each in backends:
        each.register_tensor_handle_factories(factories)
    parties = Participants(candidates, (), lambda: candidates, factories)
    options = OptimizerOptions()
    report = OptimizedNetwork(network, parties, options).report
    head, _ = layers_before_backends(network, {"x": (2, 2)}, parties, options)
    return head, report
