# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from armnn.backends.capi.graph import NativeGraph, RowMemory, packer
from armnn.backends.capi.values import attributes_of
from armnn.graph import Network
from armnn.layers import LAYERS
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, elements_of, text_of


def flat(row: ctypes.Structure) -> list[Any]:
    """Return the numbers of a struct, read field by field."""
    found: list[Any] = []
    for name, *_ in row._fields_:
        value = getattr(row, name)
        if isinstance(value, ctypes.Structure):
            found += flat(value)
        elif isinstance(value, int | float):
            found.append(value)
        else:
            found.append(ctypes.cast(value, ctypes.c_void_p).value or 0)
    return found


@pytest.mark.parametrize(
    "kind", [abi.Value, abi.Node, abi.Attribute, abi.Support, abi.Quantization]
)
def test_packed_fields_are_where_c_has_them(kind: type[ctypes.Structure]) -> None:
    count = len(packer(kind).unpack(bytes(ctypes.sizeof(kind))))
    numbers = list(range(7, 7 + count))
    row = kind.from_buffer_copy(packer(kind).pack(*numbers))
    assert flat(row) == numbers


def test_a_struct_with_fields_of_unknown_size_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Tensor has 48 bytes: packed 72"):
        packer(abi.Tensor)


def attributes_in(row: abi.Node) -> list[tuple[Any, ...]]:
    """Return a node's attributes as C reads them."""
    return [
        (text_of(each.name), each.type, each.since_minor, elements_of(each))
        for each in (row.attributes[number] for number in range(row.num_attributes))
    ]


def test_a_graph_has_the_quantizations_of_its_values() -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((1, 2), DataType.QASYMM_U8, 0.5, 7))
    info = TensorInfo((3, 2), DataType.QSYMM_S8, [0.25, 2, 4], axis=0)
    weights = network.add_constant(np.zeros((3, 2), np.int8), info)
    real = network.add_dequantize(x)
    made = network.add_fully_connected(
        x,
        weights,
        transpose_weight_matrix=True,
        output=TensorInfo((1, 3), DataType.QASYMM_U8, 1.5, 9),
    )
    layers = (real.producer, made.producer)
    with NativeGraph(layers, (x, weights), (real, made), BackendVersion(1, 2)) as graph:
        rows = graph.rows
        assert ctypes.cast(rows[real].quantization, ctypes.c_void_p).value is None
        found = [rows[value].quantization.contents for value in (x, weights, made)]
        assert [(row.scheme, row.axis) for row in found] == [
            (abi.PER_TENSOR, -1),
            (abi.PER_AXIS, 0),
            (abi.PER_TENSOR, -1),
        ]
        assert [row.scales[: row.count] for row in found] == [[0.5], [0.25, 2, 4], [1.5]]
        assert [row.zero_points[: row.count] for row in found] == [[7], [0, 0, 0], [9]]


def test_a_scale_that_a_float_cannot_hold_is_infinite() -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2,), DataType.QASYMM_S8, 1e300, -3))
    y = network.add_activation(x)
    with NativeGraph((y.producer,), (x,), (y,), BackendVersion(1, 2)) as graph:
        row = graph.rows[x].quantization.contents
        assert (row.scales[0], row.zero_points[0]) == (np.inf, -3)


def test_a_graph_has_the_names_shapes_and_attributes_of_its_layers() -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2, "n", 4)))
    padded = network.add_pad(x, pad_list=[(0, 0), (1, 2), (3, 4)], pad_value=0.5, name="päd")
    total = network.add_addition(padded, np.float32(2), name="")
    network.add_output("y", total)
    layers = (padded.producer, total.producer)
    constant = total.producer.inputs[1]
    assert constant is not None
    version = BackendVersion(1, 2)
    with NativeGraph(layers, (x, constant), (total,), version) as graph:
        rows, nodes = graph.struct.values[: len(graph.rows)], graph.struct.nodes[:2]
        assert [text_of(row.name) for row in rows] == ["x", constant.name, "päd", ""]
        assert [row.shape[: row.ndim] for row in rows] == [[2, -1, 4], []] + [[2, -1, 11]] * 2
        assert [bool(row.constant) for row in rows] == [False, True, False, False]
        assert rows[1].constant_ref
        assert [text_of(node.type) for node in nodes] == ["Pad", "Addition"]
        assert [text_of(node.name) for node in nodes] == ["päd", ""]
        assert [node.inputs[: node.num_inputs] for node in nodes] == [[0], [2, 1]]
        assert [node.outputs[: node.num_outputs] for node in nodes] == [[2], [3]]
        assert attributes_in(nodes[0]) == [
            ("pad_list", abi.ATTRIBUTE_INT64, 0, [0, 0, 1, 2, 3, 4]),
            ("pad_value", abi.ATTRIBUTE_FLOAT64, 0, [0.5]),
            ("padding_mode", abi.ATTRIBUTE_INT64, 0, [0]),
        ]
        assert graph.struct.inputs[: graph.struct.num_inputs] == [0]
        assert graph.struct.outputs[: graph.struct.num_outputs] == [3]


@pytest.mark.parametrize("layer_type", list(LAYERS))
def test_attributes_are_those_that_ctypes_fills_one_by_one(layer_type: str) -> None:
    descriptor, version = LAYERS[layer_type].descriptor(), BackendVersion(1, 2)
    arena, expected = Arena(), abi.Node()
    memory = RowMemory(arena, version, values=0)
    place, count = memory.attributes(descriptor)
    memory.assign()
    assert place == 0
    rows = attributes_of(descriptor, version, arena)
    expected.attributes, expected.num_attributes = rows, len(rows)
    made = abi.Node()
    start = abi.Attribute.from_address(memory.attributes_at)
    made.attributes, made.num_attributes = ctypes.pointer(start), count
    assert attributes_in(made) == attributes_in(expected)
