# SPDX-License-Identifier: MIT
"""Inputs, outputs, names and metadata of a parsed model."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import armnn
from armnn import DataType
from armnn.errors import ClosedError, InvalidArgumentError, ParseError
from armnn_parser_onnx.parser import parse
from armnn_tools.cli.main import main

Model = Callable[..., onnx.ModelProto]
X = np.zeros((2, 3), np.float32)
node = helper.make_node


def test_core_finds_the_parser_by_the_suffix(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(node("Relu", ["x"], ["y"]), {"x": X}).SerializeToString())
    network = armnn.parse(path)
    assert [layer.type for layer in network.layers] == ["Input", "Activation", "Output"]


def test_core_finds_the_parser_by_the_content(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "0a1b2c"
    content = model(node("Relu", ["x"], ["y"]), {"x": X - 1}).SerializeToString()
    path.write_bytes(content)
    cache = tmp_path / "cache"
    for _ in range(2):
        loaded = armnn.load_model(path, ["CpuRef"], cache_dir=cache)
        np.testing.assert_array_equal(loaded.run({"x": X - 1})["y"], X)
    assert loaded.load_times["parse"] == 0
    assert len(armnn.parse(content).layers) == 3
    textual = tmp_path / "model.txt"
    textual.write_text(str(onnx.ModelProto.FromString(content)))
    loaded = armnn.load_model(textual, ["CpuRef"], format="textproto")
    np.testing.assert_array_equal(loaded.run({"x": X - 1})["y"], X)
    path = path.rename(tmp_path / "model.armnn")
    with pytest.raises(
        ParseError, match=r"it is an ONNX model; give .* \.onnx, or say format='onn"
    ):
        armnn.load_model(path)


def test_names_are_those_of_the_model(model: Model) -> None:
    made = model(
        [
            node("Relu", ["x"], ["a"], name="first"),
            node("Relu", ["a"], ["b"]),
            node("Relu", ["b"], ["y"], name="first"),
        ],
        {"x": X},
    )
    network = parse(made.SerializeToString())
    assert network.name == "graph"
    assert [layer.name for layer in network.inputs] == ["x"]
    assert [layer.name for layer in network.outputs] == ["y"]
    activations = [layer.name for layer in network.layers if layer.type == "Activation"]
    assert activations == ["first", "b", "first_2"]


def test_the_file_and_its_producer_are_in_the_metadata(model: Model) -> None:
    made = model(node("Relu", ["x"], ["y"]), {"x": X}, opset=13)
    made.producer_name, made.producer_version = "exporter", "2.1"
    made.metadata_props.add(key="character", value="0\n90")
    assert parse(made.SerializeToString()).metadata == {
        "producer_name": "exporter",
        "producer_version": "2.1",
        "opset": "13",
        "character": "0\n90",
    }


def test_the_file_says_its_own_metadata_last(model: Model) -> None:
    made = model(node("Relu", ["x"], ["y"]), {"x": X})
    made.metadata_props.add(key="opset", value="own")
    assert parse(made.SerializeToString()).metadata == {"opset": "own"}


def test_unknown_dimensions_keep_their_names(model: Model) -> None:
    made = model(node("Relu", ["x"], ["y"]), {"x": (TensorProto.FLOAT, ["N", 3, None, "?", -1, 0])})
    (given,) = parse(made.SerializeToString()).inputs
    assert given.output.info.shape == ("N", 3, None, None, None, 0)


def test_an_unknown_rank_stays_unknown(model: Model) -> None:
    made = model(node("Relu", ["x"], ["y"]), {"x": (TensorProto.FLOAT, None)})
    network = parse(made.SerializeToString())
    assert network.outputs[0].input_infos[0].shape is None


def test_types_of_inputs_are_those_of_the_model(model: Model) -> None:
    made = model(node("Identity", ["x"], ["y"]), {"x": np.zeros(2, np.int64)})
    (given,) = parse(made.SerializeToString()).inputs
    assert given.output.info.data_type is DataType.SIGNED64


def test_initializers_among_the_inputs_are_constants(model: Model) -> None:
    made = model(
        node("Add", ["x", "w"], ["y"]), {"x": X, "w": X}, constants={"w": X}, ir_version=3, opset=7
    )
    network = parse(made.SerializeToString())
    assert [layer.name for layer in network.inputs] == ["x"]
    assert network.find("w").type == "Constant"


@pytest.mark.parametrize("ir_version", [3, 8])
def test_an_overridable_initializer_is_an_input(model: Model, ir_version: int) -> None:
    made = model(
        [node("Mul", ["x", "s"], ["m"]), node("Add", ["m", "b"], ["y"])],
        {"x": X, "s": X, "b": X},
        constants={"s": X + 2, "b": X + 3, "inner": X},
        ir_version=ir_version,
        opset=7,
    ).SerializeToString()
    for overridable, names in {
        "": ["x"], False: ["x"], "b": ["x", "b"], "b,s": ["x", "s", "b"], True: ["x", "s", "b"],
    }.items():  # fmt: skip
        network = parse(made, overridable=overridable)
        assert [layer.name for layer in network.inputs] == names
        arrays = dict.fromkeys(names, X + 10)
        loaded = armnn.load_model(network, ["CpuRef"])
        values = {"s": X + 2, "b": X + 3, **arrays}
        np.testing.assert_array_equal(
            loaded.run(arrays)["y"], values["x"] * values["s"] + values["b"]
        )
    for name in ("inner", "x", "z", "b,z", "b, s"):
        with pytest.raises(InvalidArgumentError, match=r"no initializers .* it has 's', 'b'$"):
            parse(made, overridable=name)
    with pytest.raises(InvalidArgumentError, match="overridable is 5, expected names such as"):
        armnn.parse(made, format="onnx", parser_options={"overridable": 5})


def test_a_run_that_gives_initializers_takes_them_as_inputs(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    made = model(
        [node("Mul", ["x", "s"], ["m"]), node("Add", ["m", "b"], ["y"])],
        {"x": X, "s": X, "b": X},
        constants={"s": X + 2, "b": X + 3},
    )
    path.write_bytes(made.SerializeToString())
    for source in (path, made.SerializeToString()):
        loaded = armnn.load_model(source, ["CpuRef"], format="onnx")
        for names in ("x", "xb", "xs", "xsb", "x", "xb"):
            feeds = {name: X + index for index, name in enumerate(names)}
            values = {"s": X + 2, "b": X + 3, **feeds}
            wanted = values["x"] * values["s"] + values["b"]
            np.testing.assert_array_equal(loaded.run(feeds)["y"], wanted)
            np.testing.assert_array_equal(loaded.bind(feeds)()["y"], wanted)
            np.testing.assert_array_equal(loaded.submit(feeds).result()["y"], wanted)
        loaded.prepare({"b": X.shape})
        given: Any = [5, {5: X}]
        for wrong in given:
            for call in (loaded.run, loaded.bind, loaded.prepare):
                with pytest.raises(InvalidArgumentError, match="5"):
                    call(wrong)
        for feeds, message in (
            ({"x": X, "z": X}, "there is no input 'z': .* takes 'x' "),
            ({"x": X, "b": X, "z": X}, "there is no input 'b', 'z': .* takes 'x' "),
            ({"b": X}, "nothing was given for input 'x': .* takes 'x' .*, 'b' "),
            ({"x": X, "b": X[:1]}, "the input 'b' has shape"),
        ):
            with pytest.raises(InvalidArgumentError, match=message):
                loaded.run(feeds)
        loaded.unload()
        with pytest.raises(ClosedError):
            loaded.run({"x": X, "b": X})
    named = armnn.load_model(path, ["CpuRef"], parser_options={"overridable": "b"})
    made_of_all = named.run({"x": X, "b": X, "s": X})["y"]
    np.testing.assert_array_equal(made_of_all, X * X + X)


def test_overridable_initializers_on_the_command_line(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    add = node("Add", ["x", "b"], ["y"])
    one = np.zeros(1, np.float32)
    content = model(add, {"x": one, "b": one}, constants={"b": one}).SerializeToString()
    path.write_bytes(content)
    given = ["--overridable", "b", "--input", "x=1", "--input", "b=2.5"]
    assert main(["run", str(path), "--backends", "CpuRef", *given]) == 0
    assert "3.5" in capsys.readouterr().out


def test_an_initializer_is_shared_and_an_unused_one_left_out(model: Model) -> None:
    made = model(
        [node("Add", ["x", "w"], ["a"]), node("Mul", ["a", "w"], ["y"])],
        {"x": X},
        constants={"w": X, "unused": X},
    )
    layers = parse(made.SerializeToString()).layers
    assert [layer.name for layer in layers if layer.data is not None] == ["w"]


def test_inputs_and_constants_may_be_outputs(model: Model) -> None:
    made = model(
        node("Relu", ["x"], ["y"]), {"x": X}, ["x", "w", "y"], constants={"w": X}, opset=13
    )
    network = parse(made.SerializeToString())
    assert [layer.name for layer in network.outputs] == ["x", "w", "y"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.output.append(g.output[0]), "the output 'y': .*already has a layer 'y'"),
        (lambda g: g.output.clear(), "'<bytes>' has no output"),
        (lambda g: setattr(g.output[0], "name", "z"), "'z' is read, but no node, input or init"),
        (lambda g: g.input.append(g.input[0]), "two inputs, initializers or nodes .* 'x'"),
        (lambda g: g.initializer.extend([numpy_helper.from_array(X, "w")] * 2), "named 'w'"),
        (
            lambda g: setattr(g.output[0].type.tensor_type, "elem_type", TensorProto.INT64),
            r"the output 'y' is tensor\(float\), but the model says tensor\(int64\)",
        ),
        (
            lambda g: setattr(g.input[0].type.tensor_type, "elem_type", TensorProto.STRING),
            "the input 'x': tensors of string are not supported",
        ),
        (
            lambda g: setattr(g.input[0].type.tensor_type.shape.dim[0], "dim_value", -3),
            r"the input 'x': the input 'x' has the dimensions \[-3, 3\]",
        ),
        (
            lambda g: setattr(g.input[0].type.tensor_type.shape.dim[0], "dim_value", 2**62),
            "no tensor can be that large",
        ),
        (
            lambda g: g.input[0].type.sequence_type.elem_type.tensor_type.SetInParent(),
            "the input 'x' is of the kind 'sequence_type': expected a tensor",
        ),
        (
            lambda g: g.input[0].type.optional_type.elem_type.tensor_type.SetInParent(),
            "the input 'x' is of the kind 'optional_type': expected a tensor",
        ),
        (
            lambda g: g.input[0].ClearField("type"),
            "the input 'x' is of the kind 'unknown': expected a tensor",
        ),
        (
            lambda g: g.sparse_initializer.add().values.CopyFrom(TensorProto(name="s")),
            r"the sparse initializers \['s'\] are not supported",
        ),
        (
            lambda g: g.input[0].type.tensor_type.shape.dim.extend(
                g.input[0].type.tensor_type.shape.dim[0] for _ in range(8)
            ),
            "the input 'x': .*has rank 10: expected at most 8",
        ),
    ],
)
def test_malformed_graphs_are_refused(
    model: Model, change: Callable[[Any], Any], message: str
) -> None:
    made = model(node("Relu", ["x"], ["y"]), {"x": X})
    change(made.graph)
    with pytest.raises(ParseError, match=message):
        parse(made.SerializeToString())


def test_names_that_are_not_utf8_are_refused(model: Model) -> None:
    data = model(node("Relu", ["x"], ["yyyy"], name="n"), {"x": X}, ["yyyy"]).SerializeToString()
    with pytest.raises(ParseError, match="has a name that is not text in UTF-8"):
        parse(data.replace(b"yyyy", b"\xff\xfe\xfd\xfc"))


def test_names_inside_of_branches_must_be_utf8_too(model: Model) -> None:
    output = helper.make_tensor_value_info("yyyy", 1, None)
    branch = helper.make_graph([node("Relu", ["x"], ["yyyy"])], "g", [], [output])
    made = model(
        node("If", ["c"], ["z"], then_branch=branch, else_branch=branch),
        {"x": X, "c": np.array(True)},
        ["z"],
    )
    with pytest.raises(ParseError, match="has a name that is not text in UTF-8"):
        parse(made.SerializeToString().replace(b"yyyy", b"\xff\xfe\xfd\xfc"))


def test_one_network_takes_one_shape_after_the_other(
    model: Model, rng: np.random.Generator
) -> None:
    made = model(
        [
            node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1], strides=[1, 2]),
            node("Shape", ["a"], ["s"]),
            node("Slice", ["s", "zero", "one"], ["batch"]),
            node("Concat", ["batch", "rest"], ["target"], axis=0),
            node("Reshape", ["a", "target"], ["b"]),
            node("Softmax", ["b"], ["y"], axis=-1),
        ],
        {"x": (TensorProto.FLOAT, ["batch", 3, 4, "width"])},
        constants={
            "w": rng.standard_normal((5, 3, 3, 3)).astype(np.float32),
            "zero": np.array([0]),
            "one": np.array([1]),
            "rest": np.array([5, -1]),
        },
        output_types={"y": TensorProto.FLOAT},
    )
    session = onnxruntime.InferenceSession(made.SerializeToString())
    with armnn.load_model(parse(made.SerializeToString()), backends=["CpuRef"]) as loaded:
        assert loaded.inputs["x"].shape == ("batch", 3, 4, "width")
        for batch, width in ((1, 8), (4, 8), (1, 8), (1, 32), (1, 7), (2, 100), (4, 8)):
            x = rng.standard_normal((batch, 3, 4, width)).astype(np.float32)
            (expected,) = session.run(None, {"x": x})
            np.testing.assert_allclose(loaded.run({"x": x})["y"], expected, rtol=1e-4, atol=1e-6)


def test_outputs_bear_the_names_of_the_file(model: Model) -> None:
    made = model(node("NonZero", ["x"], ["y"]), {"x": X})
    made.graph.output[0].CopyFrom(
        helper.make_tensor_value_info("y", TensorProto.INT64, [2, "found"])
    )
    with armnn.load_model(parse(made.SerializeToString()), backends=["CpuRef"]) as loaded:
        assert loaded.outputs["y"].shape == (2, "found")


def test_parsing_needs_neither_the_reference_nor_onnxruntime() -> None:
    code = (
        "import sys, armnn_parser_onnx.parser\n"
        "print([name for name in ('onnx.reference', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_itself_imports_nothing() -> None:
    assert not hasattr(importlib.import_module("armnn_parser_onnx"), "parse")
