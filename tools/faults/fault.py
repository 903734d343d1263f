# SPDX-License-Identifier: MIT
"""A fault of another runtime, and the network around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import armnn
from armnn import OptimizerOptions
from armnn.types import DataType

Model: TypeAlias = tuple[armnn.Network, Mapping[str, NDArray[Any]]]
"""A network, and the inputs that show its fault."""

BACKENDS = {"onnxruntime": "OnnxRuntime", "openvino": "OpenVino"}
"""The backend that hands subgraphs to each runtime."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a released version.

    Attributes:
        name: A few words.
        where: The public report.
        runtime: The distribution with the fault.
        version: Of the distribution.
        build: Makes the model.
        wrong: The layers that have to be named; none where the backend states the fault.
    """

    name: str
    where: str
    runtime: str
    version: str
    build: Callable[[], Model]
    wrong: tuple[str, ...]

    @property
    def backends(self) -> list[str]:
        """The backend under test, and the reference behind it."""
        return [BACKENDS[self.runtime], "CpuRef"]

    @property
    def options(self) -> OptimizerOptions:
        """How the network is prepared.

        armnn's own optimizer would fold a Pad into its pooling, so no runtime would see it; and
        the backends refuse the layers with faults that they know, unless results are trusted.
        """
        trusted = {self.backends[0]: {"TrustResults": True}}
        return OptimizerOptions(rewrite=False, model_options=trusted)


def surrounded(
    shape: tuple[int, ...], fault: Callable[[armnn.Network, armnn.Value], armnn.Value]
) -> armnn.Network:
    """Return a network with a fault between ordinary layers.

    Args:
        shape: Of the input "x".
        fault: Adds the layers with the fault and returns their output.
    """
    net = armnn.Network("fault")
    x = net.add_input("x", armnn.TensorInfo(shape))
    value = net.add_activation(x, function="LeakyReLu", a=0.5, name="slope")
    value = net.add_multiplication(value, _constant(net, 1.25), name="scale")
    side = net.add_activation(value, function="Sigmoid", name="side_first")
    side = net.add_mean(side, axis=(len(shape) - 1,), keep_dims=True, name="side_mean")
    net.add_output("side", net.add_activation(side, function="Sigmoid", name="side_last"))
    value = fault(net, value)
    value = net.add_subtraction(value, _constant(net, 0.25), name="shift")
    net.add_output("y", net.add_activation(value, function="Sigmoid", name="squash"))
    return net


def whole(
    shapes: Mapping[str, tuple[int, ...]],
    fault: Callable[[armnn.Network, list[armnn.Value]], armnn.Value],
) -> armnn.Network:
    """Return a network of integers with a fault in it.

    Args:
        shapes: Of the inputs.
        fault: Adds the layers with the fault and returns their output.
    """
    net = armnn.Network("fault")
    values = [
        net.add_input(name, armnn.TensorInfo(shape, DataType.SIGNED32))
        for name, shape in shapes.items()
    ]
    one = net.add_constant(np.array([1], np.int32))
    side = net.add_minimum(values[0], one, name="side_minimum")
    net.add_output("side", net.add_subtraction(side, one, name="side_shift"))
    values[0] = net.add_addition(values[0], one, name="next")
    value = fault(net, values)
    net.add_output("y", net.add_concat([value, value], axis=0, name="twice"))
    return net


def numbers(*shape: int) -> NDArray[np.float32]:
    """Return normal numbers, the same each time."""
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _constant(net: armnn.Network, value: float) -> armnn.Value:
    return net.add_constant(np.array([value], np.float32))
