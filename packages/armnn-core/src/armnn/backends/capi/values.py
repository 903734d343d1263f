# SPDX-License-Identifier: MIT
"""Python values as values of the C interface: parameters, options, arrays, constants."""

from __future__ import annotations

import ctypes
import functools
import itertools
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn._process_memory import give_pages_back
from armnn.backends.capi.calls import guarded
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


RELEASES_CONSTANTS: Final = "ReleasesConstants"
"""The capability by which a backend says that ``compile``, once it has dropped a constant that it
kept, does not read that one again and refuses no node."""


class _Held:
    """A constant that graphs or backends hold.

    Args:
        reference: Its number.
        array: The data as the network has it.
        let_go: Takes the data out of the network; None if it must stay as long as it is lent.

    Attributes:
        reference: Its number.
        array: The data as the network has it; None once it went.
        let_go: As given, until it was called.
        data: The memory that the tensor points to.
        arena: The rest of the tensor.
        tensor: The description of the data, which C reads.
        count: How often it is held.
    """

    __slots__ = ("arena", "array", "count", "data", "let_go", "reference", "tensor")

    def __init__(
        self, reference: int, array: NDArray[Any], let_go: Callable[[], None] | None
    ) -> None:
        self.reference, self.let_go, self.count = reference, let_go, 0
        self.array: NDArray[Any] | None = array
        dense = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        self.data: NDArray[Any] | None = dense
        self.arena = Arena()
        self.tensor = tensor_of(dense, self.arena)

    def release(self) -> None:
        """Let the data go, if it may, else its pages, if a file has them."""
        if self.let_go is not None:
            self.let_go()
            self.let_go = self.array = self.data = None
        elif self.data is not None:
            give_pages_back(self.data)


class Constants:
    """The constants that are held, by reference."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        self._numbers: dict[int, tuple[weakref.ref[NDArray[Any]], int]] = {}
        self._next_number = itertools.count(1)
        self._lock = threading.RLock()

    def lend(
        self, array: NDArray[Any], let_go: Callable[[], None] | None = None
    ) -> tuple[int, ctypes._Pointer[abi.Tensor]]:
        """Hold an array once more; return reference and description.

        Args:
            array: The constant.
            let_go: Takes it out of the network. Called when the last of those who kept it since
                drops it, if it was not held before; the array is held no longer then.
        """
        with self._lock:
            reference = self._number_of(array)
            if reference not in self._held:
                self._held[reference] = _Held(reference, array, let_go)
            self._held[reference].count += 1
            return reference, ctypes.pointer(self._held[reference].tensor)

    def let_go_by(self, reference: int, let_go: Callable[[], None] | None) -> None:
        """Set the function that takes a lent constant out, once it is known.

        It counts if no other caller holds the constant, as in :meth:`lend`.
        """
        with self._lock:
            held = self._find(reference)
            held.let_go = let_go if held.count == 1 else None

    def take_back(self, reference: int) -> None:
        """Release a lent constant; it stays for its keepers."""
        with self._lock:
            self._find(reference).let_go = None
            self.drop(reference)

    def keep(self, reference: int | None) -> None:
        """Hold a constant once more.

        Raises:
            LookupError: It is not held.
        """
        with self._lock:
            self._find(reference).count += 1

    def drop(self, reference: int | None) -> None:
        """Release a constant once.

        After the last time it may be freed, or after the last but the lender's.

        Raises:
            LookupError: It is not held.
        """
        with self._lock:
            held = self._find(reference)
            held.count -= 1
            if not held.count:
                del self._held[held.reference]
            elif held.count == 1:
                held.release()

    def _number_of(self, array: NDArray[Any]) -> int:
        """Return an array's number, which is never used again.

        Its id may be.
        """
        address = id(array)
        known = self._numbers.get(address)
        if known is not None and known[0]() is array:
            return known[1]

        def forget(dead: weakref.ref[NDArray[Any]]) -> None:
            if self._numbers.get(address, (None,))[0] is dead:
                del self._numbers[address]

        number = next(self._next_number)
        self._numbers[address] = (weakref.ref(array, forget), number)
        return number

    def __len__(self) -> int:
        return len(self._held)

    def _find(self, reference: int | None) -> _Held:
        held = None if reference is None else self._held.get(reference)
        if held is None:
            raise LookupError(f"no kept constant has reference {reference!r}")
        return held


constants: Final = Constants()
"""The constants of this process."""

KEEP: Final = abi.ConstantFn(guarded(None)(constants.keep))
DROP: Final = abi.ConstantFn(guarded(None)(constants.drop))
