# SPDX-License-Identifier: MIT
"""Finds the static backends: the entry points of ``armnn.backends``, without importing any."""

from __future__ import annotations

import threading

from armnn import _metadata
from armnn._installing import reinstall_command
from armnn._metadata import only
from armnn.backends.entries import BackendEntry, BackendState
from armnn.backends.loading import FoundBackend, incompatibility
from armnn.backends.ranges import DeclaredRange, declared_range
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, __version__
from armnn_backend_api.names import VALID_ID

__all__ = ["CONTRACT", "GROUP", "only", "refresh", "static_backends"]

GROUP = "armnn.backends"
"""The entry-point group: an entry's name is the backend's id, its value a class or an instance."""

CONTRACT = "armnn-backend-api"
"""The distribution whose version is the Backend API version; backends depend on a range of it."""

_found: dict[tuple[_metadata.EntryPoint, BackendVersion], FoundBackend] = {}
_lock = threading.Lock()


def static_backends(api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the static backends, by normalised distribution name.

    They belong to the process: each call returns the same objects until :func:`refresh`.

    Args:
        api_version: The Backend API version that the core provides.
    """
    entry_points = _metadata.entry_points(GROUP)
    with _lock:
        for entry_point in entry_points:
            if (entry_point, api_version) not in _found:
                _found[entry_point, api_version] = _found_backend(entry_point, api_version)
        return tuple(_found[entry_point, api_version] for entry_point in entry_points)


def refresh() -> None:
    """Look again for what is installed: a new backend is found, a repaired one gets a new chance.

    Backends that are loaded stay as they are.
    """
    _metadata.refresh()
    with _lock:
        for key, found in tuple(_found.items()):
            if found.entry.state is not BackendState.LOADED:
                del _found[key]


def _found_backend(entry_point: _metadata.EntryPoint, api_version: BackendVersion) -> FoundBackend:
    distribution = entry_point.distribution
    declared = declared_range(distribution.requires, CONTRACT)
    state, reason, remedy = _verdict(entry_point, declared, api_version)
    entry = BackendEntry(
        id=entry_point.name,
        state=state,
        origin=entry_point.value,
        distribution=distribution.name,
        version=distribution.version,
        location=distribution.location,
        declared_range="" if declared is None else str(declared),
        reason=reason,
        remedy=remedy,
    )
    path = entry_point.file if state is BackendState.KNOWN else None
    audited = (entry.id, path or entry_point.value, None)
    return FoundBackend(entry, entry_point.load, api_version, audited)


def _verdict(
    entry_point: _metadata.EntryPoint, declared: DeclaredRange | None, api_version: BackendVersion
) -> tuple[BackendState, str, str]:
    """Return the state, the reason and the remedy, from what is known without an import."""
    distribution = entry_point.distribution
    if not VALID_ID.fullmatch(entry_point.name):
        return (
            BackendState.FAILED,
            "has no valid id: expected letters and digits",
            f"tell the authors of {distribution.name}",
        )
    if entry_point.is_stale:
        reason = (
            f"is not there: its module {entry_point.module!r} does not exist, so the metadata in "
            f"{distribution.location} is stale"
        )
        remedy = f"run {reinstall_command(distribution.name)}, or remove that metadata"
        return BackendState.FAILED, reason, remedy
    if declared is not None and not declared.admits(_provided(api_version)):
        reason, remedy = incompatibility(
            distribution.name,
            str(declared),
            api_version,
            core_is_older=declared.begins_after(_provided(api_version)),
        )
        return BackendState.INCOMPATIBLE, reason, remedy
    return BackendState.KNOWN, "", ""


def _provided(api_version: BackendVersion) -> str:
    """Return the version of the contract's distribution that stands for a Backend API version."""
    return __version__ if api_version == BACKEND_API_VERSION else f"{api_version}.0"
