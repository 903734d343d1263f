# SPDX-License-Identifier: MIT
"""Files beyond 2 and 4 GiB, nearly all holes."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from armnn.errors import ParseError
from armnn_parser_onnx.messages import Tensor, encoded
from armnn_parser_onnx.model_file import read_model
from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.protobuf import SourceFile, Span

MOST = 2**31 - 1
"""The largest file that Protocol Buffers allows."""

BEYOND = 5 * 2**30
W = np.arange(1 << 14, dtype=np.float32)


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    """Let the process grow by 512 MiB, mapped files included."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + 2**29
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def placed(path: Path, content: bytes, offset: int) -> None:
    """Write bytes into a file, behind what it has."""
    with path.open("ab") as file:
        file.truncate(offset)
        file.write(content)


def graph(size: int, *tensors: TensorProto) -> onnx.GraphProto:
    """Return ``y = x + w``."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name in "xy")
    add = helper.make_node("Add", ["x", "w"], ["y"])
    return helper.make_graph([add], "sum", [x], [y], tensors)


def varint(number: int) -> bytes:
    """Return a number as five bytes."""
    return bytes([number >> 7 * i & 127 | 128 * (i < 4) for i in range(5)])


def with_a_hole(path: Path, size: int) -> None:
    """Write a model whose weights are behind an unused tensor.

    Args:
        path: The file.
        size: Its bytes, most of which are the data of that tensor.
    """
    model = helper.make_model(graph(len(W)), ir_version=8)
    inside = model.graph.SerializeToString()
    model.ClearField("graph")
    weights = onnx.GraphProto(initializer=[numpy_helper.from_array(W, "w")]).SerializeToString()
    tensor = TensorProto(name="unused", data_type=TensorProto.UINT8).SerializeToString()
    opset = model.SerializeToString()
    fixed = 4 * 6 + len(opset) + len(inside) + len(tensor) + len(weights)
    hole = size - fixed
    dims = b"\x08" + varint(hole)
    raw = b"\x4a" + varint(hole)
    left = b"\x2a" + varint(len(tensor) + len(dims) + len(raw) + hole) + tensor + dims + raw
    head = opset + b"\x3a" + varint(len(inside) + len(left) + hole + len(weights)) + inside + left
    path.write_bytes(head)
    placed(path, weights, len(head) + hole)
    assert path.stat().st_size == size


@pytest.mark.parametrize("count", [4, len(W)], ids=["read", "mapped"])
def test_external_data_is_read_beyond_4_gib(tmp_path: Path, count: int) -> None:
    data, path = tmp_path / "w.bin", tmp_path / "model.onnx"
    placed(data, W[:count].tobytes(), BEYOND)
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[count])
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": data.name, "offset": str(BEYOND)}.items():
        weights.external_data.add(key=key, value=value)
    path.write_bytes(helper.make_model(graph(count, weights)).SerializeToString())
    np.testing.assert_array_equal(parse(path).find("w").data, W[:count])
    os.truncate(data, BEYOND + 4 * count - 1)
    spanned = f"spans the bytes {BEYOND} to {BEYOND + 4 * count}, but the file has"
    with pytest.raises(ParseError, match=f"{spanned} {BEYOND + 4 * count - 1}"):
        parse(path)


def test_a_message_is_read_beyond_4_gib(tmp_path: Path) -> None:
    tensor = encoded(Tensor(name="w", data_type=TensorProto.FLOAT, raw_data=W.tobytes()))
    path = tmp_path / "tensor.bin"
    placed(path, tensor, BEYOND)
    made = Tensor.at(Span(SourceFile(path.open("rb")), BEYOND, BEYOND + len(tensor)), "sparse")
    assert made.name == "w"
    assert isinstance(made.raw_data, Span)
    assert made.raw_data.stop > 2**32
    assert bytes(made.raw_data.buffer("w")) == made.raw_data.read("w") == W.tobytes()


def test_a_model_has_as_many_bytes_as_protocol_buffers_allows(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with_a_hole(path, MOST)
    unused, weights = read_model(path).graph.initializer
    assert len(unused.raw_data) == unused.dims[0] > MOST - 2**17
    assert weights.raw_data.stop == MOST
    np.testing.assert_array_equal(parse(path).find("w").data, W)
    os.truncate(path, MOST - 1)
    with pytest.raises(ParseError, match="is not an ONNX file or is cut short"):
        parse(path)


def test_a_larger_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with_a_hole(path, MOST + 1)
    wanted = re.escape("has 2147483648 bytes, more than an ONNX file can have (2147483647): save")
    with pytest.raises(ParseError, match=wanted):
        parse(path)
