# SPDX-License-Identifier: MIT
"""Families have one file name everywhere: table, kit, CpuRef, parsers.

A file has the name of the family, or the family and a part of it: ``convolution_transposed``.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from armnn.layers import LAYERS
from armnn_backend_ref.ops import operation_of
from armnn_conformance.cases import covered_layers
from armnn_conformance.cases._registry import generators_of

CASES, OPS = "armnn_conformance.cases", "armnn_backend_ref.ops"
ONNX, TFLITE = "armnn_parser_onnx.operators", "armnn_parser_tflite.operators"
EXPORT = "armnn_parser_onnx.export.layers"
NO_KERNEL = "backends compute no layer of it"
NO_OPERATOR = "the format has no operator of it"

LACKS = {
    CASES: {"io": NO_KERNEL},
    OPS: {"io": NO_KERNEL},
    ONNX: {
        "plumbing": NO_OPERATOR,
        "recurrent": "its LSTM and GRU are of whole sequences, a family of their own",
    },
    TFLITE: {
        "attention": NO_OPERATOR,
        "io": "its inputs, outputs and constants are tensors, no operators",
        "plumbing": NO_OPERATOR,
    },
}
"""The families that a place has no file for, with the reason."""

OTHERS = {
    CASES: {},
    OPS: {},
    ONNX: {
        "counting": "n-grams become layers of several families",
        "microsoft": "the operators of onnxruntime's domain, of several families",
        "spectral": "Fourier transforms become layers of several families",
    },
    TFLITE: {
        "control": "branches, loops and variables become no layers of their own",
        "spectral": "Fourier transforms become layers of several families",
    },
    EXPORT: {},
}
"""The files that belong to no family, with the reason."""


def modules(package: str) -> list[str]:
    """Return a package's public modules."""
    found = iter_modules(import_module(package).__path__)
    return [each.name for each in found if not each.name.startswith("_")]


FAMILIES = [name for name in modules("armnn.layers") if "_" not in name]


def family_of(module: str) -> str:
    """Return the family in a module's name, "" without one."""
    first = module.rpartition(".")[2].partition("_")[0]
    return first if first in FAMILIES else ""


def family_of_layer(layer: str) -> str:
    return LAYERS[layer].family


@pytest.mark.parametrize("place", OTHERS)
def test_a_file_has_the_name_of_a_family_or_a_reason(place: str) -> None:
    assert {name for name in modules(place) if not family_of(name)} == OTHERS[place].keys()


@pytest.mark.parametrize("place", LACKS)
def test_a_family_has_a_file_or_a_reason(place: str) -> None:
    assert set(FAMILIES) - set(modules(place)) == LACKS[place].keys()


@pytest.mark.parametrize("layer", covered_layers())
def test_the_cases_and_the_operation_of_a_layer_are_in_the_file_of_its_family(layer: str) -> None:
    functions = [operation_of(layer).function, *generators_of(layer)]
    places = {function.__module__ for function in functions}
    assert {family_of(place) for place in places} == {family_of_layer(layer)}


def test_a_family_is_told_by_the_name_or_its_beginning() -> None:
    assert family_of("armnn_parser_onnx.operators.convolution_transposed") == "convolution"
    assert family_of("pooling") == "pooling"
    assert family_of("transposed_convolution") == ""
