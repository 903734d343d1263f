# SPDX-License-Identifier: MIT
"""The options that choose backends."""

from __future__ import annotations

import argparse

import pytest

from armnn.backends import CreationOptions
from armnn.cli.model_options import (
    add_model_arguments,
    backend_ids,
    backend_options,
    creation_options,
    layer_backends,
)
from armnn.errors import InvalidArgumentError


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
