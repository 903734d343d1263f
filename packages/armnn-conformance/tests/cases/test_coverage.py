# SPDX-License-Identifier: MIT
"""Every parameter is off its default in some case.

Each value of an enumeration occurs, too. Exceptions are listed here with the reason.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import pytest

from armnn.errors import InvalidArgumentError
from armnn.layers import LAYERS, Descriptor
from armnn.types import ArmnnEnum
from armnn_conformance.cases import cases_of, covered_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("coverage")  # one worker makes the cases, once

_NOT_READ = "kept from Arm NN, the layer does not read it"
_INTERMEDIATE = (
    "input_intermediate_scale",
    "forget_intermediate_scale",
    "cell_intermediate_scale",
    "output_intermediate_scale",
    "hidden_state_zero_point",
    "hidden_state_scale",
)
_LSTMS = ("Lstm", "UnidirectionalSequenceLstm")
_ALWAYS_DEFAULT = {
    **{(layer, field): _NOT_READ for layer in _LSTMS for field in _INTERMEDIATE},
    ("Lstm", "time_major"): _NOT_READ,
    ("ScatterNd", "axis"): "only read if axis_enabled",
    ("ScatterNd", "axis_enabled"): "Arm NN does not say what it means, no backend takes it",
    ("Fused", "fused_kernel_type"): "there is one value",
    ("Normalization", "norm_method_type"): "Arm NN does not say what LocalContrast means",
}
_UNUSED_VALUES = {("Normalization", "norm_method_type"): {"LocalContrast"}}

_FIELDS = [
    (layer, field.name)
    for layer in covered_layers()
    for field in dataclasses.fields(LAYERS[layer].descriptor)
]


@functools.cache
def _descriptors_and_rank(layer: str) -> tuple[tuple[Descriptor, ...], int]:
    """Return the parameters of a layer's cases, and the largest rank of their tensors."""
    descriptors: dict[Descriptor, None] = {}
    rank = 0
    for case in cases_of(layer):
        descriptors[case.descriptor] = None
        reads = [read.real.ndim for read in case.inputs if read is not None]
        rank = max([rank, *reads, *(expected.ndim for expected in case.expected)])
    return tuple(descriptors), rank


def _seen(layer: str, field: str) -> tuple[Descriptor, set[Any]]:
    """Return a case's parameters and all values of a field."""
    descriptors, _ = _descriptors_and_rank(layer)
    return descriptors[0], {getattr(each, field) for each in descriptors}


def _default(layer: str, field: str) -> Any:
    found = {each.name: each.default for each in dataclasses.fields(LAYERS[layer].descriptor)}
    return found[field]


def _legal(d: Descriptor, field: str, kind: type[ArmnnEnum]) -> Iterator[ArmnnEnum]:
    """Yield the values that the descriptor takes for the field."""
    for value in kind:
        try:
            dataclasses.replace(d, **{field: value})
        except InvalidArgumentError:
            continue
        yield value


@pytest.mark.parametrize(("layer", "field"), _FIELDS)
def test_every_parameter_is_off_its_default_somewhere(layer: str, field: str) -> None:
    _, seen = _seen(layer, field)
    untouched = seen <= {_default(layer, field)}
    assert untouched == ((layer, field) in _ALWAYS_DEFAULT)


@pytest.mark.parametrize(
    ("layer", "field"),
    [pair for pair in _FIELDS if isinstance(_default(*pair), (ArmnnEnum, bool))],
)
def test_every_value_of_an_enumeration_is_used(layer: str, field: str) -> None:
    d, seen = _seen(layer, field)
    default = _default(layer, field)
    if isinstance(default, bool):
        missing = {str(value) for value in (False, True) if value not in seen}
        assert missing == ({"True"} if (layer, field) in _ALWAYS_DEFAULT else set())
        return
    missing = {value.arm_name for value in _legal(d, field, type(default)) if value not in seen}
    assert missing == _UNUSED_VALUES.get((layer, field), set())


def test_every_exception_speaks_of_a_parameter_that_is_there() -> None:
    assert set(_ALWAYS_DEFAULT) | set(_UNUSED_VALUES) <= set(_FIELDS)


_NO_TENSOR_OF_ANY_RANK = {
    "Fill": "it reads a list",
    "Range": "it reads three numbers",
    "MatMulInteger": "BatchMatMul has the ranks, and backends compute both alike",
    "Einsum": "its equation names the axes",
}
"""Layers without a case of rank 5 or more that do not have axes of their own."""


@pytest.mark.parametrize("layer", covered_layers())
def test_layers_of_any_rank_have_cases_of_high_rank(layer: str) -> None:
    """Find backends with a silent limit of four axes."""
    _, rank = _descriptors_and_rank(layer)
    is_free = not LAYERS[layer].axes and layer not in _NO_TENSOR_OF_ANY_RANK
    assert (rank >= 5) is is_free
