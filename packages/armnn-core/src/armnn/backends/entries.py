# SPDX-License-Identifier: MIT
"""What is known of one backend that was found: the record that people and programs read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from armnn.errors import BackendUnavailableError, IncompatibleBackendError

if TYPE_CHECKING:
    from armnn_backend_api import BackendVersion


class BackendState(StrEnum):
    """How far a backend got."""

    KNOWN = "known"
    """It was found, and nothing speaks against loading it."""
    LOADED = "loaded"
    """It can be used."""
    FAILED = "failed"
    """It cannot be loaded; the reason is kept, and it is not tried again."""
    INCOMPATIBLE = "incompatible"
    """It needs a Backend API that this core does not provide."""
    BLOCKED = "blocked"
    """The user's switches keep it out; it is neither imported nor opened."""
    SHADOWED = "shadowed"
    """Another backend of the same id came first."""


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """One backend that was found.

    Attributes:
        id: Its id; for a file that was turned down, as far as it is known.
        state: How far it got.
        origin: The entry point ("package.module:attribute"), or the path of the file.
        source: Which backend source brought it; empty for a static backend.
        distribution: The distribution that it belongs to, if any.
        version: The version of the distribution.
        location: The folder that holds the distribution's metadata, if any.
        declared_range: The versions of ``armnn-backend-api`` that the distribution admits.
        api_version: The Backend API version that it needs, once that is known.
        stage: Of a file that was turned down: at which check.
        reason: Why it cannot be used, as the rest of a sentence that begins with its name.
        remedy: What to do about that.
        shadowed_by: The origin of the backend that came first.
        import_seconds: How long importing or opening it took, once it is loaded.
    """

    id: str
    state: BackendState
    origin: str
    source: str = ""
    distribution: str = ""
    version: str = ""
    location: str = ""
    declared_range: str = ""
    api_version: BackendVersion | None = None
    stage: str = ""
    reason: str = ""
    remedy: str = ""
    shadowed_by: str = ""
    import_seconds: float | None = None

    @property
    def is_static(self) -> bool:
        """Whether an entry point of an installed distribution brought it."""
        return not self.source

    @property
    def owner(self) -> str:
        """The distribution with its version, or the origin of a backend that has none."""
        return f"{self.distribution} {self.version}" if self.distribution else self.origin

    @property
    def message(self) -> str:
        """Why it cannot be used and what to do, in one sentence; empty if nothing is wrong."""
        if not self.reason:
            return ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        subject = f"Backend {self.id!r} ({self.owner})" if self.id else f"File {self.origin!r}"
        return f"{subject} {self.reason}{remedy}."

    def error(self) -> BackendUnavailableError:
        """Return a new exception that says why it cannot be used."""
        if self.state is BackendState.INCOMPATIBLE:
            return IncompatibleBackendError(self.message)
        return BackendUnavailableError(self.message)
