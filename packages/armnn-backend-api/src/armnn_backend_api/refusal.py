# SPDX-License-Identifier: MIT
"""Why a backend or its file is not used: stage, reason and remedy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from typing import TypeVar

    class _Record(Protocol):
        """A data class with the three texts of a refusal."""

        __dataclass_fields__: ClassVar[dict[str, Any]]

        @property
        def stage(self) -> str: ...
        @property
        def reason(self) -> str: ...
        @property
        def remedy(self) -> str: ...

    _R = TypeVar("_R", bound=_Record)

__all__ = ["Refusal", "RefusedError", "refused"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not used, if anything speaks against it.

    Attributes:
        stage: At which check it was refused, "elf" for one; empty if that has no name.
        reason: Why, as the rest of a sentence that begins with its name; empty if nothing speaks
            against it.
        remedy: The advice, as an imperative; empty if there is none.
    """

    stage: str = ""
    reason: str = ""
    remedy: str = ""


class RefusedError(Exception):
    """A backend or its file does not pass a check.

    Attributes:
        refusal: At which check, why, and what to do.
    """

    def __init__(self, stage: str, reason: str, remedy: str = "") -> None:
        super().__init__(stage, reason, remedy)
        self.refusal = Refusal(stage, reason, remedy)

    def __str__(self) -> str:
        return self.refusal.reason


def refused(record: _R, by: _Record) -> _R:
    """Return a copy of a record with the stage, reason and remedy of a refusal.

    Args:
        record: A data class with fields of these names, such as ``armnn.backends.BackendEntry``.
        by: A :class:`Refusal`, or another record.
    """
    return replace(record, stage=by.stage, reason=by.reason, remedy=by.remedy)
