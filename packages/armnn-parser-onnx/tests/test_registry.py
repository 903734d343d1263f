# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
import sys

import onnx
import pytest

import armnn_parser_onnx._registry as registry
from armnn.errors import ParseError
from armnn_parser_onnx._registry import NEWEST_OPSET, check_opset, operator
from armnn_parser_onnx.operators import find_converter, operator_names


@pytest.fixture
def converters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_CONVERTERS", {})


@pytest.mark.usefixtures("converters")
def test_the_newest_converter_that_the_opset_has_is_taken() -> None:
    for since in (1, 13, 11):
        operator("Op", since=since)(lambda _, since=since: since)
    found = {opset: find_converter("Op", opset) for opset in (7, 10, 11, 12, 13, 27)}
    assert [entry.since for entry in found.values() if entry] == [1, 1, 11, 11, 13, 13]


@pytest.mark.usefixtures("converters")
def test_an_operator_does_not_exist_before_its_first_opset() -> None:
    operator("Op", since=9)(lambda _: ())
    assert find_converter("Op", 8) is None
    assert find_converter("Op", 9) is not None
    assert find_converter("Other", 9) is None


def test_the_parser_imports_every_converter() -> None:
    code = (
        "from armnn_parser_onnx.parser import parse; "
        "from armnn_parser_onnx.operators import operator_names; print(*operator_names())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = run.stdout.split()
    assert names == sorted(names)
    assert {"Conv", "If", "Loop", "Scan"} < set(names)
    assert len(names) > 100


def test_every_operator_exists_at_some_opset_that_is_read() -> None:
    for name in operator_names():
        assert onnx.defs.has(name, ""), name


def test_every_operator_is_converted_at_each_opset_that_has_it() -> None:
    for name in operator_names():
        for opset in range(registry.OLDEST_OPSET, NEWEST_OPSET + 1):
            if onnx.defs.has(name, max_inclusive_version=opset, domain=""):
                schema = onnx.defs.get_schema(name, opset, "")
                assert schema.deprecated or find_converter(name, opset), f"{name} at {opset}"


@pytest.mark.parametrize("opset", [-1, 0, 1, 6])
def test_old_opsets_are_refused_with_the_way_out(opset: int) -> None:
    with pytest.raises(ParseError, match=rf"uses opset {opset}: expected 7 or newer.*version_conv"):
        check_opset(opset)


def test_opsets_between_the_bounds_are_read() -> None:
    check_opset(7)
    check_opset(NEWEST_OPSET)


def test_newer_opsets_are_refused_with_the_newest_one() -> None:
    newest = NEWEST_OPSET
    with pytest.raises(ParseError, match=rf"uses opset {newest + 1}: the newest .* is {newest}$"):
        check_opset(newest + 1)
