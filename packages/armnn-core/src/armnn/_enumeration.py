# SPDX-License-Identifier: MIT
"""The base class of Arm NN's enumerations."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

from armnn._arguments import refused
from armnn._lazy import np
from armnn.errors import UnknownNameError

_MOST_LISTED = 12  # members: of more, a message that knows which one was meant lists none


class ArmnnEnum(IntEnum):
    """An integer enumeration whose members carry Arm NN's spelling."""

    arm_name: str
    since: tuple[int, int]

    def __new__(cls, value: int, arm_name: str, since: tuple[int, int] = (1, 0)) -> Self:
        """Make a member with its Arm NN spelling and version."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.arm_name = arm_name
        member.since = since
        return member

    @classmethod
    def from_arm_name(cls, arm_name: str) -> Self:
        """Return the member that Arm NN spells ``arm_name``.

        Raises:
            UnknownNameError: There is none; it is a KeyError.
        """
        for member in cls:
            if member.arm_name == arm_name:
                return member
        raise UnknownNameError(f"there is no {cls.__name__} {arm_name!r}{cls._hint(arm_name)}")

    @classmethod
    def of(cls, value: object, what: str = "") -> Self:
        """Return the member of a member, a name or number.

        A name is ``arm_name`` or Python's, exactly: "Max" or "MAX". A number is an ``int`` or a
        NumPy integer, not ``True``, and not a member of another enumeration.

        Args:
            value: The member, its name or its number.
            what: What the message calls it.

        Raises:
            InvalidArgumentError: None is meant; the message lists the names.
        """
        found = value if isinstance(value, cls) else cls._meant_by(value)
        if found is None:
            hint, names = cls._hint(value), cls._listed()
            if hint and len(cls) > _MOST_LISTED:
                names = f"a member of {cls.__name__}"
            raise refused(what or f"the {cls.__name__}", value, f"{names}{hint}")
        return found

    @classmethod
    def _meant_by(cls, value: object) -> Self | None:
        if isinstance(value, str):
            return next((each for each in cls if value in (each.arm_name, each.name)), None)
        if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, IntEnum)):
            return next((each for each in cls if each.value == value), None)
        return None

    @classmethod
    def _listed(cls) -> str:
        return f"one of {', '.join(each.arm_name for each in cls)}"

    @classmethod
    def _hint(cls, value: object) -> str:
        """Return a message's rest: the name probably meant."""
        if not isinstance(value, str):
            return ""
        names = {name: each.arm_name for each in cls for name in (each.name, each.arm_name)}
        from armnn._spelling import closest  # late: only messages need it

        close = closest(value, names, 0.6)
        return f"; did you mean {names[close]!r}?" if close else ""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        """Let the enumeration be called with what :meth:`of` takes."""
        return cls.of(value)
