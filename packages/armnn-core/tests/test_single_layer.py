# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from armnn.backends import BackendVersion, ModelContext
from armnn.errors import ShapeError
from armnn.graph import Network
from armnn.layers import LAYERS
from armnn.layers.elementwise import FloorDescriptor
from armnn.single_layer import foreign_layer, optimized_types, prepare, supports
from armnn.tensor import TensorInfo
from fakes import NullBackend


def reshaping(sizes: object) -> Network:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2, 3)))
    target = network.add_constant(np.array(sizes), name="target")
    network.add_output("y", network.add_reshape(x, target, name="layer"))
    return network


def test_a_constant_that_is_a_parameter_goes_into_the_layer() -> None:
    layer = prepare(reshaping([3, -1]), "layer")
    assert layer.inputs[1:] in ((), (None,))
    assert layer.descriptor.target_shape == (3, 2)
    assert layer.output.info.shape == (3, 2)


def test_a_constant_that_the_parameter_cannot_be_is_an_error() -> None:
    with pytest.raises(ShapeError, match="layer 'layer' \\(Reshape\\)"):
        prepare(reshaping([[1.5]]), "layer")


def test_a_layer_that_is_younger_than_a_backend_is_refused_by_the_host() -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2, 3)))
    young = dataclasses.replace(LAYERS["Floor"], name="Young", number=999_999, since=(1, 9))
    layer = foreign_layer(young, FloorDescriptor(), "layer", [x])
    assert (layer.type, layer.output.info.shape) == ("Young", (2, 3))
    backend = NullBackend()
    answer = supports(backend, ModelContext({}), layer)
    assert not answer
    assert "needs Backend API 1.9" in answer.reason
    old = foreign_layer(LAYERS["Floor"], FloorDescriptor(), "layer", [x])
    assert supports(backend, ModelContext({}), old)
    assert backend.api_version >= BackendVersion(1, 0)


def test_what_the_optimizer_makes_of_a_network() -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2, 3)))
    there = network.add_permute(x, dim_mappings=(1, 0))
    back = network.add_permute(there, dim_mappings=(1, 0))
    network.add_output("y", network.add_floor(back))
    assert optimized_types(network, NullBackend()) == ("Input", "Floor", "Output")
