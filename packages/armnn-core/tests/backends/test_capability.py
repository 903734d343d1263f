# SPDX-License-Identifier: MIT
"""Capabilities: names, values, and questions about them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from armnn.backends import Capability
from armnn.errors import InvalidArgumentError, UnknownNameError
from fakes import NullBackend

ARM_NN = (
    "NonConstWeights AsyncExecution ProtectedContentAllocation ConstantTensorsAsInputs "
    "PreImportIOTensors ExternallyManagedMemory MultiAxisPacking SingleAxisPacking HasFp16"
)


class Able(NullBackend):
    capabilities: ClassVar[dict[str, Any]] = {
        "NonConstWeights": True,
        "AsyncExecution": False,
        "AcmeTiles": 4,
        "AcmeFlag": 1,
        "Devices": "CPU",
    }


def test_the_names_are_arm_nns() -> None:
    assert [each.value for each in Capability][:9] == ARM_NN.split()


@pytest.mark.parametrize(
    ("name", "value", "has"),
    [
        ("NonConstWeights", True, True),
        (Capability.NON_CONST_WEIGHTS, True, True),
        ("NonConstWeights", False, False),
        ("AsyncExecution", True, False),
        ("AsyncExecution", False, True),
        ("AcmeTiles", 4, True),
        ("AcmeTiles", 5, False),
        ("AcmeFlag", True, False),
        ("Devices", "CPU", True),
        ("HasFp16", True, False),
        ("HasFp16", False, True),
        ("PropagatesNaN", True, True),
        ("PropagatesNaN", False, False),
        ("Made up", True, False),
        ("Made up", "x", False),
    ],
)
def test_a_backend_says_what_it_has(name: str, value: Any, has: bool) -> None:
    assert Able().has_capability(name, value) is has


def test_true_is_what_is_asked_for_unless_a_value_is_given() -> None:
    assert Able().has_capability("NonConstWeights")
    assert not Able().has_capability("AsyncExecution")
    assert not NullBackend().has_capability("NonConstWeights")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("nonconstweights", "NonConstWeights"), ("HasFp61", "HasFp16"), ("AcmeTile", "AcmeTiles")],
)
def test_a_misspelt_name_is_an_error(name: str, meant: str) -> None:
    with pytest.raises(
        UnknownNameError, match=rf"no capability '{name}'; did you mean '{meant}'\?"
    ):
        Able().has_capability(name)


def test_a_name_is_a_text() -> None:
    with pytest.raises(
        InvalidArgumentError, match="the name of a capability is 7, expected a text"
    ):
        Able().has_capability(7)  # type: ignore[arg-type] # that is the fault
