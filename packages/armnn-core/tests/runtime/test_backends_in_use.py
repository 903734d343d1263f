# SPDX-License-Identifier: MIT
"""Participants get the facts they need about a network."""

from __future__ import annotations

import pytest

import armnn
from armnn.types import QuantizedArithmetic


def network() -> armnn.Network:
    net = armnn.Network("relu")
    x = net.add_input("x", armnn.TensorInfo((2,), armnn.DataType.FLOAT32))
    net.add_output("y", net.add_activation(x, function=armnn.ActivationFunction.RELU))
    return net


@pytest.mark.parametrize("arithmetic", list(QuantizedArithmetic))
def test_backends_are_told_how_a_network_rounds(arithmetic: QuantizedArithmetic) -> None:
    net = network()
    net.quantized_arithmetic = arithmetic
    with armnn.Runtime() as runtime:
        participants = runtime.optimize(net, backends=["CpuRef"]).participants
    told = [
        candidate.model.quantized_arithmetic
        for candidate in (*participants.all, *participants.evaluators)
    ]
    assert told
    assert set(told) == {arithmetic}


def test_a_network_rounds_as_arm_nn_does_unless_it_says_otherwise() -> None:
    assert network().quantized_arithmetic is QuantizedArithmetic.REAL


def test_a_copy_of_a_network_rounds_as_it_does() -> None:
    net = network()
    net.quantized_arithmetic = QuantizedArithmetic.INTEGER
    assert net.clone().quantized_arithmetic is QuantizedArithmetic.INTEGER
