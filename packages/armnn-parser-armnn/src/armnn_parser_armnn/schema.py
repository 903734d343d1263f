# SPDX-License-Identifier: MIT
"""Names and numbers of the format, read from ``schema.toml``, which names its notation."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from armnn.types import ArmnnEnum
from armnn_parser_armnn import VERSIONS

_E = TypeVar("_E", bound="ArmnnEnum")


class StoredType(NamedTuple):
    """A layer type on the wire.

    Attributes:
        number: Its number.
        member: Its place in the union of all layers.
        parameters: The table of its parameters, "" for none.
        instead: The layer type that replaced it, "" for none.
    """

    number: int
    member: int
    parameters: str
    instead: str


_SOURCE: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("schema.toml").read_text(encoding="utf-8")
)

LAYERS: Final = {
    name: StoredType(
        row["number"],
        row["member"],
        row.get("like", name if "parameters" in row else ""),
        row.get("instead", ""),
    )
    for name, row in _SOURCE["layers"].items()
}

ENUMERATIONS: Final[dict[str, dict[str, int]]] = {}
"""The numbers of the members of enumerations, by their names in Arm NN."""

OUTDATED: Final[dict[str, dict[str, int]]] = {}
"""The numbers that members had before."""

TABLES: Final[dict[str, dict[str, tuple[int, str, float]]]] = {}
"""By table and field: the place in the vtable, the kind, and the default of a number.

See :data:`armnn.parsing.flatbuffers.Tables`.
"""

SINCE: Final[dict[str, str]] = {
    name: row["since"] for name, row in _SOURCE["layers"].items() if "since" in row
}
"""The version that first knew a layer, field or member; the oldest is left out."""


def _read_enumerations() -> None:
    for kind, lines in _SOURCE["enumerations"].items():
        ENUMERATIONS[kind] = {}
        for number, *words in map(str.split, lines):
            is_old = words[0] == "old"
            numbers = OUTDATED.setdefault(kind, {}) if is_old else ENUMERATIONS[kind]
            numbers[words[is_old]] = int(number)
            if words[1:2] == ["since"]:
                SINCE[f"{kind}.{words[0]}"] = words[2]


def _tables() -> Iterator[tuple[str, list[str]]]:
    """Yield each table with the lines of its fields, those of layers included."""
    yield from _SOURCE["tables"].items()
    for name, row in _SOURCE["layers"].items():
        if "parameters" in row:
            yield name, row["parameters"]
        parameters = LAYERS[name].parameters
        lines = [f"0 base {row.get('base', 'Base')}"]
        lines += [f"1 parameters {parameters}"] if parameters else []
        yield f"{name}Layer", [*lines, *row.get("members", ())]


def _read_tables() -> None:
    for table, lines in _tables():
        TABLES[table] = {}
        for line in (*lines, *_SOURCE["beyond"].get(table, ())):
            slot, name, kind, *rest = line.split()
            more = dict(zip(rest[::2], rest[1::2], strict=True))
            stored = "Int8" if kind in ENUMERATIONS else kind
            TABLES[table][name] = 4 + 2 * int(slot), stored, float(more.get("=", 0))
            if "since" in more:
                SINCE[f"{table}.{name}"] = more["since"]


_read_enumerations()
_read_tables()

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
