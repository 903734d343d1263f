# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import GraphError
from armnn.graph import Network
from armnn.optimizer import OptimizerOptions
from armnn.optimizer.phases import prepare_network
from armnn.tensor import TensorInfo


def test_a_network_without_output_is_not_prepared(make_backend, participants) -> None:
    network = Network("n")
    network.add_input("x", TensorInfo((2,)))
    with pytest.raises(GraphError, match=r"network 'n' has no output: add_output\(\)"):
        prepare_network(network, participants(make_backend("Fake")), OptimizerOptions())


def test_a_cycle_is_not_prepared(make_backend, participants) -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2,)))
    first = network.add_addition(x, np.ones(2, np.float32), name="first")
    second = network.add_addition(first, x, name="second")
    network.add_output("y", second)
    network.replace_input(first.producer, 0, second)
    with pytest.raises(GraphError, match=r"\['first', 'second', 'y'\] .* form a cycle"):
        prepare_network(network, participants(make_backend("Fake")), OptimizerOptions())
