# SPDX-License-Identifier: MIT
"""Networks whose files Arm NN wrote again, in ``data``."""

from __future__ import annotations

from typing import Any

import numpy as np

import armnn
from armnn import DataType, TensorInfo
from armnn.layers.recurrent import LstmDescriptor


def picture() -> armnn.Network:
    """Return a quantized network for pictures."""
    network = armnn.Network("picture")
    _picture(network, np.random.default_rng(5))
    return network


def sequence() -> armnn.Network:
    """Return a recurrent network."""
    network = armnn.Network("sequence")
    _sequence(network, np.random.default_rng(5))
    return network


def feeds(name: str) -> dict[str, Any]:
    """Return the inputs with which Arm NN ran a network."""
    rng = np.random.default_rng(6)
    if name == "picture":
        return {"picture": rng.integers(0, 256, (1, 6, 6, 2), np.uint8)}
    return {
        "sequence": rng.normal(size=(2, 3)).astype(np.float32),
        "state": rng.normal(size=(2, 2)).astype(np.float32),
        "cells": rng.normal(size=(2, 4)).astype(np.float32),
    }


def _picture(network: armnn.Network, rng: np.random.Generator) -> None:
    def weights(shape: tuple[int, ...], scales: Any, axis: int | None) -> armnn.Value:
        data = rng.integers(-100, 100, shape, np.int8)
        count = np.size(scales)
        info = TensorInfo(shape, DataType.QSYMM_S8, scales, [0] * count, axis)
        return network.add_constant(data, info)

    def bias(count: int) -> np.ndarray[Any, Any]:
        return rng.integers(-500, 500, count, np.int32)

    x = network.add_input("picture", TensorInfo((1, 6, 6, 2), DataType.QASYMM_U8, 0.02, 121))
    padded = network.add_pad(x, pad_list=[(0, 0), (1, 0), (0, 1), (0, 0)], name="padded")
    deep = network.add_depthwise_convolution2d(
        padded,
        weights((1, 3, 2, 4), [0.01, 0.02, 0.015, 0.03], 3),
        bias(4),
        data_layout="NHWC",
        stride_x=2,
        name="deep",
        output=TensorInfo(None, DataType.QASYMM_U8, 0.05, 130),
    )
    wide = network.add_convolution2d(
        deep,
        weights((3, 2, 2, 4), [0.01, 0.02, 0.005], 0),
        bias(3),
        data_layout="NHWC",
        dilation_y=2,
        name="wide",
        output=TensorInfo(None, DataType.QASYMM_U8, 0.08, 120),
    )
    pooled = network.add_pooling2d(
        wide,
        pool_type="Average",
        pool_width=2,
        pool_height=1,
        stride_x=1,
        stride_y=1,
        data_layout="NHWC",
        name="pooled",
    )
    flat = network.add_reshape(pooled, target_shape=(1, -1), name="flat")
    count = flat.info.static_shape[1]
    matrix = rng.integers(0, 256, (3, count), np.uint8)
    dense = network.add_fully_connected(
        flat,
        network.add_constant(matrix, TensorInfo((3, count), DataType.QASYMM_U8, 0.01, 128)),
        bias(3),
        transpose_weight_matrix=True,
        name="dense",
        output=TensorInfo(None, DataType.QASYMM_U8, 0.1, 100),
    )
    parts = network.add_splitter(dense, axis=1, sizes=[1, 2], name="parts")
    network.add_output("scores", network.add_concat(parts[::-1], axis=-1, name="joined"))


def _sequence(network: armnn.Network, rng: np.random.Generator) -> None:
    units, size, inputs = 4, 2, 3

    def tensor(*shape: int) -> np.ndarray[Any, Any]:
        return rng.normal(scale=0.4, size=shape).astype(np.float32)

    x = network.add_input("sequence", TensorInfo((2, inputs)))
    state = network.add_input("state", TensorInfo((2, size)))
    cells = network.add_input("cells", TensorInfo((2, units)))
    operands = [
        *(tensor(units, inputs) for _ in range(3)),
        *(tensor(units, size) for _ in range(3)),
        *(tensor(units) for _ in range(3)),
        tensor(units, inputs),
        tensor(units, size),
        tensor(units),
        *(tensor(units) for _ in range(3)),
        tensor(size, units),
    ]
    descriptor = LstmDescriptor(
        activation_func="TanH",
        cifg_enabled=False,
        peephole_enabled=True,
        projection_enabled=True,
        clipping_thres_cell=0.7,
    )
    layer = network.add("Lstm", [x, state, cells, *operands], descriptor, name="recurrent")
    # Arm NN's CpuRef writes over outputs that are not read.
    for name, value in zip(
        ("scratch", "next state", "next cells", "y"), layer.outputs, strict=True
    ):
        network.add_output(name, value)
