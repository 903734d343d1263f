# SPDX-License-Identifier: MIT
"""What a child says, called in this process."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import armnn
from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, DataType
from armnn_backend_api.processes import Channel
from armnn_tools.placement import worker


def answers(net: Network, folder: Path, *inputs: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """Return what a child says of CpuRef's layers."""
    armnn.save(net, folder / "model.armnn", beyond_arm_nn=True)
    arrays: dict[str, Any] = {f"input{at}": each for at, each in enumerate(inputs)}
    np.savez(folder / "inputs.npz", **arrays)
    request = {
        "model": str(folder / "model.armnn"),
        "inputs": str(folder / "inputs.npz"),
        "parser_options": {},
        "creation_options": {},
        "options": {"model_options": {}},
        "backends": ["CpuRef"],
    }
    reads, writes = os.pipe()
    worker.ask(request, Channel(writes, "word"))
    os.close(writes)
    with open(reads) as lines:
        return [json.loads(line.removeprefix("word ")) for line in lines]


def test_layers_of_open_shapes_are_known_for_given_inputs(tmp_path: Path) -> None:
    net = Network("open")
    x = net.add_input("x", TensorInfo((None, 8), DataType.FLOAT32))
    net.add_output("y", net.add_activation(x, function="Abs"))
    assert answers(net, tmp_path, np.ones((3, 8), np.float32)) == [{"runs": [True]}]


def test_shapes_that_data_decides_are_known_for_given_data(tmp_path: Path) -> None:
    net = Network("data")
    size = net.add_input("size", TensorInfo((2,), DataType.SIGNED64))
    x = net.add_input("x", TensorInfo((1, 3), DataType.FLOAT32))
    filled = net.add_fill(size, value=2.0)
    net.add_output("y", net.add_elementwise_binary(filled, x, operation=BinaryOperation.ADD))
    given = np.array([2, 3], np.int64), np.ones((1, 3), np.float32)
    assert answers(net, tmp_path, *given) == [{"runs": [True]}]


def test_shapes_that_computed_data_decides_are_unknown(tmp_path: Path) -> None:
    net = Network("computed")
    x = net.add_input("x", TensorInfo((4,), DataType.FLOAT32))
    net.add_output("y", net.add_fill(net.add_shape(net.add_non_zero(x)), value=1.0))
    assert answers(net, tmp_path, np.ones(4, np.float32)) == [{"runs": []}]
