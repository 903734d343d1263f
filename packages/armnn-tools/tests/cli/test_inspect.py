# SPDX-License-Identifier: MIT
"""``armnn inspect``: layers, their facts, and operators with the backends that run them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import armnn
from armnn_tools.cli.assigned_layers import with_sizes
from armnn_tools.cli.inspect import tensor_text
from armnn_tools.cli.main import main
from fakes import Plugin, backend_plugin, installed

# [n,4] * [4,3] plus a bias, and two activations.
SOURCE = """\
import numpy as np
from armnn import DataType, Network, TensorInfo
from armnn.layers.activation import ActivationDescriptor

def parse(path):
    network = Network("toy", {"author": "me", "notes": "a\\x1b[2Jb"})
    x = network.add_input("x", TensorInfo(("n", 4), DataType.FLOAT32))
    weights = network.add_constant(np.zeros((4, 3), np.float32), name="w")
    bias = network.add_constant(np.zeros(3, np.float32), name="b")
    y = network.add("FullyConnected", [x, weights, bias], name="dense").output
    z = network.add("Activation", [y], ActivationDescriptor(), name="sigmoid").output
    network.add_output("z", network.add("Activation", [z], name="again").output)
    return network
"""
PARSER = Plugin(
    "armnn-toy",
    "0.1",
    entry_points={"armnn.parsers": {"toy": "armnn_toy:parse"}},
    modules={"armnn_toy": SOURCE},
)

# It fits where height and width are multiples of 32; its convolutions have the same weights. The
# backend Maker compiles what it is given into one layer.
PYRAMID = """\
import numpy as np
from armnn import Network, TensorInfo
from armnn.graph import Operator
from armnn.backends import SUPPORTED, OptimizationViews, Substitution, Support
from armnn.layers.convolution import Convolution2dDescriptor
from armnn.layers.reshaping import SpaceToDepthDescriptor
from fakes import NullBackend
from armnn.types import DataLayout

def parse(path, *, survey=None):
    network = Network("pyramid", dict(line.split("=") for line in path.read_text().split()))
    deep = "h" * 30
    x = network.add_input("x", TensorInfo(("batch", deep, "width", 1)))
    weights = network.add_constant(np.zeros((1, 1, 1, 1), np.float32), name="w")
    nhwc = Convolution2dDescriptor(data_layout=DataLayout.NHWC)
    for number in range(3):
        network.origin = Operator("Conv", f"conv{number}")
        if survey is not None:
            survey.operators[network.origin] = ""
        x = network.add("Convolution2d", [x, weights], nhwc, name=f"conv{number}").output
    network.origin = Operator("Pack", "pack")
    if survey is not None:
        survey.operators[network.origin] = ""
    descriptor = SpaceToDepthDescriptor(block_size=32)
    network.add_output("y", network.add("SpaceToDepth", [x], descriptor, name="pack").output)
    return network

class backend(NullBackend):
    id = "Maker"

    def supports(self, layer, model):
        if not layer.output.info.is_static:
            return Support.no("shapes are not known")
        return SUPPORTED if layer.type != "SpaceToDepth" else Support.no("no packing")

    def optimize_subgraph(self, view, model):
        replacement = view.replacement()
        (made,) = view.outputs
        given = [layer.output for layer in replacement.inputs]
        (value,) = replacement.add_pre_compiled(
            given, outputs=[made.info], name="all convolutions"
        )
        value.producer.compiled = object()
        replacement.add_output("made", value)
        return OptimizationViews(substitutions=[Substitution(view, replacement)])
"""
# Where x is not zero decides how many rows there are.
WAITING = """\
from armnn import Network, TensorInfo

def parse(path):
    network = Network("waiting")
    x = network.add_input("x", TensorInfo((4,)))
    places = network.add("NonZero", [x], name="places").output
    network.add_output("y", network.add_elementwise_unary(network.add_elementwise_unary(places)))
    return network
"""
WAITER = Plugin(
    "armnn-waiter",
    "0.1",
    entry_points={"armnn.parsers": {"waits": "armnn_waiter:parse"}},
    modules={"armnn_waiter": WAITING},
)
MAKER = Plugin(
    "armnn-backend-maker",
    "0.1",
    requires=("armnn-backend-api>=1.0,<2",),
    entry_points={
        "armnn.parsers": {"pyramid": "armnn_maker:parse"},
        "armnn.backends": {"Maker": "armnn_maker:backend"},
    },
    modules={"armnn_maker": PYRAMID},
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Enter a folder with model.toy and toy plug-ins.

    A parser and a backend are all that is installed.
    """
    (tmp_path / "model.toy").write_text("")
    (tmp_path / "deep.pyramid").write_text("")
    with (
        installed(tmp_path, PARSER, MAKER, WAITER, backend_plugin("Null"), alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(tmp_path)
        yield tmp_path


@pytest.fixture
def text(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs ``armnn inspect`` for text."""

    def run(*arguments: str) -> str:
        assert main(["inspect", *arguments]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run


@pytest.fixture
def document(text: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    """Return a function that runs ``armnn inspect --json``."""

    def run(*arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text(*arguments, "--json"))
        return found

    return run


def test_a_model_is_told_in_full(document: Callable[..., dict[str, Any]]) -> None:
    assert document("model.toy") == {
        "model": "model.toy",
        "name": "toy",
        "inputs": [{"name": "x", "data_type": "Float32", "shape": ["n", 4]}],
        "outputs": [{"name": "z", "data_type": "Float32", "shape": ["n", 3]}],
        "layers": 3,
        "parameters": 15,
        "parameter_bytes": 60,
        "multiply_adds": None,
        "layers_by_type": [
            {"type": "Activation", "count": 2, "parameters": 0, "multiply_adds": 0},
            {"type": "FullyConnected", "count": 1, "parameters": 15, "multiply_adds": None},
        ],
        "metadata": {"author": "me", "notes": "a\x1b[2Jb"},
        "operators": [],
        "assumed_shapes": {"x": {"shape": [1, 4], "reason": "a batch of 1"}},
        "shape_error": "",
        "compiled_parts": [],
        "waiting_layers": 0,
    }


def test_with_shapes_multiply_adds_are_known(document: Callable[..., dict[str, Any]]) -> None:
    found = document("model.toy", "--shape", "x=5x4", "--layers")
    assert found["multiply_adds"] == 5 * 4 * 3
    assert found["inputs"][0]["shape"] == [5, 4]
    assert found["outputs"][0]["shape"] == [5, 3]
    assert found["layer_list"][0] == {
        "layer": "dense",
        "type": "FullyConnected",
        "backend": None,
        "compiled_into": "",
        "outputs": [{"name": "dense", "data_type": "Float32", "shape": [5, 3]}],
        "parameters": 15,
        "multiply_adds": 60,
        "time": None,
        "verdict": None,
        "refusals": [],
        "conversion": "",
    }


def test_the_text_says_how_to_learn_what_is_not_known(text: Callable[..., str]) -> None:
    lines = [" ".join(line.split()) for line in text("model.toy").splitlines()]
    assert "x Float32[n,4]" in lines
    assert "Activation 2 0 0" in lines
    assert "FullyConnected 1 15 ?" in lines
    assert "Parameters: 15 (60 bytes)" in lines
    assert "Multiply-adds: not known, as shapes are open; try --shape x=1x4" in lines
    assert "Multiply-adds: 12" in text("model.toy", "--shape", "x=1x4")


def test_layers_are_listed_on_request(text: Callable[..., str]) -> None:
    lines = [" ".join(line.split()) for line in text("model.toy", "--layers").splitlines()]
    assert "dense FullyConnected Float32[n,3] 15 ?" in lines
    assert "sigmoid Activation Float32[n,3] 0 0" in lines
    optimized = text("model.toy", "--layers", "--backends", "Null", "--shape", "2x4")
    lines = [" ".join(line.split()) for line in optimized.splitlines()]
    assert "dense FullyConnected Null Float32[2,3] 15 24" in lines


def test_control_characters_of_a_model_do_not_reach_the_terminal(text: Callable[..., str]) -> None:
    printed = text("model.toy")
    assert "\x1b" not in printed
    assert "a\\x1b[2Jb" in printed


def test_the_graph_is_written_for_graphviz(text: Callable[..., str]) -> None:
    text("model.toy", "--dot", "parsed.dot")
    parsed = Path("parsed.dot").read_text(encoding="utf-8")
    assert '[label="FullyConnected\\ndense\\nweights: Float32[4,3]\\nbias: Float32[3]"' in parsed
    text("model.toy", "--dot", "optimized.dot", "--backends", "Null", "--shape", "2x4")
    optimized = Path("optimized.dot").read_text(encoding="utf-8")
    assert '[label="FullyConnected on Null\\ndense' in optimized
    assert '[label="input: Float32[2,4]"]' in optimized


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toy"], "There is no model file 'none.toy'"),
        (["model.toy", "--shape", "x=1x5"], "--shape got [1,5] for the input 'x', expected [n,4]"),
        (["model.toy", "--shape", "y=1x4"], "--shape got the name 'y', expected one of 'x'"),
        (["model.toy", "--backends", "Nul"], "'Nul'"),
        (["model.toy", "--dot", "none/a.dot"], "'none/a.dot', which cannot be written (No such"),
    ],
)
def test_bad_input_gets_a_clear_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("armnn: error: ")
    assert message in printed.err
    assert "Traceback" not in printed.err


LONG = "h" * 30


def test_backends_are_asked_for_the_smallest_shape_that_fits(
    document: Callable[..., dict[str, Any]], text: Callable[..., str]
) -> None:
    found = document("deep.pyramid", "--backends", "Maker,Null")
    assert {row["operator"]: row["runs_on"] for row in found["operators"]} == {
        "Conv": {"Maker": 3},
        "Pack": {"Null": 1},
    }
    assert found["inputs"][0]["shape"] == ["batch", LONG, "width", 1]
    tried = "the first of 1, 8, 16, 32, 64, 224, 256, 320, 640 that fits"
    assert found["assumed_shapes"] == {"x": {"shape": [1, 32, 32, 1], "reason": tried}}
    lines = text("deep.pyramid").splitlines()
    opened = f"[batch,{'h' * 21}...,width,1]"
    assert (
        f"Input x: unknown dimensions of {opened} assumed to be [1,32,32,1], {tried}; set them "
        "with --shape." in lines
    )
    assert lines[-1] == ("Multiply-adds: not known, as shapes are open; try --shape x=1x32x32x1")


def test_the_metadata_says_which_size_a_model_was_made_for(
    text: Callable[..., str], folder: Path
) -> None:
    (folder / "deep.pyramid").write_text("imgsz=[64,96] stride=32")
    printed = text("deep.pyramid")
    assert (
        "assumed to be [1,64,96,1], imgsz in the model's metadata; set them with --shape.\n"
        in printed
    )
    # Three convolutions of one product for each of 64 * 96 pixels.
    optimized = text("deep.pyramid", "--backends", "Maker,Null")
    assert optimized.endswith("Multiply-adds: 18,432 for --shape x=1x64x96x1\n")


def test_inputs_that_are_assumed_alike_have_one_note() -> None:
    network = armnn.Network("alike")
    for name in "abcd":
        made = network.add_input(name, armnn.TensorInfo(("n", 4)))
        network.add_output(f"{name} out", network.add_addition(made, made))
    assert with_sizes(network, ()).note == (
        "Inputs a, b and 2 others: unknown dimensions of [n,4] assumed to be 1; set them with "
        "--shape."
    )


def test_a_shape_that_is_said_for_some_inputs_leaves_the_others_to_be_assumed(
    document: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    found = document("deep.pyramid", "--shape", "2x64x32x1")
    assert found["assumed_shapes"] == {}
    assert found["inputs"][0]["shape"] == [2, 64, 32, 1]
    # A shape that the user said and that does not fit is no assumption, but an error.
    assert main(["inspect", "deep.pyramid", "--shape", "2x64x33x1"]) == 1
    assert "layer 'pack' (SpaceToDepth): " in capsys.readouterr().err


def test_if_no_shape_fits_the_layer_is_named_and_a_shape_asked_for(
    document: Callable[..., dict[str, Any]], text: Callable[..., str], folder: Path
) -> None:
    (source,) = folder.rglob("armnn_maker.py")
    source.write_text(PYRAMID.replace("block_size=32", "block_size=41"))
    printed = text("deep.pyramid")
    (note,) = [line for line in printed.splitlines() if line.startswith("Backends were asked")]
    assert "layer 'pack' (SpaceToDepth): the axis 1 of the shape [1,640,640,1] cannot" in note
    advice = f"--shape x=BATCHx{LONG.upper()}xWIDTHx1"
    assert note.endswith(f"; say it with {advice}.")
    assert printed.endswith(f"try {advice}\n")
    # What is not known is no refusal: Maker was asked about layers without shapes.
    assert "0 of" not in printed
    found = document("deep.pyramid", "--backends", "Maker,Null")
    assert found["shape_error"].startswith("layer 'pack'")
    assert [row["known_at_run"] for row in found["operators"]] == [
        ["conv0", "conv1", "conv2"],
        ["pack"],
    ]


def test_what_a_backend_compiled_is_shown_as_its_layers(
    document: Callable[..., dict[str, Any]], text: Callable[..., str]
) -> None:
    found = document("deep.pyramid", "--backends", "Maker,Null", "--layers")
    assert (found["layers"], found["parameters"]) == (4, 1)
    assert found["multiply_adds"] == 3 * 32 * 32
    layers = ["conv0", "conv1", "conv2"]
    assert found["compiled_parts"] == [
        {"name": "all convolutions", "backend": "Maker", "layers": layers, "footprint": None}
    ]
    rows = [(row["layer"], row["backend"], row["compiled_into"]) for row in found["layer_list"]]
    assert rows == [
        *((name, "Maker", "all convolutions") for name in layers),
        ("pack", "Null", ""),
    ]
    printed = text("deep.pyramid", "--backends", "Maker,Null", "--layers")
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "all convolutions Maker 3" in lines
    assert "conv0 Convolution2d Maker all convolutions Float32[1,32,32,1] 1 1,024" in lines
    assert "Convolution2d 3 1 3,072" in lines  # the weights are shared
    assert "Parameters: 1 (4 bytes)" in lines


def test_a_compiled_part_is_drawn_as_a_box_around_its_layers(text: Callable[..., str]) -> None:
    text("deep.pyramid", "--backends", "Maker,Null", "--dot", "parts.dot")
    lines = Path("parts.dot").read_text(encoding="utf-8").splitlines()
    start = lines.index("  subgraph cluster_0 {")
    end = lines.index("  }", start)
    assert lines[start + 1].startswith('    label="all convolutions on Maker: 3 layers"; ')
    inside = [line.split('label="')[1].split("\\n")[:2] for line in lines[start + 2 : end]]
    assert inside == [["Convolution2d on Maker", f"conv{number}"] for number in range(3)]
    assert any("SpaceToDepth on Null" in line for line in lines if lines.index(line) < start)


def test_layers_that_wait_for_data_are_counted(
    document: Callable[..., dict[str, Any]], text: Callable[..., str], folder: Path
) -> None:
    (folder / "model.waits").write_text("")
    found = document("model.waits", "--backends", "Null", "--layers")
    assert [row["layer"] for row in found["layer_list"]] == ["places"]
    assert found["waiting_layers"] == 2
    assert [output["name"] for output in found["outputs"]] == ["y"]
    printed = text("model.waits", "--backends", "Null")
    assert "Layers that wait for data that only a run computes: 2\n" in printed
    assert document("model.waits")["waiting_layers"] == 0


QUANTIZED = {"x": [[1, 4], "QAsymmU8", 0.5, 3]}
BACKENDS = ["--backends", "Half,Toy"]


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def texts(value: Any) -> Iterator[str]:
    """Yield the texts in a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("measured", ["--profile", "--compare"])
def test_a_layer_has_the_facts_that_a_click_shows(
    model: Callable[..., str], capsys: pytest.CaptureFixture[str], measured: str
) -> None:
    given = [model(QUANTIZED), *BACKENDS]
    assert main(["run", *given, "--input", "x=random", "--profile", "trace.json"]) == 0
    finding = {"wrong": True, "kind": "wrong values", "ratio": 9.25, "largest": 0.125}
    findings = [{**finding, "layers": ["plus_x"], "unit": "steps", "note": "NaN too"}]
    Path("found.json").write_text(json.dumps({"verdicts": findings}))
    file = {"--profile": "trace.json", "--compare": "found.json"}[measured]
    viewed = json_of(capsys, "view", *given, measured, file)
    (node,) = [node for node in viewed["nodes"] if node["name"] == "plus_x"]
    assert main(["inspect", *given, measured, file, "--layer", "plus_x"]) == 0
    shown = capsys.readouterr().out
    assert node["refusals"] == [["Half", "it cannot add"]]
    facts = {"plus_x", "Activation", "Toy", "Half", "it cannot add", "double_x", "function"}
    assert facts <= set(texts(node))
    missing = [text for text in texts(node) if text not in shown]
    assert missing == []
    expected = {
        "--profile": lambda: [
            f"{node['time']['milliseconds']:.3f} ms",
            f"{100 * node['time']['share']:.1f} %",
        ],
        "--compare": lambda: ["0.125 steps", "9.25 times", "NaN too"],
    }[measured]()
    assert [text for text in expected if text not in shown] == []
    assert json_of(capsys, "inspect", *given, measured, file, "--layer", "plus_x")[
        "layer_facts"
    ] == [node]


def test_the_list_of_layers_has_times_findings_and_refusals(
    model: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [model(), *BACKENDS]
    assert main(["run", *given, "--input", "x=random", "--profile", "trace.json"]) == 0
    viewed = json_of(capsys, "view", *given, "--profile", "trace.json")
    listed = json_of(capsys, "inspect", *given, "--layers", "--profile", "trace.json")
    nodes = {node["name"]: node for node in viewed["nodes"]}
    for row in listed["layer_list"]:
        for key in ("time", "verdict", "refusals", "conversion", "multiply_adds"):
            assert row[key] == nodes[row["layer"]][key]
    assert main(["inspect", *given, "--layers", "--profile", "trace.json"]) == 0
    shown = capsys.readouterr().out
    (line,) = re.findall(r"^ plus_x .*$", shown, re.MULTILINE)
    time = nodes["plus_x"]["time"]
    assert f"{time['milliseconds']:.3f} ms   {100 * time['share']:.1f} %" in line
    assert line.endswith("Half: it cannot add")


def test_a_tensor_of_channels_lists_their_scales() -> None:
    tensor = {"text": "QSymmS8[2,3] with 2 scales along axis 0", "axis": 0}
    assert tensor_text(tensor | {"scales": [0.5, 0.25], "zero_points": [0, 1]}) == (
        "QSymmS8[2,3] with 2 scales along axis 0: scales 0.5, 0.25; zero points 0, 1; axis 0"
    )
    assert tensor_text({"text": "Float32[2]"}) == "Float32[2]"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("plus_y", "did you mean 'plus_x'[?]"), ("softmax", "--layers lists all")],
)
def test_an_unknown_layer_is_told(
    model: Callable[..., str], capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    assert main(["inspect", model(), "--layer", name]) == 1
    assert re.search(f"--layer got '{name}', which is not a layer.*{hint}", capsys.readouterr().err)


# A model is a list of operators: "Add" becomes one layer, "Swish" two, "Odd" none at all.
OPERATORS_SOURCE = """\
from armnn import Network, TensorInfo
from armnn.errors import UnsupportedOperatorError
from armnn.graph import Operator, Survey

def parse(path, *, survey=None):
    network = Network("toy")
    value = network.add_input("x", TensorInfo(("n", 4)))
    for number, name in enumerate(path.read_text().split()):
        origin = network.origin = Operator(name, f"{name}_{number}")
        if survey is not None:
            survey.operators[origin] = ""
        if name == "Odd":
            if survey is None:
                raise UnsupportedOperatorError("Odd")
            survey.operators[origin] = "nobody knows it"
            value = None
        elif value is None:
            survey.cut_off[origin] = None
        elif name == "Add":
            value = network.add_addition(value, value)
        elif name == "Swish":
            value = network.add_multiplication(value, network.add_activation(value))
    network.origin = None
    if value is not None:
        network.add_output("y", value)
    return network
"""
PICKY_SOURCE = """\
from armnn.backends import SUPPORTED, Support
from fakes import NullBackend

class backend(NullBackend):
    id = "{id}"

    def supports(self, layer, model):
        return SUPPORTED if layer.type in {types} else Support.no("no " + layer.type)
"""


def picky_backend(name: str, *types: str) -> Plugin:
    source = PICKY_SOURCE.format(id=name, types=list(types))
    return backend_plugin(name, distribution=f"armnn-backend-{name.lower()}", source=source)


@pytest.fixture
def operators(tmp_path: Path) -> Iterator[Path]:
    """Enter a folder with a parser and two backends.

    They are all that is installed.
    """
    parser = Plugin(
        "armnn-toy",
        "0.1",
        entry_points={"armnn.parsers": {"toy": "armnn_toy:parse"}},
        modules={"armnn_toy": OPERATORS_SOURCE},
    )
    adder = picky_backend("Adder", "Addition")
    rest = picky_backend("Rest", "Addition", "Multiplication")
    with (
        installed(tmp_path, parser, adder, rest, alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(tmp_path)
        yield tmp_path


def inspected(capsys: pytest.CaptureFixture[str], model: str, *arguments: str) -> tuple[int, str]:
    Path("model.toy").write_text(model)
    status = main(["inspect", "model.toy", *arguments])
    printed = capsys.readouterr()
    assert printed.err == ""
    return status, printed.out


def rows(
    capsys: pytest.CaptureFixture[str], model: str, *arguments: str
) -> tuple[int, dict[str, Any]]:
    status, text = inspected(capsys, model, "--json", *arguments)
    return status, {row.pop("operator"): row for row in json.loads(text)["operators"]}


@pytest.mark.usefixtures("operators")
def test_an_operator_runs_on_the_first_backend_that_takes_all_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, found = rows(capsys, "Add Nothing Add", "--backends", "Adder,Rest")
    assert status == 0
    assert found["Add"] == {
        "count": 2,
        "unsupported": [],
        "behind_unsupported": [],
        "known_at_run": [],
        "need_no_backend": 0,
        "backends": {
            "Adder": {"supported": 2, "refusals": []},
            "Rest": {"supported": 2, "refusals": []},
        },
        "runs_on": {"Adder": 2},
    }
    assert found["Nothing"]["need_no_backend"] == 1
    assert rows(capsys, "Add", "--backends", "Rest,Adder")[1]["Add"]["runs_on"] == {"Rest": 1}


@pytest.mark.usefixtures("operators")
def test_an_operator_that_no_backend_runs_has_their_reasons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = inspected(
        capsys, "Add Swish", "--backends", "Adder,Rest", "--shape", "2x4", "--reasons", "--json"
    )
    assert status == 1
    swish = json.loads(text)["operators"][1]
    assert swish["runs_on"] == {}
    assert swish["backends"]["Adder"] == {
        "supported": 0,
        "refusals": [{"name": "Swish_1", "reason": "no Activation; no Multiplication"}],
    }
    assert swish["backends"]["Rest"]["refusals"][0]["reason"] == "no Activation"


@pytest.mark.usefixtures("operators")
def test_what_the_parser_does_not_support_is_told_and_not_raised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = inspected(capsys, "Add Odd Add Add", "--backends", "Rest", "--reasons")
    assert status == 1
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Add 3 1 Rest 1 2 behind unsupported ones" in lines
    assert "Odd 1 nobody knows it" in lines
    assert "Odd Odd_1 the parser nobody knows it" in lines
    note = "Input x: unknown dimensions of [n,4] assumed to be 1; set them with --shape."
    assert note in lines
    _, found = rows(capsys, "Odd Add")
    assert found["Odd"]["unsupported"] == [{"name": "Odd_0", "reason": "nobody knows it"}]
    assert found["Add"]["behind_unsupported"] == ["Add_1"]


@pytest.mark.usefixtures("operators")
def test_shapes_that_are_said_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = inspected(capsys, "Add", "--shape", "3x4")
    assert status == 0
    assert "assumed to be 1" not in text
    assert "Float32[3,4]" in text
