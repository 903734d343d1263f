# SPDX-License-Identifier: MIT
"""The Backend API in C, read from abi.toml, with layout.

The layout is that of LP64 machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCALARS = {
    "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8,
    "int32_t": 4, "int64_t": 8, "float": 4, "double": 8, "armnn_code": 4,
}  # fmt: skip
"""Size and alignment of what a field may hold besides pointers and structs."""

POINTER_SIZE = 8
HEADER_FIELD = {
    "name": "header",
    "type": "armnn_header",
    "doc": "struct_size, struct_id and ext.",
}


@dataclass(frozen=True)
class Field:
    """A field of a struct; a function pointer has ``parameters``."""

    name: str
    type: str
    doc: str
    parameters: tuple[str, ...] | None
    outs: tuple[str, ...]
    notes: tuple[str, ...]
    since: int

    @property
    def is_function(self) -> bool:
        """Whether the field may be called."""
        return self.parameters is not None or self.type.endswith("_fn")

    @property
    def spelling(self) -> str:
        """The type as C writes it, without the name."""
        if self.parameters is None:
            return self.type
        return f"{self.type} (*)({', '.join(self.parameters)})"

    @property
    def declaration(self) -> str:
        """The member as C declares it, without the semicolon."""
        if self.parameters is None:
            gap = "" if self.type.endswith("*") else " "
            return f"{self.type}{gap}{self.name}"
        gap = "" if self.type.endswith("*") else " "
        return f"{self.type}{gap}(*{self.name})({', '.join(self.parameters)})"


@dataclass(frozen=True)
class Struct:
    """A struct with all its fields, the header included."""

    name: str
    id: str
    doc: str
    fields: tuple[Field, ...]

    @property
    def growable(self) -> bool:
        """Whether later minors may append fields."""
        return bool(self.id)

    def last_field(self, minor: int) -> Field:
        """Return the last field that a minor knows."""
        return [field for field in self.fields if field.since <= minor][-1]


@dataclass(frozen=True)
class Abi:
    """Everything that abi.toml says."""

    major: int
    minor: int
    structs: tuple[Struct, ...]
    enums: tuple[dict[str, Any], ...]
    constants: tuple[dict[str, Any], ...]
    callbacks: tuple[dict[str, Any], ...]
    opaques: tuple[dict[str, Any], ...]


def read(description: dict[str, Any]) -> Abi:
    """Return the Backend API that a parsed abi.toml describes.

    Raises:
        ValueError: a struct is neither frozen nor has an id of four letters.
    """
    return Abi(
        major=description["api"]["major"],
        minor=description["api"]["minor"],
        structs=tuple(_struct(struct) for struct in description["struct"]),
        enums=tuple(description["enum"]),
        constants=tuple(description["constant"]),
        callbacks=tuple(description["callback"]),
        opaques=tuple(description["opaque"]),
    )


def _struct(row: dict[str, Any]) -> Struct:
    frozen, struct_id = row.get("frozen", False), row.get("id", "")
    if frozen == bool(struct_id) or len(struct_id) not in (0, 4):
        raise ValueError(
            f"Struct {row['name']!r}: got id {struct_id!r} and frozen {frozen!r}, expected either "
            "frozen = true or an id of four letters."
        )
    rows = row["fields"] if frozen else [HEADER_FIELD, *row["fields"]]
    return Struct(row["name"], struct_id, row["doc"], tuple(_field(field) for field in rows))


def _field(row: dict[str, Any]) -> Field:
    parameters = row.get("parameters")
    notes = [f"Owner: {row['owner']}."] if "owner" in row else []
    notes += [f"Thread: {row['thread']}."] if "thread" in row else []
    return Field(
        name=row["name"],
        type=row["returns"] if parameters is not None else row["type"],
        doc=row["doc"],
        parameters=None if parameters is None else tuple(parameters),
        outs=(row["name"],) if row.get("out", False) else tuple(row.get("outs", ())),
        notes=tuple(notes),
        since=row.get("since", 0),
    )


def layout(abi: Abi) -> dict[str, Any]:
    """Return a row per struct and enumeration.

    It has the offset and size of each field on LP64.
    """
    shapes: dict[str, tuple[int, int]] = {name: (size, size) for name, size in SCALARS.items()}
    structs: dict[str, Any] = {}
    for struct in abi.structs:
        rows: dict[str, Any] = {}
        end, widest = 0, 1
        for field in struct.fields:
            pointer = field.is_function or field.type.endswith("*")
            size, align = (POINTER_SIZE, POINTER_SIZE) if pointer else shapes[field.type]
            offset = -(-end // align) * align
            rows[field.name] = {
                "type": field.spelling, "offset": offset, "size": size, "since": field.since,
            }  # fmt: skip
            end, widest = offset + size, max(widest, align)
        size = -(-end // widest) * widest
        shapes[struct.name] = (size, widest)
        structs[struct.name] = {"id": struct.id, "size": size, "end": end, "fields": rows}
    enums = {row["name"]: {v["name"]: v["value"] for v in row["values"]} for row in abi.enums}
    callbacks = {
        row["name"]: f"{row['returns']} (*)({', '.join(row['parameters'])})"
        for row in abi.callbacks
    }
    constants = {row["name"]: row["value"] for row in abi.constants}
    return {"structs": structs, "enums": enums, "callbacks": callbacks, "constants": constants}


def breaks(old: dict[str, Any], new: dict[str, Any], minor: int) -> list[str]:
    """Return a layout's removals and changes since an earlier minor.

    Args:
        old: The layout of the earlier minor.
        new: The layout to judge.
        minor: The earlier minor; what is new must be younger.
    """
    found = []
    for kind in ("enums", "callbacks", "constants"):
        for name, row in old[kind].items():
            now = new[kind].get(name)
            kept = isinstance(row, dict) and isinstance(now, dict) and row.items() <= now.items()
            if not (kept or now == row):
                found.append(f"{name} is no longer {row!r}")
    for name, row in old["structs"].items():
        now = new["structs"].get(name)
        found += [f"{name} is gone"] if now is None else _struct_breaks(name, row, now, minor)
    return found


def _struct_breaks(name: str, old: dict[str, Any], new: dict[str, Any], minor: int) -> list[str]:
    found = []
    if old["id"] != new["id"]:
        found.append(f"{name} has the id {new['id']!r}, it was {old['id']!r}")
    for field, row in old["fields"].items():
        if new["fields"].get(field) != row:
            found.append(f"{name}.{field} is {new['fields'].get(field)!r}, it was {row!r}")
    for field, row in new["fields"].items():
        if field in old["fields"]:
            continue
        if not old["id"]:
            found.append(f"{name}.{field} is new in a frozen struct")
        elif row["since"] <= minor or row["offset"] < old["end"]:
            found.append(f"{name}.{field} is not appended by a minor above {minor}")
    return found
