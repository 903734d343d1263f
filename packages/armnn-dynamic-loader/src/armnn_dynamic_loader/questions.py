# SPDX-License-Identifier: MIT
"""The layers of the probe's queries, as the child reads."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from armnn.backends.native import attributes_of
from armnn.graph import Layer, Network, Value
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType
from armnn_backend_api import BACKEND_API_VERSION
from armnn_backend_api.structs import Arena, elements_of, text_of

MADE_UP: dict[str, Any] = {
    "type": "ArmnnProbeMadeUp",
    "attributes": [],
    "inputs": [],
    "outputs": [],
    "is_made_up": True,
}
"""A layer type that does not exist: a backend that claims it claims anything."""


ENVELOPE: Final[dict[str, Any]] = {
    "backend": "",
    "backend_version": "",
    "api_version": "",
    "device": "",
    "device_fingerprint": "",
    "graph_fingerprint": "0" * 64,
    "options": [],
}
"""A host's envelope of a serialized program; the child fills in the facts that it learns."""

_ODD_WIDTHS: Final = (3, 11)
_ODD_SIZES: Final = (1, 3, 17, 33)
"""Elements of the last axis: no multiples of a register, or just above one."""


@functools.cache
def layers() -> tuple[dict[str, Any], ...]:
    """Return small float layers of common types, and one invented.

    Each type comes in sizes that are not multiples of a register, too.
    """
    networks = [_network((1, 4, 4, 2)), *(_network((1, 3, size, 2)) for size in _ODD_WIDTHS)]
    asked = [
        _description(layer)
        for network in networks
        for layer in network.layers
        if layer.outputs and layer.inputs
    ]
    flat = [
        _description(layer)
        for size in _ODD_SIZES
        for layer in _flat_network(size).layers
        if layer.outputs and layer.inputs
    ]
    data = next(layer for layer in asked if layer["type"] == "Addition")
    made_up = {**MADE_UP, "inputs": data["inputs"], "outputs": data["outputs"]}
    return (*asked, *flat, made_up)


def _network(shape: tuple[int, int, int, int]) -> Network:
    """Return one layer of each type, for images."""
    network = Network("probe")
    image = network.add_input("image", TensorInfo(shape, DataType.FLOAT32))
    other = network.add_input("other", TensorInfo(shape, DataType.FLOAT32))
    weights = network.add_constant(np.full((2, 3, 3, 2), 0.25, np.float32))
    answers = [
        network.add_addition(image, other),
        network.add_activation(image),
        network.add_convolution2d(image, weights, data_layout=DataLayout.NHWC),
        network.add_multiplication(image, other),
        network.add_softmax(image),
        network.add_reshape(image, target_shape=(1, math.prod(shape))),
    ]
    return _with_outputs(network, answers)


def _flat_network(size: int) -> Network:
    """Return one layer of each type that takes a vector."""
    network = Network("probe")
    row = network.add_input("row", TensorInfo((1, size), DataType.FLOAT32))
    other = network.add_input("other", TensorInfo((1, size), DataType.FLOAT32))
    answers = [
        network.add_addition(row, other),
        network.add_activation(row),
        network.add_multiplication(row, other),
        network.add_softmax(row),
        network.add_reshape(row, target_shape=(size,)),
    ]
    return _with_outputs(network, answers)


def _with_outputs(network: Network, answers: Sequence[Value]) -> Network:
    for number, answer in enumerate(answers):
        network.add_output(f"y{number}", answer)
    return network


def _description(layer: Layer) -> dict[str, Any]:
    return {
        "type": layer.type,
        "attributes": _attributes(layer),
        "inputs": [_tensor(value, is_read=True) for value in layer.inputs if value is not None],
        "outputs": [_tensor(value, is_read=False) for value in layer.outputs],
    }


def _tensor(value: Value, *, is_read: bool) -> dict[str, Any]:
    info = value.info
    described: dict[str, Any] = {
        "data_type": int(info.data_type),
        "shape": list(info.static_shape),
        "bits": 32,
        "is_constant": value.constant is not None,
    }
    if value.constant is not None:
        described["content"] = np.asarray(value.constant, np.float32).tobytes().hex()
    elif is_read:
        count = int(np.prod(described["shape"]))
        described["content"] = np.linspace(-1, 1, count, dtype=np.float32).tobytes().hex()
    return described


def _attributes(layer: Layer) -> list[list[Any]]:
    """Return name, type and elements of each attribute.

    They are spelled as the adapter of the core spells them.
    """
    arena = Arena()
    attributes = attributes_of(layer.descriptor, BACKEND_API_VERSION, arena)
    return [[text_of(each.name), each.type, elements_of(each)] for each in attributes]
