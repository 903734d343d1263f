# SPDX-License-Identifier: MIT
"""The options that several commands share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn import OptimizerOptions
from armnn.backends import CreationOptions
from armnn.errors import InvalidArgumentError
from armnn.optimizer.options import checked_options
from armnn_tools.cli.inspect import add_parser as add_inspect
from armnn_tools.cli.main import main, parser
from armnn_tools.cli.options import (
    add_model_arguments,
    add_optimizer_arguments,
    as_options,
    backend_ids,
    backend_options,
    creation_options,
    flag_of,
    layer_backends,
    optimizer_options,
    options_of_backends,
    show_tensor,
)
from armnn_tools.cli.run import add_parser as add_run
from fakes import Plugin, backend_plugin, installed


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("leave strict=True out (layer_backends=)", "leave --strict out (--layer-backend)"),
        ("the list (backends=['A', \"B\"]).", "the list (--backends A,B)."),
        ("load it with quantize=True to", "load it with --quantize-input to"),
        ("; beyond_arm_nn=True stores", "; --beyond-arm-nn stores"),
        ("backends='auto' for 'm'", "--backends auto for 'm'"),
        ("say format='onnx'.", "say --format onnx."),
        ('trust it with probe="off"', "trust it with --probe off"),
        ("shapes=[...] names", "--shape ... names"),
        ("debug and debug_to_file", "debug and --print-intermediate-layers-to-file"),
        ("use enable_static_backends=True", "use without --no-static-backends"),
        ("max_version=(1, 1), a strict format", "max_version=(1, 1), a strict format"),
    ],
)
def test_what_the_core_says_names_options(said: str, shown: str) -> None:
    assert as_options(said) == shown


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--allow-expanded-dims"], "--allow-expanded-dims is True, but --shape-inference-method"),
        (["--fp16-turbo", "--bf16"], "--reduce-fp32-to-fp16 and --reduce-fp32-to-bf16 are both"),
        (["--backends", "Half,Toy", "--strict"], r"them (--layer-backend), or leave --strict out"),
    ],
)
def test_errors_of_a_command_name_its_options(
    model: Callable[..., str],
    more: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", model(), *more]) == 1
    assert message in capsys.readouterr().err


THREADED = """
from armnn.backends import Backend, BackendVersion, ModelContext, Support

class Plain(Backend):
    id = "Plain"
    api_version = BackendVersion(1, 0)

    def supports(self, layer, model):
        return Support.no("it only has options")

    def create_workload(self, layer, model):
        raise NotImplementedError

class Threaded(Plain):
    id = "Threaded"

    def create_model_context(self, options):
        if set(options) - {"NumberOfThreads", "Speed"}:
            return super().create_model_context(options)
        return ModelContext(options)
"""


@pytest.fixture
def threaded(tmp_path: Path) -> Iterator[None]:
    backends = {name: f"armnn_threaded:{name}" for name in ("Plain", "Threaded")}
    groups = {"armnn.backends": backends}
    modules = {"armnn_threaded": THREADED}
    with installed(tmp_path, Plugin("armnn-threaded", "1", (), groups, modules), alone=True):
        yield


@pytest.mark.parametrize("command", ["run", "inspect", "compare", "bench", "tune", "compile"])
def test_threads_are_told_to_the_backends_that_have_such_an_option(
    threaded: None, command: str
) -> None:
    words = [command, "m.onnx", *(["-o", "m.armnn-prepared"] if command == "compile" else [])]

    def options(*more: str) -> dict[str, Any]:
        return options_of_backends(parser(command).parse_args([*words, *more]))

    assert options() == {}
    assert options("--threads", "3") == {"Threaded": {"NumberOfThreads": 3}}
    assert options("--threads", "3", "--backends", "auto") == {"Threaded": {"NumberOfThreads": 3}}
    given = ("--option", "Threaded.Speed=2", "--option", "Threaded.NumberOfThreads=1")
    assert options("--threads", "3", *given[:2], "--backends", "Plain,Threaded") == {
        "Threaded": {"NumberOfThreads": 3, "Speed": 2}
    }
    assert options("--threads", "3", *given)["Threaded"]["NumberOfThreads"] == 1
    with pytest.raises(InvalidArgumentError, match="got 3, but none of the backends Plain has an"):
        options("--threads", "3", "--backends", "Plain")


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
                "(armnn.placement.tune and write_verdict) measures once, and --backends auto "
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


def test_backends_are_a_comma_separated_list() -> None:
    assert backend_ids("CpuAcc, CpuRef") == ["CpuAcc", "CpuRef"]
    for text in ("", "A,", ",A"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected ids as in CpuAcc,CpuRef"):
            backend_ids(text)


def test_the_name_of_a_layer_may_hold_an_equals_sign() -> None:
    assert layer_backends(["conv=1=CpuRef", "b=CpuAcc"]) == {"conv=1": "CpuRef", "b": "CpuAcc"}


@pytest.mark.parametrize("text", ["conv", "=CpuRef", "conv=", ""])
def test_a_layer_without_backend_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"--layer-backend got .* expected NAME=ID"):
        layer_backends([text])


def test_a_layer_has_one_backend() -> None:
    with pytest.raises(InvalidArgumentError, match="--layer-backend was given twice for 'a'"):
        layer_backends(["a=CpuRef", "a=CpuAcc"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("False", False), ("7", 7), ("-7", -7), ("0.5", 0.5), ("1e-3", 1e-3),
        (".5", 0.5), ("nan", "nan"), ("fast", "fast"), ("a=b", "a=b"), ("", ""), ("1.2.3", "1.2.3"),
    ],
)  # fmt: skip
def test_values_of_options_get_their_type(text: str, value: object) -> None:
    (found,) = backend_options([f"CpuAcc.Name={text}"])["CpuAcc"].values()
    assert found == value
    assert type(found) is type(value)


def test_options_are_grouped_by_backend() -> None:
    assert backend_options(["A.x=1", "B.x=2", "A.y=3"]) == {"A": {"x": 1, "y": 3}, "B": {"x": 2}}


@pytest.mark.parametrize("text", ["A", "A.x", "A=1", ".x=1", "A.=1"])
def test_a_malformed_option_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"--option got .* expected ID.NAME=VALUE"):
        backend_options([text])


def test_an_option_has_one_value() -> None:
    with pytest.raises(InvalidArgumentError, match=r"--option was given twice for A.x"):
        backend_options(["A.x=1", "A.x=2"])
    with pytest.raises(InvalidArgumentError, match=r"^--runtime-option was given twice for A\.x$"):
        backend_options(["A.x=1", "A.x=2"], "--runtime-option")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], CreationOptions()),
        (["--dynamic-backends-path", "/a"], CreationOptions(dynamic_backends_path="/a")),
        (["--no-static-backends"], CreationOptions(enable_static_backends=False)),
        (["--probe", "again"], CreationOptions(probe="again")),
        (["--lock-file", "f"], CreationOptions(require_locked=True, lock_file="f")),
    ],
)
def test_what_a_runtime_is_made_with(arguments: list[str], expected: CreationOptions) -> None:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    assert creation_options(parser.parse_args(["model.onnx", *arguments])) == expected


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


def test_an_option_of_the_runtime_is_for_a_backend_that_takes_part() -> None:
    command = ["run", "m.onnx", "--backends", "Cpu,Gpu?", "--runtime-option"]
    options = creation_options(parser().parse_args([*command, "Gpu.Device=1"]))
    assert options.backend_options == {"Gpu": {"Device": 1}}
    with pytest.raises(InvalidArgumentError, match=r"'Gp', which .* expected one of Cpu, Gpu$"):
        creation_options(parser().parse_args([*command, "Gp.Device=1"]))
