# SPDX-License-Identifier: MIT
"""Gathers what ``armnn doctor`` shows; no defect stops it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from armnn import _metadata
from armnn.__about__ import __version__
from armnn._installing import USUAL, install_command, reinstall_command
from armnn._processor import described_processor
from armnn.backends import (
    BACKEND_API_VERSION,
    BackendEntry,
    BackendRegistry,
    BackendState,
    CreationOptions,
)
from armnn.backends.blame import blame
from armnn.backends.crashes import remembered_crashes
from armnn.backends.discovery import CONTRACT
from armnn.backends.entries import GROUP as BACKENDS_GROUP
from armnn.backends.entries import UNREMARKABLE_STAGES
from armnn.backends.journal import lost_workers
from armnn.backends.registry import MORE_IN_DOCTOR
from armnn.backends.selection import SkippedBackend, asked_by, preferences
from armnn.backends.sources import (
    SearchedFolder,
    find_source,
    installed_sources,
)
from armnn.cli.backends import as_document, load_all
from armnn.cli.compatibility import advice
from armnn.cli.environment import Variable, unknown_ids, variables
from armnn.cli.import_times import ImportTime, measure
from armnn.cli.output import printable
from armnn.cli.self_descriptions import Fact, opened_and_described
from armnn.cli.thread_pools import ThreadPool, clashes, thread_pools
from armnn.errors import ArmnnError
from armnn.parsing import installed_parsers

_DEPENDENCIES = (
    CONTRACT,
    "numpy",
    "ml-dtypes",
    "importlib-metadata",
    "packaging",
    "rich",
    "threadpoolctl",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of the diagnosis.

    Attributes:
        text: What is the matter and what to do about it.
        is_problem: Whether it is wrong, or only worth knowing.
    """

    text: str
    is_problem: bool = True


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that the doctor saw.

    Attributes:
        system: Versions and places.
        locations: The folders with installed distributions, and how many each has.
        entries: The backends.
        facts: What the backends that can be used say of themselves.
        parsers: The parsers.
        sources: The backend sources.
        dynamic: What there is for sources to do, or why nothing.
        folders: The folders that were to be scanned for dynamic backends.
        pools: The libraries with threads of their own, once every backend was loaded.
        import_times: What importing the entry points takes, if that was asked for.
        variables: Of the environment.
        findings: What is wrong or worth knowing.
        unusable: Those of the named backends that cannot be used.
        skipped: Those that cannot be used and may be missing.
    """

    system: dict[str, str]
    locations: tuple[tuple[str, int], ...]
    entries: tuple[BackendEntry, ...]
    facts: tuple[Fact, ...]
    parsers: tuple[_metadata.EntryPoint, ...]
    sources: tuple[_metadata.EntryPoint, ...]
    dynamic: str
    folders: tuple[SearchedFolder, ...]
    pools: tuple[ThreadPool, ...]
    import_times: tuple[ImportTime, ...]
    variables: tuple[Variable, ...]
    findings: tuple[Finding, ...]
    unusable: tuple[str, ...]
    skipped: tuple[SkippedBackend, ...]

    def as_document(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "system": self.system,
            "locations": [
                {"folder": folder, "distributions": count} for folder, count in self.locations
            ],
            "backends": [as_document(entry) for entry in self.entries],
            "backend_facts": [asdict(fact) for fact in self.facts],
            "parsers": [_entry_point_document(parser) for parser in self.parsers],
            "backend_sources": [_entry_point_document(source) for source in self.sources],
            "dynamic": self.dynamic,
            "folders": [asdict(folder) for folder in self.folders],
            "thread_pools": [asdict(pool) for pool in self.pools],
            "import_times": [asdict(row) for row in self.import_times],
            "environment": [asdict(variable) for variable in self.variables],
            "findings": [asdict(finding) for finding in self.findings],
            "unusable": list(self.unusable),
            "skipped": [each.as_dict() for each in self.skipped],
        }


def _lost(entries: Sequence[BackendEntry]) -> list[str]:
    """Return messages about faults of isolated backends."""
    known = {(entry.id, entry.origin) for entry in entries}
    blame()
    return [
        printable(
            f"On {each.day} {each.text}; a program that isolates the backend survives that. "
            "'armnn doctor --reprobe' forgets it."
        )
        for each in lost_workers()
        if (each.backend, each.origin) in known
    ]


def diagnose(
    named: Sequence[str], options: CreationOptions, *, times_imports: bool = False
) -> Diagnosis:
    """Load every permitted backend and return the findings.

    Args:
        named: The backends that must be usable.
        options: Where to look for dynamic backends, and how.
        times_imports: Whether to measure what importing each entry point takes.
    """
    entries: tuple[BackendEntry, ...] = ()
    facts: tuple[Fact, ...] = ()
    skipped: tuple[SkippedBackend, ...]
    try:
        registry = BackendRegistry(options)
        load_all(registry)
        facts = opened_and_described(registry, options)
        entries = registry.entries()
        problems, skipped = _problems_of_named(registry, named)
    except ArmnnError as error:  # a switch that cannot be read, or a folder that cannot be scanned
        problems, skipped = dict.fromkeys(named or [""], Finding(str(error))), ()
    known = [_without_doctor(entry.message) for entry in entries]
    findings = [finding for finding in problems.values() if finding.text not in known]
    folders, pools = _folders(options), thread_pools()
    findings += [
        Finding(f"The folder {folder.path!r} ({folder.origin}) {folder.problem}.")
        for folder in folders
        if folder.problem
    ]
    findings += _findings(entries)
    findings += [Finding(text, is_problem=False) for text in unknown_ids(e.id for e in entries)]
    findings += [Finding(printable(text)) for text in remembered_crashes(entries)]
    findings += [Finding(text, is_problem=False) for text in _lost(entries)]
    findings += [Finding(text, is_problem=False) for text in clashes(pools)]
    return Diagnosis(
        system=_system(),
        locations=_metadata.scan().locations,
        entries=entries,
        facts=facts,
        parsers=installed_parsers(),
        sources=installed_sources(),
        dynamic=asked_by(options) or "no folder to scan was given",
        folders=folders,
        pools=pools,
        import_times=measure(_entry_points()) if times_imports else (),
        variables=variables(options.dynamic_backends_path),
        findings=tuple(dict.fromkeys(findings)),
        unusable=tuple(backend_id for backend_id in problems if backend_id),
        skipped=skipped,
    )


def _problems_of_named(
    registry: BackendRegistry, named: Sequence[str]
) -> tuple[dict[str, Finding], tuple[SkippedBackend, ...]]:
    """Return the problems by id, and what is skipped."""
    problems: dict[str, Finding] = {}
    skipped: list[SkippedBackend] = []
    for backend_id, may_be_missing in preferences(named).items():
        try:
            registry.get(backend_id)
        except ArmnnError as error:
            reason = _without_doctor(str(error))
            if may_be_missing:
                skipped.append(SkippedBackend(backend_id, reason))
            else:
                problems[backend_id] = Finding(reason)
    return problems, tuple(skipped)


def _folders(options: CreationOptions) -> tuple[SearchedFolder, ...]:
    if not asked_by(options):
        return ()
    try:
        return tuple(find_source().folders(options))
    except ArmnnError:
        return ()  # the registry has met the same problem, and told it


def _entry_points() -> tuple[_metadata.EntryPoint, ...]:
    backends = _metadata.entry_points(BACKENDS_GROUP)
    return (*backends, *installed_parsers(), *installed_sources())


def _system() -> dict[str, str]:
    versions = {name: _metadata.version_of(name) or "not installed" for name in _DEPENDENCIES}
    return {
        "armnn-core": __version__,
        "Backend API": str(BACKEND_API_VERSION),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "executable": sys.executable,
        "platform": platform.platform(),
        "processor": described_processor(),
        **versions,
    }


def _findings(entries: Sequence[BackendEntry]) -> list[Finding]:
    found = [Finding(_without_doctor(entry.message)) for entry in entries if _is_problem(entry)]
    found += [
        Finding(entry.message, is_problem=False)
        for entry in entries
        if entry.reason and not _is_problem(entry)
    ]
    found += [
        Finding(
            f"Backend {entry.id!r} ({entry.owner}) {entry.isolation}. It runs in a worker process "
            "until the file changes or 'armnn doctor --reprobe' finds nothing against it.",
            is_problem=False,
        )
        for entry in entries
        if entry.isolation
    ]
    found += [
        Finding(advice(entry), is_problem=False)
        for entry in entries
        if entry.state is BackendState.INCOMPATIBLE
    ]
    found += [
        Finding(
            f"Backend {entry.id!r} ({entry.owner}) does not say which Backend API it needs: its "
            f"authors should let {entry.distribution} depend on a range of {CONTRACT}.",
            is_problem=False,
        )
        for entry in entries
        if entry.is_static and not (entry.declared_range or entry.is_registered)
    ]
    if not entries:
        found.append(Finding(f"No backend is installed. The usual ones: {install_command(USUAL)}."))
    found += [
        Finding(
            f"The entry points of {distribution} in {distribution.location} cannot be read: "
            f"{reason}; run {reinstall_command(distribution.name)}.",
        )
        for distribution, reason in _metadata.scan().unreadable
    ]
    for entry_point in _entry_points():
        found += _installation_findings(entry_point)
    return found


def _without_doctor(message: str) -> str:
    """Return a message without its advice to run ``armnn doctor``."""
    return message.replace(f"; {MORE_IN_DOCTOR}", "")


def _is_problem(entry: BackendEntry) -> bool:
    is_unusable = entry.state in (BackendState.FAILED, BackendState.INCOMPATIBLE)
    return is_unusable and entry.stage not in UNREMARKABLE_STAGES


def _installation_findings(entry_point: _metadata.EntryPoint) -> list[Finding]:
    distribution = entry_point.distribution
    found = [
        Finding(
            f"There is more metadata of {distribution.name}: {other.version} in {other.location} "
            f"is ignored in favour of {distribution.version} in {distribution.location}; "
            "uninstall it until pip finds it no more, then install it again.",
            is_problem=False,
        )
        for other in entry_point.duplicates
    ]
    # What Python compiled may be thrown away at any time.
    files = [path for path in distribution.files() if path.suffix != ".pyc"]
    missing = [path for path in files if not path.exists()]
    if missing:
        found.append(
            Finding(
                f"{distribution} lacks {len(missing)} of its files, such as {missing[0]}; run "
                f"{reinstall_command(distribution.name)}."
            )
        )
    return found


def _entry_point_document(entry_point: _metadata.EntryPoint) -> dict[str, object]:
    return {
        "name": entry_point.name,
        "distribution": entry_point.distribution.name,
        "version": entry_point.distribution.version,
        "origin": entry_point.value,
        "location": entry_point.distribution.location,
    }
