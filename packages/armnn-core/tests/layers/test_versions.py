# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

import pytest

from armnn.layers import LAYERS, Descriptor, RequiredApi, parameter, required_api
from armnn.layers._spec import layer, slot
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, ArmnnEnum, DataType


class Mode(ArmnnEnum):
    """Of the layer below."""

    PLAIN = 0, "Plain"
    FANCY = 1, "Fancy", (1, 4)


@pytest.fixture(autouse=True)
def young_layer() -> Iterator[None]:
    before = dict(LAYERS)

    @layer(5000, inputs=[slot("input")], since=(1, 2))
    class YoungDescriptor(Descriptor):
        """A layer of Backend API 1.2 with younger items.

        It has a field of 1.3 and an enum value of 1.4.
        """

        mode: Mode = Mode.PLAIN
        bias: float = parameter(0.5, since=(1, 3))

    yield
    LAYERS.clear()
    LAYERS.update(before)


def young(**parameters: object) -> Descriptor:
    return LAYERS["Young"].descriptor(**parameters)


def test_a_layer_needs_at_least_the_version_of_its_type() -> None:
    need = required_api(LAYERS["Young"], young(), [])
    assert need == RequiredApi((1, 2), "the layer type Young")


def test_a_field_with_its_default_value_needs_nothing() -> None:
    assert required_api(LAYERS["Young"], young(bias=0.5), []).version == (1, 2)


def test_a_field_with_another_value_needs_its_version() -> None:
    need = required_api(LAYERS["Young"], young(bias=0.0), [])
    assert need == RequiredApi((1, 3), "the field 'bias' of Young")


def test_an_enum_value_needs_its_version() -> None:
    need = required_api(LAYERS["Young"], young(mode=Mode.FANCY, bias=0.0), [])
    assert need == RequiredApi((1, 4), "Fancy as 'mode' of Young")


def test_a_data_type_needs_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataType.FLOAT64, "since", (1, 7))
    infos = [None, TensorInfo((1,)), TensorInfo((1,), DataType.FLOAT64)]
    need = required_api(LAYERS["Young"], young(mode=Mode.FANCY), infos)
    assert need == RequiredApi((1, 7), "the data type Float64")


def test_the_minor_number_counts_as_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataType.FLOAT64, "since", (1, 10))
    infos = [TensorInfo((1,), DataType.FLOAT64)]
    assert required_api(LAYERS["Young"], young(), infos).version == (1, 10)


def test_a_declared_default_is_the_default() -> None:
    assert young().bias == 0.5


def test_what_arm_nn_has_needs_the_first_version() -> None:
    spec = LAYERS["Activation"]
    need = required_api(
        spec, spec.descriptor(function=ActivationFunction.GELU), [TensorInfo((1,))] * 2
    )
    assert need == RequiredApi((1, 0), "the layer type Activation")
