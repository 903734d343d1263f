# SPDX-License-Identifier: MIT
"""The outcome of a probe, as judged and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from armnn_backend_api import BackendVersion
from armnn_backend_api.refusal import Refusal

VENDOR: Final = "tell its vendor"
"""The remedy for a file that only its vendor can correct."""


@dataclass(frozen=True, slots=True)
class Outcome(Refusal):
    """What came of trying a file out.

    The stage is the step that went wrong, the reason says why the file must not be loaded.

    Attributes:
        id: What GetBackendId answered; empty if it was not reached.
        api_version: The Backend API version that it needs; None if that was not reached.
        version: The backend's own version.
        is_timeout: Whether it took too long.
        depends_on_machine: Whether the same file may fare differently when something else is
            installed or plugged in.
    """

    id: str = ""
    api_version: BackendVersion | None = None
    version: str = ""
    is_timeout: bool = False
    depends_on_machine: bool = False
