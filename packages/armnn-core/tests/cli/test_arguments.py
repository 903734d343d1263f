# SPDX-License-Identifier: MIT
"""Single-value options occur once; lists of backends add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from armnn.cli.main import main, parser
from fakes import backend_plugin, installed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "m.onnx", "--seed", "1", "--seed", "2"],
            "argument --seed: was given twice: got 1 first and 2 now, expected one",
        ),
        (
            ["inspect", "m", "--dot", "a", "--dot", "a"],
            "argument --dot: was given twice: got 'a' first and 'a' now, expected one",
        ),
        (
            ["doctor", "--lock-file", "a", "--lock-file", "b"],
            "argument --lock-file: was given twice: got 'a' first and 'b' now, expected one",
        ),
        (
            ["backends", "lock", "--output", "a", "--output", "b"],
            "argument --output: was given twice: got 'a' first and 'b' now, expected one",
        ),
    ],
)
def test_an_option_with_one_value_is_refused_the_second_time(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert f"error: {message}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "m.onnx", "--fp16-turbo-mode"],
            "armnn run: error: there is no option --fp16-turbo-mode; did you mean --fp16-turbo?",
        ),
        (
            ["doctor", "--lockfile=a"],
            "armnn doctor: error: there is no option --lockfile; did you mean --lock-file?",
        ),
        (
            ["tune", "m.onnx", "--xyz"],
            "armnn tune: error: there is no option --xyz; 'armnn tune --help' lists the options",
        ),
        (
            ["run", "m.onnx", "--auto-budget", "3"],
            (
                "armnn run: error: there is no option --auto-budget any more: armnn tune MODEL "
                "(armnn.placement.tune and write_verdict) measures once, and backends='auto' "
                "follows its verdict from then on"
            ),
        ),
    ],
)
def test_an_option_that_a_command_lacks_is_answered_with_the_closest(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{message}\n"


@pytest.mark.parametrize("command", [["run", "m.onnx"], ["inspect", "m.onnx"], ["doctor"]])
def test_lists_of_backends_add_up(command: list[str]) -> None:
    options = ["--backends", "A,B", "--backends", "C"]
    assert parser().parse_args([*command, *options]).backends == ["A", "B", "C"]
    assert not parser().parse_args(command).backends


def test_what_may_be_repeated_still_may() -> None:
    command = ["run", "m", "--input", "a=1", "--input", "b=2", "--debug", "--seed", "3"]
    arguments = parser().parse_args(["--debug", *command])
    assert (arguments.input, arguments.seed, arguments.debug) == (["a=1", "b=2"], 3, True)


def test_the_second_list_of_the_doctor_is_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        assert main(["doctor", "--json", "--backends", "Gone", "--backends", "Acme"]) == 1
    assert json.loads(capsys.readouterr().out)["unusable"] == ["Gone"]
