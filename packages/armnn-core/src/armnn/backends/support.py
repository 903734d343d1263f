# SPDX-License-Identifier: MIT
"""A backend's answer about a layer: yes, or a reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from armnn.types import DataLayout
from armnn_backend_api.memory import printable

LONGEST_REASON: Final = 4096
"""Characters of a reason that are kept."""


@dataclass(frozen=True, slots=True)
class Support:
    """The answer; true in a condition if it is yes.

    Attributes:
        supported: Whether the backend runs the layer.
        reason: Why not, for people: what is not supported, on which input, and what is. Empty if
            supported. Control characters, line ends and bidirectional marks become escapes, as it
            is shown on terminals and in logs; of a long one the first 4096 characters are kept.
        layout: The layout in which the backend takes the layer, where it refuses it as it is or is
            faster so; None without a wish. The optimizer transposes where that pays. Since Backend
            API 1.2.
    """

    supported: bool
    reason: str = ""
    layout: DataLayout | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", printable(self.reason, LONGEST_REASON))

    def __bool__(self) -> bool:
        return self.supported

    @classmethod
    def no(cls, reason: str, layout: DataLayout | None = None) -> Support:
        """Return a refusal.

        Args:
            reason: Not empty; see the attribute.
            layout: The layout in which it would be no refusal, if there is one.

        Raises:
            ValueError: The reason is empty.
        """
        if not reason:
            raise ValueError("a refusal needs a reason")
        return cls(False, reason, layout)


SUPPORTED = Support(True)
"""The answer yes."""
