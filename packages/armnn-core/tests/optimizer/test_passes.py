# SPDX-License-Identifier: MIT
"""Running the passes together."""

from __future__ import annotations

import logging
from functools import partial

import numpy as np
import pytest

from armnn.graph import Network
from armnn.optimizer.passes import MAX_ROUNDS, PASSES, run_passes
from armnn.optimizer.passes.cleanup import fold_constants
from armnn.tensor import TensorInfo
from armnn.types import DataLayout

RANDOM = np.random.default_rng(17)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.5, 2.0, shape).astype(np.float32)


def channels_last_block() -> Network:
    """Return an NHWC model with every removable part.

    It is written as by an exporter for NCHW.
    """
    network = Network("block")
    x = network.add_input("x", TensorInfo((1, 5, 5, 3)))
    value = network.add_transpose(x, dim_mappings=(0, 3, 1, 2))
    value = network.add_pad(value, pad_list=((0, 0), (0, 0), (1, 1), (1, 1)))
    weights = network.add_transpose(
        network.add_constant(numbers(3, 3, 3, 4)), dim_mappings=(3, 2, 0, 1)
    )
    value = network.add_convolution2d(value, weights, name="conv")
    value = network.add_batch_normalization(value, *(numbers(4) for _ in range(4)))
    value = network.add_transpose(value, dim_mappings=(0, 2, 3, 1))
    value = network.add_transpose(value, dim_mappings=(0, 3, 1, 2))
    value = network.add_multiplication(value, numbers(1, 4, 1, 1))
    value = network.add_addition(value, numbers(1, 4, 1, 1))
    value = network.add_reshape(value, target_shape=(4, 25))
    network.add_output("y", network.add_reshape(value, target_shape=(1, -1)))
    return network


def evaluate(layer, _spare=None):
    if layer.type != "Transpose":
        return None
    return [layer.inputs[0].constant.transpose(layer.descriptor.dim_mappings)]


def test_each_round_uses_what_the_one_before_uncovered(compute) -> None:
    network = channels_last_block()
    feeds = {"x": numbers(1, 5, 5, 3)}
    expected = compute(network, feeds)["y"]
    assert run_passes(network, (partial(fold_constants, evaluate=evaluate), *PASSES)) > 0
    kinds = [layer.type for layer in network.topological_order() if layer.type != "Constant"]
    assert kinds == ["Input", "Transpose", "Convolution2d", "Reshape", "Output"]
    np.testing.assert_allclose(compute(network, feeds)["y"], expected, rtol=1e-5)


def test_a_second_run_finds_nothing() -> None:
    network = channels_last_block()
    run_passes(network)
    assert run_passes(network) == 0


def test_two_runs_give_the_same_network() -> None:
    names = []
    for _ in range(2):
        network = channels_last_block()
        run_passes(network)
        names.append([layer.name for layer in network.topological_order()])
    assert names[0] == names[1]


def test_the_number_of_changes_is_returned_and_each_pass_is_logged(caplog) -> None:
    network = Network("net")
    x = network.add_input("x", TensorInfo((2, 3)))
    value = network.add_transpose(x, dim_mappings=(1, 0))
    network.add_output("y", network.add_transpose(value, dim_mappings=(1, 0)))
    with caplog.at_level(logging.DEBUG, "armnn"):
        changes = run_passes(network)
    assert changes == 2
    assert caplog.messages == ["network 'net': cancel_inverse_permutes, changes: 2"]


def test_a_pass_with_arguments_is_logged_by_its_name(caplog) -> None:
    network = Network("net")
    moved = network.add_transpose(network.add_constant(numbers(2, 3)), dim_mappings=(1, 0))
    network.add_output("y", moved)
    with caplog.at_level(logging.DEBUG, "armnn"):
        run_passes(network, [partial(fold_constants, evaluate=evaluate)])
    assert caplog.messages == ["network 'net': fold_constants, changes: 1"]


def test_passes_that_undo_each_other_come_to_an_end(caplog) -> None:
    rounds = []

    def restless(network: Network) -> int:
        rounds.append(network)
        return 1

    assert run_passes(Network("net"), [restless]) == MAX_ROUNDS
    assert len(rounds) == MAX_ROUNDS
    assert "network 'net': the passes still find work after 100 rounds" in caplog.messages


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_outputs_keep_name_and_info(layout: DataLayout) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(("N", 4, 4, 4)))
    conv = network.add_convolution2d(
        x,
        numbers(4, 1, 1, 4) if layout is DataLayout.NHWC else numbers(4, 4, 1, 1),
        data_layout=layout,
    )
    norm = network.add_batch_normalization(
        conv, *(numbers(4) for _ in range(4)), data_layout=layout
    )
    network.add_output("raw", norm)
    network.add_output(
        "same", network.add_reshape(norm, target_shape=(0, 0, 0, 0), zero_copies=True)
    )
    before = [(layer.name, layer.input_infos) for layer in network.outputs]
    assert run_passes(network) > 0
    assert [(layer.name, layer.input_infos) for layer in network.outputs] == before


def test_a_network_without_work_stays_as_it_is() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 2)))
    network.add_output("y", network.add_softmax(x, name="softmax"))
    layers = network.layers
    assert run_passes(network) == 0
    assert network.layers == layers
