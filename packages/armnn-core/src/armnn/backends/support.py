# SPDX-License-Identifier: MIT
"""A backend's answer about a layer: yes, or a reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Support:
    """The answer; true in a condition if it is yes.

    Attributes:
        supported: Whether the backend runs the layer.
        reason: Why not, for people: what is not supported, on which input, and what is. Empty if
            supported.
    """

    supported: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.supported

    @classmethod
    def no(cls, reason: str) -> Support:
        """Return a refusal.

        Raises:
            ValueError: The reason is empty.
        """
        if not reason:
            raise ValueError("a refusal needs a reason")
        return cls(False, reason)


SUPPORTED = Support(True)
"""The answer yes."""
