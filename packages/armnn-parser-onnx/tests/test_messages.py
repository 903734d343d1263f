# SPDX-License-Identifier: MIT
"""Messages are decoded and encoded as the package ``onnx`` does."""

from __future__ import annotations

import os
import random
import tempfile
import warnings

import numpy as np
import onnx
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from onnx import TensorProto, helper

from armnn.errors import ParseError
from armnn_parser_onnx.messages import Dimension, Model, Node, Tensor, Type, encoded
from armnn_parser_onnx.protobuf import EIGHT_BYTES, FOUR_BYTES, LENGTH, VARINT, Message, Span
from tools.fuzz.onnx_reader import difference, message_kinds, verdict

KINDS = {
    FieldDescriptor.TYPE_DOUBLE: EIGHT_BYTES,
    FieldDescriptor.TYPE_FLOAT: FOUR_BYTES,
    FieldDescriptor.TYPE_INT64: VARINT,
    FieldDescriptor.TYPE_INT32: VARINT,
    FieldDescriptor.TYPE_UINT64: VARINT,
    FieldDescriptor.TYPE_ENUM: VARINT,
}
"""What follows the tag of a field; a length for the others."""


def message(data: bytes, kind: type[Message] = Model) -> Message:
    return kind.at(Span(data, 0, len(data)), "m")


@pytest.mark.parametrize(
    ("ours", "theirs"), message_kinds(), ids=[each.name for _, each in message_kinds()]
)
def test_a_field_has_the_number_and_form_that_onnx_gives_it(
    ours: type[Message], theirs: Descriptor
) -> None:
    wanted = {
        field.name: (field.number, field.is_repeated, KINDS.get(field.type, LENGTH))
        for field in theirs.fields
    }
    read = {
        name: (field.number, field.repeated, next(iter(field.forms)))
        for name, field in ours.FIELDS.items()
    }
    assert read == {name: wanted[name] for name in read}
    for field in theirs.fields:
        if field.name in read:
            choice = field.containing_oneof
            others = set() if choice is None else {each.name for each in choice.fields}
            assert {*ours.FIELDS[field.name].others} == others - {field.name}


def test_all_fields_of_onnx_are_read_but_those_that_no_layer_comes_from() -> None:
    unread = {
        f"{theirs.name}.{field.name}"
        for ours, theirs in message_kinds()
        for field in theirs.fields
        if field.name not in ours.FIELDS
    }
    assert unread == {
        "ModelProto.training_info",
        "ModelProto.configuration",
        "NodeProto.device_configurations",
        "Map.key_type",
        "Map.value_type",
        "Opaque.domain",
        "Opaque.name",
    }


def test_a_file_with_unread_fields_is_read_without_them() -> None:
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="n")], "g", [], [])
    model = helper.make_model(graph)
    plain = model.SerializeToString()
    model.training_info.add().algorithm.name = "step"
    model.configuration.add(name="two", num_devices=2)
    model.graph.node[0].device_configurations.add(configuration_id="two")
    model.graph.input.add(name="m").type.map_type.key_type = TensorProto.INT64
    ours = message(model.SerializeToString())
    ours.check()
    assert ours.graph.input[0].type.kind == "map_type"
    assert verdict(model.SerializeToString()) == "same"
    written = encoded(ours.replaced(graph=ours.graph.replaced(input=[])))
    assert onnx.ModelProto.FromString(written) == onnx.ModelProto.FromString(plain)


def standard_cases() -> list[bytes]:
    """Return every model of ONNX's node tests, seeded."""
    os.environ.setdefault("ONNX_HOME", tempfile.mkdtemp())
    state = np.random.get_state()
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        cases = load_model_tests(kind="node")
    np.random.set_state(state)
    return [case.model.SerializeToString() for case in cases]


def test_node_tests_of_onnx_are_read_and_written_as_onnx_does() -> None:
    """The session ``fuzz_onnx_reader`` compares all of them."""
    cases = standard_cases()
    assert len(cases) > 1500
    for data in cases[::8]:
        theirs = onnx.ModelProto.FromString(data)
        ours = message(data)
        assert difference(ours, theirs) == ""
        assert difference(message(encoded(ours)), theirs) == ""


def test_damaged_files_have_the_verdict_of_protocol_buffers() -> None:
    source = random.Random(5)
    cases = [data for data in standard_cases()[::40] if len(data) < 2000]
    found = set()
    for _ in range(400):
        data = bytearray(source.choice(cases))
        for _ in range(source.choice((1, 1, 3))):
            data[source.randrange(len(data))] ^= 1 << source.randrange(8)
        found.add(verdict(bytes(data)))
    assert found == {"same", "both refuse", "no text"}


@pytest.mark.parametrize(
    "data",
    [
        b"\x3a\x05",
        b"\x80",
        b"\xff" * 11,
        b"\x3a\xff\xff\xff\xff\x0f",
        b"\x0e",
        b"\x3c",
        b"\x3b",
        b"\x3b\x44",
        b"\x00\x00",
        b"\x08" + b"\xff" * 10 + b"\x01",
        b"\x80\x80\x80\x80\x10\x00",
        b"\x9b\x3f" * 101 + b"\x9c\x3f" * 101,
    ],
    ids=[
        "too short", "no end", "endless tag", "too long", "no kind", "end alone", "group alone",
        "other end", "no number", "endless number", "large tag", "deep groups",
    ],
)  # fmt: skip
def test_what_is_no_message_is_malformed(data: bytes) -> None:
    assert verdict(data) == "both refuse"
    with pytest.raises(ParseError, match="the model 'm' is not an ONNX file or is cut short"):
        message(data).check()


@pytest.mark.parametrize(
    "data",
    [
        b"\x08" + b"\xff" * 9 + b"\x7f",
        b"\x88\x80\x80\x80\x00\x05",
        b"\x9b\x3f" * 100 + b"\x9c\x3f" * 100,
        b"\x9b\x3f\x08\x01\x01" + bytes(8) + b"\x9c\x3f",
    ],
    ids=["long number", "long tag", "groups", "number 0 in a group"],
)
def test_unusual_forms_are_read(data: bytes) -> None:
    assert verdict(data) == "same"


def test_of_a_choice_the_last_member_counts() -> None:
    data = TensorProto().SerializeToString()
    both = b"\x08\x05\x12\x01n"
    assert (message(both, Dimension).dim_value, message(both, Dimension).dim_param) == (None, "n")
    again = message(both + b"\x08\x07", Dimension)
    assert (again.dim_value, again.dim_param) == (7, None)
    kinds = message(b"\x0a\x02\x08\x01\x22\x00", Type)
    assert (kinds.kind, kinds.tensor_type) == ("sequence_type", None)
    with pytest.raises(ParseError, match="is not an ONNX file"):
        message(b"\x0a\x02\x08\x80\x22\x00", Type).check()
    assert message(data, Type).kind == ""


def test_an_unknown_entry_of_an_enumeration_counts_as_absent() -> None:
    assert message(b"\x70\x01\x70\x63", Tensor).data_location == TensorProto.EXTERNAL


def test_many_packed_numbers_are_read() -> None:
    numbers = np.random.default_rng(3).integers(-(2**63), 2**63, 70_000, np.int64)
    numbers[::3] >>= 57
    proto = helper.make_tensor("t", TensorProto.INT64, numbers.shape, numbers.tolist())
    tensor = message(proto.SerializeToString(), Tensor)
    np.testing.assert_array_equal(tensor.int64_data, numbers)
    narrow = message(b"\x2a\x05\xff\xff\xff\xff\x1f\x28\x80\x80\x80\x80\x08", Tensor)
    assert narrow.int32_data.tolist() == [-1, -(2**31)]


def test_a_name_that_is_no_text_is_refused_and_a_note_is_not() -> None:
    with pytest.raises(ParseError, match="'m' has a name that is not text in UTF-8"):
        message(b"\x1a\x01\xff", Node).decode()
    assert message(b"\x32\x01\xff", Node).doc_string == "\ufffd"


def test_no_other_attributes_are_there() -> None:
    with pytest.raises(AttributeError, match="Node has no field 'color'"):
        _ = message(b"", Node).color


def test_a_copy_has_other_values_of_some_fields() -> None:
    node = message(helper.make_node("Relu", ["x"], ["y"], name="n").SerializeToString(), Node)
    copy = node.replaced(name="m", output=["z"])
    assert (copy.name, copy.op_type, copy.input, copy.output) == ("m", "Relu", ["x"], ["z"])
    assert (node.name, node.output) == ("n", ["y"])
