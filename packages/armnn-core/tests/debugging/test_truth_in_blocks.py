# SPDX-License-Identifier: MIT
"""The truth of large pointwise layers, computed in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from armnn import CreationOptions
from armnn.backends import ModelContext
from armnn.backends.registry import BackendRegistry
from armnn.debugging.reference import BLOCK, Reference, is_pointwise
from armnn.graph import Network
from armnn.optimizer import Candidate
from armnn.tensor import TensorInfo
from armnn.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray


SHAPE = (3, 1, BLOCK // 2 + 7)


@pytest.fixture
def reference() -> Reference:
    backend = BackendRegistry(CreationOptions()).get("CpuRef")
    return Reference(Candidate(backend, ModelContext({})))


def values(seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(SHAPE, np.float32)


def test_blocks_make_the_float64_values_of_numpy(reference: Reference) -> None:
    net = Network("sum")
    a, b = (net.add_input(name, TensorInfo(SHAPE)) for name in "ab")
    layer = net.add_division(a, b).producer
    operands = [values(0), values(1)]
    assert is_pointwise(layer, operands)
    (made,) = reference.exact(layer, operands)
    assert made is not None
    assert made.shape == SHAPE
    np.testing.assert_array_equal(made, operands[0].astype(np.float64) / operands[1])


def test_bytes_are_real_values_in_each_block(reference: Reference) -> None:
    net = Network("bounded")
    info = TensorInfo(SHAPE, DataType.QASYMM_S8, 0.5, 3)
    x = net.add_input("x", info)
    layer = net.add_activation(x, function="Abs", output=info).producer
    stored = np.random.default_rng(2).integers(-128, 128, SHAPE).astype(np.int8)
    assert is_pointwise(layer, [stored])
    (made,) = reference.exact(layer, [stored])
    np.testing.assert_array_equal(made, np.abs((stored.astype(np.float64) - 3) * 0.5))


def test_what_mixes_elements_or_shapes_is_computed_at_once(reference: Reference) -> None:
    net = Network("others")
    a = net.add_input("a", TensorInfo(SHAPE))
    b = net.add_input("b", TensorInfo((3, 1, 1)))
    assert not is_pointwise(net.add_softmax(a).producer, [values(0)])
    spread = net.add_multiplication(a, b).producer
    operands = [values(0), np.full((3, 1, 1), 2, np.float32)]
    assert not is_pointwise(spread, operands)
    small = [each[..., :5] for each in (values(0), values(1))]
    assert not is_pointwise(net.add_addition(a, a).producer, small)
    (made,) = reference.exact(spread, operands)
    np.testing.assert_array_equal(made, operands[0].astype(np.float64) * 2)
