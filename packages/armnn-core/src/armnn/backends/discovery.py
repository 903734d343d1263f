# SPDX-License-Identifier: MIT
"""Finds static and dynamic backends without loading any."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from armnn import _metadata
from armnn._installing import reinstall_command
from armnn._metadata import only
from armnn.backends.entries import GROUP, UNREMARKABLE_STAGES, BackendEntry, BackendState
from armnn.backends.loading import FoundBackend, describe_error, incompatibility
from armnn.backends.options import CreationOptions
from armnn.backends.ranges import DeclaredRange, declared_range
from armnn.backends.selection import asked_by
from armnn.errors import BackendUnavailableError
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, __version__, is_compatible
from armnn_backend_api.names import fault_of_id
from armnn_backend_api.refusal import Refusal, refused

if TYPE_CHECKING:
    from armnn.backends.locking import Lock
    from armnn.backends.sources import FoundSource, SourceRecord

__all__ = ["CONTRACT", "GROUP", "dynamic_backends", "only", "refresh", "static_backends"]

CONTRACT = "armnn-backend-api"
"""The distribution whose version is the Backend API version; backends depend on a range of it."""

_log = logging.getLogger(__name__)
_found: dict[tuple[_metadata.EntryPoint, BackendVersion], FoundBackend] = {}
_lock = threading.Lock()


def static_backends(api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the static backends, by normalised distribution name.

    They belong to the process: each call returns the same objects until :func:`refresh`.

    Args:
        api_version: The Backend API version that the core provides.
    """
    return _found_backends(_metadata.entry_points(GROUP), api_version)


def static_backends_of(backend_id: str, api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the static backends of an id only."""
    entry_points = _metadata.entry_points(GROUP)
    return _found_backends([each for each in entry_points if each.name == backend_id], api_version)


def _found_backends(
    entry_points: Sequence[_metadata.EntryPoint], api_version: BackendVersion
) -> tuple[FoundBackend, ...]:
    """Return what these entry points name, found once."""
    with _lock:
        for entry_point in entry_points:
            if (entry_point, api_version) not in _found:
                _found[entry_point, api_version] = _found_backend(entry_point, api_version)
        return tuple(_found[entry_point, api_version] for entry_point in entry_points)


def refresh() -> None:
    """Search installed distributions again.

    A new backend is found, a repaired one gets a new chance. Backends that are loaded stay as they
    are.
    """
    _metadata.refresh()
    with _lock:
        for key, found in tuple(_found.items()):
            if found.entry.state is not BackendState.LOADED:
                del _found[key]


def _found_backend(entry_point: _metadata.EntryPoint, api_version: BackendVersion) -> FoundBackend:
    distribution = entry_point.distribution
    declared = declared_range(distribution.requires, CONTRACT)
    state, refusal = _known_of(entry_point, declared, api_version)
    entry = BackendEntry(
        id=entry_point.name,
        state=state,
        origin=entry_point.value,
        distribution=distribution.name,
        version=distribution.version,
        location=distribution.location,
        declared_range="" if declared is None else str(declared),
    )
    return FoundBackend(
        refused(entry, refusal),
        entry_point.load,
        api_version,
        lambda: (entry_point.name, entry_point.file or entry_point.value, None),
    )


def _known_of(
    entry_point: _metadata.EntryPoint, declared: DeclaredRange | None, api_version: BackendVersion
) -> tuple[BackendState, Refusal]:
    """Return the state of a backend that is not imported, and why it cannot be used."""
    distribution = entry_point.distribution
    fault = fault_of_id(entry_point.name)
    if fault:
        reason, remedy = f"has no valid id: {fault}", f"tell the authors of {distribution.name}"
        return BackendState.FAILED, Refusal("", reason, remedy)
    if entry_point.is_stale:
        reason = (
            f"is not there: its module {entry_point.module!r} does not exist, so the metadata in "
            f"{distribution.location} is stale"
        )
        remedy = f"run {reinstall_command(distribution.name)}, or remove that metadata"
        return BackendState.FAILED, Refusal("", reason, remedy)
    if declared is not None and not declared.admits(_provided(api_version)):
        reason, remedy = incompatibility(
            distribution.name,
            str(declared),
            api_version,
            core_is_older=declared.begins_after(_provided(api_version)),
        )
        return BackendState.INCOMPATIBLE, Refusal("", reason, remedy)
    return BackendState.KNOWN, Refusal()


def _provided(api_version: BackendVersion) -> str:
    """Return the contract's distribution version for a Backend API version."""
    return __version__ if api_version == BACKEND_API_VERSION else f"{api_version}.0"


def dynamic_backends(
    options: CreationOptions, api_version: BackendVersion, owner: object, locked: Lock | None = None
) -> Iterator[FoundBackend]:
    """Yield the sources' backends in order; unusable ones are logged.

    Args:
        options: What to scan.
        api_version: The Backend API version that the core provides.
        owner: What the backends will belong to.
        locked: What may be loaded; None for anything.

    Raises:
        BackendUnavailableError: ``dynamic_backends_path`` was given and cannot be scanned.
    """
    if not asked_by(options):
        return
    from armnn.backends.sources import sources_for  # late: few processes ask for any

    for source in sources_for(options):
        for record in _locked_or_refused(_scan(source, options), locked):
            entry = _entry(source, record, api_version)
            obtain = functools.partial(source.source.load, record, owner)
            found = FoundBackend(entry, obtain, api_version, functools.partial(_audited, record))
            if not found.may_load and record.stage not in UNREMARKABLE_STAGES:
                found.warn_once()
            yield found


def _audited(record: SourceRecord) -> tuple[str | None, str, str | None]:
    return record.noted_id, record.path, record.sha256


def _scan(source: FoundSource, options: CreationOptions) -> Sequence[SourceRecord]:
    try:
        return source.source.scan(options)
    except Exception as error:
        problem = BackendUnavailableError(
            f"Backend source {source.name!r} cannot look for backends: {describe_error(error)}."
        )
        if options.dynamic_backends_path is not None:
            raise problem from error
        _log.warning("%s", problem)
        return ()


def _locked_or_refused(
    records: Sequence[SourceRecord], locked: Lock | None
) -> Iterator[SourceRecord]:
    """Yield the records, with the lock file's refusals.

    A source that ignores the lock file changes nothing.
    """
    for record in records:
        reason, remedy = "", ""
        if locked is not None and not record.reason:
            reason, remedy = locked.refusal_of_file(record.path, record.sha256)
        yield refused(record, Refusal("lock", reason, remedy)) if reason else record


def _entry(source: FoundSource, record: SourceRecord, api_version: BackendVersion) -> BackendEntry:
    state, refusal = _known_of_file(record, api_version)
    entry = BackendEntry(
        id=record.id,
        state=state,
        origin=record.path,
        source=source.name,
        distribution=record.distribution,
        version=record.version,
        api_version=record.api_version,
        isolation=record.isolation,
        examined=record.examined,
    )
    return refused(entry, refusal)


def _known_of_file(
    record: SourceRecord, api_version: BackendVersion
) -> tuple[BackendState, Refusal]:
    """Return the state of a file that is not opened, and why it cannot be used."""
    if record.reason:
        return BackendState.FAILED, Refusal(record.stage, record.reason, record.remedy)
    fault = fault_of_id(record.id)
    if fault:
        reason = f"has no valid id: {fault}"
        return BackendState.FAILED, Refusal("id", reason, "tell its authors")
    needed = record.api_version
    if needed is not None and not is_compatible(needed, api_version):
        reason, remedy = incompatibility(
            record.distribution,
            str(needed),
            api_version,
            core_is_older=needed > api_version,
        )
        refusal = Refusal("version", reason, remedy)
        return BackendState.INCOMPATIBLE, refusal
    return BackendState.KNOWN, Refusal()
