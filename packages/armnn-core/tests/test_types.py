# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from armnn import types
from armnn.types import ActivationFunction, DataLayout, DataType
from armnn_backend_api import ctypes_mirror

CONTRACTS = sorted((Path(__file__).parents[1] / "contract").glob("python-1.[0-9].json"))
"""The Backend API of each minor version, from 1.0 on."""

# include/armnn/Types.hpp of Arm NN: name, number, bytes of one element.
ARM_DATA_TYPES = [
    ("Float16", 0, 2),
    ("Float32", 1, 4),
    ("QAsymmU8", 2, 1),
    ("Signed32", 3, 4),
    ("Boolean", 4, 1),
    ("QSymmS16", 5, 2),
    ("QSymmS8", 6, 1),
    ("QAsymmS8", 7, 1),
    ("BFloat16", 8, 2),
    ("Signed64", 9, 8),
]


@pytest.mark.parametrize(("name", "number", "size"), ARM_DATA_TYPES)
def test_arm_data_types_keep_their_names_numbers_and_sizes(
    name: str, number: int, size: int
) -> None:
    data_type = DataType.from_arm_name(name)
    assert data_type == number
    assert data_type.numpy_dtype.itemsize == size


def test_other_data_types_start_at_1000() -> None:
    ours = [kind.value for kind in DataType if kind > 9]
    assert ours == list(range(1000, 1000 + len(ours)))


def test_every_data_type_is_of_one_kind() -> None:
    for kind in DataType:
        kinds = [kind.is_float, kind.is_integer, kind.is_quantized, kind is DataType.BOOLEAN]
        assert kinds.count(True) == 1, kind


def test_storage_types_come_from_ml_dtypes_and_hold_their_values() -> None:
    storage = [kind for kind in DataType if kind.is_storage_only]
    assert [kind.bits for kind in storage] == [4, 4, 2, 2, 8, 8, 8, 8, 8, 4]
    for kind in storage:
        assert np.array([1], kind.numpy_dtype).astype(np.float32) == 1


def test_numpy_types_map_to_plain_data_types() -> None:
    assert DataType.from_numpy("uint8") is DataType.UNSIGNED8
    assert DataType.from_numpy(np.int16) is DataType.SIGNED16
    assert DataType.from_numpy(bool) is DataType.BOOLEAN
    with pytest.raises(KeyError, match="complex64"):
        DataType.from_numpy(np.complex64)


@pytest.mark.parametrize(
    ("layout", "channels", "space"),
    [
        (DataLayout.NCHW, 1, (2, 3)),
        (DataLayout.NHWC, 3, (1, 2)),
        (DataLayout.NDHWC, 4, (1, 2, 3)),
        (DataLayout.NCDHW, 1, (2, 3, 4)),
    ],
)
def test_layouts_know_their_axes(layout: DataLayout, channels: int, space: tuple[int, ...]) -> None:
    assert layout.channel_axis == channels
    assert layout.spatial_axes == space


def test_arm_spellings_are_found_and_others_are_not() -> None:
    assert ActivationFunction.from_arm_name("BoundedReLu") is ActivationFunction.BOUNDED_RELU
    with pytest.raises(KeyError, match="Relu6"):
        ActivationFunction.from_arm_name("Relu6")


def test_every_enumeration_has_a_spelling_and_a_version_for_each_member() -> None:
    enums = [
        kind
        for kind in (getattr(types, name) for name in types.__all__)
        if isinstance(kind, type) and issubclass(kind, types.ArmnnEnum)
    ]
    members = [member for kind in enums for member in kind]
    assert len(enums) > 15
    contracts = [json.loads(path.read_text())["contract"] for path in CONTRACTS]
    assert len(contracts) > 3
    for member in members:
        assert member.arm_name
        kind = type(member).__name__
        first = [member.name in each.get(kind, {}).get("members", ()) for each in contracts]
        assert member.since == (1, first.index(True)), member


def test_the_c_contract_has_the_same_numbers() -> None:
    assert {kind.name: kind.value for kind in DataType} == {
        kind.name: getattr(ctypes_mirror, kind.name, None) for kind in DataType
    }


def test_enumerations_made_late_have_their_public_home() -> None:
    member = types.ResizeMethod.CUBIC
    assert type(member).__module__ == "armnn.types"
    assert pickle.loads(pickle.dumps(member)) is member
    assert copy.deepcopy(member) is member
    assert {"ResizeMethod", "DataType", "__name__"} <= set(dir(types))


def test_a_name_that_types_lack_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'armnn\.types' has no attribute 'Nothing'"):
        types.Nothing  # noqa: B018  # that it raises is tested
