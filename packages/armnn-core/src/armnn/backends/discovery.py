# SPDX-License-Identifier: MIT
"""Finds static and dynamic backends without loading any, and reads the versions they declare."""

from __future__ import annotations

import functools
import logging
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from armnn import metadata
from armnn.backends.loading import (
    GROUP,
    NAMED_GROUP,
    UNREMARKABLE_STAGES,
    BackendEntry,
    BackendState,
    FoundBackend,
    describe_error,
    incompatibility,
)
from armnn.backends.options import CreationOptions
from armnn.backends.selection import asked_by
from armnn.backends.sources import sources_for
from armnn.errors import BackendUnavailableError
from armnn.installing import reinstall_command
from armnn.metadata import only
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, __version__, is_compatible
from armnn_backend_api.names import fault_of_id
from armnn_backend_api.refusal import Refusal, refused

if TYPE_CHECKING:
    from armnn.backends.locking import Lock
    from armnn.backends.sources import FoundSource, SourceRecord

__all__ = ["CONTRACT", "GROUP", "dynamic_backends", "only", "refresh", "static_backends"]


_NAMED: Final = re.compile(r"\s*([A-Za-z0-9._-]+)\s*")
"""The name that a requirement begins with."""


def declared_range(requirements: Iterable[str], contract: str) -> SpecifierSet | None:
    """Return the versions that requirements admit, None if none of them names the contract.

    Args:
        requirements: Each as in ``Requires-Dist``; what is malformed is passed over.
        contract: The normalized name of the distribution.
    """
    found: SpecifierSet | None = None
    for text in requirements:
        named = _NAMED.match(text)
        if named is None or metadata.normalized(named[1]) != contract:
            continue
        try:
            specifier: SpecifierSet | None = SpecifierSet(text[named.end() :])
        except InvalidSpecifier:
            specifier = _conditional_range(text)
        if specifier is not None:
            found = specifier if found is None else found & specifier
    return found


def _conditional_range(requirement: str) -> SpecifierSet | None:
    """Return the versions that a requirement with more than a name and a range admits here.

    None if its marker is about another environment, or if it is malformed.
    """
    # late: the parser of markers takes 0.5 MB, and hardly any backend has one
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return None
    is_meant = parsed.marker is None or parsed.marker.evaluate({"extra": ""})
    return parsed.specifier if is_meant else None


def range_text(declared: SpecifierSet) -> str:
    """Return a range as text, lower bound first."""
    clauses = map(str, declared)
    return ",".join(sorted(clauses, key=lambda text: (text.startswith(("<", "!")), text)))


def begins_after(declared: SpecifierSet, version: str) -> bool:
    """Return whether a lower bound is above a version."""
    return any(
        Version(each.version.removesuffix(".*")) > Version(version)
        for each in declared
        if each.operator in (">=", ">", "~=", "==")
    )


CONTRACT = "armnn-backend-api"
"""The distribution whose version is the Backend API version; backends depend on a range of it."""

_log = logging.getLogger(__name__)
_found: dict[tuple[metadata.EntryPoint, BackendVersion], FoundBackend] = {}
_lock = threading.Lock()


def static_backends(api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the static backends, ordered by normalized distribution name.

    They belong to the process: each call returns the same objects until :func:`refresh`.

    Args:
        api_version: The Backend API version that the core provides.
    """
    return _found_backends(metadata.entry_points(GROUP), api_version)


def static_backends_of(backend_id: str, api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the static backends of an id only."""
    entry_points = metadata.entry_points(GROUP)
    return _found_backends([each for each in entry_points if each.name == backend_id], api_version)


def _found_backends(
    entry_points: Sequence[metadata.EntryPoint], api_version: BackendVersion
) -> tuple[FoundBackend, ...]:
    """Return the backends that these entry points name, each found once."""
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
    metadata.refresh()
    with _lock:
        for key, found in tuple(_found.items()):
            if found.entry.state is not BackendState.LOADED:
                del _found[key]


def _found_backend(entry_point: metadata.EntryPoint, api_version: BackendVersion) -> FoundBackend:
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
        declared_range="" if declared is None else range_text(declared),
        is_named_only=any(
            (each.name, each.distribution.name) == (entry_point.name, distribution.name)
            for each in metadata.entry_points(NAMED_GROUP)
        ),
    )
    return FoundBackend(
        refused(entry, refusal),
        entry_point.load,
        api_version,
        lambda: (entry_point.name, entry_point.file or entry_point.value, None),
    )


def _known_of(
    entry_point: metadata.EntryPoint, declared: SpecifierSet | None, api_version: BackendVersion
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
    if declared is not None and not declared.contains(_provided(api_version), prereleases=True):
        reason, remedy = incompatibility(
            distribution.name,
            range_text(declared),
            api_version,
            core_is_older=begins_after(declared, _provided(api_version)),
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
        options: Name the folders to scan.
        api_version: The Backend API version that the core provides.
        owner: The owner of the backends.
        locked: The files that may be loaded; None for all.

    Raises:
        BackendUnavailableError: ``dynamic_backends_path`` was given and cannot be scanned.
    """
    if not asked_by(options):
        return
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
