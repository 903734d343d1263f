# SPDX-License-Identifier: MIT
"""The toy plug-ins that ``armnn run`` is tested with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from armnn.schemas import json_text
from armnn_tools.cli.main import COMMANDS, main
from armnn_tools.cli.output import print_json
from armnn_tools.cli.schema import SCHEMAS
from fakes import Plugin, installed

# A .toy file maps the names of inputs to shape and type; for each, out_<name> is 2 * x + 1, in
# two layers. Toy runs both; Half runs the doubling only and says why.
SOURCE = """\
import json
import numpy as np
from armnn import ActivationFunction, DataType, Network, TensorInfo
from armnn.backends import SUPPORTED, Backend, BackendVersion, ModelContext, Support, Workload
from armnn.errors import ParseError, UnsupportedOperatorError
from armnn.graph import Aliases
from armnn.layers.activation import ActivationDescriptor

def parse(path, *, signature="", subgraph=0):
    try:
        model = json.loads(path.read_text())
    except ValueError as error:
        raise ParseError(f"{str(path)!r} is not a toy file: {error}") from error
    if "operator" in model:
        operator = model["operator"]
        raise UnsupportedOperatorError(f"{str(path)!r} uses the operator {operator!r}", (operator,))
    network = Network(f"toy {signature} {subgraph}", model.get("metadata"))
    network.aliases = Aliases({"tensor:0": signature or "x"}, {"made:0": "out_x"})
    for name, (shape, kind, *quantization) in model["inputs"].items():
        info = TensorInfo(shape, DataType.from_arm_name(kind), *quantization)
        value = network.add_input(name, info)
        for layer, a, b in ((f"double_{name}", 2.0, 0.0), (f"plus_{name}", 1.0, 1.0)):
            line = ActivationDescriptor(function=ActivationFunction.LINEAR, a=a, b=b)
            value = network.add("Activation", [value], line, name=layer, outputs=[info]).output
        network.add_output(f"out_{name}", value)
    return network

class Line(Workload):
    def __init__(self, descriptor):
        self.a, self.b = descriptor.a, descriptor.b

    def bind(self, inputs, outputs):
        (x,), (y,) = inputs, outputs
        def step():
            y.map()[...] = (x.map() * self.a + self.b).astype(y.map().dtype)
        return step

class Toy(Backend):
    id = "Toy"
    api_version = BackendVersion(1, 0)

    def supports(self, layer, model):
        return SUPPORTED

    def create_workload(self, layer, model):
        return Line(layer.descriptor)

    def create_model_context(self, options):
        if options and options != {"Speed": 3, "Safe": True, "Word": "a=b", "Ratio": 0.5}:
            raise ParseError(f"got options {options!r}")
        return ModelContext(options)

class Half(Toy):
    id = "Half"

    def supports(self, layer, model):
        return Support.no("it cannot add") if layer.descriptor.b else SUPPORTED
"""
TOY = Plugin(
    "armnn-toy",
    "0.1",
    entry_points={
        "armnn.parsers": {"toy": "armnn_toy:parse"},
        "armnn.exporters": {"armnn": "armnn_parser_armnn.writer:export"},
        "armnn.backends": {"Toy": "armnn_toy:Toy", "Half": "armnn_toy:Half"},
    },
    modules={"armnn_toy": SOURCE},
)
ONE_INPUT = {"x": [[1, 4], "Float32"]}


@pytest.fixture(autouse=True)
def checks_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check every document that a command prints with --json against its schema."""
    for name in (*COMMANDS, "main"):
        module = import_module(f"armnn_tools.cli.{name}")
        if hasattr(module, "print_json"):
            schema = SCHEMAS["error" if name == "main" else name]
            monkeypatch.setattr(module, "print_json", partial(print_checked, schema))


def print_checked(schema: Mapping[str, Any], document: object) -> None:
    # jsonschema.validate() checks the schema each time, too, which takes longer than its document.
    jsonschema.Draft202012Validator(schema).validate(json.loads(json_text(document)))
    print_json(document)


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Path]:
    """Enter the folder of the only visible plug-in."""
    with (
        installed(tmp_path, TOY, alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(tmp_path)
        yield tmp_path


@pytest.fixture
def model(toy: Path) -> Callable[..., str]:
    """Write a model and return its path."""

    def write(inputs: Mapping[str, Any] = ONE_INPUT, **more: Any) -> str:
        (toy / "model.toy").write_text(json.dumps({"inputs": inputs, **more}))
        return "model.toy"

    return write


@pytest.fixture
def document(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Return a function that runs ``armnn run ... --json``."""

    def run(*arguments: str) -> dict[str, Any]:
        assert main(["run", *arguments, "--json"]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        found: dict[str, Any] = json.loads(printed.out)
        return found

    return run


@pytest.fixture
def text(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs ``armnn run ...`` for text."""

    def run(*arguments: str) -> str:
        assert main(["run", *arguments]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run


@pytest.fixture
def error(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a failing ``armnn run``.

    It returns the message.
    """

    def run(*arguments: str) -> str:
        assert main(["run", *arguments]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "Traceback" not in printed.err
        assert printed.err.startswith("armnn: error: ")
        return printed.err.removeprefix("armnn: error: ")

    return run
