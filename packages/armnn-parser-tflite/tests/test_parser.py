# SPDX-License-Identifier: MIT
"""Inputs, outputs, names and metadata of a parsed model."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import DataType
from armnn.errors import InvalidArgumentError, ParseError
from armnn_parser_tflite.parser import parse

SHAPE = (2, 3)


def _relu(lite: Any, edit: Any = None, **tensors: Any) -> bytes:
    data: bytes = lite.build(
        lite.Op("RELU", ["x"]),
        {"x": lite.Tensor(shape=SHAPE), "y": lite.Tensor(shape=SHAPE), **tensors},
        edit=edit,
    )
    return data


def test_core_finds_the_parser_by_the_suffix(lite: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(_relu(lite))
    network = armnn.parse(path)
    assert [layer.type for layer in network.layers] == ["Input", "Activation", "Output"]


def test_names_are_those_of_the_tensors(lite: Any) -> None:
    network = parse(_relu(lite))
    assert network.name == "main"
    assert [layer.name for layer in network.layers] == ["x", "y", "y"]


def _add_signature(model: Any, lite: Any, subgraph: int = 0) -> None:
    signature = lite.schema.SignatureDefT()
    signature.subgraphIndex = subgraph
    signature.inputs, signature.outputs = [lite.schema.TensorMapT()], [lite.schema.TensorMapT()]
    signature.inputs[0].name, signature.inputs[0].tensorIndex = "image", 0
    signature.outputs[0].name, signature.outputs[0].tensorIndex = "label", 1
    model.signatureDefs.append(signature)


def test_names_of_a_signature_come_first(lite: Any) -> None:
    network = parse(_relu(lite, lambda model: _add_signature(model, lite)))
    assert [layer.name for layer in (*network.inputs, *network.outputs)] == ["image", "label"]
    assert network.find("y").type == "Activation"


def test_a_signature_is_chosen_by_its_name(lite: Any) -> None:
    def edit(model: Any) -> None:
        _add_signature(model, lite)
        _add_signature(model, lite)
        for signature, key in zip(model.signatureDefs, ("train", "serve"), strict=True):
            signature.signatureKey = key
            signature.inputs[0].name = f"{key}_image"

    data = _relu(lite, edit)
    assert [layer.name for layer in parse(data).inputs] == ["train_image"]
    assert [layer.name for layer in parse(data, signature="serve").inputs] == ["serve_image"]
    with pytest.raises(ParseError, match="has no signature 'none': it has 'train', 'serve'"):
        parse(data, signature="none")
    with pytest.raises(ParseError, match="has no signature 'none': it has none"):
        parse(_relu(lite), signature="none")


def test_a_signature_of_another_subgraph_than_the_chosen_one_is_refused(lite: Any) -> None:
    data = _relu(lite, lambda model: _add_signature(model, lite))
    assert parse(data, subgraph=0, signature="").inputs[0].name == "image"
    with pytest.raises(InvalidArgumentError, match=r"is of subgraph 0: got subgraph 1, choose one"):
        parse(data, subgraph=1, signature="")


@pytest.mark.parametrize("options", [{"subgraph": True}, {"subgraph": "1"}, {"signature": 1}])
def test_a_choice_of_another_kind_is_refused(lite: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"expected its (number|name)"):
        parse(_relu(lite), **options)


def test_inputs_and_outputs_are_found_by_the_names_of_their_tensors(
    lite: Any, tmp_path: Path
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(_relu(lite, lambda model: _add_signature(model, lite)))
    model = armnn.load_model(path, backends=["CpuRef"])
    assert list(model.inputs) == ["image"]
    assert model.inputs["x"] == model.inputs["image"]
    assert "x" in model.inputs
    assert "label" not in model.inputs
    data = np.float32([[-1, 2, 3], [4, -5, 6]])
    for name in ("image", "x"):
        outputs = model.run({name: data})
        assert list(outputs) == ["label"]
        np.testing.assert_array_equal(outputs["y"], [[0, 2, 3], [4, 0, 6]])
        assert outputs["label"] is outputs["y"]
    with pytest.raises(KeyError, match=r"^'x'$"):
        outputs["x"]
    with pytest.raises(InvalidArgumentError, match="there is no input 'x'"):
        model.run({"image": data, "x": data})
    model.prepare({"x": SHAPE})


def test_a_tensor_of_the_name_of_another_input_is_no_second_name(lite: Any) -> None:
    def rename(model: Any) -> None:
        _add_signature(model, lite)
        signature = model.signatureDefs[0]
        signature.outputs[0].name = "x"
        graph = model.subgraphs[0]
        graph.tensors[1].name = "image"

    aliases = parse(_relu(lite, rename)).aliases
    assert (aliases.inputs, aliases.outputs) == ({"x": "image"}, {"image": "x"})
    unsigned = parse(_relu(lite)).aliases
    assert not unsigned


def test_second_names_outlive_the_cache(lite: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(_relu(lite, lambda model: _add_signature(model, lite)))
    for _ in range(2):
        with armnn.Runtime() as runtime:
            model = runtime.load_model(path, ["CpuRef"], cache_dir=tmp_path / "cache")
            assert model.run({"x": np.ones(SHAPE, np.float32)})["y"].sum() == 6


def test_the_signature_is_an_option_of_loading(lite: Any, tmp_path: Path) -> None:
    def edit(model: Any) -> None:
        for key in ("train", "serve"):
            _add_signature(model, lite)
            model.signatureDefs[-1].signatureKey = key
            model.signatureDefs[-1].inputs[0].name = f"{key}_image"

    path = tmp_path / "m.tflite"
    path.write_bytes(_relu(lite, edit))
    for cache in (None, tmp_path / "cache"):
        for key in ("train", "serve"):
            options = {"signature": key}
            model = armnn.load_model(path, ["CpuRef"], parser_options=options, cache_dir=cache)
            again = pickle.loads(pickle.dumps(model))
            assert list(model.inputs) == list(again.inputs) == [f"{key}_image"]


def test_signatures_of_other_subgraphs_do_not_matter(lite: Any) -> None:
    network = parse(_relu(lite, lambda model: _add_signature(model, lite, 1)))
    assert [layer.name for layer in network.inputs] == ["x"]


def test_equal_and_missing_names_are_numbered(lite: Any) -> None:
    def edit(model: Any) -> None:
        for tensor, name in zip(model.subgraphs[0].tensors, ("same", "same", ""), strict=True):
            tensor.name = name

    data = lite.build(
        lite.Op("ADD", ["a", "b"]),
        {name: lite.Tensor(shape=SHAPE) for name in "aby"},
        ["a", "b"],
        edit=edit,
    )
    network = parse(data)
    names = [layer.name for layer in (*network.inputs, *network.outputs)]
    assert names == ["same", "same_2", "tensor_2"]


def test_the_file_is_in_the_metadata(lite: Any) -> None:
    def edit(model: Any) -> None:
        buffer, entry = lite.schema.BufferT(), lite.schema.MetadataT()
        buffer.data = list(b"1.14.0" + bytes(10))
        entry.name, entry.buffer = "min_runtime_version", len(model.buffers)
        model.buffers.append(buffer)
        model.metadata.append(entry)

    assert parse(_relu(lite, edit)).metadata == {
        "version": "3",
        "description": "made by a test",
        "min_runtime_version": "1.14.0",
    }


def test_unknown_dimensions_are_unknown(lite: Any) -> None:
    data = _relu(lite, x=lite.Tensor(shape=(1, 3), signature=(-1, 3)))
    (given,) = parse(data).inputs
    assert given.output.info.shape == (None, 3)
    assert lite.run(data, {"x": -np.ones((4, 3), np.float32)})["y"].tolist() == [[0.0] * 3] * 4


def test_inputs_with_data_are_constants(lite: Any) -> None:
    data = lite.build(
        lite.Op("ADD", ["x", "c"]),
        {
            "x": lite.Tensor(shape=SHAPE),
            "c": lite.constant(np.ones(3, np.float32)),
            "y": lite.Tensor(shape=SHAPE),
        },
        ["x", "c"],
    )
    network = parse(data)
    assert [layer.name for layer in network.inputs] == ["x"]
    assert network.find("c").type == "Constant"


def test_files_without_constants_need_no_buffers(lite: Any) -> None:
    network = parse(_relu(lite, lambda model: setattr(model, "buffers", [])))
    assert [layer.type for layer in network.layers] == ["Input", "Activation", "Output"]


def test_another_subgraph_can_be_chosen(lite: Any) -> None:
    def edit(model: Any) -> None:
        twin = lite.schema.SubGraphT()
        twin.name, twin.tensors = "other", model.subgraphs[0].tensors[:1]
        twin.inputs = twin.outputs = [0]
        twin.operators = []
        model.subgraphs.append(twin)

    data = _relu(lite, edit)
    assert [layer.type for layer in parse(data, subgraph=1).layers] == ["Input", "Output"]
    assert len(parse(data).layers) == 3
    for number in (2, -1):
        with pytest.raises(ParseError, match=rf"has 2 subgraphs: there is no number {number}"):
            parse(data, subgraph=number)


def test_types_of_inputs_are_those_of_the_model(lite: Any) -> None:
    data = _relu(
        lite,
        x=lite.Tensor("int8", SHAPE, scale=0.5, zero_point=3),
        y=lite.Tensor("int8", SHAPE, scale=0.25, zero_point=-3),
    )
    network = parse(data)
    given, made = network.inputs[0].output.info, network.outputs[0].input_infos[0]
    assert given.data_type is DataType.QASYMM_S8
    assert (given.scale, given.zero_point) == (0.5, 3)
    assert made is not None
    assert (made.scale, made.zero_point) == (0.25, -3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: setattr(g, "outputs", []), "'<bytes>' has no output"),
        (lambda g: setattr(g, "outputs", [7]), "it names the tensor 7 of 2"),
        (lambda g: setattr(g, "inputs", [-1]), "it names the tensor -1 of 2"),
        (lambda g: setattr(g, "inputs", []), "'x' is read, but it has no data and no input or op"),
        (lambda g: setattr(g, "inputs", [0, 0]), "two inputs or operators make the tensor 'x'"),
        (lambda g: setattr(g, "inputs", [0, 1]), "two inputs or operators make the tensor 'y'"),
        (
            lambda g: setattr(g.operators[0], "opcodeIndex", 5),
            "operator 0 names the operator code 5",
        ),
        (lambda g: setattr(g.operators[0], "inputs", []), r"RELU \(operator 0\): its input 0 is m"),
        (lambda g: setattr(g.operators[0], "inputs", [-1]), r"RELU \(operator 0\): its input 0 is"),
        (lambda g: setattr(g.operators[0], "inputs", [1]), "'y' is read, but it has no data"),
        (lambda g: setattr(g.operators[0], "outputs", [1, 1]), "it has 2 outputs: expected 1"),
        (lambda g: setattr(g.tensors[0], "type", 5), "'x': tensors of STRING are not supported"),
        (lambda g: setattr(g.tensors[0], "type", 77), "'x': tensors of type number 77 are not"),
        (lambda g: setattr(g.tensors[0], "shape", [-3]), r"'x' has the dimensions \[-3\]"),
        (lambda g: setattr(g.tensors[0], "shape", [2**30] * 2), "no tensor can be that large"),
        (lambda g: setattr(g.tensors[0], "shape", [1] * 9), "has rank 9: expected at most 8"),
        (lambda g: setattr(g.tensors[0], "buffer", 9), "it names the buffer 9 of 1"),
    ],
)
def test_malformed_graphs_are_refused(lite: Any, change: Any, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(_relu(lite, lambda model: change(model.subgraphs[0])))


def test_parsing_needs_no_litert() -> None:
    code = (
        "import sys, armnn_parser_tflite.parser\n"
        "print([name for name in sys.modules if name.startswith(('ai_edge', 'tensorflow'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_itself_imports_nothing() -> None:
    assert not hasattr(importlib.import_module("armnn_parser_tflite"), "parse")
