# SPDX-License-Identifier: MIT
"""``armnn backends --layers`` and ``--card``: which backend supports which layers."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from armnn._companions import CONFORMANCE, import_companion
from armnn.backends import BackendRegistry, BackendState, CreationOptions
from armnn.cli.output import print_json, print_table, progress
from armnn.errors import BackendError

_ASKED = (
    "Asked about the first sample of each kind of case; --every-case asks about all of them, and "
    "--json has the reasons of the refusals."
)
_ASKED_ALL = "Asked about every sample case; --json has the reasons of the refusals."


def print_layers(
    backend_ids: Sequence[str], options: CreationOptions, *, as_json: bool, every_case: bool
) -> int:
    """Print which layers backends say they support.

    Args:
        backend_ids: The backends; all that can be loaded if it is empty.
        options: Where backends are looked for.
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


def print_card(path: str, *, as_json: bool) -> int:
    """Print what a conformance card says.

    Raises:
        NotInstalledError: The conformance kit, which knows the format, is not installed.
        InvalidArgumentError: The file is no card.
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
