# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from armnn.errors import ParseError
from armnn_parser_onnx.model_file import read_model
from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.shortened_file import LARGE, MalformedError, shortened

Model = Callable[..., onnx.ModelProto]
WEIGHTS = np.random.default_rng(1).random((64, 128), np.float32)
BIAS = np.arange(128, dtype=np.float32)


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """Write a product of a large initialiser and node."""
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


def _none(offset: int, length: int) -> bytes:
    raise AssertionError(f"{length} bytes at {offset} are left in the file")


def test_large_data_is_read_from_the_file(product: Path) -> None:
    network = parse(product)
    data = {layer.name: layer.data for layer in network.layers if layer.data is not None}
    assert list(data) == ["w", "b"]
    np.testing.assert_array_equal(data["w"], WEIGHTS)
    np.testing.assert_array_equal(data["b"], np.tile(BIAS, (64, 1)))
    assert network.is_self_contained


def test_the_message_holds_no_large_data(product: Path) -> None:
    assert product.stat().st_size > 2 * LARGE
    proto = read_model(product).proto
    assert proto.ByteSize() < 1000
    weights, small = proto.graph.initializer
    assert (weights.name, list(weights.dims)) == ("w", [64, 128])
    assert not weights.external_data
    assert small == numpy_helper.from_array(BIAS, "small")


def test_a_file_without_large_data_stays_as_it_is(model: Model, tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    whole = model(node, {"x": np.zeros((2, 3), np.float32)}).SerializeToString()
    assert shortened(io.BytesIO(whole), len(whole), _none) == whole


def test_the_file_may_be_replaced_while_it_is_parsed(product: Path) -> None:
    model = read_model(product)
    product.rename(product.with_name("old.onnx"))
    product.write_bytes(b"another one")
    weights = model.proto.graph.initializer[0]
    assert model.external_data.raw_data(weights) == WEIGHTS.tobytes()


def test_a_file_that_was_cut_short_meanwhile_is_refused(product: Path) -> None:
    model = read_model(product)
    with product.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(ParseError, match=r"the data of 'w' in .* but the file has 100"):
        model.external_data.raw_data(model.proto.graph.initializer[0])


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


@pytest.mark.parametrize(
    "message",
    [b"\x3b", b"\x3a\x05", b"\x80", b"\xff" * 11, b"\x3a\xff\xff\xff\xff\x0f"],
    ids=["group", "too short", "no end", "endless number", "too long"],
)
def test_what_is_no_message_is_malformed(message: bytes) -> None:
    with pytest.raises(MalformedError):
        shortened(io.BytesIO(message), len(message), _none)
