# SPDX-License-Identifier: MIT
"""The parameters of a layer: frozen, hashable, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar, dataclass_transform

from armnn.errors import InvalidArgumentError
from armnn.layers._parameters import Limits, parameters_of

_T = TypeVar("_T")

Version: TypeAlias = tuple[int, int]
"""Major and minor number of the Backend API."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Descriptor:
    """The parameters of a layer, a frozen dataclass.

    Counterpart of Arm NN's ``BaseDescriptor``. Each parameter is converted to the declared type of
    its field, so that descriptors compare and hash by value, and all backends see the same:

    - a whole number for ``int``: NumPy's integers too, not ``True`` and not ``2.0``;
    - a number for ``float``: whole ones and NumPy's too, NaN and infinities included, no text;
    - ``True``, ``False``, 0 or 1 for ``bool``;
    - a member of an enumeration, its name ("Max" or "MAX") or its number;
    - a list, a tuple or an array of these for a tuple; not a single one.

    Raises:
        InvalidArgumentError: A parameter is of another kind, or outside of its range.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # every kind is a dataclass, this class is not
        __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init__(self, **parameters: Any) -> None:
        assign = object.__setattr__
        for name, default, convert, what in parameters_of(type(self)):
            value = parameters.pop(name, default)
            assign(self, name, value if value is default else convert(value, what))
        if parameters:
            raise TypeError(f"{type(self).__name__} has no parameter {', '.join(parameters)}")
        self.check()

    @classmethod
    def of(cls, **parameters: Any) -> Self:
        """Make a descriptor from whatever becomes its parameters.

        Raises:
            InvalidArgumentError: A parameter is of another kind, or outside of its range.
        """
        return cls(**parameters)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to parameter {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete parameter {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        names = (field.name for field in fields(self))
        parameters = map("{}={!r}".format, names, self._values())
        return f"{type(self).__name__}({', '.join(parameters)})"

    def __reduce__(self) -> tuple[Any, ...]:
        names = (field.name for field in fields(self))
        return _made_again, (type(self), dict(zip(names, self._values(), strict=True)))

    def _values(self) -> tuple[Any, ...]:
        return _getter_of(type(self))(self)

    def check(self) -> None:
        """Raise InvalidArgumentError if a parameter is outside of its range."""

    def require_pairs(self, name: str, count: int) -> None:
        """Check that the named parameter holds pairs of numbers.

        Args:
            name: The parameter.
            count: How many pairs.

        Raises:
            InvalidArgumentError: It does not.
        """
        value = getattr(self, name)
        if len(value) != count:
            raise InvalidArgumentError(
                f"{type(self).__name__}: the parameter {name!r} is {value!r}, expected {count} "
                "pairs (before, after)"
            )


def parameter(
    default: _T,
    *,
    since: Version | None = None,
    at_least: float | None = None,
    at_most: int | None = None,
    one_of: Sequence[object] | None = None,
) -> _T:
    """Declare a field with limits, or a younger one.

    Args:
        default: Its default value, which may be outside of the limits.
        since: The Backend API version that introduced it. A layer in which it has another value
            than ``default`` is never offered to a backend that was made for an older version.
        at_least: The least value, of each element if it has several.
        at_most: The largest value.
        one_of: The members of its enumeration that mean something here.
    """
    metadata: dict[str, Any] = {"limits": Limits(at_least, at_most, one_of)}
    if since is not None:
        metadata["since"] = since
    return field(default=default, metadata=metadata)


def descriptor(kind: type[_T]) -> type[_T]:
    """Make a class a descriptor: a dataclass with :class:`Descriptor`'s methods.

    Its methods are those of :class:`Descriptor`, not generated ones.
    """
    return dataclass(init=False, repr=False, eq=False, slots=True)(kind)


def _getter_of(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the parameters of a descriptor."""
    if kind not in _getters:
        names = [field.name for field in fields(kind)]
        _getters[kind] = (
            attrgetter(*names)
            if len(names) > 1
            else lambda descriptor: tuple([getattr(descriptor, name) for name in names])
        )
    return _getters[kind]


_getters: dict[type[Any], Callable[[Any], tuple[Any, ...]]] = {}


def _made_again(kind: type[Descriptor], parameters: dict[str, Any]) -> Descriptor:
    return kind(**parameters)


__all__ = ["Descriptor", "Version", "descriptor", "parameter"]
