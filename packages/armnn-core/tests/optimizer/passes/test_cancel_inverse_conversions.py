# SPDX-License-Identifier: MIT
"""Pairs of conversions that undo each other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from named_pass import named_pass

from armnn import DataType, Network, TensorInfo

cancel_inverse_conversions = named_pass("cancel_inverse_conversions")

F16, F32, BF16 = DataType.FLOAT16, DataType.FLOAT32, DataType.BFLOAT16


def converted(network: Network, value, to: DataType, *, cast: bool = False):
    source = value.info.data_type
    own = {(F16, F32): "ConvertFp16ToFp32", (F32, F16): "ConvertFp32ToFp16"}
    kind = "Cast" if cast else own.get((source, to), "Cast")
    return network.add(kind, [value], outputs=[to]).output


def chain(types: Sequence[DataType], *, cast: bool = False) -> Network:
    network = Network()
    value = network.add_input("x", TensorInfo((2,), types[0]))
    for to in types[1:]:
        value = converted(network, value, to, cast=cast)
    network.add_output("y", value)
    return network


def length(network: Network) -> int:
    return len(network) - 2


@pytest.mark.parametrize("types", [(F16, F32, F16), (F32, F16, F32), (BF16, F32, BF16)])
def test_inverse_conversions_are_removed(types: Sequence[DataType]) -> None:
    network = chain(types)
    assert cancel_inverse_conversions(network) == 1
    assert length(network) == 0
    assert cancel_inverse_conversions(network) == 0


def test_longer_chains_are_removed_from_the_front() -> None:
    network = chain((F16, F32, F16, F32))
    cancel_inverse_conversions(network)
    assert length(network) == 1


def test_a_cast_that_rounds_stays() -> None:
    for types in ((F32, BF16, F32), (F32, F16, F32)):
        network = chain(types, cast=True)
        assert cancel_inverse_conversions(network) == 0
        assert length(network) == 2


def test_conversions_to_a_third_type_stay() -> None:
    assert cancel_inverse_conversions(chain((F16, F32, BF16))) == 0


def test_a_conversion_that_others_read_stays_for_them() -> None:
    network = chain((F16, F32, F16))
    (wide,) = (layer for layer in network.layers if layer.type == "ConvertFp16ToFp32")
    network.add_output("wide", wide.output)
    assert cancel_inverse_conversions(network) == 1
    assert length(network) == 2  # the conversion and the further output


def test_conversions_with_other_hints_stay() -> None:
    network = chain((F16, F32, F16))
    (wide,) = (layer for layer in network.layers if layer.type == "ConvertFp16ToFp32")
    wide.backend_hint = "B"
    assert cancel_inverse_conversions(network) == 0
