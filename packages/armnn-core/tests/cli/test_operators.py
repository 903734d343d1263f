# SPDX-License-Identifier: MIT
"""``armnn inspect`` on a parser that lists operators.

The columns are the backends that support and run them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armnn.cli.main import main
from fakes import Plugin, backend_plugin, installed

# A model is a list of operators: "Add" becomes one layer, "Swish" two, "Odd" none at all.
PARSER_SOURCE = """\
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
BACKEND_SOURCE = """\
from armnn.backends import SUPPORTED, Support
from fakes import NullBackend

class backend(NullBackend):
    id = "{id}"

    def supports(self, layer, model):
        return SUPPORTED if layer.type in {types} else Support.no("no " + layer.type)
"""


def backend(name: str, *types: str) -> Plugin:
    source = BACKEND_SOURCE.format(id=name, types=list(types))
    return backend_plugin(name, distribution=f"armnn-backend-{name.lower()}", source=source)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """Enter a folder with a parser and two backends.

    They are all that is installed.
    """
    parser = Plugin(
        "armnn-toy",
        "0.1",
        entry_points={"armnn.parsers": {"toy": "armnn_toy:parse"}},
        modules={"armnn_toy": PARSER_SOURCE},
    )
    adder = backend("Adder", "Addition")
    rest = backend("Rest", "Addition", "Multiplication")
    with (
        installed(tmp_path, parser, adder, rest, alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(tmp_path)
        yield tmp_path


def inspect(capsys: pytest.CaptureFixture[str], model: str, *arguments: str) -> tuple[int, str]:
    Path("model.toy").write_text(model)
    status = main(["inspect", "model.toy", *arguments])
    printed = capsys.readouterr()
    assert printed.err == ""
    return status, printed.out


def rows(
    capsys: pytest.CaptureFixture[str], model: str, *arguments: str
) -> tuple[int, dict[str, Any]]:
    status, text = inspect(capsys, model, "--json", *arguments)
    return status, {row.pop("operator"): row for row in json.loads(text)["operators"]}


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


def test_an_operator_that_no_backend_runs_has_their_reasons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = inspect(
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


def test_what_the_parser_does_not_support_is_told_and_not_raised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = inspect(capsys, "Add Odd Add Add", "--backends", "Rest", "--reasons")
    assert status == 1
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Add 3 1 Rest 1 2 behind unsupported ones" in lines
    assert "Odd 1 nobody knows it" in lines
    assert "Odd Odd_1 the parser nobody knows it" in lines
    note = "Input x: unknown dimensions of [n,4] taken as 1; --shape says others."
    assert note in lines
    _, found = rows(capsys, "Odd Add")
    assert found["Odd"]["unsupported"] == [{"name": "Odd_0", "reason": "nobody knows it"}]
    assert found["Add"]["behind_unsupported"] == ["Add_1"]


def test_shapes_that_are_said_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = inspect(capsys, "Add", "--shape", "3x4")
    assert status == 0
    assert "taken as 1" not in text
    assert "Float32[3,4]" in text
