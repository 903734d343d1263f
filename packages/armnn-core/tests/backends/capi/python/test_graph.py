# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import BACKEND_API_VERSION
from armnn.backends.capi.graph import NativeGraph
from armnn.backends.capi.python import DecodedGraph
from armnn.errors import UnimplementedError
from armnn_conformance.cases import all_cases, covered_layers
from armnn_conformance.running import layer_of


@pytest.mark.parametrize("layer_type", covered_layers())
def test_every_layer_survives_the_way_to_c_and_back(layer_type: str) -> None:
    for case in itertools.islice(all_cases([layer_type]), 16):  # the slow part is their oracle
        layer = layer_of(case)
        if not all(info.is_static for info in layer.output_infos):
            continue  # never offered to C
        with NativeGraph.of_layer(layer, BACKEND_API_VERSION) as graph:
            (twin,) = DecodedGraph(graph.struct).layers
            assert (twin.type, twin.descriptor) == (layer.type, layer.descriptor)
            assert twin.output_infos == _as_floats(layer.output_infos)
            assert twin.input_infos == _as_floats(layer.input_infos)
            for mine, theirs in zip(layer.inputs, twin.inputs, strict=True):
                if mine is not None and mine.constant is not None:
                    assert theirs is not None
                    assert theirs.constant is not None
                    assert theirs.constant.tobytes() == mine.constant.tobytes()


def _as_floats(infos: tuple[TensorInfo | None, ...]) -> tuple[TensorInfo | None, ...]:
    """Round scales to float32, as the C interface does."""
    return tuple(
        None
        if info is None
        else TensorInfo(
            info.shape,
            info.data_type,
            [float(np.float32(scale)) for scale in info.scales],
            info.zero_points,
            info.axis,
        )
        for info in infos
    )


def addition() -> NativeGraph:
    network, info = Network("sum"), TensorInfo((2,))
    total = network.add_addition(network.add_input("a", info), network.add_input("b", info))
    return NativeGraph.of_layer(total.producer, BACKEND_API_VERSION)


def softmax() -> NativeGraph:
    network = Network("softmax")
    layer = network.add_softmax(network.add_input("a", TensorInfo((2,)))).producer
    return NativeGraph.of_layer(layer, BACKEND_API_VERSION)


def rename_type(graph: Any) -> None:
    graph.nodes[0].type.data += 1
    graph.nodes[0].type.size -= 1


def unknown_data_type(graph: Any) -> None:
    graph.values[0].data_type = 4711


def unknown_attribute(graph: Any) -> None:
    graph.nodes[0].attributes[0].name.size -= 1


def retyped_attribute(graph: Any) -> None:
    graph.nodes[0].attributes[0].type = 5


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (addition, rename_type, "the layer type 'ddition' is not known here"),
        (addition, unknown_data_type, "DataType 4711 is not known here"),
        (softmax, unknown_attribute, "SoftmaxDescriptor has no parameter 'bet' here"),
        (softmax, retyped_attribute, "'beta' of SoftmaxDescriptor has attribute type 5, expected"),
    ],
)
def test_what_a_younger_host_may_send_is_refused(make: Any, change: Any, message: str) -> None:
    with make() as graph:
        change(graph.struct)
        with pytest.raises(UnimplementedError, match=message):
            DecodedGraph(graph.struct)
