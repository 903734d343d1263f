# SPDX-License-Identifier: MIT
"""The options of the command line that are OptimizerOptions."""

from __future__ import annotations

import argparse
from dataclasses import fields

import numpy as np
import pytest

from armnn import OptimizerOptions
from armnn.cli.inspect import add_parser as add_inspect
from armnn.cli.optimizer_options import (
    add_optimizer_arguments,
    flag_of,
    optimizer_options,
    show_tensor,
)
from armnn.cli.run import add_parser as add_run
from armnn.errors import InvalidArgumentError
from armnn.optimizer.options import checked_options


def given(*arguments: str) -> OptimizerOptions:
    parser = argparse.ArgumentParser()
    add_optimizer_arguments(parser)
    return checked_options(None, optimizer_options(parser.parse_args(arguments)))


def test_without_options_there_are_the_defaults() -> None:
    assert given() == OptimizerOptions()


@pytest.mark.parametrize("kind", ["run", "inspect"])
def test_every_field_has_an_option(kind: str) -> None:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    (add_run if kind == "run" else add_inspect)(subparsers, "")
    text = subparsers.choices[kind].format_help().replace(",", " ")
    flags = {flag_of(option) for option in fields(OptimizerOptions)}
    flags -= {"--profile"} if kind == "inspect" else set()
    assert [flag for flag in sorted(flags) if f"{flag} " not in text.replace("\n", " ")] == []


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--reduce-fp32-to-fp16"], OptimizerOptions(reduce_fp32_to_fp16=True)),
        (["--reduce-fp32-to-bf16"], OptimizerOptions(reduce_fp32_to_bf16=True)),
        (["--print-intermediate-layers"], OptimizerOptions(debug=show_tensor)),
        (
            ["--print-intermediate-layers-to-file", "folder"],
            OptimizerOptions(debug_to_file="folder"),
        ),
        (["--no-rewrite"], OptimizerOptions(rewrite=False)),
        (["--min-part", "3"], OptimizerOptions(min_part=3)),
        (["--import-enabled"], OptimizerOptions(import_enabled=True)),
        (
            ["--shape-inference-method", "ValidateOnly", "--allow-expanded-dims"],
            OptimizerOptions(shape_inference_method="ValidateOnly", allow_expanded_dims=True),
        ),
    ],
)
def test_options_become_fields(arguments: list[str], options: OptimizerOptions) -> None:
    assert given(*arguments) == options


def test_contradictions_are_refused_as_in_python() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be enabled at the same time"):
        given("--reduce-fp32-to-fp16", "--reduce-fp32-to-bf16")


def test_tensors_are_shown_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    show_tensor("conv", 1, np.float32([[1, -2], [3, 4]]))
    show_tensor("none", 0, np.zeros((0, 3), np.int8))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "conv (1): float32[2, 2] from -2 to 4, mean 1.5",
        "none (0): int8[0, 3]",
    ]
