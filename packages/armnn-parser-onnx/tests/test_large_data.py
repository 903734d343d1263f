# SPDX-License-Identifier: MIT
"""The data of large tensors stays in the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from armnn.errors import ParseError
from armnn_parser_onnx.model_file import read_model
from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.protobuf import LARGE, Span
from armnn_parser_onnx.tensors import to_array

WEIGHTS = np.random.default_rng(1).random((64, 128), np.float32)
BIAS = np.arange(128, dtype=np.float32)


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """Write a product of a large initializer and node."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node(
            "Constant", [], ["b"], value=numpy_helper.from_array(np.tile(BIAS, (64, 1)), "b")
        ),
        helper.make_node("Add", ["product", "b"], ["y"]),
    ]
    made = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "product",
        [made("x", TensorProto.FLOAT, [64, 64])],
        [made("y", TensorProto.FLOAT, [64, 128])],
        [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(BIAS, "small")],
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


def test_large_data_is_read_from_the_file(product: Path) -> None:
    network = parse(product)
    data = {layer.name: layer.data for layer in network.layers if layer.data is not None}
    assert list(data) == ["w", "b"]
    np.testing.assert_array_equal(data["w"], WEIGHTS)
    np.testing.assert_array_equal(data["b"], np.tile(BIAS, (64, 1)))
    assert network.external_files == {}


def test_megabytes_are_read_whole_and_cannot_be_written(tmp_path: Path) -> None:
    weights = np.random.default_rng(2).random((5, 1 << 18, 2), np.float32)  # 2 MiB each
    nodes = [helper.make_node("Add", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(5)]
    made = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "sums",
        [made("x0", TensorProto.FLOAT, [1 << 18, 2])],
        [made("x5", TensorProto.FLOAT, [1 << 18, 2])],
        [numpy_helper.from_array(each, f"w{i}") for i, each in enumerate(weights)],
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    data = {layer.name: layer.data for layer in parse(path).layers if layer.data is not None}
    for number, each in enumerate(weights):
        np.testing.assert_array_equal(data[f"w{number}"], each)
        assert not data[f"w{number}"].flags.writeable
        assert data[f"w{number}"].ctypes.data % 16 == 0


def test_large_data_is_left_in_the_file(product: Path) -> None:
    assert product.stat().st_size > 2 * LARGE
    weights, small = read_model(product).graph.initializer
    assert (weights.name, list(weights.dims)) == ("w", [64, 128])
    assert isinstance(weights.raw_data, Span)
    assert len(weights.raw_data) == WEIGHTS.nbytes
    assert small.raw_data == BIAS.tobytes()


def test_the_file_may_be_replaced_while_it_is_parsed(product: Path) -> None:
    model = read_model(product)
    product.rename(product.with_name("old.onnx"))
    product.write_bytes(b"another one")
    np.testing.assert_array_equal(
        to_array(model.graph.initializer[0], model.external_data), WEIGHTS
    )


def test_a_file_that_was_cut_short_meanwhile_is_refused(product: Path) -> None:
    model = read_model(product)
    with product.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(ParseError, match=r"the data of 'w' in .* but the file has 100"):
        to_array(model.graph.initializer[0], model.external_data)


def test_data_of_another_size_than_the_dimensions_is_refused(product: Path) -> None:
    model = onnx.load(product)
    model.graph.initializer[0].dims[0] = 63
    product.write_bytes(model.SerializeToString())
    with pytest.raises(ParseError, match="'w' has 32768 bytes of data: expected 32256"):
        parse(product)


def test_a_file_cut_short_is_refused_wherever_it_ends(product: Path) -> None:
    whole = product.read_bytes()
    for size in (*range(1, 200), *range(200, len(whole), 997)):
        product.write_bytes(whole[:size])
        with pytest.raises(ParseError):
            parse(product)
