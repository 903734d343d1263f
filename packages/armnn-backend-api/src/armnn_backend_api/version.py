# SPDX-License-Identifier: MIT
"""Versions of the Backend API and the compatibility rule."""

from __future__ import annotations

from typing import Any, Self

from armnn_backend_api.__about__ import __version__

_LARGEST_NUMBER = 2**32 - 1  # both numbers cross the C ABI as uint32_t


class _StandardFields:
    """Attributes for ``dataclasses``, made at their first use."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        import dataclasses

        fields = [("major", "int"), ("minor", "int")]
        made = dataclasses.make_dataclass(owner.__name__, fields, frozen=True, order=True)
        return getattr(made, self._name)


class BackendVersion:
    """A Backend API version, ordered by ``major``, then ``minor``.

    A new minor only adds; a new major may change or remove. Counterpart of Arm NN's
    ``BackendVersion``. It is a frozen data class, written out: ``dataclasses`` would take a
    millisecond of each process to import and to compile its methods.

    Attributes:
        major: from 0 to 2**32 - 1.
        minor: from 0 to 2**32 - 1.

    Raises:
        TypeError: if a number is not an ``int``.
        ValueError: if a number is out of range.
    """

    __slots__ = ("major", "minor")
    __match_args__ = ("major", "minor")
    __dataclass_fields__ = _StandardFields()
    __dataclass_params__ = _StandardFields()

    major: int
    minor: int

    def __init__(self, major: int, minor: int) -> None:
        _check_number("major", major)
        _check_number("minor", minor)
        self.__setstate__([major, minor])

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> list[int]:
        return [self.major, self.minor]

    def __setstate__(self, state: list[int]) -> None:
        for name, number in zip(self.__slots__, state, strict=True):
            object.__setattr__(self, name, number)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BackendVersion) or type(other) is not type(self):
            return NotImplemented
        return (self.major, self.minor) == (other.major, other.minor)

    def __lt__(self, other: Self) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.major, self.minor) < (other.major, other.minor)

    def __le__(self, other: Self) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.major, self.minor) <= (other.major, other.minor)

    def __gt__(self, other: Self) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.major, self.minor) > (other.major, other.minor)

    def __ge__(self, other: Self) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.major, self.minor) >= (other.major, other.minor)

    def __hash__(self) -> int:
        return hash((self.major, self.minor))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}(major={self.major!r}, minor={self.minor!r})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a version written as ``"<major>.<minor>"``, for example ``"1.0"``.

        Raises:
            ValueError: if the text is anything else, including signs, spaces, leading zeros and a
                third number.
        """
        numbers = text.split(".")
        if len(numbers) != 2 or not all(map(_is_plain, numbers)):
            raise ValueError(
                f"Cannot read a Backend API version: got {text!r}, expected '<major>.<minor>' such "
                f"as '1.0'."
            )
        return cls(int(numbers[0]), int(numbers[1]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def is_compatible(backend: BackendVersion, core: BackendVersion) -> bool:
    """Return whether a backend works with a core.

    Args:
        backend: the version that the backend needs, as it declares it.
        core: the version that the core provides.

    Returns:
        True if the majors are equal and the backend's minor does not exceed the core's: within a
        major, what an older minor promised still holds. The rule is Arm NN's.
    """
    return backend.major == core.major and backend.minor <= core.minor


def _is_plain(number: str) -> bool:
    """Return whether a text is digits without leading zeros."""
    return number.isascii() and number.isdigit() and (number == "0" or number[0] != "0")


def _check_number(field: str, number: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"BackendVersion field {field!r}: got {number!r}, expected an int.")
    if not 0 <= number <= _LARGEST_NUMBER:
        raise ValueError(
            f"BackendVersion field {field!r}: got {number!r}, expected 0 to {_LARGEST_NUMBER}."
        )


# This distribution's version is <major>.<minor>.<patch>, and its first two numbers are the API's.
BACKEND_API_VERSION = BackendVersion.parse(__version__.rpartition(".")[0])
