# SPDX-License-Identifier: MIT
"""Channels that reach the plane by way of the batch."""

from __future__ import annotations

import numpy as np
import pytest

from armnn.graph import Network
from armnn.optimizer.passes.permutes import (
    permute_batch_to_space_as_depth_to_space,
)
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType


def network_of(
    shape=(1, 3, 5, 4), order=(3, 1, 2, 0), block=(2, 2), layout=DataLayout.NHWC, **options
) -> Network:
    network = Network()
    x = network.add_input("x", TensorInfo(shape))
    swapped = network.add_transpose(x, dim_mappings=order, name="swap")
    y = network.add_batch_to_space_nd(
        swapped, block_shape=block, data_layout=layout, name="main", **options
    )
    network.add_output("y", y)
    return network


@pytest.mark.parametrize("height", [3, None])
def test_the_pair_becomes_depth_to_space(height: int | None) -> None:
    network = network_of((1, height, 5, 4))
    info = network.outputs[0].input_infos
    assert permute_batch_to_space_as_depth_to_space(network) == 1
    main = network.find("main")
    assert (main.type, main.descriptor.block_size) == ("DepthToSpace", 2)
    assert main.descriptor.data_layout is DataLayout.NHWC
    assert main.inputs == (network.inputs[0].output,)
    assert network.outputs[0].input_infos == info
    assert [layer.type for layer in network.layers].count("Transpose") == 0
    assert permute_batch_to_space_as_depth_to_space(network) == 0


def test_a_permute_of_the_same_order_is_known_too() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 3, 5, 9)))
    swapped = network.add_permute(x, dim_mappings=(3, 1, 2, 0))
    network.add_output(
        "y",
        network.add_batch_to_space_nd(
            swapped, block_shape=(3, 3), data_layout=DataLayout.NHWC, name="main"
        ),
    )
    assert permute_batch_to_space_as_depth_to_space(network) == 1
    assert network.find("main").descriptor.block_size == 3


def test_every_element_goes_to_the_same_place(compute) -> None:
    network = network_of()
    feeds = {"x": np.arange(60.0).reshape(1, 3, 5, 4)}
    expected = compute(network, feeds)["y"]
    assert permute_batch_to_space_as_depth_to_space(network) == 1
    np.testing.assert_array_equal(compute(network, feeds)["y"], expected)


@pytest.mark.parametrize(
    "different",
    [
        {"order": (3, 2, 1, 0)},
        {"shape": (2, 3, 5, 4)},  # several channels in the result
        {"shape": (1, 3, 5, 8)},  # several images in the result
        {"shape": ("N", 3, 5, 4)},
        {"block": (4, 1)},
        {"shape": (1, 3, 3, 4), "order": (3, 2, 1, 0)},  # the sizes would fit
        {"crops": ((1, 0), (0, 0))},
        {"crops": ((1, 0), (0, 0)), "shape": (1, None, 5, 4)},
        {"layout": DataLayout.NCHW},
    ],
)
def test_anything_else_stays(different) -> None:
    assert permute_batch_to_space_as_depth_to_space(network_of(**different)) == 0


def test_a_second_reader_keeps_both() -> None:
    network = network_of()
    network.add_output("z", network.find("swap").output)
    assert permute_batch_to_space_as_depth_to_space(network) == 0


def test_another_backend_hint_keeps_both() -> None:
    network = network_of()
    network.find("swap").backend_hint = "A"
    assert permute_batch_to_space_as_depth_to_space(network) == 0


@pytest.mark.parametrize("scales", [(0.5, 0.25, 0.25), (0.5, 0.5, 0.25)])
def test_a_change_of_the_quantization_keeps_both(scales) -> None:
    network = Network()
    source, between, last = (
        TensorInfo(shape, DataType.QASYMM_U8, scale)
        for shape, scale in zip([(1, 3, 5, 4), (4, 3, 5, 1), (1, 6, 10, 1)], scales, strict=True)
    )
    x = network.add_input("x", source)
    swapped = network.add_transpose(x, dim_mappings=(3, 1, 2, 0), output=between)
    y = network.add_batch_to_space_nd(
        swapped, block_shape=(2, 2), data_layout=DataLayout.NHWC, output=last
    )
    network.add_output("y", y)
    assert permute_batch_to_space_as_depth_to_space(network) == 0
