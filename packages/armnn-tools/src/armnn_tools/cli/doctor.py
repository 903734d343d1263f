# SPDX-License-Identifier: MIT
"""``armnn doctor``: loads every backend, and says what was found, where, and what is wrong with it.

It goes on whatever defect a backend, a parser or the installation has.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import chain

import threadpoolctl  # type: ignore[import-untyped]  # it has no annotations
from packaging.specifiers import SpecifierSet

from armnn import metadata
from armnn.__about__ import __version__
from armnn.arguments import closest
from armnn.backends import (
    BACKEND_API_VERSION,
    Backend,
    BackendEntry,
    BackendRegistry,
    BackendState,
    BackendVersion,
    CreationOptions,
    is_compatible,
)
from armnn.backends.crashes import blame, forget_lost_workers, lost_workers, remembered_crashes
from armnn.backends.discovery import CONTRACT
from armnn.backends.loading import GROUP as BACKENDS_GROUP
from armnn.backends.loading import UNREMARKABLE_STAGES
from armnn.backends.native import NativeBackend
from armnn.backends.registry import MORE_IN_DOCTOR
from armnn.backends.selection import (
    BOARD_VARIABLE,
    PREFIX,
    VARIABLE,
    VARIABLES,
    Selection,
    SkippedBackend,
    asked_by,
    honoured_variables,
    is_elevated,
    is_environment_honoured,
    preferences,
)
from armnn.backends.sources import (
    PATH_VARIABLE,
    SearchedFolder,
    find_source,
    installed_sources,
)
from armnn.errors import ArmnnError, InvalidArgumentError
from armnn.installing import CPU_ACC, CPU_EXTRA, install_command, reinstall_command
from armnn.parsing import installed_parsers
from armnn.processor import described_processor
from armnn_backend_api.processes import Bounds, PythonCall, run
from armnn_tools.__about__ import __version__ as tools_version
from armnn_tools.cli.backends import (
    capabilities,
    descriptions,
    entry_document,
    load_all,
    print_entries,
)
from armnn_tools.cli.options import add_command, add_dynamic_path_argument, add_lock_file_argument
from armnn_tools.cli.output import print_json, print_table, printable, progress

_EXAMPLES = f"""\
examples:
  armnn doctor                                     load every backend and say what is wrong
  armnn doctor --backends {CPU_ACC}                   exit with 1 unless {CPU_ACC} can be used
  armnn doctor --backends "GpuAcc?,{CPU_ACC}"         ... and say why a list skips GpuAcc
  armnn doctor --dynamic-backends-path /opt/acme --json
  armnn doctor --dynamic-backends-path /opt/acme --reprobe
  armnn doctor --lock-file acme.lock               what a lock file lets in
  armnn doctor --lint Acme_Npu_backend.so          read a file without running any of it
"""

_DEPENDENCIES = (
    CONTRACT,
    "numpy",
    "ml-dtypes",
    "importlib-metadata",
    "packaging",
    "rich",
    "threadpoolctl",
)

_ISOLATED = "no: Python runs with -I or -E"

_IMPORT_SECONDS = 60.0
"""The longest time that the import of a module may take."""

_POOL_NAMES = {"openmp": "OpenMP", "blas": "BLAS"}

_log = logging.getLogger(__name__)


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn doctor``."""
    parser = add_command(
        subparsers,
        "doctor",
        summary,
        "Load every backend that may be loaded, and show what was found, where, and "
        "what is wrong with it. Exits with 1 if a backend that --backends names is not usable.",
        _EXAMPLES,
        examine,
    )
    parser.add_argument(
        "--backends",
        metavar="ID[,ID...]",
        type=_named,
        action="extend",
        default=[],
        help="backends that must be usable, except those with a question mark, as in 'GpuAcc?', "
        "which a list skips if they are not; the option may be repeated",
    )
    add_dynamic_path_argument(parser, "also look for shared libraries there")
    add_lock_file_argument(parser)
    parser.add_argument(
        "--reprobe", action="store_true", help="try shared libraries out again, even if known"
    )
    parser.add_argument(
        "--probe-timeout",
        type=float,
        default=CreationOptions().probe_timeout,
        metavar="SECONDS",
        help="how long the trial of one shared library may take (%(default)s)",
    )
    parser.add_argument(
        "--import-times",
        action="store_true",
        help="measure what importing each backend, parser and source takes",
    )
    parser.add_argument(
        "--lint",
        metavar="FILE",
        help="only say what is wrong with a shared library; do not open it",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def examine(arguments: argparse.Namespace) -> int:
    """Print the diagnosis, and return the exit status.

    It is 1 if a backend that is named cannot be used, or if a linted file has a defect.

    Raises:
        BackendUnavailableError: No dynamic loader, which checks the file, is installed.
        OSError: The file to lint cannot be read.
    """
    if arguments.lint is not None:
        return _lint(arguments.lint, as_json=arguments.json)
    options = CreationOptions(
        dynamic_backends_path=arguments.dynamic_backends_path,
        probe="again" if arguments.reprobe else "on",
        probe_timeout=arguments.probe_timeout,
        require_locked=arguments.lock_file is not None,
        lock_file=arguments.lock_file,
    )
    if arguments.reprobe:
        blame()
        forget_lost_workers()
    with progress("Examining backends"):
        diagnosis = diagnose(arguments.backends, options, times_imports=arguments.import_times)
    if arguments.json:
        print_json(diagnosis.as_document())
    else:
        _show(diagnosis)
    return 1 if diagnosis.unusable else 0


def _named(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _lint(path: str, *, as_json: bool) -> int:
    problems = list(find_source().lint(path))
    if as_json:
        print_json({"file": path, "problems": problems})
    else:
        print(f"{printable(path)}: {'nothing is wrong with it.' if not problems else ''}".rstrip())
        for problem in problems:
            print(f"  - {printable(problem)}")
    return 1 if problems else 0


def _show(diagnosis: Diagnosis) -> None:
    print_table("System", ["what", "is"], list(diagnosis.system.items()))
    print_table(
        "Folders with installed distributions",
        ["folder", "distributions"],
        [(folder, str(count)) for folder, count in diagnosis.locations],
    )
    if diagnosis.entries:
        print_entries(diagnosis.entries, "Backends")
    if diagnosis.skipped:
        print_table(
            "Skipped backends of the list",
            ["backend", "reason"],
            [(each.id, each.reason) for each in diagnosis.skipped],
        )
    if diagnosis.facts:
        print_table(
            "What backends say of themselves",
            ["backend", "what", "is"],
            [(fact.backend, fact.name, fact.value) for fact in diagnosis.facts],
        )
    if diagnosis.parsers:
        print_table(
            "Parsers",
            ["suffix", "distribution", "version", "origin"],
            [
                (f".{p.name}", p.distribution.name, p.distribution.version, p.value)
                for p in diagnosis.parsers
            ],
        )
    print_table(
        "Dynamic backends",
        ["source", "distribution", "origin"],
        [(s.name, str(s.distribution), s.value) for s in diagnosis.sources]
        or [("none", "", diagnosis.dynamic)],
    )
    if diagnosis.folders:
        print_table(
            "Folders of dynamic backends",
            ["folder", "from", "verdict"],
            [(f.path, f.origin, f.problem or "scanned") for f in diagnosis.folders],
        )
    if diagnosis.import_times:
        print_table(
            "Import times",
            ["group", "name", "module", "seconds"],
            [
                (t.group, t.name, t.module, t.problem if t.seconds is None else f"{t.seconds:.3f}")
                for t in diagnosis.import_times
            ],
        )
    if diagnosis.pools:
        print_table(
            "Libraries with threads of their own",
            ["kind", "name", "version", "threads", "file"],
            [(p.kind, p.name, p.version, str(p.threads), p.path) for p in diagnosis.pools],
        )
    print_table(
        "Environment",
        ["variable", "value", "honored"],
        [(v.name, v.value or "not set", v.honoured) for v in diagnosis.variables],
    )
    _show_findings(diagnosis.findings)


def _show_findings(findings: tuple[Finding, ...]) -> None:
    if not findings:
        print("No problem was found.")
        print("If results are wrong, 'armnn compare MODEL --backends ID' names the layers, and")
        print("'armnn reduce MODEL --backends ID -o FILE' writes the smallest model that shows it.")
        return
    print("What is wrong:" if any(f.is_problem for f in findings) else "Worth knowing:")
    for finding in findings:
        print(f"  - {printable(finding.text)}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of the diagnosis.

    Attributes:
        text: The sentence, with the finding and its remedy.
        is_problem: Whether something is wrong; False if it is only worth knowing.
    """

    text: str
    is_problem: bool = True


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that a backend reports about itself.

    Attributes:
        backend: The id of the backend.
        name: A capability, or a property of a device.
        value: The value as text.
    """

    backend: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the environment.

    Attributes:
        name: The name of the variable.
        value: Its value, None if it is not set.
        honoured: "yes", or "no" and the reason.
    """

    name: str
    value: str | None
    honoured: str


@dataclass(frozen=True, slots=True)
class ImportTime:
    """The time that importing the module of an entry point took.

    Attributes:
        group: The group of the entry point.
        name: The name of the entry point.
        module: The module.
        seconds: The seconds of the import in a process that has imported armnn already; None if the
            module cannot be imported.
        problem: The reason why it cannot be imported, "" if it can.
    """

    group: str
    name: str
    module: str
    seconds: float | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ThreadPool:
    """A library in the process that has threads of its own.

    Attributes:
        kind: "openmp" or "blas".
        name: The name that its makers give it, such as "openblas".
        version: The version, "" if the library does not report one.
        threads: The number of threads that it uses.
        path: The path of its file.
    """

    kind: str
    name: str
    version: str
    threads: int
    path: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that the doctor found.

    Attributes:
        system: Versions, paths and the platform, by their titles.
        locations: The folders with installed distributions, and the number of these in each.
        entries: The backends.
        facts: The facts that the backends that can be used report about themselves.
        parsers: The parsers.
        sources: The backend sources.
        dynamic: The option or variable that makes the sources look for backends, or a text that
            says that there is none.
        folders: The folders that were to be scanned for dynamic backends.
        pools: The libraries with threads of their own, once every backend was loaded.
        import_times: The time that importing each entry point takes, if that was asked for.
        variables: The variables of the environment.
        findings: The sentences on what is wrong or worth knowing.
        unusable: The ids of named backends that must be usable but are not.
        skipped: The named backends with a question mark that are not usable.
    """

    system: dict[str, str]
    locations: tuple[tuple[str, int], ...]
    entries: tuple[BackendEntry, ...]
    facts: tuple[Fact, ...]
    parsers: tuple[metadata.EntryPoint, ...]
    sources: tuple[metadata.EntryPoint, ...]
    dynamic: str
    folders: tuple[SearchedFolder, ...]
    pools: tuple[ThreadPool, ...]
    import_times: tuple[ImportTime, ...]
    variables: tuple[Variable, ...]
    findings: tuple[Finding, ...]
    unusable: tuple[str, ...]
    skipped: tuple[SkippedBackend, ...]

    def as_document(self) -> dict[str, object]:
        """Return the diagnosis as data for JSON."""
        return {
            "system": self.system,
            "locations": [
                {"folder": folder, "distributions": count} for folder, count in self.locations
            ],
            "backends": [entry_document(entry) for entry in self.entries],
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


def _lost_workers(entries: Sequence[BackendEntry]) -> list[str]:
    """Return a sentence for each remembered crash of an isolated backend."""
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
    """Load every backend that may be loaded, and return the diagnosis.

    Args:
        named: The backends that must be usable.
        options: The options that say where to look for dynamic backends, and how.
        times_imports: Whether to measure the time that importing each entry point takes.
    """
    entries: tuple[BackendEntry, ...] = ()
    facts: tuple[Fact, ...] = ()
    skipped: tuple[SkippedBackend, ...]
    try:
        registry = BackendRegistry(options)
        load_all(registry)
        facts = tuple(chain(*descriptions(registry, options, _facts).values()))
        entries = registry.entries()
        problems, skipped = _problems_of_named(registry, named)
    except ArmnnError as error:  # an invalid variable, or a folder that cannot be scanned
        problems, skipped = dict.fromkeys(named or [""], Finding(str(error))), ()
    known = [_without_doctor(entry.message) for entry in entries]
    findings = [finding for finding in problems.values() if finding.text not in known]
    folders, pools = _folders(options), _thread_pools()
    findings += [
        Finding(f"The folder {folder.path!r} ({folder.origin}) {folder.problem}.")
        for folder in folders
        if folder.problem
    ]
    findings += _findings(entries)
    findings += [Finding(text, is_problem=False) for text in _unknown_ids(e.id for e in entries)]
    findings += [Finding(printable(text)) for text in remembered_crashes(entries)]
    findings += [Finding(text, is_problem=False) for text in _lost_workers(entries)]
    findings += [Finding(text, is_problem=False) for text in _clashes(pools)]
    return Diagnosis(
        system=_system(),
        locations=metadata.scan().locations,
        entries=entries,
        facts=facts,
        parsers=installed_parsers(),
        sources=installed_sources(),
        dynamic=asked_by(options) or "no folder to scan was given",
        folders=folders,
        pools=pools,
        import_times=tuple(map(_import_time, _entry_points())) if times_imports else (),
        variables=_variables(options.dynamic_backends_path),
        findings=tuple(dict.fromkeys(findings)),
        unusable=tuple(backend_id for backend_id in problems if backend_id),
        skipped=skipped,
    )


def _problems_of_named(
    registry: BackendRegistry, named: Sequence[str]
) -> tuple[dict[str, Finding], tuple[SkippedBackend, ...]]:
    """Return the problem of each named backend by its id, and the backends that are skipped."""
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


def _entry_points() -> tuple[metadata.EntryPoint, ...]:
    backends = metadata.entry_points(BACKENDS_GROUP)
    return (*backends, *installed_parsers(), *installed_sources())


def _system() -> dict[str, str]:
    versions = {name: metadata.version_of(name) or "not installed" for name in _DEPENDENCIES}
    return {
        "armnn-core": __version__,
        "armnn-tools": tools_version,
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
        found.append(
            Finding(f"No backend is installed. The usual ones: {install_command(CPU_EXTRA)}.")
        )
    found += [
        Finding(
            f"The entry points of {distribution} in {distribution.location} cannot be read: "
            f"{reason}; run {reinstall_command(distribution.name)}.",
        )
        for distribution, reason in metadata.scan().unreadable
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


def _installation_findings(entry_point: metadata.EntryPoint) -> list[Finding]:
    distribution = entry_point.distribution
    found = [
        Finding(
            f"There is more metadata of {distribution.name}: {other.version} in {other.location} "
            f"is ignored in favor of {distribution.version} in {distribution.location}; "
            "uninstall it until pip finds it no more, then install it again.",
            is_problem=False,
        )
        for other in entry_point.duplicates
    ]
    # Compiled Python files may be deleted at any time.
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


def _entry_point_document(entry_point: metadata.EntryPoint) -> dict[str, object]:
    return {
        "name": entry_point.name,
        "distribution": entry_point.distribution.name,
        "version": entry_point.distribution.version,
        "origin": entry_point.value,
        "location": entry_point.distribution.location,
    }


def _facts(backend: Backend) -> list[Fact]:
    """Return the devices and capabilities that an open backend reports."""
    found: list[Fact] = []
    if isinstance(backend, NativeBackend):
        for device in backend.devices():
            title = f"device {device.id}"
            found.append(Fact(backend.id, title, f"{device.name} ({device.kind})"))
            found += [
                Fact(backend.id, f"{title}: {name}", str(value))
                for name, value in device.info.items()
            ]
    stated = capabilities(backend).items()
    return found + [Fact(backend.id, str(name), str(value)) for name, value in stated]


def advice(entry: BackendEntry, recorded: dict[str, str] | None = None) -> str:
    """Return a sentence on the newest released core that takes a backend.

    Args:
        entry: The backend, which is incompatible with this core.
        recorded: The Backend API of each released core, in order; by default those that this core
            knows.
    """
    cores = released_cores() if recorded is None else recorded
    for version, api in reversed(cores.items()):
        if _takes(BackendVersion.parse(api), entry):
            return (
                f"armnn-core {version} is the newest recorded release that takes backend "
                f"{entry.id!r} ({entry.owner}): {install_command(f'armnn-core=={version}')}."
            )
    return (
        f"No release of armnn-core up to {[*cores][-1]} takes backend {entry.id!r} "
        f"({entry.owner}), as far as this core knows."
    )


def released_cores() -> dict[str, str]:
    """Return the Backend API of each released core, in order."""
    text = (files("armnn_tools.cli") / "released_cores.json").read_text(encoding="utf-8")
    cores: dict[str, str] = json.loads(text)["cores"]
    return cores


def _takes(provided: BackendVersion, entry: BackendEntry) -> bool:
    if entry.api_version is not None:
        return is_compatible(entry.api_version, provided)
    return SpecifierSet(entry.declared_range).contains(f"{provided}.0", prereleases=True)


def _variables(dynamic_backends_path: str | None) -> tuple[Variable, ...]:
    """Return the environment variables that armnn reads, and others with its prefix.

    Args:
        dynamic_backends_path: The folder that an option names, if any.
    """
    ignored = "no: the process has another's rights" if is_elevated() else _ISOLATED
    honoured = "yes" if is_environment_honoured() else ignored
    shown = [VARIABLE, PATH_VARIABLE]
    shown += [name for name in VARIABLES if name in os.environ and name not in shown]
    counts = honoured_variables()
    rows = {
        name: Variable(name, os.environ.get(name), "yes" if counts.get(name) else honoured)
        for name in shown
    }
    if dynamic_backends_path is not None and honoured == "yes":
        overridden = "no: --dynamic-backends-path overrides it"
        rows[PATH_VARIABLE] = replace(rows[PATH_VARIABLE], honoured=overridden)
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in rows:
            is_board = name.startswith(BOARD_VARIABLE)
            by = honoured if is_board else "not by armnn itself; a backend may read it"
            rows[name] = Variable(name, os.environ[name], by)
    return tuple(rows.values())


def _unknown_ids(known: Iterable[str]) -> list[str]:
    """Return a sentence for each unknown id in ``ARMNN_BACKENDS``.

    Args:
        known: The ids of the backends that were found.
    """
    try:
        selection = Selection.of(CreationOptions())
    except InvalidArgumentError:
        return []  # the registry has met the same problem, and told it
    ids = list(known)
    found = []
    for backend_id in dict.fromkeys((*selection.admitted, *selection.excluded)):
        if backend_id not in ids:
            meant = closest(backend_id, ids)
            hint = f"; did you mean {meant!r}?" if meant else "."
            found.append(f"{VARIABLE} names {backend_id!r}, which is not a backend here{hint}")
    return found


def _import_time(entry_point: metadata.EntryPoint) -> ImportTime:
    """Measure the import of the module of an entry point in a new interpreter."""
    call = PythonCall(f"{__name__}:print_seconds", [entry_point.module])
    ending = run(call, Bounds(seconds=_IMPORT_SECONDS, output=None))
    try:
        seconds = float(ending.output)
    except ValueError:
        lines = ending.errors.decode(errors="replace").strip().splitlines()
        problem = lines[-1] if lines else f"the process ended with {ending}"
        if ending.cause == "deadline":
            problem = f"it took more than {_IMPORT_SECONDS:g} s"
        return ImportTime(entry_point.group, entry_point.name, entry_point.module, None, problem)
    return ImportTime(entry_point.group, entry_point.name, entry_point.module, seconds)


def print_seconds(module: str) -> None:
    """Print the seconds of the import of a module; armnn is imported already."""
    output, sys.stdout = sys.stdout, sys.stderr
    begin = time.perf_counter()
    __import__(module)
    print(time.perf_counter() - begin, file=output)


def _thread_pools() -> tuple[ThreadPool, ...]:
    """Return the libraries with threads of their own that are loaded now.

    The result is empty if the path of a loaded library is not UTF-8, as threadpoolctl fails then.
    """
    try:
        rows = threadpoolctl.threadpool_info()
    except UnicodeDecodeError as error:
        _log.warning("Libraries with threads of their own cannot be listed: %s.", error)
        return ()
    return tuple(
        ThreadPool(
            row["user_api"],
            row["internal_api"],
            row.get("version") or "",
            row["num_threads"],
            row["filepath"],
        )
        for row in rows
    )


def _clashes(pools: Sequence[ThreadPool]) -> list[str]:
    """Return a sentence for each kind of library of which several copies are loaded."""
    found = []
    for kind in dict.fromkeys(pool.kind for pool in pools):
        paths = [pool.path for pool in pools if pool.kind == kind]
        if len(paths) > 1:
            found.append(
                f"There are {len(paths)} copies of {_POOL_NAMES.get(kind, kind)} in the process: "
                f"{', '.join(paths)}; each starts threads of its own, so that they may wait for "
                "each other."
            )
    return found
