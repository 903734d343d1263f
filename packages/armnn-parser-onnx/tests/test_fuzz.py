# SPDX-License-Identifier: MIT
"""Damaged files end in a network or clean error."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse


def _seed() -> bytes:
    """Return a small file with attributes, initializer and function."""
    twice = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 21)],
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Reshape", ["c", "s"], ["r"]),
        helper.make_node("Twice", ["r"], ["t"], domain="own"),
        helper.make_node("Softmax", ["t"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.ones((2, 1, 3, 3), np.float32), "w"),
            numpy_helper.from_array(np.array([1, -1]), "s"),
        ],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, functions=[twice], opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())


SEED = _seed()


def test_the_seed_itself_is_read() -> None:
    assert list(parse(SEED).outputs)


@settings(
    deadline=5000,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SEED) - 1), st.integers(0, 255), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, len(SEED)),
)
def test_a_damaged_file_is_read_or_refused(edits: list[tuple[int, int, bool]], length: int) -> None:
    data = bytearray(SEED)
    for place, byte, inserted in edits:
        if inserted:
            data.insert(place, byte)
        else:
            data[place] = byte
    for text in (bytes(data), bytes(data[:length])):
        try:
            parse(text)
        except ParseError:
            continue
