# SPDX-License-Identifier: MIT
"""Conversion of layers' parameters, both ways, by field names; those of the extension as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from armnn.graph import Layer
from armnn.layers import LAYERS, Descriptor, LayerSpec
from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatTable
from armnn.types import ArmnnEnum
from armnn_parser_armnn.flat_writer import FlatRecord
from armnn_parser_armnn.schema import LAYERS as STORED
from armnn_parser_armnn.schema import TABLES, is_known_to, member_of, number_of

_LIMITS = {"Uint32": (0, 2**32 - 1), "Int32": (-(2**31), 2**31 - 1)}


def read_parameters(
    kind: type[Descriptor], table: FlatTable, name: str, leave: Collection[str] = ()
) -> dict[str, Any]:
    """Return the parameters of a descriptor that the format has.

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
    enumeration = _enumeration_of(field.default)
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
    table = STORED[kind].parameters
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


# -- the extension: layers that Arm NN lacks, as JSON in StandIn layers ------------------------


class BeyondLayer(NamedTuple):
    """A layer of the extension.

    Attributes:
        spec: Its row of the layer table.
        descriptor: Its parameters.
        slots: The slot in which each of its stored inputs stands.
    """

    spec: LayerSpec
    descriptor: Descriptor
    slots: tuple[int, ...]


def extension_of(layer: Layer) -> str:
    """Return a layer's type, parameters and slots as JSON."""
    descriptor = layer.descriptor
    parameters = {
        field.name: _plain(getattr(descriptor, field.name))
        for field in dataclasses.fields(descriptor)
        if getattr(descriptor, field.name) != field.default
    }
    slots = [slot for slot, value in enumerate(layer.inputs) if value is not None]
    return json.dumps({"type": layer.type, "parameters": parameters, "inputs": slots})


def extended_layer(text: str, inputs: int) -> BeyondLayer:
    """Return the layer of :func:`extension_of`.

    Args:
        text: The JSON.
        inputs: How many inputs the layer has in the file.

    Raises:
        RefusedError: It is something else, or names what is not known here.
    """
    try:
        stored = json.loads(text)
        spec = LAYERS[stored["type"]]
        slots = tuple(stored["inputs"])
        parameters = _parameters(spec.descriptor, stored["parameters"])
        descriptor = spec.descriptor(**parameters)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RefusedError(f"its extension cannot be read: {error!r}") from error
    expected = len(spec.inputs) if not spec.is_variadic else max(len(spec.inputs), inputs)
    if (
        len(slots) != inputs
        or sorted(set(slots)) != list(slots)
        or not all(type(slot) is int and 0 <= slot < expected for slot in slots)
    ):
        raise RefusedError(f"its extension names the inputs {list(slots)[:8]} for {inputs}")
    return BeyondLayer(spec, descriptor, slots)


def _parameters(kind: type[Descriptor], stored: dict[str, Any]) -> dict[str, Any]:
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    return {name: _typed(_enumeration_of(defaults[name]), value) for name, value in stored.items()}


def _enumeration_of(default: object) -> type[ArmnnEnum] | None:
    """Return the enumeration of a field by its default, one member or several."""
    first = default[0] if isinstance(default, tuple) and default else default
    return type(first) if isinstance(first, ArmnnEnum) else None


def _typed(enumeration: type[ArmnnEnum] | None, value: Any) -> Any:
    """Return a JSON value as a descriptor's field holds it."""
    if isinstance(value, list):
        return tuple(_typed(enumeration, item) for item in value)
    return value if enumeration is None else enumeration.of(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, ArmnnEnum) else value


# -- recurrent layers, whose weights are constants of the layer ----------------------------------

MEMBERS_OF: Final = {
    "Lstm": "LstmMembers",
    "QLstm": "QLstmMembers",
    "QuantizedLstm": "QuantizedLstmMembers",
    "UnidirectionalSequenceLstm": "LstmMembers",
}
"""The tables of the constants, by layer type."""


def used_members(kind: str, descriptor: Descriptor) -> set[str]:
    """Return the constants that a layer with these parameters uses."""
    options: Any = descriptor
    names = {slot.name for slot in LAYERS[kind].inputs[3:]}
    if kind == "QuantizedLstm":
        return names
    if options.cifg_enabled:
        names -= {"input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias"}
        names -= {"cell_to_input_weights", "input_layer_norm_weights"}
    if not options.peephole_enabled:
        names = {name for name in names if not name.startswith("cell_to_")}
    if not options.projection_enabled:
        names = {name for name in names if not name.startswith("projection_")}
    if not options.layer_norm_enabled:
        names = {name for name in names if not name.endswith("_layer_norm_weights")}
    return names
