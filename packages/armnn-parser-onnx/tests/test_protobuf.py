# SPDX-License-Identifier: MIT
"""Fields in any arrangement are read as by Protocol Buffers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from armnn.errors import ParseError
from armnn_parser_onnx.messages import Model, Tensor
from armnn_parser_onnx.model_file import read_message, read_model
from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.protobuf import Span
from armnn_parser_onnx.tensors import ExternalData, to_array
from tools.fuzz.onnx_reader import MODEL_PROTO, TINY, difference, tiny_windows

DATA = np.arange(8, dtype=np.float32)
OTHER = np.arange(8, 16, dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def _small_data_is_large() -> Iterator[None]:
    with tiny_windows():
        yield


# -- the wire format ------------------------------------------------------------------------------


def varint(number: int, longer_by: int = 0) -> bytes:
    """Encode a number in its fewest bytes or more.

    There are up to the five of a tag.
    """
    low = []
    while number > 127:
        low.append(number & 127 | 128)
        number >>= 7
    padding = min(longer_by, 4 - len(low))
    return bytes([*low, number | 128 * (padding > 0), *[128] * (padding - 1), *[0] * (padding > 0)])


def field(number: int, content: bytes, longer_by: int = 0) -> bytes:
    return varint(number << 3 | 2, longer_by) + varint(len(content), longer_by) + content


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


DIMS = integer(1, 8)
DATA_TYPE = integer(2, TensorProto.FLOAT)
NAME = field(8, b"w")
RAW = field(9, DATA.tobytes())
IN_MESSAGE, ELSEWHERE = integer(14, TensorProto.DEFAULT), integer(14, TensorProto.EXTERNAL)


def entry(key: str, value: str) -> bytes:
    return field(13, field(1, key.encode()) + field(2, value.encode()))


def model_of(*tensors: bytes) -> bytes:
    """Return ``y = x + w`` with tensors as initializers."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "sum", [x], [y])
    model: bytes = helper.make_model(graph, ir_version=8).SerializeToString()
    return model + field(7, b"".join(field(5, tensor) for tensor in tensors))


def weights_of(path: Path) -> list[float]:
    """Return the constant ``w`` that was left in the file."""
    (left,) = (each for each in read_model(path).graph.initializer if each.name == "w")
    assert isinstance(left.raw_data, Span)
    data = parse(path).find("w").data
    assert data is not None
    values: list[float] = data.tolist()
    return values


# -- orders that are worth a name -----------------------------------------------------------------


def test_fields_come_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for fields in itertools.permutations([DIMS, DATA_TYPE, NAME, RAW, IN_MESSAGE]):
        path.write_bytes(model_of(b"".join(fields)))
        assert weights_of(path) == DATA.tolist()


@pytest.mark.parametrize("place", range(5))
def test_of_repeated_raw_data_the_last_counts(tmp_path: Path, place: int) -> None:
    fields = [DIMS, DATA_TYPE, NAME, IN_MESSAGE]
    fields.insert(place, RAW)
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(b"".join([*fields, field(9, OTHER.tobytes())])))
    assert weights_of(path) == OTHER.tolist()


@pytest.mark.parametrize("parts", [(DIMS + RAW, IN_MESSAGE), (RAW, RAW + DIMS), (RAW, DIMS)])
def test_a_tensor_in_parts_is_merged(tmp_path: Path, parts: tuple[bytes, bytes]) -> None:
    attribute = field(1, b"value") + integer(20, onnx.AttributeProto.TENSOR)
    attribute += field(5, DATA_TYPE + parts[0]) + field(5, NAME + parts[1])
    node = field(2, b"w") + field(4, b"Constant") + field(5, attribute)
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of() + field(7, field(1, node)))
    data = parse(path).find("w").data
    assert data is not None
    assert data.tolist() == DATA.tolist()


def test_a_graph_in_parts_is_merged(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    other = field(8, b"other") + DIMS + DATA_TYPE + field(9, OTHER.tobytes())
    path.write_bytes(model_of(other) + field(7, field(5, NAME + DIMS + DATA_TYPE + RAW)))
    assert weights_of(path) == DATA.tolist()


def test_what_onnx_saves_after_it_loaded_external_data_is_read(tmp_path: Path) -> None:
    made = onnx.load_from_string(model_of())
    weights = np.arange(4096, dtype=np.float32).reshape(4096)
    made.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4096
    made.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 4096
    onnx.save(made, tmp_path / "a.onnx", save_as_external_data=True, location="a.data")
    onnx.save(onnx.load(tmp_path / "a.onnx"), tmp_path / "b.onnx")
    assert onnx.load(tmp_path / "b.onnx").graph.initializer[0].HasField("data_location")
    data = parse(tmp_path / "b.onnx").find("w").data
    np.testing.assert_array_equal(data, weights)


# -- all of them ----------------------------------------------------------------------------------

RAW_DATA = st.integers(0, 2 * TINY + 8).map(lambda size: bytes(range(size)))
UNKNOWN = st.sampled_from(
    [
        field(1000, b"x" * 40),
        varint(1000 << 3 | 1) + bytes(8),
        varint(1000 << 3 | 5) + bytes(4),
        integer(1000, 2**63),
        varint(1000 << 3 | 3) + field(9, b"y" * 40) + varint(1000 << 3 | 4),  # a group
        integer(9, 7),  # raw_data of another kind is an unknown field
    ]
)


def message(pieces: st.SearchStrategy[bytes], most: int = 6) -> st.SearchStrategy[bytes]:
    """Draw fields in any order and number, sometimes unknown ones."""
    return st.lists(st.one_of(pieces, pieces, UNKNOWN), max_size=most).map(b"".join)


def sub(number: int, content: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.builds(field, st.just(number), content, st.sampled_from([0, 0, 1, 4]))


TENSORS = message(
    st.one_of(
        st.sampled_from([DIMS, DATA_TYPE, NAME, IN_MESSAGE, ELSEWHERE, field(1, varint(8))]),
        st.sampled_from(
            [entry("location", "data.bin"), entry("offset", "0"), entry("armnn.in_model_file", "1")]
        ),
        st.sampled_from([field(4, OTHER.tobytes()), varint(4 << 3 | 5) + OTHER.tobytes()[:4]]),
        sub(9, RAW_DATA),
    ),
    9,
)
LEAVES = message(
    st.one_of(
        sub(5, TENSORS), sub(10, TENSORS), sub(22, sub(1, TENSORS)), sub(1, st.just(b"value"))
    )
)
NODES = message(st.one_of(sub(5, LEAVES), st.just(field(4, b"Constant"))))
GRAPHS = message(st.one_of(sub(1, NODES), sub(5, TENSORS), sub(15, sub(1, TENSORS))))
NODES_WITH_BODIES = message(sub(5, message(st.one_of(sub(6, GRAPHS), sub(11, GRAPHS)))), 2)
MODELS = message(
    st.one_of(
        sub(7, st.one_of(GRAPHS, sub(1, NODES_WITH_BODIES))),
        sub(25, sub(7, NODES)),
        sub(20, sub(1, GRAPHS)),
    )
)
WHOLE = b"".join([field(8, integer(2, 21)), field(7, field(2, b"graph"))])


def examples(most: int) -> settings:
    return settings(
        deadline=None,
        derandomize=True,
        max_examples=most,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


@examples(60)
@given(MODELS, st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=3))
def test_a_path_and_bytes_give_what_protocol_buffers_decodes_or_its_refusal(
    tmp_path: Path, made: bytes, damage: list[tuple[int, int]]
) -> None:
    content = bytearray(WHOLE + made)
    for place, byte in damage:
        content[place % len(content)] = byte
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    try:
        theirs = MODEL_PROTO.FromString(bytes(content))
    except DecodeError:
        theirs = None
    for model in (whole(path), whole(bytes(content))):
        assert (model is None) == (theirs is None)
        if model is not None and theirs is not None:
            assert difference(model, theirs) == ""


def whole(given: Path | bytes) -> Model | None:
    """Return a model that was decoded to the last field."""
    try:
        model, _ = read_message(given)
        model.check()
    except ParseError as error:
        assume("UTF-8" not in str(error))  # what ours refuses, too
        return None
    return model


@examples(100)
@given(st.lists(TENSORS, min_size=1, max_size=3).map(b"".join))
def test_a_tensor_has_the_array_of_its_decoded_message(tmp_path: Path, fields: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(fields))
    (tmp_path / "data.bin").write_bytes(OTHER.tobytes())
    model = read_model(path)
    ours = array_or_error(model.graph.initializer[0], model.external_data)
    theirs = TensorProto.FromString(fields)  # merged, in the order of the fields' numbers
    data = theirs.SerializeToString()
    merged = Tensor.at(Span(data, 0, len(data)), "merged")
    assert ours == array_or_error(merged, ExternalData(tmp_path))
    if theirs.data_location == TensorProto.DEFAULT and isinstance(ours, tuple):
        assert ours[1] == onnx.numpy_helper.to_array(theirs).tolist()


def array_or_error(tensor: Tensor, data: ExternalData) -> object:
    try:
        array = to_array(tensor, data)
    except ParseError as error:
        return str(error)
    return array.dtype, array.tolist()
