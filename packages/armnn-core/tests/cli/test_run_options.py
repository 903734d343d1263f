# SPDX-License-Identifier: MIT
"""The options of ``armnn run`` and what becomes of them."""

from __future__ import annotations

import pytest

from armnn.cli.inputs import InputOptions
from armnn.cli.main import main, parser
from armnn.cli.pictures import PictureOptions
from armnn.cli.resizing import Resize
from armnn.cli.run_options import input_options


def test_what_is_not_said_is_left_open() -> None:
    options = input_options(parser().parse_args(["run", "model.toy"]))
    assert options == InputOptions([], [], 0, PictureOptions())


def test_everything_that_is_said_of_the_inputs_arrives() -> None:
    arguments = ["--input", "x=a.png", "--input", "y=zeros", "--shape", "y=1x2", "--seed", "7"]
    arguments += ["--layout", "nhwc", "--resize", "shortest:8+crop", "--color", "bgr"]
    arguments += ["--mean", "1,2.5,3", "--std=0.5", "--scale", "2"]
    assert input_options(parser().parse_args(["run", "model.toy", *arguments])) == InputOptions(
        ["x=a.png", "y=zeros"],
        ["y=1x2"],
        7,
        PictureOptions("nhwc", Resize(shortest=8, crop=True), (1, 2.5, 3), (0.5,), 2, "bgr"),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--iterations", "0"], "got '0', expected a whole number from 1 up"),
        (["--warmup", "-1"], "got '-1', expected a whole number from 0 up"),
        (["--seed", "x"], "got 'x', expected a whole number from 0 up"),
        (["--mean", "1,a"], "got 'a', expected a number"),
        (["--mean", "nan"], "got 'nan', expected a number"),
        (["--std", "0"], "got '0', expected numbers above zero"),
        (["--scale", "inf"], "got 'inf', expected a number"),
        (["--layout", "abcd"], "invalid choice: 'abcd'"),
        (["--backends", "A,,B"], "got 'A,,B', expected ids as in CpuAcc,CpuRef"),
    ],
)
def test_malformed_options_are_wrong_usage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "model.toy", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
