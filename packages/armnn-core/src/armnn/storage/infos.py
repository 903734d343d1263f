# SPDX-License-Identifier: MIT
"""Encoding of tensor infos and enumerations as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armnn.backends.cache import StaleEntryError
from armnn.tensor import TensorInfo
from armnn.types import DataType

if TYPE_CHECKING:
    from typing import TypeVar

    from armnn.types import ArmnnEnum

    _E = TypeVar("_E", bound=ArmnnEnum)


def member_of(kind: type[_E], number: int) -> _E:
    """Return the member of an enumeration that has a number.

    Raises:
        StaleEntryError: None has.
    """
    for member in kind:
        if member == number:
            return member
    raise StaleEntryError(f"{kind.__name__} has no {number!r}")


def encoded_info(info: TensorInfo) -> list[Any]:
    """Return a tensor info as JSON."""
    return [info.shape, int(info.data_type), info.scales, info.zero_points, info.axis]


def decoded_info(stored: list[Any]) -> TensorInfo:
    """Return the tensor info of :func:`encoded_info`."""
    shape, data_type, scales, zero_points, axis = stored
    return TensorInfo(shape, member_of(DataType, data_type), scales, zero_points, axis)
