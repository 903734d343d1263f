# SPDX-License-Identifier: MIT
"""Numbers that record how they follow from input shapes.

A network is specialized once with such numbers as dimensions. Arithmetic on them is recorded, and
so is each decision that depends on one. For other inputs the recorded arithmetic is computed again:
if each decision falls as before, so does all that depends on these numbers alone, and the results
are the other numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

_MISSING: Final = object()


class Tape:
    """The recorded arithmetic and decisions, in order.

    Numbers are in a list that begins with the inputs; a step names its operands by their positions
    there, and plain numbers among them stay for all inputs.

    Attributes:
        values: The numbers as they are recorded.
        decided: The results of comparisons, most of which are asked for again and again.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.decided: dict[tuple[Any, ...], Any] = {}
        self._steps: dict[int, tuple[Callable[..., Any], int, int, Any]] = {}
        self._positions: dict[tuple[Any, ...], int] = {}
        self._inputs = 0
        self._script: _Script | None = None
        self._elsewhere: list[Any] = []

    def input(self, value: int) -> Any:
        """Return the number of an input; before all arithmetic."""
        self._inputs += 1
        self.values.append(value)
        return Symbolic(self, len(self.values) - 1, value)

    def has_input(self, position: int) -> bool:
        """Return whether a number is one of an input."""
        return position < self._inputs

    def apply(self, function: Callable[..., Any], *operands: object) -> Any:
        """Return a function of numbers as a symbolic one."""
        position = self._record(function, operands)
        return Symbolic(self, position, self.values[position])

    def decide(self, function: Callable[..., Any], *operands: object) -> Any:
        """Return a plain result on which something depends."""
        position = self._record(function, operands)
        self._check(position)
        return self.values[position]

    def replay(self, inputs: Sequence[int]) -> list[Any] | None:
        """Return all numbers for other inputs, None if decisions differ."""
        script = self._script
        if script is None:
            script = self._script = _Script(self._steps)
        values = self.values.copy()  # plain numbers stay as they are
        values[: len(inputs)] = inputs
        try:
            return values if script.holds(values) else None
        except (ArithmeticError, ValueError):
            return None  # computed before the decision that would have kept it from that

    def witness_value(self, position: int) -> Any:
        """Return a number for other inputs, None without one.

        These are more than twice as large, so that neither they nor, mostly, their quotients are 1,
        and equal ones are not.
        """
        found = self._elsewhere
        for place in range(len(found), position + 1):
            found.append(self._number_elsewhere(place))
        return found[position]

    def _number_elsewhere(self, place: int) -> Any:
        if place < self._inputs:
            return 2 * self.values[place] + 1 + place
        if place not in self._steps:
            return self.values[place]
        function, *operands, _ = self._steps[place]
        try:
            return function(*[self._elsewhere[each] for each in operands if each >= 0])
        except (ArithmeticError, TypeError, ValueError):
            return None

    def _record(self, function: Callable[..., Any], operands: Sequence[object]) -> int:
        places = [
            each.position if type(each) is Symbolic else self._position(each) for each in operands
        ]
        known = self._positions.get((function, *places))
        if known is not None:
            return known
        value = function(*[self.values[place] for place in places])
        position = self._append((function, *places), value)
        self._script = None
        self._steps[position] = (function, places[0], (*places, -1)[1], _MISSING)
        return position

    def _position(self, operand: object) -> int:
        """Return the place of a plain number."""
        key = (None, type(operand), operand)
        known = self._positions.get(key)
        return self._append(key, operand) if known is None else known

    def _append(self, key: tuple[Any, ...], value: object) -> int:
        self.values.append(value)
        self._positions[key] = len(self.values) - 1
        return len(self.values) - 1

    def _check(self, position: int) -> None:
        """Let a replay expect a step's present value."""
        if position < self._inputs:  # an input itself: the decision is a step of its own
            self._check(
                self._record(operator.pos, [Symbolic(self, position, self.values[position])])
            )
        elif position in self._steps:
            function, first, second, expected = self._steps[position]
            if expected is _MISSING:
                self._script = None
                self._steps[position] = (function, first, second, self.values[position])


class _Script:
    """The steps of a tape, sorted for replays.

    Arithmetic is in order. Nothing else of a replay follows from decisions, as they are expected to
    fall as before; so they are checked together, and all takes a third of the time.
    """

    def __init__(self, steps: Mapping[int, tuple[Callable[..., Any], int, int, Any]]) -> None:
        """Sort the steps: position, function, operands and expected result."""
        self._arithmetic: list[tuple[int, Callable[..., Any], int, int]] = []
        decisions: dict[Callable[..., Any], list[tuple[int, int, Any]]] = {}
        unary = {
            function: _of_two(function) for function, _, second, _ in steps.values() if second < 0
        }
        for place, (function, first, second, expected) in steps.items():
            if second < 0:
                function, second = unary[function], first
            if expected is _MISSING:
                self._arithmetic.append((place, function, first, second))
            else:
                decisions.setdefault(function, []).append((first, second, expected))
        self._decisions: list[tuple[Callable[..., Any], list[int], list[int], list[Any]]] = []
        for function, rows in decisions.items():
            firsts, seconds, expectations = map(list, zip(*rows, strict=True))
            self._decisions.append((function, firsts, seconds, expectations))

    def holds(self, values: list[Any]) -> bool:
        """Compute numbers that follow; return whether decisions do."""
        for place, function, first, second in self._arithmetic:
            values[place] = function(values[first], values[second])
        number = values.__getitem__
        return all(
            list(map(function, map(number, firsts), map(number, seconds))) == expected
            for function, firsts, seconds, expected in self._decisions
        )


def _of_two(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function that ignores a second operand."""
    return lambda operand, _: function(operand)


def _unary(function: Callable[[Any], Any]) -> Any:
    def method(self: Symbolic) -> Any:
        return self.tape.apply(function, self)

    return method


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    def method(self: Symbolic, other: object) -> Any:
        operand = _operand(other)
        return NotImplemented if operand is None else self.tape.apply(function, self, operand)

    return method


def _reflected(function: Callable[[Any, Any], Any]) -> Any:
    def method(self: Symbolic, other: object) -> Any:
        operand = _operand(other)
        return NotImplemented if operand is None else self.tape.apply(function, operand, self)

    return method


def _comparison(function: Callable[[Any, Any], Any]) -> Any:
    def method(self: Symbolic, other: object) -> Any:
        if type(other) is int:
            key: tuple[Any, ...] = function, self.position, other, None
        elif type(other) is Symbolic:
            if other.position == self.position:
                return function(self.value, self.value)
            key = function, self.position, None, other.position
        else:
            operand = _operand(other)
            return NotImplemented if operand is None else self.tape.decide(function, self, operand)
        decided = self.tape.decided
        found = decided.get(key)
        if found is None:
            found = decided[key] = self.tape.decide(function, self, other)
        return found

    return method


def _decided(function: Callable[[Any], Any]) -> Any:
    def method(self: Symbolic) -> Any:
        return self.tape.decide(function, self)

    return method


def _operand(other: object) -> object:
    if type(other) in (Symbolic, int, float, bool):
        return other
    return other.item() if isinstance(other, np.generic) else None


class Symbolic:
    """A number on a tape.

    It passes for a plain number (``isinstance(number, int)``). Where something turns it into one,
    this is a decision that is recorded. It is not a subclass of ``int``, whose number C would read
    without asking.

    Attributes:
        tape: Where its arithmetic is recorded.
        position: Its place in the numbers of the tape.
        value: The number.
    """

    __slots__ = ("position", "tape", "value")
    __array_ufunc__ = None  # NumPy leaves arithmetic with its own numbers to this class

    def __init__(self, tape: Tape, position: int, value: float) -> None:
        self.tape, self.position, self.value = tape, position, value

    @property
    def __class__(self) -> Any:
        return type(self.value)

    @__class__.setter
    def __class__(self, _kind: Any) -> None:
        raise TypeError("a symbolic number stays one")

    @property
    def is_size(self) -> bool:
        """Whether it is known to be a dimension.

        Dimensions of inputs are, and numbers that were found not to be negative.
        """
        tape = self.tape
        is_below = operator.lt, self.position, 0, None
        return tape.has_input(self.position) or tape.decided.get(is_below) is False

    def __hash__(self) -> int:
        return 0  # equality decides, and records that

    def __repr__(self) -> str:
        return repr(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    __add__, __radd__ = _binary(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul), _reflected(operator.mul)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod), _reflected(operator.mod)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _reflected(operator.truediv)
    __neg__, __abs__, __pos__ = _unary(operator.neg), _unary(abs), _unary(operator.pos)
    __floor__, __ceil__ = _unary(math.floor), _unary(math.ceil)
    __trunc__, __round__ = _unary(math.trunc), _unary(round)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __bool__, __index__ = _decided(bool), _decided(operator.index)
    __int__, __float__ = _decided(int), _decided(float)


def is_symbolic(value: object) -> bool:
    """Return whether a value is, or holds, a symbolic number."""
    if type(value) is tuple:
        for each in value:
            kind = type(each)  # asked of each dimension of each tensor: a call counts
            if kind is Symbolic or (kind is tuple and is_symbolic(each)):
                return True
        return False
    if isinstance(value, np.ndarray):
        return bool(value.dtype == object)
    return type(value) is Symbolic


def differ_for_other_shapes(one: object, other: object) -> bool:
    """Return whether numbers differ for other inputs; decide nothing.

    A caller that asks this first treats numbers as equal only if they are equal for other inputs,
    too, so it makes no difference between a batch of 1, say, and others.

    Args:
        one: A number or a tuple of them; False if neither value holds a symbolic one.
        other: Another one.
    """
    if type(one) is tuple and type(other) is tuple:
        return len(one) != len(other) or any(map(differ_for_other_shapes, one, other))
    if type(one) is not Symbolic and type(other) is not Symbolic:
        return False
    return bool(_elsewhere(one) != _elsewhere(other))


def _elsewhere(number: object) -> Any:
    return number.tape.witness_value(number.position) if type(number) is Symbolic else number


def concrete(value: Any, numbers: Sequence[Any]) -> Any:
    """Return a value with plain numbers for symbolic ones.

    Args:
        value: The value.
        numbers: The numbers of the tape, from :meth:`Tape.replay`.
    """
    if type(value) is tuple:
        return tuple([concrete(each, numbers) for each in value])
    return numbers[value.position] if type(value) is Symbolic else value


__all__ = ["Symbolic", "Tape", "concrete", "differ_for_other_shapes", "is_symbolic"]
