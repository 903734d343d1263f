# SPDX-License-Identifier: MIT
"""``armnn tune --machine``: measures what work takes on this machine.

A distribution takes part with an entry point of the group ``armnn.tuners``: its name is the id of a
backend, its value a function without arguments that measures the machine for it and returns a
mapping with

- ``text``: the content of the file that the backend reads,
- ``costs``: the nanoseconds of each unit of work, by its name,
- ``variable``: the environment variable that names such a file, and
- ``kept``: the path that the backend reads without being told; None if there is none.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from armnn._installing import BACKENDS, FAST, install_command
from armnn._metadata import entry_points
from armnn.cli.output import print_json, print_table, printable, progress
from armnn.cli.run_files import check_writable, writing
from armnn.errors import InvalidArgumentError, NotInstalledError

GROUP = "armnn.tuners"


def tune_machine(arguments: argparse.Namespace) -> int:
    """Measure, keep and print the costs; return the exit status.

    Raises:
        NotInstalledError: No installed backend can be tuned.
        InvalidArgumentError: The backend cannot be tuned, or the file cannot be written.
    """
    if arguments.output is not None:
        check_writable("--output", Path(arguments.output))
    backend, measured = _measured(arguments.backends)
    kept = arguments.output or measured["kept"]
    if kept is None:
        raise InvalidArgumentError(
            "this process has the rights of another user, whose costs it does not touch: name a "
            "file, as in -o machine.costs"
        )
    file = Path(kept)
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(measured["text"], encoding="utf-8")
    if arguments.json:
        print_json({"backend": backend, "file": str(file), "costs": dict(measured["costs"])})
        return 0
    rows = [(unit, f"{ns:.3g}") for unit, ns in measured["costs"].items()]
    print_table(f"Costs of {backend} on this machine", ("unit of work", "ns"), rows)
    use = f"{backend} uses it from now on" if arguments.output is None else ""
    use = use or f"{measured['variable']}={arguments.output} makes {backend} use it"
    print(printable(f"Wrote {file}; {use}."))
    return 0


def _measured(wanted: list[str] | None) -> tuple[str, Mapping[str, Any]]:
    """Return a backend's id, and what it measured."""
    tuners = {entry.name: entry for entry in entry_points(GROUP)}
    if not tuners:
        raise NotInstalledError(
            f"no installed backend can be tuned; {FAST} can: {install_command(BACKENDS[FAST])}"
        )
    names = wanted or list(tuners)
    if len(names) > 1:
        raise InvalidArgumentError(
            f"several backends can be tuned: name one of {', '.join(sorted(tuners))} by --backends"
        )
    if names[0] not in tuners:
        raise InvalidArgumentError(
            f"backend {names[0]!r} cannot be tuned: expected {' or '.join(sorted(tuners))}"
        )
    measure = tuners[names[0]].load()
    with progress(f"Measuring for {names[0]}"):
        return names[0], measure()
