# SPDX-License-Identifier: MIT
"""Lists of backends in the order of preference: ``["GpuAcc?", "CpuRef"]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from armnn._dataclasses import dataclass
from armnn.backends.places import own_id
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from armnn_backend_api.names import fault_of_id

OPTIONAL = "?"
"""The mark after the id of a backend that is skipped where it cannot be used."""


@dataclass(frozen=True, slots=True)
class SkippedBackend:
    """An unusable backend of a list that may be missing.

    Attributes:
        id: Its id.
        reason: Why it cannot be used, and what to do about that.
    """

    id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.id}: {self.reason}"

    def as_dict(self) -> dict[str, str]:
        """Return it as JSON can hold it."""
        return {"id": self.id, "reason": self.reason}


def preferences(ids: Iterable[str]) -> dict[str, bool]:
    """Return ids in order with whether each may be missing.

    An id that is also listed without the mark may not.

    Raises:
        InvalidArgumentError: Before a mark there is no valid id.
    """
    found: dict[str, bool] = {}
    for text in ids:
        backend_id, is_optional = text.removesuffix(OPTIONAL), text.endswith(OPTIONAL)
        fault = fault_of_id(own_id(backend_id)) if is_optional else ""
        if fault:
            raise InvalidArgumentError(
                f"{text!r} marks {backend_id!r} as a backend that may be missing: {fault} before "
                f"the {OPTIONAL!r}"
            )
        found[backend_id] = is_optional and found.get(backend_id, True)
    return found


def all_skipped(skipped: Sequence[SkippedBackend]) -> BackendUnavailableError:
    """Return the error for a list without a usable backend."""
    reasons = "\n- ".join(str(each) for each in skipped)
    return BackendUnavailableError(
        "No backend can be used: each of the list may be missing, and is; add one that is there, "
        f"or leave the list out\n- {reasons}"
    )
