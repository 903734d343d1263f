# SPDX-License-Identifier: MIT
"""Runs cells of the matrix: which there are says compat.toml, what happens is seen here."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from environments import built_wheels, install, released_wheels, run
from fixtures import FROZEN, HERE, Made, build_library, header_of, write_wheel

DESCRIPTION: dict[str, Any] = tomllib.loads(
    (HERE.parents[1] / "compat.toml").read_text(encoding="utf-8")
)
CELLS: list[dict[str, Any]] = DESCRIPTION["cell"]
CORES: dict[str, dict[str, Any]] = {row["name"]: row for row in DESCRIPTION["core"]}
BACKENDS: dict[str, dict[str, Any]] = {row["name"]: row for row in DESCRIPTION["backend"]}
LIBRARY = "Acme_Compat_backend.so"
PATH = "{path}"
"""What stands in an expected message for the path of the shared library."""

WORKERS = 2


def version(text: str) -> tuple[int, int]:
    """Return "1.0" as numbers."""
    major, minor = text.split(".")
    return int(major), int(minor)


class Matrix:
    """The cores and backends in folders, made when they are first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels: dict[str, list[Path]] = {}
        self._cores: dict[str, Path] = {}
        self._backends: dict[tuple[str, str], Path] = {}

    def prepare(self) -> None:
        """Make everything that the cells need, several at once."""
        with ThreadPoolExecutor(WORKERS) as pool:
            made = [pool.submit(self._make_core, row) for row in CORES.values()]
            made += [pool.submit(self._make_backend, row) for row in BACKENDS.values()]
            for each in made:
                each.result()

    def core(self, name: str) -> Path:
        """Return the folder of a core."""
        return self._cores[name]

    def backend(self, name: str, door: str) -> Path:
        """Return the folder of a backend: for the path of Python, or to be scanned."""
        return self._backends[name, door]

    def observed(self, cell: dict[str, Any], core: Path | None = None) -> dict[str, Any]:
        """Run a cell and return what it printed; a failure is a text under "crash".

        Args:
            cell: The row of compat.toml.
            core: The folder of a core to take instead.
        """
        where = self.core(cell["core"]) if core is None else core
        folder = self.backend(cell["backend"], cell["door"])
        if cell["door"] == "python":
            ran = run([where, folder], HERE / "cell.py")
        else:
            ran = run([where], HERE / "cell.py", folder)
        if ran.returncode:
            return {"crash": ran.stderr}
        found: dict[str, Any] = json.loads(ran.stdout)
        if "refusal" in found:
            found["refusal"] = found["refusal"].replace(str(folder / LIBRARY), PATH)
        return found

    def all_observed(self, cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Run cells, several at once."""
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(self.observed, cells))

    def _make_core(self, row: dict[str, Any]) -> None:
        name, folder = row["name"], self.folder / f"core-{row['name'].replace(' ', '-')}"
        if row["is"] == "released":
            self.wheels[name] = released_wheels(name)
        else:
            pretended = version(row["api"]) if row["is"] == "pretended" else None
            self.wheels[name] = built_wheels(folder / "build", pretended)
        self._cores[name] = install(self.wheels[name], folder / "installed")

    def _make_backend(self, row: dict[str, Any]) -> None:
        name = row["name"]
        made = Made(version(row["made_with"]), version(row["declares"]))
        folder = self.folder / f"backend-{made.version}"
        folder.mkdir()
        source = FROZEN
        if not row["is_frozen"]:
            source = folder
            write_wheel(made, folder)
            build_library(made, header_of(made.known), folder)
        self.wheels[name] = [source / made.wheel]
        self._backends[name, "python"] = install(self.wheels[name], folder / "python")
        scanned = folder / "native"
        scanned.mkdir()
        shutil.copy(source / made.library, scanned / LIBRARY)
        self._backends[name, "native"] = scanned


def outcome(found: dict[str, Any]) -> dict[str, Any]:
    """Return what compat.toml says of a cell, from what was seen.

    "runs" with what became of the younger parameter, or "refused" with the message.
    """
    if "crash" in found:
        return {"outcome": "crashed", "message": found["crash"]}
    if "refusal" in found:
        return {"outcome": "refused", "message": found["refusal"]}
    if "field" not in found:
        return {"outcome": "runs", "field": "unknown to this core"}
    field = found["field"]
    if field["backend"] == "Compat":
        return {"outcome": "runs", "field": "offered"}
    return {"outcome": "runs", "field": field["reason"]}
