# SPDX-License-Identifier: MIT
"""The parameters of a layer: frozen, hashable, checked.

:mod:`armnn.arguments` has the rule of conversion; here is the way from the annotation of a field
to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar, dataclass_transform

from armnn.arguments import flag, integer, items, number, refused, text
from armnn.errors import InvalidArgumentError
from armnn.types import ArmnnEnum

Converter: TypeAlias = "Callable[[Any, str], Any]"
"""From a value, and what a message calls it, to the value that a descriptor keeps.

It raises InvalidArgumentError for a value of another kind.
"""


Parameter: TypeAlias = "tuple[str, Any, Converter, str]"
"""One field of a kind of descriptor.

These are its name; its default value, which is of the declared type; what makes another value fit
that type; and what a message calls it.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The range of a parameter; see :func:`armnn.layers.parameter`."""

    at_least: float | None = None
    at_most: float | None = None
    one_of: Sequence[object] | None = None

    def check(self, value: Any, what: str) -> None:
        """Check that a value is in the range.

        Raises:
            InvalidArgumentError: It is not.
        """
        is_bounded_below = self.at_least is not None and self.at_most is None and not self.one_of
        if is_bounded_below and type(value) is int and value >= (self.at_least or 0):
            return  # as most are
        expected = ""
        if self.one_of is not None and value not in self.one_of:
            expected = f"one of {', '.join(map(_spelled, self.one_of))}"
        # NaN is not at least anything.
        elif self.at_least is not None and not all(n >= self.at_least for n in _numbers(value)):
            expected = f"at least {self.at_least}"
        elif self.at_most is not None and value > self.at_most:
            expected = f"at most {self.at_most}"
        if expected:
            raise InvalidArgumentError(f"{what} is {_spelled(value)}, expected {expected}")


def _numbers(value: Any) -> list[float]:
    if isinstance(value, tuple):
        return [number for item in value for number in _numbers(item)]
    return [value]


def _spelled(value: object) -> str:
    return str(getattr(value, "arm_name", repr(value)))


def parameters_of(kind: type[Any]) -> tuple[Parameter, ...]:
    """Return a descriptor kind's parameters, made on first use.

    Raises:
        TypeError: A field has a type that no parameter has.
    """
    known = _known.get(kind)
    if known is None:
        known = _known[kind] = tuple(
            (
                field.name,
                field.default,
                _limited(
                    _converter(str(field.type), enumeration_of(field.default)),
                    field.metadata.get("limits", Limits()),
                ),
                f"{kind.__name__}: the parameter {field.name!r}",
            )
            for field in fields(kind)
        )
    return known


_known: dict[type[Any], tuple[Parameter, ...]] = {}


def enumeration_of(default: object) -> type[ArmnnEnum] | None:
    """Return the enumeration of a default value, or of several."""
    first = default[0] if isinstance(default, tuple) and default else default
    return type(first) if isinstance(first, ArmnnEnum) else None


def _converter(annotation: str, enumeration: type[ArmnnEnum] | None) -> Converter:
    """Return the converter for a declared type.

    The type is a number, a member, a text, or a tuple.
    """
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if annotation.startswith("tuple[") and annotation.endswith(", ...]"):
        element = annotation.removeprefix("tuple[").removesuffix(", ...]")
        return _several(_converter(element, enumeration), _PLURALS.get(element, element))
    if enumeration is not None and enumeration.__name__ == annotation:
        return enumeration.of
    raise TypeError(
        f"a parameter of a layer cannot be {annotation}: expected int, float, bool, str, the "
        "enumeration of its default, a pair of int, or a tuple of any number of these"
    )


def _limited(convert: Converter, limits: Limits) -> Converter:
    if limits == Limits():
        return convert

    def converted(value: Any, what: str) -> Any:
        made = convert(value, what)
        limits.check(made, what)
        return made

    return converted


def _several(convert: Converter, elements: str) -> Converter:
    expected = f"a list of {elements}"

    def converted(value: Any, what: str) -> tuple[Any, ...]:
        listed = items(value, what, expected)
        try:
            return tuple([convert(item, what) for item in listed])
        except InvalidArgumentError:
            for index, item in enumerate(listed):  # once more, to say which one it is
                convert(item, f"{what}, element {index},")
            raise

    return converted


def _pair(value: Any, what: str) -> tuple[int, int]:
    pair = items(value, what, _EXPECTED_PAIR)
    if len(pair) != 2:
        raise refused(what, value, _EXPECTED_PAIR)
    return integer(pair[0], what), integer(pair[1], what)


_EXPECTED_PAIR = "a pair (before, after) of whole numbers"

_SIMPLE: dict[str, Converter] = {
    "int": integer,
    "float": number,
    "bool": flag,
    "str": text,
    "tuple[int, int]": _pair,
}

_PLURALS = {
    "int": "whole numbers",
    "float": "numbers",
    "bool": "flags",
    "str": "texts",
    "tuple[int, int]": "pairs (before, after)",
}


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
    """Return a function that returns the parameters of a descriptor."""
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


Pairs: TypeAlias = tuple[tuple[int, int], ...]

_SIDES = {
    "x": ("pad_left", "pad_right"),
    "y": ("pad_top", "pad_bottom"),
    "z": ("pad_front", "pad_back"),
}


class WindowDescriptor(Descriptor):
    """A layer with windows in two or three dimensions."""

    __slots__ = ()

    spatial_axes: ClassVar[str] = "yx"
    """The last letters of its parameters, depth (if any) and height first."""

    @property
    def padding(self) -> Pairs:
        """The padding (before, after) of each spatial axis.

        A transposed convolution takes it off its output.
        """
        sides = [_SIDES[axis] for axis in self.spatial_axes]
        return tuple([(getattr(self, before), getattr(self, after)) for before, after in sides])

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride along each spatial axis."""
        return tuple([getattr(self, f"stride_{axis}") for axis in self.spatial_axes])

    @property
    def dilations(self) -> tuple[int, ...]:
        """The dilation along each spatial axis."""
        return tuple([getattr(self, f"dilation_{axis}") for axis in self.spatial_axes])
