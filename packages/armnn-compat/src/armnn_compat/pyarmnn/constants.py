# SPDX-License-Identifier: MIT
"""Arm NN's enumerations as constants such as ``DataType_Float32``.

Names and numbers are those of :mod:`armnn.types`; members that Arm NN lacks are left out.
"""

from __future__ import annotations

from enum import IntEnum

import armnn.types
from armnn import ShapeInferenceMethod
from armnn.types import ArmnnEnum

_BEYOND_ARM_NN = 1000
"""Numbers from here on are ours."""


class ProfilingDetailsMethod(IntEnum):
    """The layer details in a profile (Arm NN: ``ProfilingDetailsMethod``)."""

    Undefined = 0
    DetailsWithEvents = 1
    DetailsOnly = 2


def _kinds() -> list[type[ArmnnEnum]]:
    known = (getattr(armnn.types, name) for name in armnn.types.__all__)
    found = [each for each in known if isinstance(each, type) and issubclass(each, ArmnnEnum)]
    return [*(kind for kind in found if kind is not ArmnnEnum), ShapeInferenceMethod]


def _constants() -> dict[str, int]:
    found = {
        f"{kind.__name__}_{member.arm_name}": int(member)
        for kind in _kinds()
        for member in kind
        if member < _BEYOND_ARM_NN
    }
    details = {f"ProfilingDetailsMethod_{each.name}": int(each) for each in ProfilingDetailsMethod}
    return found | details


CONSTANTS = _constants()
"""Each ``Enumeration_Member`` with its number."""
