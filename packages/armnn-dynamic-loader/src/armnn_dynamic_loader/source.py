# SPDX-License-Identifier: MIT
"""The backend source ``dynamic``: folders to records, records to backends."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from armnn.backends import (
    Backend,
    BackendEntry,
    BackendSource,
    BackendState,
    CreationOptions,
    SourceRecord,
)
from armnn.backends.crashes import CrashRecord, crash_records, forget_crash, noted_load
from armnn.backends.locking import Lock, sha256_of
from armnn.backends.native import NativeBackend, NativeLibrary, NativeLoadError, trial_load
from armnn.backends.sources import LOAD_EVENT, SearchedFolder, Selection, describe_error
from armnn.errors import BackendUnavailableError
from armnn_backend_api.files import change_in
from armnn_backend_api.linker import (
    LinkedNames,
    LinkError,
    Namesake,
    linked_names,
    namesake_in_process,
    namesake_of_files,
)
from armnn_backend_api.refusal import Refusal, refused
from armnn_dynamic_loader.files import VENDOR, FileRecord, examine_folders
from armnn_dynamic_loader.folders import search_path, warn_of
from armnn_dynamic_loader.lint import lint_file
from armnn_dynamic_loader.probe import Outcome, try_out, try_out_beside
from armnn_dynamic_loader.probe_cache import ProbeCache, cache_file

HASH_BUDGET: Final = 1 << 31
"""Bytes that a start reads of files whose outcomes are not known, or that must be locked."""

_log = logging.getLogger(__name__)
_one_at_a_time: Final = threading.Lock()
"""Two runtimes that are made at once must not try the same files out twice."""


class _ChangedFileError(BackendUnavailableError):
    """A file changed after it was examined.

    The core reads the attributes from the error.
    """

    stage = "file"
    remedy = "make a new runtime"


class DynamicBackends(BackendSource):
    """Backends that are files named ``<vendor>_<name>_backend.so[.version]``."""

    def folders(self, options: CreationOptions) -> Sequence[SearchedFolder]:
        """Return all folders; those not scanned have a reason."""
        return search_path(options)

    def files(self, options: CreationOptions) -> Sequence[str]:
        """Return the files that pass the checks which open nothing.

        The libraries that are mapped with each follow it, but for those of the system.
        """
        records = [r for r in examine_folders(search_path(options)) if r.passed_static_checks]
        files = [path for r in records for path in (r.path, *(each.path for each in r.needed))]
        return list(dict.fromkeys(files))

    def scan(self, options: CreationOptions) -> Sequence[SourceRecord]:
        """Return a record for each file, in order of precedence."""
        folders = search_path(options)
        warn_of(folders)
        gate = _Gate(
            options, crash_records(functools.partial(trial_load, seconds=options.probe_timeout))
        )
        records = [gate.checked(record) for record in examine_folders(folders)]
        if options.probe == "off":  # without an id, a file is opened here: see open_library
            records = [
                _opened(r, gate) if r.passed_static_checks and not r.id else r for r in records
            ]
            return _apart(list(map(_apart_from_process, records)), gate)
        return _apart(_tried_out(list(map(_apart_from_process, records)), gate, options), gate)

    def load(self, record: SourceRecord, runtime: object) -> Backend:  # noqa: ARG002  # all share the file
        """Open a file and return its backend.

        Any number of runtimes may do so.

        Raises:
            BackendUnavailableError: The file has changed since it was examined, or is gone.
            NativeLoadError: It cannot be used.
        """
        is_ours = isinstance(record, FileRecord) and record.state is not None
        change = change_in(record.examined) if is_ours else f"{record.path!r} was not examined"
        if change:
            raise _ChangedFileError(change)
        with noted_load(record.path):
            library = NativeLibrary.open(record.path, id=record.id)
        library.is_dropped_file = True
        return NativeBackend(library)

    def lint(self, path: str) -> Sequence[str]:
        """Return a file's defects, read from its ELF structure.

        Nothing of it is run.
        """
        return lint_file(path)


def _apart_from_process(record: FileRecord) -> FileRecord:
    """Return the record, isolated if this process has a library with a name of its libraries."""
    if not record.passed_static_checks or record.isolation:
        return record
    try:
        namesake = namesake_in_process(record.path)
    except (LinkError, OSError):
        return record
    if namesake is None:
        return record
    return _isolated(record, namesake, f"this process has {namesake.got!r}")


def _apart(records: Sequence[FileRecord], gate: _Gate) -> list[FileRecord]:
    """Return the records, isolated where an earlier file has a library of the same name.

    Which of two is loaded first does not matter: neither must get the other's library.
    """
    found: list[FileRecord] = []
    here: list[tuple[FileRecord, LinkedNames]] = []
    for record in records:
        if record.passed_static_checks and not record.isolation and not gate.is_elsewhere(record):
            try:
                names = linked_names(record.path)
            except (LinkError, OSError):  # it has changed meanwhile, and is not loaded
                found.append(record)
                continue
            for other, others in here:
                namesake = namesake_of_files(names, others)
                mirrored = None if namesake else namesake_of_files(others, names)
                if mirrored is not None:
                    namesake = Namesake(mirrored.name, mirrored.got, mirrored.expected)
                if namesake is not None:
                    what = f"{other.path!r} has {namesake.got or 'none'!r}"
                    record = _isolated(record, namesake, what)
                    break
            else:
                here.append((record, names))
        found.append(record)
    return found


def _isolated(record: FileRecord, namesake: Namesake, other: str) -> FileRecord:
    """Return the record of a file, to be isolated from a library."""
    what = (
        f"is linked with {namesake.expected or 'nothing'!r}, but {other} of the same name "
        f"{namesake.name!r}, and a process maps one of them only"
    )
    _log.warning(
        "%r %s; it runs in a worker process. Give one of them another name (-Wl,-soname), or link "
        "it statically.",
        record.path,
        what,
    )
    return replace(record, isolation=what)


class _Gate:
    """The lock file, switches and audit hooks that permit runs."""

    def __init__(self, options: CreationOptions, crashes: Mapping[str, CrashRecord]) -> None:
        self._crashes = {} if options.probe == "again" else crashes
        if options.probe == "again":
            for path in crashes:
                forget_crash(path)
        self._lock = Lock.of(options)
        self._isolate = options.isolate
        self._selection = Selection.of(options)
        self._is_probing = options.probe != "off"
        self._hash_budget = HASH_BUDGET

    def checked(self, record: FileRecord) -> FileRecord:
        """Return the record, refused if the file must not run.

        It has the file's sha256 if that is known.
        """
        if not record.passed_static_checks:
            return record
        crash = self._crashes.get(record.path)
        if crash is not None:
            record = self._isolated_after(record, crash)
            if not record.passed_static_checks:
                return record
        if not record.id and not self._is_probing and self._selection.is_by_id:
            return refused(
                record,
                Refusal(
                    "note",
                    "has no note that says its id, so it cannot be told whether it may be opened",
                    "tell its vendor to add ARMNN_BACKEND_NOTE, or leave the probe on",
                ),
            )
        if self._lock is None:
            return record
        record = self.hashed(record)
        if not record.passed_static_checks:
            return record
        reason, remedy = self._lock.refusal_of_file(record.path, record.sha256)
        if reason:
            return refused(record, Refusal("lock", reason, remedy))
        for each in record.needed:
            reason, remedy = self._lock.refusal_of_file(each.path, each.sha256)
            if reason:
                reason = f"is linked with {each.path!r}, which {reason}"
                return refused(record, Refusal("lock", reason, remedy))
        return record

    def _isolated_after(self, record: FileRecord, crash: CrashRecord) -> FileRecord:
        """Return the record of a file, to be isolated."""
        what = f"took a process down while it was loaded on {crash.day}: {crash.ending}"
        if not record.id and not self._is_probing:  # only this process could ask for its id
            remedy = f"{VENDOR}, or leave the probe on: then it runs in a worker process"
            return refused(record, Refusal("load", what, remedy))
        _log.warning(
            "%r %s; it runs in a worker process until it changes or 'armnn doctor --reprobe' is "
            "run.",
            record.path,
            what,
        )
        return replace(record, isolation=what)

    def hashed(self, record: FileRecord) -> FileRecord:
        """Return the record with its files' sha256, or refused."""
        if record.sha256 is None:
            digest = self._digest(record, record.path)
            if isinstance(digest, FileRecord):
                return digest
            record = replace(record, sha256=digest)
        needed = []
        for each in record.needed:
            digest = each.sha256 or self._digest(record, each.path)
            if isinstance(digest, FileRecord):
                return digest
            needed.append(each._replace(sha256=digest))
        return replace(record, needed=tuple(needed))

    def _digest(self, record: FileRecord, path: str) -> str | FileRecord:
        """Return the sha256 of a file, or the record refused."""
        try:
            size = os.stat(path).st_size
            if size > self._hash_budget:
                reason = (
                    f"was not examined: its {size >> 20} MiB exceed the {HASH_BUDGET >> 20} MiB "
                    "that a start reads of all files"
                )
                return refused(record, Refusal("file", reason, "use fewer or smaller files"))
            self._hash_budget -= size
            return sha256_of(path)
        except OSError as error:
            return refused(
                record, Refusal("file", f"cannot be read any more: {error.strerror}", "")
            )

    def is_elsewhere(self, record: FileRecord) -> bool:
        """Return whether a file is never loaded by this process."""
        wish = self._isolate
        is_isolated = record.id in wish if not isinstance(wish, str) else wish == "dynamic"
        return is_isolated or self.is_blocked(record)

    def is_blocked(self, record: FileRecord) -> bool:
        """Return whether the switches block the file's stated id."""
        entry = BackendEntry(record.id, BackendState.KNOWN, record.path, source="dynamic")
        return bool(record.id) and self._selection.refusal(entry) is not None


def _tried_out(
    records: list[FileRecord], gate: _Gate, options: CreationOptions
) -> list[FileRecord]:
    """Return the records after probing those that passed all checks."""
    with _one_at_a_time:
        is_twice = options.probe == "twice"
        cache = ProbeCache(cache_file(), is_twice=is_twice)
        outcomes: dict[str, tuple[Outcome, str]] = {}
        waiting: dict[str, FileRecord] = {}
        touched: dict[FileRecord, tuple[Outcome, str]] = {}  # in another state, of the same bytes
        for number, record in enumerate(records):
            if record.passed_static_checks and not gate.is_blocked(record):
                known = cache.find(record, options.probe_timeout)
                if known is not None and options.probe != "again":
                    outcomes[record.path] = known
                else:
                    records[number] = announced = _announced(record, gate)
                    if announced.passed_static_checks:
                        known = cache.find(announced, options.probe_timeout)
                        if known is not None and options.probe != "again":
                            touched[announced] = known
                        else:
                            waiting[record.path] = announced
        fresh = try_out(waiting, options.probe_timeout) if waiting else {}
        if is_twice and waiting:
            passed = [
                path
                for path, outcome in fresh.items()
                if not outcome.reason and not waiting[path].isolation  # never in this process
            ]
            fresh |= try_out_beside(passed, options.probe_timeout)
        found = touched | {
            waiting[path]: (outcome, waiting[path].sha256 or "") for path, outcome in fresh.items()
        }
        cache.keep(found, options.probe_timeout)
    outcomes |= {record.path: outcome for record, outcome in found.items()}
    return [
        _judged(record, *outcomes[record.path])
        if record.passed_static_checks and record.path in outcomes
        else record
        for record in records
    ]


def _announced(record: FileRecord, gate: _Gate) -> FileRecord:
    """Tell audit hooks about a run; an exception refuses it."""
    record = gate.hashed(record)
    if not record.passed_static_checks:
        return record
    try:
        sys.audit(LOAD_EVENT, record.noted_id, record.path, record.sha256)
    except Exception as error:
        reason = f"is refused by an audit hook: {describe_error(error)}"
        return refused(record, Refusal("audit", reason, "ask who set the hook"))
    return record


def _judged(record: FileRecord, outcome: Outcome, sha256: str) -> FileRecord:
    record = replace(
        record,
        id=outcome.id or record.id,
        version=outcome.version or record.version,
        api_version=outcome.api_version or record.api_version,
        sha256=record.sha256 or sha256,
    )
    if outcome.reason:
        return refused(record, Refusal(outcome.stage, outcome.reason, _remedy(record, outcome)))
    return _checked_id(record)


def _opened(record: FileRecord, gate: _Gate) -> FileRecord:
    """Return a record with the id the opened file reports.

    It is for files that the user trusts.
    """
    record = _announced(record, gate)
    if not record.passed_static_checks:
        return record
    try:
        with noted_load(record.path):
            library = NativeLibrary.open(record.path)
    except NativeLoadError as error:
        return refused(record, Refusal(error.stage, f"cannot be opened: {error.reason}", VENDOR))
    return replace(record, id=library.id, version=library.version, api_version=library.api_version)


def _checked_id(record: FileRecord) -> FileRecord:
    if record.noted_id is not None and record.noted_id != record.id:
        reason = f"calls itself {record.noted_id!r} in its note, {record.id!r} in GetBackendId"
        return refused(record, Refusal("id", reason, VENDOR))
    return record


def _remedy(record: FileRecord, outcome: Outcome) -> str:
    if outcome.is_timeout:
        return f"give it more time with probe_timeout, or {VENDOR}"
    if outcome.stage == "dlopen" and outcome.depends_on_machine:
        return f"install what it needs: 'ldd {record.path}' shows what is missing"
    if outcome.stage == "probe":
        return 'repair the Python installation, or trust the file with probe="off"'
    return VENDOR
