# SPDX-License-Identifier: MIT
"""Parameters left out have the layer table's defaults."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.backends.capi import graph
from armnn.layers import LAYERS

RANDOM = np.random.default_rng(5)
# Of each layer whose defaults a wrong one would show: the shapes of its inputs, scaled down so that
# an epsilon counts, and what the descriptor cannot do without.
LAYERS_AND_SHAPES: dict[str, tuple[list[tuple[int, ...]], dict[str, Any]]] = {
    "BatchNormalization": ([(1, 3, 2, 2), (3,), (3,), (3,), (3,)], {}),
    "BatchToSpaceNd": ([(2, 3, 4, 5)], {}),
    "Convolution2d": ([(1, 3, 5, 5), (2, 3, 2, 2)], {}),
    "DepthToSpace": ([(1, 2, 3, 4)], {"block_size": 2}),
    "GroupNormalization": ([(2, 4, 3, 3), (4,), (4,)], {}),
    "Gru": ([(2, 3, 4), (1, 15, 4), (1, 15, 5)], {}),
    "InstanceNormalization": ([(1, 3, 4, 4)], {}),
    "L2Normalization": ([(1, 3, 2, 2)], {}),
    "LayerNormalization": ([(3, 7), (7,), (7,)], {}),
    "Pooling2d": ([(1, 3, 4, 4)], {}),
    "Reduce": ([(2, 3)], {}),
    "Resize": ([(1, 2, 3, 3)], {"target_height": 5, "target_width": 5}),
    "Rnn": ([(2, 3, 4), (1, 5, 4), (1, 5, 5)], {}),
    "SequenceLstm": ([(2, 3, 4), (1, 20, 4), (1, 20, 5)], {}),
    "Softmax": ([(2, 5)], {}),
    "SpaceToBatchNd": ([(2, 3, 4, 5)], {}),
    "SpaceToDepth": ([(1, 4, 6, 2)], {"block_size": 2}),
    "TopK": ([(2, 5)], {}),
    "TransposeConvolution2d": ([(1, 3, 4, 4), (2, 3, 2, 2)], {"stride_x": 2, "stride_y": 2}),
    "Trilu": ([(4, 4)], {}),
}


def leave_out_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the host say only what is not the default."""
    whole = graph.RowMemory.attributes

    def said(memory: Any, descriptor: Any) -> tuple[int, int]:
        first = len(memory._attributes)
        place, _ = whole(memory, descriptor)
        rows = memory._attributes[first:]
        memory._attributes[first:] = [
            row
            for row, field in zip(rows, dataclasses.fields(descriptor), strict=True)
            if getattr(descriptor, field.name) != field.default
        ]
        return place, len(memory._attributes) - first

    monkeypatch.setattr(graph.RowMemory, "attributes", said)


def results(layer: str, backend: str, feeds: list[Any]) -> list[Any]:
    shapes, parameters = LAYERS_AND_SHAPES[layer]
    network = armnn.Network(layer)
    inputs: list[Any] = [network.add_input("x", armnn.TensorInfo(shapes[0])), *feeds[1:]]
    made = network.add(layer, inputs, LAYERS[layer].descriptor(**parameters))
    for index, output in enumerate(made.outputs):
        network.add_output(f"y{index}", output)
    run = armnn.load_model(network, backends=[backend]).run({"x": feeds[0]})
    return [run[f"y{index}"] for index in range(len(made.outputs))]


@pytest.mark.parametrize("layer", LAYERS_AND_SHAPES)
def test_what_is_left_out_is_the_default(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_defaults(monkeypatch)
    shapes, _ = LAYERS_AND_SHAPES[layer]
    feeds = [np.abs(RANDOM.standard_normal(shape, np.float32)) * 1e-3 for shape in shapes]
    for computed, expected in zip(
        results(layer, "CpuAcc", feeds), results(layer, "CpuRef", feeds), strict=True
    ):
        np.testing.assert_allclose(computed, expected, rtol=1e-3, atol=1e-7)
