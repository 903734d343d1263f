# SPDX-License-Identifier: MIT
"""Bound calls that make their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.errors import InvalidArgumentError
from fakes.backends import DeviceBackend

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def sums(batch: Any = 2) -> Network:
    """Return x + x and (x + x) + x over [batch, 3]."""
    network = Network("sums")
    x = network.add_input("x", TensorInfo((batch, 3)))
    double = network.add_addition(x, x, name="double")
    network.add_output("double", double)
    network.add_output("triple", network.add_addition(double, x, name="triple"))
    return network


@pytest.fixture
def load(make_backend, make_runtime) -> Any:
    """Return a function that loads a network on one backend."""
    kind = make_backend("Fake")
    return lambda network: make_runtime(kind).load_model(network, [kind.id])


def test_a_shape_in_the_place_of_an_array_makes_it(load) -> None:
    model = load(sums(None))
    call = model.bind({"x": (4, 3)})
    made = call.inputs["x"]
    assert (made.shape, made.dtype, made.any()) == ((4, 3), np.float32, False)
    assert made.ctypes.data % 64 == 0
    made[...] = 2
    assert call()["triple"].tolist() == [[6.0] * 3] * 4
    assert call.copied == ()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, -1), "has a negative dimension"),
        ((2, 4), "the input 'x' has shape"),
        ((1 << 40, 1 << 40), "the shape of the input 'x'"),
    ],
)
def test_a_shape_that_no_array_of_the_input_has_is_refused(load, shape: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        load(sums(None)).bind({"x": shape})


def test_a_shape_for_an_unknown_input_is_refused(load) -> None:
    with pytest.raises(InvalidArgumentError, match="'z'"):
        load(sums()).bind({"x": X, "z": (2, 3)})


def test_device_memory_is_copied_from_made_arrays(make_backend, make_runtime) -> None:
    inner = make_backend("Inner")

    def init(self: DeviceBackend) -> None:
        DeviceBackend.__init__(self, "Device", inner())

    device = type("Device", (DeviceBackend,), {"__init__": init})
    call = make_runtime(device).load_model(sums(), ["Device"]).bind({"x": (2, 3)})
    assert call.copied == ("x", "double", "triple")
    call.inputs["x"][...] = X
    np.testing.assert_array_equal(call()["triple"], 3 * X)
