# SPDX-License-Identifier: MIT
"""The parameters of a layer as attributes: one per field of its descriptor, by name."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import word

if TYPE_CHECKING:
    from armnn.layers import Descriptor
    from armnn_backend_api import BackendVersion
    from armnn_backend_api.structs import Arena

_OLDEST: Final = (1, 0)


def attributes_of(descriptor: Descriptor, version: BackendVersion, arena: Arena) -> Any:
    """Return the attributes of a layer that a backend of that version knows.

    A younger field has its default value here (the layer is not offered otherwise), which is what a
    backend does that does not know the field. What the attributes point to lives in the arena.
    """
    fields = _fields(type(descriptor), version)
    attributes = arena.structs(abi.Attribute, len(fields))
    for attribute, (name, minor, kind) in zip(attributes, fields, strict=True):
        elements = _flattened(getattr(descriptor, name))
        attribute.name = word(name)
        attribute.since_minor = minor
        attribute.type = kind
        attribute.count = len(elements)
        attribute.data = arena.elements(kind, elements)
    return attributes


def _fields(kind: type[Descriptor], version: BackendVersion) -> tuple[tuple[str, int, int], ...]:
    """Return name, minor version and attribute type of each field that a backend knows."""
    key = (kind, version)
    if key not in _known_fields:
        _known_fields[key] = tuple(
            (field.name, since[1], attribute_type(str(field.type)))
            for field in dataclasses.fields(kind)
            if (since := field.metadata.get("since", _OLDEST)) <= (version.major, version.minor)
        )
    return _known_fields[key]


_known_fields: dict[tuple[type[Descriptor], BackendVersion], tuple[tuple[str, int, int], ...]] = {}


def attribute_type(annotation: str) -> int:
    """Return the attribute type of a descriptor field, by its declared type.

    The value will not do: 1 is a float in a field of floats, and an empty tuple says nothing.
    """
    if annotation == "str":
        return abi.ATTRIBUTE_STRING
    return abi.ATTRIBUTE_FLOAT64 if "float" in annotation else abi.ATTRIBUTE_INT64


def _flattened(value: Any) -> tuple[Any, ...]:
    """Return the elements of a value; pairs follow each other."""
    if not isinstance(value, tuple):
        return (value,)
    return tuple(n for item in value for n in (item if isinstance(item, tuple) else (item,)))
