# SPDX-License-Identifier: MIT
"""Rows of C structs, packed in one go.

Assigning the fields of ctypes' structures one by one takes five times as long, and a model of a
thousand layers has ten thousand rows.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Iterable, Sequence
from operator import add
from typing import Any, Final, TypeAlias

import numpy as np

from armnn.backends.ffi.values import flattened, known_fields
from armnn.layers import Descriptor
from armnn.tensor import TensorInfo
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, word

_Field: TypeAlias = "tuple[str, tuple[int, ...], list[Any] | None]"
"""The name of a parameter, how its row begins, and the memory of its elements but texts."""

Place: TypeAlias = tuple[int, int]
"""Where elements begin in their memory, and how many they are."""

_ATTRIBUTE_BYTES: Final = ctypes.sizeof(abi.Attribute)
_QUANTIZATION_BYTES: Final = ctypes.sizeof(abi.Quantization)

_FORMATS: Final[dict[Any, str]] = {
    ctypes.c_int32: "i",
    ctypes.c_uint32: "I",
    ctypes.c_uint64: "Q",
    ctypes.c_double: "d",
    ctypes.c_void_p: "P",
}


@functools.cache
def packer(kind: type[ctypes.Structure]) -> struct.Struct:
    """Return a struct's fields, nested ones flattened, as a format."""
    made = struct.Struct(f"@{_format(kind)}0Q")  # the end is aligned as in C
    if made.size != ctypes.sizeof(kind):
        raise TypeError(f"{kind.__name__} has {ctypes.sizeof(kind)} bytes: packed {made.size}")
    return made


def _format(kind: Any) -> str:
    if issubclass(kind, ctypes.Structure):
        return "".join([_format(field[1]) for field in kind._fields_])
    return _FORMATS.get(kind, "P")  # a pointer to some type


class RowMemory:
    """What the rows of one graph point to.

    Places in it are known first, their addresses when all is there.

    Attributes:
        integers: Shapes, and attributes of integers.
        reals: Attributes of real numbers.
        indices: Of values.
    """

    def __init__(self, arena: Arena, version: BackendVersion, values: int) -> None:
        """Begin without rows.

        Args:
            arena: Owns the memory.
            version: The Backend API version of the backend that reads it.
            values: How many there are.
        """
        self._arena = arena
        self._version = version
        self._texts: list[bytes] = []
        self._text_bytes = 0
        self.integers: list[int] = []
        self.reals: list[float] = []
        self.indices: list[int] = []
        self._fields: dict[type[Descriptor], list[_Field]] = {}
        self._attributes: list[tuple[_Field, int, int]] = []
        self._quantizations = (abi.Quantization * max(values, 1))()
        self._quantized: list[tuple[int, int, int, int]] = []
        self._scales: list[float] = []
        self._zero_points: list[int] = []

    def text(self, text: str) -> Place:
        """Add a text; return its place."""
        raw = text.encode("utf-8", "replace")
        place = self._text_bytes
        self._texts.append(raw)
        self._text_bytes = place + len(raw) + 1
        return place, len(raw)

    def quantization(self, info: TensorInfo) -> int:
        """Add a quantisation; return the address of its description."""
        scheme, axis = (abi.PER_TENSOR, -1) if info.axis is None else (abi.PER_AXIS, info.axis)
        number = len(self._quantized)
        self._quantized.append((scheme, axis, len(info.scales), 4 * len(self._scales)))
        self._scales += info.scales
        self._zero_points += info.zero_points
        return ctypes.addressof(self._quantizations) + number * _QUANTIZATION_BYTES

    def attributes(self, descriptor: Descriptor) -> Place:
        """Add a descriptor's attributes; return their place, and how many."""
        fields = self._fields.get(type(descriptor))
        if fields is None:
            fields = self._fields[type(descriptor)] = self._fields_of(type(descriptor))
        first = len(self._attributes)
        for field in fields:
            value, memory = getattr(descriptor, field[0]), field[2]
            if memory is None:
                elements = flattened(value)
                place = self._arena.elements(abi.ATTRIBUTE_STRING, elements)
                count = len(elements)
            else:
                place = 8 * len(memory)
                if type(value) is tuple:
                    memory += flattened(value)
                else:
                    memory.append(value)
                count = len(memory) - place // 8
            self._attributes.append((field, count, place))
        return first * _ATTRIBUTE_BYTES, len(fields)

    def _fields_of(self, kind: type[Descriptor]) -> list[_Field]:
        header = _header_of(abi.Attribute)
        memories: dict[int, list[Any] | None] = {
            abi.ATTRIBUTE_INT64: self.integers,
            abi.ATTRIBUTE_FLOAT64: self.reals,
            abi.ATTRIBUTE_STRING: None,
        }
        return [
            (name, (*header, *word_place(name), number, minor), memories[number])
            for name, minor, number in known_fields(kind, self._version)
        ]

    def settle(self) -> None:
        """Give everything that was added its memory."""
        self.texts_at = self._hold(b"\0".join([*self._texts, b""]))
        self.integers_at = self._hold(_packed("q", self.integers))
        self.indices_at = self._hold(_packed("i", self.indices))
        reals_at = self._hold(_packed("d", self.reals))
        starts = {id(self.integers): self.integers_at, id(self.reals): reals_at, id(None): 0}
        made = (abi.Attribute * max(len(self._attributes), 1))()
        pack = packer(abi.Attribute).pack_into
        for number, ((_, prefix, memory), count, place) in enumerate(self._attributes):
            pack(made, number * _ATTRIBUTE_BYTES, *prefix, count, starts[id(memory)] + place)
        self._arena.hold(made)
        self.attributes_at = ctypes.addressof(made)
        self._settle_quantizations()

    def _settle_quantizations(self) -> None:
        with np.errstate(over="ignore"):  # what a float cannot hold becomes infinite
            scales_at = self._hold(np.array(self._scales, np.float32).tobytes())
        zero_points_at = self._hold(_packed("i", self._zero_points))
        pack = packer(abi.Quantization).pack_into
        for number, (*facts, place) in enumerate(self._quantized):
            row = (*facts, scales_at + place, zero_points_at + place)
            pack(self._quantizations, number * _QUANTIZATION_BYTES, *row)
        self._arena.hold(self._quantizations)

    def _hold(self, data: bytes) -> int:
        """Return the address of memory, never an empty one."""
        made = ctypes.create_string_buffer(data)
        self._arena.hold(made)
        return ctypes.addressof(made)

    def pack(
        self,
        kind: type[ctypes.Structure],
        rows: Sequence[Iterable[int]],
        bases: Sequence[int],
    ) -> Any:
        """Return an array of growable structs, never an empty one.

        Args:
            kind: The struct.
            rows: The fields behind the header.
            bases: What is added to each field: where the memory is in which it is a place.
        """
        made = (kind * max(len(rows), 1))()
        pack, size = packer(kind).pack_into, ctypes.sizeof(kind)
        header = _header_of(kind)
        for place, row in enumerate(rows):
            pack(made, place * size, *header, *map(add, row, bases))
        self._arena.hold(made)
        return made


def _packed(kind: str, elements: Sequence[Any]) -> bytes:
    """Return numbers as in an array of C."""
    return struct.pack(f"@{len(elements)}{kind}", *elements)


def _header_of(kind: type[ctypes.Structure]) -> tuple[int, int, int]:
    return ctypes.sizeof(kind), abi.STRUCT_IDS[kind], 0


@functools.cache
def word_place(name: str) -> Place:
    """Return where a layer type's or parameter's name is."""
    text = word(name)
    return text.data or 0, text.size
