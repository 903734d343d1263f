# SPDX-License-Identifier: MIT
"""Versions of the Backend API and the compatibility rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from armnn_backend_api.__about__ import __version__

_LARGEST_NUMBER = 2**32 - 1  # both numbers cross the C ABI as uint32_t


@dataclass(frozen=True, order=True, slots=True)
class BackendVersion:
    """A Backend API version, ordered by ``major``, then ``minor``.

    A new minor only adds; a new major may change or remove. Counterpart of Arm NN's
    ``BackendVersion``.

    Attributes:
        major: from 0 to 2**32 - 1.
        minor: from 0 to 2**32 - 1.

    Raises:
        TypeError: if a number is not an ``int``.
        ValueError: if a number is out of range.
    """

    major: int
    minor: int

    def __post_init__(self) -> None:
        """Check both numbers."""
        _check_number("major", self.major)
        _check_number("minor", self.minor)

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
