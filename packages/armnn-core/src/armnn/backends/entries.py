# SPDX-License-Identifier: MIT
"""Entries: what is known of each backend that was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from armnn._arguments import closest
from armnn._installing import BACKENDS, USUAL, install_command
from armnn.errors import BackendUnavailableError, IncompatibleBackendError, UnknownBackendError
from armnn_backend_api import BackendVersion

if TYPE_CHECKING:
    from armnn_backend_api.files import FileState

GROUP = "armnn.backends"
"""The entry-point group: an entry's name is the backend's id, its value a class or an instance."""

UNREMARKABLE_STAGES = ("name", "duplicate")
"""Where a file may be turned down without a warning: it was not meant for us, or is a link."""

LISTED_LIMIT = 8
"""Backends whose reason a message gives; 'armnn doctor' has all."""


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
        isolation: Why a worker process loads it and this one does not, as the rest of a sentence;
            empty if this process may.
        examined: The files that are mapped when it is loaded, with the state in which each was
            examined.
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
    isolation: str = ""
    examined: tuple[tuple[str, FileState], ...] = ()

    @property
    def is_static(self) -> bool:
        """Whether an entry point of an installed distribution brought it."""
        return not self.source

    @property
    def is_registered(self) -> bool:
        """Whether the program registered it, without a package."""
        return not (self.source or self.distribution or self.location)

    @property
    def owner(self) -> str:
        """The distribution with version, or the origin without one."""
        return f"{self.distribution} {self.version}" if self.distribution else self.origin

    @property
    def message(self) -> str:
        """The reason and the remedy in one sentence, or ""."""
        if not self.reason:
            return ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        subject = f"Backend {self.id!r} ({self.owner})" if self.id else f"File {self.origin!r}"
        return f"{subject} {self.reason}{remedy}."

    def error(self) -> BackendUnavailableError:
        """Return a new exception with the reason."""
        if self.state is BackendState.INCOMPATIBLE:
            return IncompatibleBackendError(self.message)
        return BackendUnavailableError(self.message)


def unknown_backend(backend_id: str, entries: Sequence[BackendEntry]) -> UnknownBackendError:
    """Return the error for an id that no backend has.

    Args:
        backend_id: The id that the caller named.
        entries: What was found.
    """
    known = list(dict.fromkeys(entry.id for entry in entries if entry.id))
    listed = f"known here: {', '.join(known)}" if known else "none is installed"
    meant = closest(backend_id, [*known, *BACKENDS])
    if backend_id in BACKENDS:
        remedy = f"; {_bringing(backend_id)}."
    elif meant is not None and meant not in known:
        remedy = f"; did you mean {meant!r}? {_bringing(meant)}."
    elif meant is not None:
        remedy = f"; did you mean {meant!r}?"
    else:
        remedy = "." if known else f". The usual ones: {install_command(USUAL)}."
    if not all(entry.id for entry in entries):
        remedy += " Some files were turned down: 'armnn doctor' says why."
    return UnknownBackendError(f"There is no backend {backend_id!r} ({listed}){remedy}")


def none_usable(entries: Sequence[BackendEntry]) -> BackendUnavailableError:
    """Return the error for a runtime without usable backends.

    The runtime is to choose the backends itself.

    Args:
        entries: What was found, in the states that the attempt to use them left them in.
    """
    found = [
        entry
        for entry in entries
        if entry.state is not BackendState.SHADOWED and entry.stage not in UNREMARKABLE_STAGES
    ]
    if not found:
        return BackendUnavailableError(
            f"No backend can be used, as none is installed. The usual ones: "
            f"{install_command(USUAL)}."
        )
    found.sort(key=lambda entry: bool(entry.message))  # first what only needs to be named
    reasons = [_reason(entry) for entry in found[:LISTED_LIMIT]]
    if len(found) > LISTED_LIMIT:
        reasons.append(f"{len(found) - LISTED_LIMIT} more: see 'armnn doctor'.")
    separator = "\n- " if len(reasons) > 1 else " "
    return BackendUnavailableError(separator.join(["No backend can be used:", *reasons]))


def _bringing(backend_id: str) -> str:
    distribution = BACKENDS[backend_id]
    return f"{distribution} brings it: {install_command(distribution)}"


def _reason(entry: BackendEntry) -> str:
    if entry.message:
        return entry.message
    what = "its score is 0" if entry.is_static else "it is a file in a scanned folder"
    return (
        f"Backend {entry.id!r} ({entry.owner}) is used only if it is named, as {what}; name it in "
        f"the list of backends (backends=[{entry.id!r}], --backends {entry.id})."
    )
