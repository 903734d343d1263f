# SPDX-License-Identifier: MIT
"""``armnn backends``: the backends and their states, layers and conformance cards.

``armnn backends new`` writes the distribution of a new backend, ``armnn backends lock`` the file of
the backends that are trusted.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from types import ModuleType
from typing import Literal, TypeAlias, TypeVar

from armnn.backends import (
    Backend,
    BackendEntry,
    BackendRegistry,
    BackendState,
    Capability,
    CreationOptions,
    OptionValue,
)
from armnn.backends.calling import call
from armnn.backends.locking import Lock, default_lock_file
from armnn.backends.native import trial_load
from armnn.backends.sources import sources_for
from armnn.errors import BackendError, BackendUnavailableError, InvalidArgumentError
from armnn.installing import (
    BUILD_COMMANDS,
    CONFORMANCE,
    CPU_EXTRA,
    CPU_REF,
    WHEELHOUSE,
    import_companion,
    install_command,
)
from armnn_backend_api import BACKEND_API_VERSION
from armnn_backend_api.names import fault_of_id
from armnn_tools.cli.options import add_command, add_dynamic_path_argument
from armnn_tools.cli.output import print_json, print_table, printable, progress

_EXAMPLES = f"""\
examples:
  armnn backends                                   what is installed; nothing is imported
  armnn backends --load                            ... and whether it can be loaded
  armnn backends -v                                ... and what each can do
  armnn backends --dynamic-backends-path /opt/acme --json
  armnn backends --layers {CPU_REF}                   which layers it supports, by data type
  armnn backends --card card.json                  what the conformance kit found out
  armnn backends new Acme --id AcmeNpu             begin one of your own
  armnn backends lock --dynamic-backends-path /opt/acme     trust what is there now
"""

_ASKED = (
    "Asked about the first sample of each kind of case; --every-case asks about all of them, and "
    "--json has the reasons of the refusals."
)
_ASKED_ALL = "Asked about every sample case; --json has the reasons of the refusals."

_LOCK_EXAMPLES = """\
examples:
  armnn backends lock                                          the default lock file
  armnn backends lock --dynamic-backends-path /opt/acme --output acme.lock

then, in Python:
  armnn.CreationOptions(require_locked=True, lock_file="acme.lock")
"""

_NEW_EXAMPLES = f"""\
examples:
  armnn backends new Acme --id AcmeNpu                    ./armnn-backend-acmenpu
  armnn backends new Acme --id AcmeNpu --output ~/src     ~/src/armnn-backend-acmenpu
  armnn backends new Acme --id AcmeNpu --native           in C

then, in the new folder:
  {BUILD_COMMANDS[0]}
  {BUILD_COMMANDS[1]}
  pytest && armnn backends
{WHEELHOUSE}.
"""

_SUFFIX = ".template"
"""The suffix of templates, so that no tool takes one for the file that it becomes."""

_Kind: TypeAlias = Literal["python", "native"]

_PACKAGE = "package"
"""The folder among the templates that becomes the import package."""

Description = TypeVar("Description")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn backends``."""
    parser = add_command(
        subparsers,
        "backends",
        summary,
        "List the backends in order of precedence. Nothing is imported without --load or -v. Where "
        "--backends of another command is left out, those with a score above 0 take part, the "
        "highest score first; the score is blank until the backend is loaded.",
        _EXAMPLES,
        list_backends,
    )
    parser.add_argument(
        "--load", action="store_true", help="try to load each of them, and ask for its score"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="load them and show their capabilities"
    )
    add_dynamic_path_argument(parser, "also look for shared libraries there")
    parser.add_argument(
        "--layers", nargs="*", metavar="ID", help="show which layers the backends support"
    )
    parser.add_argument(
        "--every-case",
        action="store_true",
        help="with --layers: ask about every sample case, not about the first of each kind",
    )
    parser.add_argument(
        "--card", metavar="FILE", help="show a conformance card (pytest --armnn-card)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    actions = parser.add_subparsers(metavar="ACTION")
    _add_new_parser(actions)
    _add_lock_parser(actions)


def list_backends(arguments: argparse.Namespace) -> int:
    """List the backends, or show a card or the layers that they support; return 0."""
    if arguments.card is not None:
        return _print_card(arguments.card, as_json=arguments.json)
    options = CreationOptions(dynamic_backends_path=arguments.dynamic_backends_path)
    if arguments.layers is not None:
        return _print_layers(
            arguments.layers, options, as_json=arguments.json, every_case=arguments.every_case
        )
    stated: Mapping[str, Mapping[str, OptionValue]] = {}
    with progress("Finding backends"):
        registry = BackendRegistry(options)
        if arguments.load or arguments.verbose:
            load_all(registry)
        scores = scores_of(registry)
        if arguments.verbose:
            stated = descriptions(registry, options, lambda each: dict(capabilities(each)))
        entries = registry.entries()
    if arguments.json:
        print_json(
            [
                {**_with_capabilities(entry, stated), "score": scores.get(entry.origin)}
                for entry in entries
            ]
        )
    elif entries:
        print_entries(entries, scores=scores)
        if stated:
            _print_capabilities(stated)
    else:
        print(f"No backend is installed. The usual ones: {install_command(CPU_EXTRA)}.")
    return 0


def scores_of(registry: BackendRegistry) -> dict[str, int]:
    """Return the score of each origin that has one: loaded backends, and 0 of those to be named."""
    found: dict[str, int] = {}
    for entry in registry.entries():
        if entry.is_named_only or not entry.is_static:
            found[entry.origin] = 0
        elif entry.state is BackendState.LOADED:
            try:
                found[entry.origin] = call(entry.id, registry.get(entry.id), "score")
            except Exception as error:  # whatever a plug-in raises, the others are listed
                registry.leave_out(entry.id, error)
    return found


def load_all(registry: BackendRegistry) -> None:
    """Load all backends that may be loaded; their entries record the outcome.

    A child process loads a file first; one that ends that process is left out.
    """
    for entry in registry.entries():
        if entry.state is BackendState.KNOWN:
            is_elsewhere = entry.is_static or entry.isolation
            ending = "" if is_elsewhere else trial_load(entry.origin)
            if ending:
                reason = f"{entry.origin!r} ends the process that loads it: {ending}"
                registry.leave_out(entry.id, BackendUnavailableError(reason))
                continue
            try:
                registry.get(entry.id)
            except BackendError:
                continue  # the registry keeps the reason


def print_entries(
    entries: tuple[BackendEntry, ...], title: str = "", scores: Mapping[str, int] | None = None
) -> None:
    """Print the table of backends; files that were refused have the stage at which they were.

    Args:
        entries: The backends.
        title: The line above the table, "" for none.
        scores: The scores of origins, as far as they are known.
    """
    known = scores or {}
    columns = {
        "id": [entry.id for entry in entries],
        "state": [str(entry.state) for entry in entries],
        "score": [str(known.get(entry.origin, "")) for entry in entries],
        "distribution": [entry.distribution for entry in entries],
        "version": [entry.version for entry in entries],
        "API version": [_needed_version(entry) for entry in entries],
        "origin": [entry.origin for entry in entries],
        "stage": [entry.stage for entry in entries],
        "reason": [entry.reason or entry.isolation for entry in entries],
    }
    for name in ("stage", "score"):
        if not any(columns[name]):
            del columns[name]
    print_table(title, list(columns), list(zip(*columns.values(), strict=True)))


def _print_capabilities(stated: Mapping[str, Mapping[str, OptionValue]]) -> None:
    """Print the table of capabilities, with a column per backend."""
    names = dict.fromkeys(name for own in stated.values() for name in own)
    known = [each.value for each in Capability if each.value in names]
    rows = [
        (name, *(_shown(own.get(name)) for own in stated.values()))
        for name in dict.fromkeys([*known, *names])
    ]
    print_table("Capabilities", ["capability", *stated], rows)


def _shown(value: OptionValue | None) -> str:
    if value is None:
        return ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _with_capabilities(
    entry: BackendEntry, stated: Mapping[str, Mapping[str, OptionValue]]
) -> dict[str, object]:
    document = entry_document(entry)
    if entry.state is BackendState.LOADED and entry.id in stated:
        document["capabilities"] = dict(stated[entry.id])
    return document


def _needed_version(entry: BackendEntry) -> str:
    """Return the version of the Backend API that a backend needs, or the range it declares."""
    return entry.declared_range if entry.api_version is None else str(entry.api_version)


def entry_document(entry: BackendEntry) -> dict[str, object]:
    """Return the entry of a backend as data for JSON."""
    return {
        "id": entry.id,
        "state": str(entry.state),
        "distribution": entry.distribution or None,
        "version": entry.version or None,
        "api_version": None if entry.api_version is None else str(entry.api_version),
        "declared_range": entry.declared_range or None,
        "origin": entry.origin,
        "location": entry.location or None,
        "source": entry.source or None,
        "stage": entry.stage or None,
        "reason": entry.reason or None,
        "remedy": entry.remedy or None,
        "shadowed_by": entry.shadowed_by or None,
        "import_seconds": entry.import_seconds,
        "isolation": entry.isolation or None,
    }


def descriptions(
    registry: BackendRegistry, options: CreationOptions, describe: Callable[[Backend], Description]
) -> dict[str, Description]:
    """Open each loaded backend as a runtime does; return its description by its id.

    A backend that cannot be opened or described is left out of the registry, which keeps the
    reason: its hardware or its driver is not there.

    Args:
        registry: The backends.
        options: The options that the registry was made with.
        describe: A function that describes an open backend.
    """
    found: dict[str, Description] = {}
    for entry in registry.entries():
        if entry.state is BackendState.LOADED:
            try:
                backend = registry.get(entry.id)
                with _open(backend, options):
                    found[entry.id] = describe(backend)
            except Exception as error:  # whatever a plug-in raises, the others are described
                registry.leave_out(entry.id, error)
    return found


@contextmanager
def _open(backend: Backend, options: CreationOptions) -> Iterator[None]:
    context = call(backend.id, backend, "create_context", options)
    try:
        yield
    finally:
        if context is not None:
            context.close()


def capabilities(backend: Backend) -> Mapping[str, OptionValue]:
    """Return the capabilities that a backend states, by name."""
    stated: Mapping[str, OptionValue] = call(backend.id, backend, "capabilities")
    return stated


def _print_layers(
    backend_ids: Sequence[str], options: CreationOptions, *, as_json: bool, every_case: bool
) -> int:
    """Print the layers that backends say they support; return 0.

    Args:
        backend_ids: The backends; all that can be loaded if there are none.
        options: The options that say where backends are looked for.
        as_json: Whether a JSON object is printed, with the reasons of the refusals.
        every_case: Whether they are asked about every case; JSON has all of them.

    Raises:
        NotInstalledError: The conformance kit, which has the sample cases, is not installed.
        BackendError: A backend that is named cannot be used.
    """
    subject, support_table = _kit("subject"), _kit("support_table")
    asks_all = every_case or as_json
    layers = support_table.layers_with_kernels()
    found = {}
    for backend_id in backend_ids or _loadable(options):
        with (
            subject.Subject(backend_id, options) as asked,
            progress(f"Asking {backend_id}", len(layers)) as advance,
        ):
            found[backend_id] = support_table.support_rows(
                asked, layers, every_case=asks_all, advance=advance
            )
    if as_json:
        print_json(found)
        return 0
    for backend_id, rows in found.items():
        columns, body = support_table.table(rows)
        print_table(f"{backend_id} says that it supports", columns, body)
    _print_legend()
    print(_ASKED_ALL if every_case else _ASKED)
    return 0


def _print_card(path: str, *, as_json: bool) -> int:
    """Print the levels and layers in a conformance card; return 0.

    Raises:
        NotInstalledError: The conformance kit, which knows the format, is not installed.
        InvalidArgumentError: The file is not a card.
    """
    card = _kit("card").read_card(path)
    if as_json:
        print_json(card)
        return 0
    backend, versions = card["backend"], card["versions"]
    owner = " ".join(filter(None, (backend["distribution"], backend["version"])))
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    levels = ", ".join(f"{level} {verdict}" for level, verdict in card["levels"].items())
    columns, body = _kit("support_table").table(card["layers"])
    print_table(f"{backend['id']} ({owner}): {levels}", columns, body)
    _print_legend()
    print(f"Tested with {named}.")
    return 0


def _kit(module: str) -> ModuleType:
    return import_companion(CONFORMANCE, module, "the table of supported layers")


def _print_legend() -> None:
    print("A group means those of its data types that a layer has sample cases for:")
    for name, members in _kit("support_table").legend().items():
        print(f"  {name}: {', '.join(members)}")


def _loadable(options: CreationOptions) -> list[str]:
    registry = BackendRegistry(options)
    usable = []
    for entry in registry.entries():
        if entry.state is BackendState.KNOWN or entry.state is BackendState.LOADED:
            try:
                usable.append(registry.get(entry.id).id)
            except BackendError:
                continue  # 'armnn backends --load' says why
    return usable


def _add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``, which may stand before the action, too."""
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON instead of text"
    )


def _add_new_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn backends new``."""
    parser = add_command(
        subparsers,
        "new",
        "write the distribution of a new backend",
        "Write the distribution of a new backend: it installs, is found, adds tensors "
        "of float32 and passes the conformance kit for that.",
        _NEW_EXAMPLES,
        new_backend,
    )
    parser.add_argument("vendor", metavar="VENDOR", help="who makes it; letters and digits")
    parser.add_argument(
        "--id", required=True, help="what users name the backend by; letters and digits"
    )
    parser.add_argument(
        "--output", metavar="DIR", default=".", help="where its folder goes; default: here"
    )
    parser.add_argument(
        "--native", action="store_true", help="in C, on armnn/backend.h, instead of Python"
    )
    _add_json_argument(parser)


def new_backend(arguments: argparse.Namespace) -> int:
    """Write the distribution of a new backend, and print the next steps; return 0."""
    kind: _Kind = "native" if arguments.native else "python"
    folder = write_backend(arguments.vendor, arguments.id, Path(arguments.output), kind)
    commands = (f"cd {folder}", *BUILD_COMMANDS, "pytest && armnn backends")
    if arguments.json:
        print_json({"folder": str(folder), "next": commands})
        return 0
    print(f"Wrote {printable(str(folder))}. Next:")
    for command in commands:
        print(f"  {printable(command)}")
    print(f"{WHEELHOUSE}.")
    return 0


def write_backend(vendor: str, backend_id: str, output: Path, kind: _Kind = "python") -> Path:
    """Write the distribution of a backend.

    Args:
        vendor: The name of its maker.
        backend_id: The id of the backend.
        output: The folder in which the folder of the distribution is made.
        kind: The language; "native" is C.

    Returns:
        The folder of the distribution.

    Raises:
        InvalidArgumentError: The vendor or the id cannot be part of a name, or the folder exists.
    """
    for name, text in (("vendor", vendor), ("id", backend_id)):
        fault = fault_of_id(text)
        if fault:
            raise InvalidArgumentError(
                f"The {name} of a backend becomes part of file names: got {text!r}, {fault}."
            )
    values = _values(vendor, backend_id)
    folder = output / values["distribution"]
    if folder.exists():
        raise InvalidArgumentError(
            f"{str(folder)!r} exists already; name another folder with --output."
        )
    templates = files("armnn_tools.cli") / "templates"
    for parts, template in (*_templates(templates / "common"), *_templates(templates / kind)):
        path = folder.joinpath(*(values["package"] if p == _PACKAGE else p for p in parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(template.read_text("utf-8")).substitute(values), "utf-8")
    return folder


def _values(vendor: str, backend_id: str) -> Mapping[str, str]:
    """Return the value of each placeholder in the templates."""
    lower = backend_id.lower()
    return {
        "vendor": vendor,
        "install_others": BUILD_COMMANDS[0],
        "install": BUILD_COMMANDS[1],
        "wheelhouse": WHEELHOUSE,
        "id": backend_id,
        "distribution": f"armnn-backend-{lower}",
        "package": f"armnn_backend_{lower}",
        "library": f"{vendor}_{backend_id}_backend.so",
        # The version that the templates need, not the newest: older cores take the backend as well.
        "api_version": f"{BACKEND_API_VERSION.major}.0",
        # The headers that the templates are written for; what is built needs api_version only.
        "header_version": str(BACKEND_API_VERSION),
        "api_major": str(BACKEND_API_VERSION.major),
        "api_minor": "0",
        "next_major": str(BACKEND_API_VERSION.major + 1),
        "year": str(datetime.datetime.now(datetime.UTC).year),
    }


def _templates(folder: Traversable) -> Iterator[tuple[tuple[str, ...], Traversable]]:
    """Yield the path of each file, in parts, and its template."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            for parts, template in _templates(entry):
                yield (entry.name, *parts), template
        elif entry.name.endswith(_SUFFIX):
            yield (entry.name.removesuffix(_SUFFIX),), entry


def _add_lock_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn backends lock``."""
    parser = add_command(
        subparsers,
        "lock",
        "write down the sha256 of every backend",
        "Write a lock file: the sha256 of every shared library in the scanned "
        "folders, of the libraries mapped with each, and of the RECORD of every distribution of "
        "backends. Nothing is imported or opened. With CreationOptions(require_locked=True) "
        "nothing else is loaded.",
        _LOCK_EXAMPLES,
        lock_backends,
    )
    add_dynamic_path_argument(parser, "lock the shared libraries there", argparse.SUPPRESS)
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="the lock file; default: backends.lock in the folder of your settings",
    )
    _add_json_argument(parser)


def lock_backends(arguments: argparse.Namespace) -> int:
    """Write the lock file and print its entries; return 0.

    Raises:
        BackendUnavailableError: A folder was given and there is no loader to scan it.
        OSError: The file cannot be written.
    """
    options = CreationOptions(dynamic_backends_path=arguments.dynamic_backends_path)
    path = default_lock_file() if arguments.output is None else Path(arguments.output)
    with progress("Reading backends"):
        libraries = [path for each in sources_for(options) for path in each.source.files(options)]
        lock = Lock.made_now(path, libraries)
    lock.write()
    rows = [("file", path, "", sha256) for path, sha256 in lock.files.items()]
    rows += [
        ("distribution", name, version, sha256)
        for name, (version, sha256) in lock.distributions.items()
    ]
    if arguments.json:
        columns = ("kind", "name", "version", "sha256")
        locked = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json({"lock_file": str(path), "locked": locked})
    else:
        print_table("", ["kind", "name", "version", "sha256"], rows)
        print(f"Wrote {printable(str(path))}")
    return 0
