# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

import pytest

from armnn.backends import BackendVersion
from armnn.backends.capi.values import attribute_type, attributes_of
from armnn.layers import LAYERS, Descriptor
from armnn.layers._descriptor import descriptor, parameter
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena


@descriptor
class Grown(Descriptor):
    """A layer that learnt something in 1.3."""

    scale: float = 1.0
    sizes: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ((1, 2), (3, 4))
    mode: str = "plain"
    is_fast: bool = True
    late: int = parameter(7, since=(1, 3))


def read(made: Descriptor, version: BackendVersion) -> dict[str, tuple[int, int, list[Any]]]:
    arena, rows = Arena(), {}
    for row in attributes_of(made, version, arena):
        kind = {1: ctypes.c_int64, 2: ctypes.c_double, 3: abi.String}[row.type]
        elements = list((kind * row.count).from_address(row.data))
        texts = [ctypes.string_at(e.data, e.size) for e in elements] if row.type == 3 else elements
        name = ctypes.string_at(row.name.data, row.name.size).decode()
        rows[name] = (row.type, row.since_minor, texts)
    return rows


def test_each_field_is_an_attribute_of_its_declared_type() -> None:
    assert read(Grown(scale=2), BackendVersion(1, 3)) == {
        "scale": (abi.ATTRIBUTE_FLOAT64, 0, [2.0]),
        "sizes": (abi.ATTRIBUTE_INT64, 0, []),
        "pairs": (abi.ATTRIBUTE_INT64, 0, [1, 2, 3, 4]),
        "mode": (abi.ATTRIBUTE_STRING, 0, [b"plain"]),
        "is_fast": (abi.ATTRIBUTE_INT64, 0, [1]),
        "late": (abi.ATTRIBUTE_INT64, 3, [7]),
    }


@pytest.mark.parametrize(("minor", "is_there"), [(0, False), (2, False), (3, True), (4, True)])
def test_a_backend_gets_no_field_that_is_younger_than_it(minor: int, is_there: bool) -> None:
    assert ("late" in read(Grown(), BackendVersion(1, minor))) is is_there


def test_the_fields_of_all_layers_have_a_form() -> None:
    for spec in LAYERS.values():
        made = spec.descriptor()
        rows = read(made, BackendVersion(1, 99))
        fields = {field.name: field for field in dataclasses.fields(made)}
        assert list(rows) == list(fields)
        for name, (kind, _, _) in rows.items():
            assert kind == attribute_type(str(fields[name].type))
