# SPDX-License-Identifier: MIT
"""Parameters, options and arrays as values of the C interface."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.memory import address_of
from armnn.backends.options import OptionValue
from armnn.types import DataType
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, word

if TYPE_CHECKING:
    from armnn.layers import Descriptor

_OLDEST: Final = (1, 0)
_MOST_DIGITS: Final = 18  # of an integer; of more digits it is a float
_NUMBER: Final = r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?"
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6  # DLDataTypeCode
_CODES: Final = {"i": _INT, "u": _UINT, "f": _FLOAT, "b": _BOOL}


def attributes_of(descriptor: Descriptor, version: BackendVersion, arena: Arena) -> Any:
    """Return a layer's attributes for a backend of that version.

    A younger field has its default value here (the layer is not offered otherwise), which is what a
    backend does that does not know the field. What the attributes point to lives in the arena.
    """
    attributes = unfilled_attributes(descriptor, version, arena)
    for attribute, elements in zip(attributes, elements_of(descriptor, version), strict=True):
        attribute.data = arena.elements(attribute.type, elements)
    return attributes


def unfilled_attributes(descriptor: Descriptor, version: BackendVersion, arena: Arena) -> Any:
    """Return a layer's attributes without their data."""
    fields = known_fields(type(descriptor), version)
    attributes = arena.structs(abi.Attribute, len(fields))
    counts = map(len, elements_of(descriptor, version))
    for attribute, count, (name, minor, kind) in zip(attributes, counts, fields, strict=True):
        attribute.name = word(name)
        attribute.since_minor = minor
        attribute.type = kind
        attribute.count = count
    return attributes


def elements_of(descriptor: Descriptor, version: BackendVersion) -> list[tuple[Any, ...]]:
    """Return the elements of each attribute, in their order."""
    fields = known_fields(type(descriptor), version)
    return [flattened(getattr(descriptor, name)) for name, _, _ in fields]


def known_fields(
    kind: type[Descriptor], version: BackendVersion
) -> tuple[tuple[str, int, int], ...]:
    """Return name, minor version and type of known fields."""
    key = (kind, version)
    if key not in _known_fields:
        _known_fields[key] = tuple(
            (field.name, since[1], attribute_type(str(field.type)))
            for field in fields(kind)
            if (since := field.metadata.get("since", _OLDEST)) <= (version.major, version.minor)
        )
    return _known_fields[key]


_known_fields: dict[tuple[type[Descriptor], BackendVersion], tuple[tuple[str, int, int], ...]] = {}


def attribute_type(annotation: str) -> int:
    """Return a descriptor field's attribute type, from its declared type.

    The value will not do: 1 is a float in a field of floats, and an empty tuple says nothing.
    """
    if annotation == "str":
        return abi.ATTRIBUTE_STRING
    return abi.ATTRIBUTE_FLOAT64 if "float" in annotation else abi.ATTRIBUTE_INT64


def flattened(value: Any) -> tuple[Any, ...]:
    """Return the elements of a value; pairs follow each other."""
    if not isinstance(value, tuple):
        return (value,)
    for item in value:
        if isinstance(item, tuple):
            return tuple(
                n for item in value for n in (item if isinstance(item, tuple) else (item,))
            )
    return value


def value_of(text: str) -> OptionValue:
    """Return a text's value: Boolean, number or text."""
    if text in ("true", "false"):
        return text == "true"
    if not text[:1].isdecimal() and text[:1] != "-":
        return text  # as most are; compiling an expression takes longer than all else here
    digits = text.removeprefix("-")
    if len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdigit():
        return int(text)
    return float(text) if re.fullmatch(_NUMBER, text) else text


def spelling_of(value: OptionValue) -> str:
    """Return an option as text: decimal numbers, true or false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def option_array(options: Mapping[str, OptionValue], arena: Arena) -> Any:
    """Return options as ``armnn_option[]``, in the given order."""
    return arena.filled(
        abi.Option,
        (
            abi.Option(arena.text(key), arena.text(spelling_of(value)))
            for key, value in options.items()
        ),
    )


def tensor_of(array: NDArray[Any], arena: Arena, address: int | None = None) -> abi.Tensor:
    """Return an array's description.

    The array must be contiguous and stay in place. DLPack says how elements are stored: a type of
    less than eight bits takes a byte here, and what DLPack 1.0 does not know is stored as unsigned
    integers.
    """
    code, bits = _code_of(array.dtype)
    shape = arena.filled(ctypes.c_int64, array.shape)
    start = address_of(array) if address is None else address
    return abi.Tensor(start, abi.DEVICE_CPU, 0, array.ndim, code, bits, 1, shape)


@functools.cache
def _code_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return DLPack's type code, and the bits of an element."""
    is_bfloat = dtype.name == DataType.BFLOAT16.numpy_name
    code = _BFLOAT if is_bfloat else _CODES.get(dtype.kind, _UINT)
    return code, 8 * dtype.itemsize
