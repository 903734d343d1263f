# SPDX-License-Identifier: MIT
"""Conversion of layers' parameters, both ways, by field names."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from armnn.layers import Descriptor
from armnn.layers._descriptor import enumeration_of
from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatRecord, FlatTable
from armnn.storage.armnn_files._bindings import LAYERS, TABLES
from armnn.storage.armnn_files.names import is_known_to, member_of, number_of
from armnn.types import ArmnnEnum

_LIMITS = {"Uint32": (0, 2**32 - 1), "Int32": (-(2**31), 2**31 - 1)}


def read_parameters(
    kind: type[Descriptor], table: FlatTable, name: str, leave: Collection[str] = ()
) -> dict[str, Any]:
    """Return those parameters of a descriptor that the format has.

    Args:
        kind: The class of the descriptor.
        table: The table of its parameters.
        name: The name of that table.
        leave: The fields that are not read.

    Raises:
        RefusedError: A member of an enumeration is not known.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    return {
        field: _read(fields[field], table)
        for field in TABLES[name]
        if field in fields and field not in leave
    }


def _read(field: dataclasses.Field[Any], table: FlatTable) -> Any:
    enumeration = enumeration_of(field.default)
    if enumeration is not None:
        number = table.integer(field.name)
        member = member_of(enumeration, number)
        if member is None:
            raise RefusedError(f"its {field.name} is number {number}, which is not known here")
        return member
    if field.type == "float":
        return decimal(table.real(field.name))
    if field.type == "bool":
        return table.flag(field.name)
    if field.type == "int":
        return table.integer(field.name)
    numbers = table.integers(field.name)
    if field.type == "tuple[int, ...]":
        return numbers
    if len(numbers) % 2:
        raise RefusedError(f"its {field.name} has {len(numbers)} numbers, expected pairs")
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def parameter_record(kind: str, values: Mapping[str, Any], version: str) -> FlatRecord | None:
    """Return the parameters of a layer to be stored.

    Args:
        kind: The layer type on the wire.
        values: The values by the names of the fields; those that the format lacks have been dealt
            with.
        version: The Arm NN that has to read them.

    Raises:
        RefusedError: A value has no place in the format.
    """
    table = LAYERS[kind].parameters
    if not table:
        return None
    schema = TABLES[table]
    fields: dict[str, Any] = {}
    for name, value in values.items():
        stored = _stored(name, value, schema[name][1], version)
        if not is_known_to(version, f"{table}.{name}"):
            if stored != schema[name][2]:
                raise RefusedError(f"its {name} is {shown(value)}: Arm NN {version} has none")
            continue
        fields[name] = stored
    return FlatRecord(table, fields)


def _stored(name: str, value: Any, kind: str, version: str) -> Any:
    if isinstance(value, ArmnnEnum):
        number = number_of(value)
        if number is None:
            raise RefusedError(f"its {name} is {value.arm_name}, which .armnn files lack")
        if not is_known_to(version, f"{type(value).__name__}.{value.arm_name}"):
            raise RefusedError(f"its {name} is {value.arm_name}, which Arm NN {version} lacks")
        return number
    if isinstance(value, (list, tuple)) and (not value or not isinstance(value[0], FlatRecord)):
        flat = [
            number for item in value for number in (item if isinstance(item, tuple) else (item,))
        ]
        for number in flat:
            _check_limits(name, number, kind.strip("[]"))
        return flat
    if isinstance(value, int):
        _check_limits(name, value, kind)
    return value


def _check_limits(name: str, value: int, kind: str) -> None:
    low, high = _LIMITS.get(kind, (value, value))
    if not low <= value <= high:
        raise RefusedError(f"its {name} has {value}, the format holds {low} to {high} there")


def extra_parameters(descriptor: Descriptor, stored: Collection[str]) -> list[str]:
    """Return the parameters with a value that only armnn knows."""
    return [
        f"its {field.name} is {shown(getattr(descriptor, field.name))}, which Arm NN lacks"
        for field in dataclasses.fields(descriptor)
        if field.name not in stored and getattr(descriptor, field.name) != field.default
    ]


def shown(value: Any) -> str:
    """Return a parameter as messages show it."""
    return value.arm_name if isinstance(value, ArmnnEnum) else repr(value)


def decimal(value: float) -> float:
    """Return the shortest decimal of a 32-bit float."""
    return float(str(np.float32(value)))


__all__ = [
    "decimal",
    "extra_parameters",
    "parameter_record",
    "read_parameters",
    "shown",
]
