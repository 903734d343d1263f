# SPDX-License-Identifier: MIT
"""``armnn backends``: which backends there are and in what state."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from armnn._installing import REFERENCE, USUAL, install_command
from armnn.backends import (
    BackendEntry,
    BackendRegistry,
    BackendState,
    CreationOptions,
    OptionValue,
)
from armnn.cli import lock_backends, new_backend
from armnn.cli.output import print_json, print_table, progress
from armnn.errors import BackendError, BackendUnavailableError

_EXAMPLES = f"""\
examples:
  armnn backends                                   what is installed; nothing is imported
  armnn backends --load                            ... and whether it can be loaded
  armnn backends -v                                ... and what each can do
  armnn backends --dynamic-backends-path /opt/acme --json
  armnn backends --layers {REFERENCE}                   which layers it supports, by data type
  armnn backends --card card.json                  what the conformance kit found out
  armnn backends new Acme --id AcmeNpu             begin one of your own
  armnn backends lock --dynamic-backends-path /opt/acme     trust what is there now
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn backends``."""
    parser = subparsers.add_parser(
        "backends",
        help=summary,
        description="List the backends in order of precedence. Nothing is imported without --load "
        "or -v.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--load", action="store_true", help="try to load each of them")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="load them and show their capabilities"
    )
    parser.add_argument(
        "--dynamic-backends-path", metavar="DIR", help="also look for shared libraries there"
    )
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
    parser.set_defaults(handler=list_backends)
    actions = parser.add_subparsers(metavar="ACTION")
    new_backend.add_parser(actions)
    lock_backends.add_parser(actions)


def list_backends(arguments: argparse.Namespace) -> int:
    """List the backends."""
    if arguments.card is not None:
        from armnn.cli.layer_support import print_card  # late, as below: mostly, they are listed

        return print_card(arguments.card, as_json=arguments.json)
    options = CreationOptions(dynamic_backends_path=arguments.dynamic_backends_path)
    if arguments.layers is not None:
        from armnn.cli.layer_support import print_layers

        return print_layers(
            arguments.layers, options, as_json=arguments.json, every_case=arguments.every_case
        )
    stated: Mapping[str, Mapping[str, OptionValue]] = {}
    with progress("Finding backends"):
        registry = BackendRegistry(options)
        if arguments.load or arguments.verbose:
            load_all(registry)
        if arguments.verbose:
            from armnn.cli.self_descriptions import stated_capabilities

            stated = stated_capabilities(registry, options)
        entries = registry.entries()
    if arguments.json:
        print_json([_with_capabilities(entry, stated) for entry in entries])
    elif entries:
        print_entries(entries)
        if stated:
            print_capabilities(stated)
    else:
        print(f"No backend is installed. The usual ones: {install_command(USUAL)}.")
    return 0


def load_all(registry: BackendRegistry) -> None:
    """Load all usable backends; their entries record the outcome.

    A file is loaded by a child process first: one that ends it is left out.
    """
    from armnn.backends.native import trial_load

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


def print_entries(entries: tuple[BackendEntry, ...], title: str = "") -> None:
    """Print the table of backends, with stages of refused files."""
    columns = {
        "id": [entry.id for entry in entries],
        "state": [str(entry.state) for entry in entries],
        "distribution": [entry.distribution for entry in entries],
        "version": [entry.version for entry in entries],
        "API version": [needed_version(entry) for entry in entries],
        "origin": [entry.origin for entry in entries],
        "stage": [entry.stage for entry in entries],
        "reason": [entry.reason or entry.isolation for entry in entries],
    }
    if not any(columns["stage"]):
        del columns["stage"]
    print_table(title, list(columns), list(zip(*columns.values(), strict=True)))


def print_capabilities(stated: Mapping[str, Mapping[str, OptionValue]]) -> None:
    """Print a row per capability, with a column per backend."""
    from armnn.backends import Capability

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
    document = as_document(entry)
    if entry.state is BackendState.LOADED and entry.id in stated:
        document["capabilities"] = dict(stated[entry.id])
    return document


def needed_version(entry: BackendEntry) -> str:
    """Return a backend's needed Backend API version or declared range."""
    return entry.declared_range if entry.api_version is None else str(entry.api_version)


def as_document(entry: BackendEntry) -> dict[str, object]:
    """Return an entry as JSON has it."""
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
