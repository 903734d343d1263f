# SPDX-License-Identifier: MIT
"""A network that several tests measure."""

from __future__ import annotations

import pytest

from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataType


@pytest.fixture
def two_layers() -> Network:
    """Return a network of a ReLu and a Softmax."""
    net = Network("two")
    x = net.add_input("x", TensorInfo((64, 1024), DataType.FLOAT32))
    made = net.add_activation(x, function=ActivationFunction.RELU, name="relu")
    net.add_output("y", net.add_softmax(made, name="softmax"))
    return net
