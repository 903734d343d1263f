# SPDX-License-Identifier: MIT
"""The outcome of a probe, as judged and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armnn_backend_api import BackendVersion


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of trying a file out.

    Attributes:
        id: What GetBackendId answered; empty if it was not reached.
        api_version: The Backend API version that it needs; None if that was not reached.
        version: The backend's own version.
        stage: The step that went wrong; empty if none did.
        reason: Why it must not be loaded, as the rest of a sentence; empty if it may be.
        is_timeout: Whether it took too long.
        depends_on_machine: Whether the same file may fare differently when something else is
            installed or plugged in.
    """

    id: str = ""
    api_version: BackendVersion | None = None
    version: str = ""
    stage: str = ""
    reason: str = ""
    is_timeout: bool = False
    depends_on_machine: bool = False
