# SPDX-License-Identifier: MIT
"""The layers of the probe's queries, as the child reads."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends.native import attributes_of
from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType
from armnn_backend_api import BACKEND_API_VERSION
from armnn_backend_api.structs import Arena, elements_of, text_of

if TYPE_CHECKING:
    from armnn.graph import Layer, Value

MADE_UP: dict[str, Any] = {
    "type": "ArmnnProbeMadeUp",
    "attributes": [],
    "inputs": [],
    "outputs": [],
    "is_made_up": True,
}
"""A layer type that does not exist: who claims it claims anything."""


@functools.cache
def layers() -> tuple[dict[str, Any], ...]:
    """Return small float layers of common types, and one invented."""
    asked = [_description(layer) for layer in _network().layers if layer.outputs and layer.inputs]
    data = next(layer for layer in asked if layer["type"] == "Addition")
    made_up = {**MADE_UP, "inputs": data["inputs"], "outputs": data["outputs"]}
    return (*asked, made_up)


def _network() -> Network:
    network = Network("probe")
    image = network.add_input("image", TensorInfo((1, 4, 4, 2), DataType.FLOAT32))
    other = network.add_input("other", TensorInfo((1, 4, 4, 2), DataType.FLOAT32))
    weights = network.add_constant(np.full((2, 3, 3, 2), 0.25, np.float32))
    answers = [
        network.add_addition(image, other),
        network.add_activation(image),
        network.add_convolution2d(image, weights, data_layout=DataLayout.NHWC),
        network.add_multiplication(image, other),
        network.add_softmax(image),
        network.add_reshape(image, target_shape=(1, 32)),
    ]
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
