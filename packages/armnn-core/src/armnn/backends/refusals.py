# SPDX-License-Identifier: MIT
"""Messages of refused backends: the cause, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from armnn._installing import BACKENDS, USUAL, install_command
from armnn._spelling import closest
from armnn.backends.entries import BackendEntry, BackendState
from armnn.backends.sources import UNREMARKABLE_STAGES
from armnn.errors import BackendUnavailableError, UnknownBackendError

LISTED_LIMIT = 8
"""Backends whose reason a message gives; 'armnn doctor' has all."""


def unknown_backend(backend_id: str, entries: Sequence[BackendEntry]) -> UnknownBackendError:
    """Return the error for an id that no backend has.

    Args:
        backend_id: The id that somebody named.
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
    """Return the error for a runtime that is to choose backends itself and has none.

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
