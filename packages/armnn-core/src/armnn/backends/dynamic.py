# SPDX-License-Identifier: MIT
"""Finds the dynamic backends of one registry: asks the backend sources, without loading any."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from armnn.backends.entries import BackendEntry, BackendState
from armnn.backends.loading import FoundBackend, describe_error, incompatibility
from armnn.backends.sources import UNREMARKABLE_STAGES, sources_for
from armnn.errors import BackendUnavailableError
from armnn_backend_api import is_compatible
from armnn_backend_api.names import VALID_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.backends.base import CreationOptions
    from armnn.backends.locking import Lock
    from armnn.backends.sources import FoundSource, SourceRecord
    from armnn_backend_api import BackendVersion

_log = logging.getLogger(__name__)


def dynamic_backends(
    options: CreationOptions, api_version: BackendVersion, owner: object, locked: Lock | None = None
) -> Iterator[FoundBackend]:
    """Yield what the sources find, in their order; what cannot be used is logged.

    Args:
        options: What to scan.
        api_version: The Backend API version that the core provides.
        owner: What the backends will belong to.
        locked: What may be loaded; None for anything.

    Raises:
        BackendUnavailableError: ``dynamic_backends_path`` was given and cannot be scanned.
    """
    for source in sources_for(options):
        for record in _locked_or_refused(_scan(source, options), locked):
            entry = _entry(source, record, api_version)
            obtain = functools.partial(source.source.load, record, owner)
            audited = (record.noted_id, record.path, record.sha256)
            found = FoundBackend(entry, obtain, api_version, audited)
            if not found.may_load and record.stage not in UNREMARKABLE_STAGES:
                found.warn_once()
            yield found


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
    """Yield the records; a source that does not heed the lock file itself changes nothing."""
    for record in records:
        reason, remedy = "", ""
        if locked is not None and not record.reason:
            reason, remedy = locked.refusal_of_file(record.path, record.sha256)
        yield replace(record, stage="lock", reason=reason, remedy=remedy) if reason else record


def _entry(source: FoundSource, record: SourceRecord, api_version: BackendVersion) -> BackendEntry:
    state, stage, reason, remedy = _verdict(record, api_version)
    return BackendEntry(
        id=record.id,
        state=state,
        origin=record.path,
        source=source.name,
        distribution=record.distribution,
        version=record.version,
        api_version=record.api_version,
        stage=stage,
        reason=reason,
        remedy=remedy,
    )


def _verdict(
    record: SourceRecord, api_version: BackendVersion
) -> tuple[BackendState, str, str, str]:
    """Return the state, the stage, the reason and the remedy, from what is known unopened."""
    if record.reason:
        return BackendState.FAILED, record.stage, record.reason, record.remedy
    if not VALID_ID.fullmatch(record.id):
        return (
            BackendState.FAILED,
            "id",
            "has no valid id: expected letters and digits",
            "tell its authors",
        )
    needed = record.api_version
    if needed is not None and not is_compatible(needed, api_version):
        reason, remedy = incompatibility(
            record.distribution,
            str(needed),
            api_version,
            core_is_older=needed > api_version,
        )
        return BackendState.INCOMPATIBLE, "version", reason, remedy
    return BackendState.KNOWN, "", "", ""
