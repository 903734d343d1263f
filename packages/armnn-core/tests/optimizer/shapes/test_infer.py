# SPDX-License-Identifier: MIT
"""Shape inference over a whole network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.graph import Layer, Network
from armnn.optimizer.shapes.specialize import infer_shapes
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    import pytest


def padded(amounts: object) -> Network:
    """Return a network whose Pad reads its amounts."""
    network = Network("padded")
    x = network.add_input("x", TensorInfo((1, 3)))
    pads = network.add_constant(np.array(amounts, np.int32))
    value = network.add_pad(x, pads, name="pad")
    value = network.add_activation(value, function="ReLu", name="relu")
    network.add_output("y", value)
    return network


def test_only_what_a_constant_parameter_changes_is_inferred_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = padded([[0, 0], [1, 2]])
    infos = [layer.output_infos for layer in network.layers]
    inferred: list[str] = []
    infer = Layer.infer_output_infos

    def noted(layer: Layer) -> tuple[TensorInfo, ...]:
        inferred.append(layer.name)
        return infer(layer)

    monkeypatch.setattr(Layer, "infer_output_infos", noted)
    infer_shapes(network)
    assert inferred == ["pad"]
    assert network.find("pad").descriptor.pad_list == ((0, 0), (1, 2))
    assert [layer.output_infos for layer in network.layers] == infos


def test_what_follows_a_changed_shape_is_inferred_again() -> None:
    network = padded([[0, 0], [1, 2]])
    network.inputs[0].output.info = TensorInfo((2, 4))
    infer_shapes(network)
    assert network.find("relu").output.info.shape == (2, 7)
