# SPDX-License-Identifier: MIT
"""Names and numbers of the format."""

from __future__ import annotations

from typing import Final, TypeVar

from armnn.types import ArmnnEnum
from armnn_parser_armnn._schema import ENUMERATIONS, LAYERS, OUTDATED, SINCE, VERSIONS

_E = TypeVar("_E", bound="ArmnnEnum")

IDENTIFIER: Final = b"ARMN"
NEWEST: Final = VERSIONS[-1]

BEYOND_TYPE: Final = 127
"""The number of a data type that Arm NN lacks; ``beyond_type`` then tells ours."""

SCALAR: Final = 2
SPECIFIED: Final = 1
NOT_SPECIFIED: Final = 0
"""The numbers of ``dimensionality``: rank 0, a known rank, and an unknown one."""

INFERRED: Final = 2**32 - 1
"""The dimension of a Reshape that follows from the others, -1 in 32 unsigned bits."""

MOST_DIMENSIONS: Final = 5
"""The highest rank of Arm NN's tensors."""

NAME_OF_MEMBER: Final = {stored.member: name for name, stored in LAYERS.items()}
"""The layer types by their places in the union."""


def member_of(kind: type[_E], number: int) -> _E | None:
    """Return the enumeration's member with a number on the wire."""
    names = {
        **_by_number(OUTDATED.get(kind.__name__, {})),
        **_by_number(ENUMERATIONS[kind.__name__]),
    }
    name = names.get(number)
    return None if name is None else kind.from_arm_name(name)


def number_of(member: ArmnnEnum) -> int | None:
    """Return a member's number on the wire, or None."""
    return ENUMERATIONS[type(member).__name__].get(member.arm_name)


def is_known_to(version: str, name: str) -> bool:
    """Return whether an Arm NN version knows a name."""
    return SINCE.get(name, VERSIONS[0]) <= version


def _by_number(numbers: dict[str, int]) -> dict[int, str]:
    return {number: name for name, number in numbers.items()}
