# SPDX-License-Identifier: MIT
"""Finds static and dynamic backends without loading any, and reads the versions they declare."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from armnn import metadata
from armnn.backends.loading import (
    GROUP,
    UNREMARKABLE_STAGES,
    BackendEntry,
    BackendState,
    FoundBackend,
    describe_error,
    incompatibility,
)
from armnn.backends.options import CreationOptions
from armnn.backends.selection import asked_by
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


_OPERATORS = (">=", "<=", ">", "<")


@dataclass(frozen=True, slots=True)
class DeclaredRange:
    """A range of versions: clauses that must all hold.

    Attributes:
        clauses: Each an operator with a version, as in ``Requires-Dist``.
    """

    clauses: tuple[str, ...]

    def admits(self, version: str) -> bool:
        """Return whether a version is in the range."""
        plain = [_plain_clause(clause) for clause in self.clauses]
        if _is_plain(version) and all(plain):
            return all(_holds(version, *found) for found in plain if found)
        from packaging.specifiers import SpecifierSet  # late: slow to import, seldom needed

        return SpecifierSet(",".join(self.clauses)).contains(version, prereleases=True)

    def begins_after(self, version: str) -> bool:
        """Return whether a lower bound is above a version."""
        from packaging.specifiers import SpecifierSet  # late: for what does not fit
        from packaging.version import Version

        lower_bounds = [
            specifier.version.removesuffix(".*")
            for specifier in SpecifierSet(",".join(self.clauses))
            if specifier.operator in (">=", ">", "~=", "==")
        ]
        return any(Version(bound) > Version(version) for bound in lower_bounds)

    def __str__(self) -> str:
        """Return the range as text, lower bound first."""
        return ",".join(sorted(self.clauses, key=lambda text: (text.startswith(("<", "!")), text)))


def declared_range(requirements: Iterable[str], contract: str) -> DeclaredRange | None:
    """Return the versions admitted by requirements, None if unspecified.

    Args:
        requirements: Each as in ``Requires-Dist``; what is malformed is passed over.
        contract: The normalised name of the distribution.
    """
    clauses: dict[str, None] = {}
    says = False
    for text in requirements:
        name, rest = _named(text)
        if metadata.normalized(name) != contract:
            continue
        found = _clauses(text, rest)
        says = says or found is not None
        clauses.update(dict.fromkeys(found or ()))
    return DeclaredRange(tuple(clauses)) if says else None


def _clauses(text: str, rest: str) -> list[str] | None:
    """Return a requirement's clauses, None if malformed or inapplicable."""
    parts = [part.strip() for part in rest.split(",")]
    plain = [_plain_clause(part) for part in parts]
    if all(plain):
        return ["".join(found) for found in plain if found]
    from packaging.requirements import InvalidRequirement, Requirement  # late: slow to import

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return None
    return [str(specifier) for specifier in requirement.specifier]


def _named(requirement: str) -> tuple[str, str]:
    """Return a requirement's name and the rest."""
    text = requirement.lstrip()
    end = 0
    while end < len(text) and (text[end].isalnum() or text[end] in "_.-"):
        end += 1
    name = text[:end].rstrip(".-")
    return name, text[len(name) :]


def _plain_clause(text: str) -> tuple[str, str] | None:
    """Return a usual clause's operator and version, None of others."""
    operator = next((each for each in _OPERATORS if text.startswith(each)), "")
    version = text[len(operator) :].lstrip()
    return (operator, version) if operator and _is_plain(version) else None


def _is_plain(version: str) -> bool:
    """Return whether a version is numbers with dots between."""
    return all(number.isdecimal() for number in version.split("."))


def _holds(version: str, operator: str, bound: str) -> bool:
    ours, theirs = ([int(part) for part in text.split(".")] for text in (version, bound))
    length = max(len(ours), len(theirs))
    ours += [0] * (length - len(ours))
    theirs += [0] * (length - len(theirs))
    if operator.endswith("=") and ours == theirs:
        return True
    return ours > theirs if operator.startswith(">") else ours < theirs


CONTRACT = "armnn-backend-api"
"""The distribution whose version is the Backend API version; backends depend on a range of it."""

_log = logging.getLogger(__name__)
_found: dict[tuple[metadata.EntryPoint, BackendVersion], FoundBackend] = {}
_lock = threading.Lock()


def static_backends(api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the static backends, by normalised distribution name.

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
        declared_range="" if declared is None else str(declared),
    )
    return FoundBackend(
        refused(entry, refusal),
        entry_point.load,
        api_version,
        lambda: (entry_point.name, entry_point.file or entry_point.value, None),
    )


def _known_of(
    entry_point: metadata.EntryPoint, declared: DeclaredRange | None, api_version: BackendVersion
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
