# SPDX-License-Identifier: MIT
"""The matrix's cores and backends in folders, and their meetings."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import (
    CPUREF,
    DISTRIBUTIONS,
    built_wheels,
    check_nothing_of_ours_is_installed,
    install,
    released_wheels,
    run,
)
from fixtures import FROZEN, HERE, REPOSITORY, Made, build_library, header_of, write_wheel

DESCRIPTION: dict[str, Any] = tomllib.loads(
    (REPOSITORY / "compat.toml").read_text(encoding="utf-8")
)
CORES: dict[str, dict[str, Any]] = DESCRIPTION["cores"]
BACKENDS: dict[str, dict[str, Any]] = DESCRIPTION["backends"]
RELEASES: dict[str, dict[str, Any]] = DESCRIPTION["released_backends"]
FOLDER = REPOSITORY / ".cache" / "compat"
PATH = "{path}"
"""What stands in an expected message for the path of the shared library."""

DOORS = ("python", "native")
REFUSED = ("too new", "too old")
"""The outcomes of backends that are not loaded."""

WORKERS = 2


def version(text: str) -> tuple[int, int]:
    """Return "1.0" as numbers."""
    major, minor = text.split(".")
    return int(major), int(minor)


def made(name: str) -> Made:
    """Return how a backend of the table ``backend`` is made."""
    row = BACKENDS[name]
    return Made(version(row["made_with"]), version(row["declares"]))


@dataclass(frozen=True)
class Tried:
    """What a cell needs to know of its backend.

    Attributes:
        id: The id that a runtime is asked for.
        layer: The type of the layer that it runs.
        library: The name of its shared library in a folder that is scanned.
    """

    id: str
    layer: str
    library: str


def tried(name: str) -> Tried:
    """Return the facts of a backend, from either table."""
    if name in BACKENDS:
        return Tried("Compat", "Convolution2d", "Acme_Compat_backend.so")
    row = RELEASES[name]
    return Tried(row["id"], row["layer"], Path(row.get("library", "")).name)


def wheels_of_backend(name: str) -> list[str]:
    """Return the names of a backend's wheels, from either table."""
    wheels: list[str] = RELEASES[name]["wheels"] if name in RELEASES else [made(name).wheel]
    return wheels


def needed_by(name: str) -> tuple[int, int]:
    """Return the Backend API that a backend declares; a released one needs that of its release."""
    if name in BACKENDS:
        return made(name).declared
    package, release, _ = wheels_of_backend(name)[0].split("-", 2)
    api: str = DESCRIPTION["releases"][f"{package.replace('_', '-')} {release}"]["api"]
    return version(api)


@dataclass(frozen=True)
class Cell:
    """A core and a backend that meet through a door, and the outcome in compat.toml's word."""

    core: str
    backend: str
    door: str
    outcome: str

    @property
    def expected(self) -> str:
        """The outcome, in a message's own words where there is one."""
        message: str = DESCRIPTION["messages"].get(self.outcome, self.outcome)
        package, release, _ = wheels_of_backend(self.backend)[0].split("-", 2)
        major, minor = needed_by(self.backend)
        product = package.replace("_", "-")
        facts = {"origin": f"{product} {release}", "needed": f">={major}.{minor},<{major + 1}"}
        if self.door == "native":
            facts = {"origin": PATH, "needed": f"{major}.{minor}"}
            product = "build of the backend"
        provided = CORES[self.core]["api"]
        return message.format(
            id=tried(self.backend).id, product=product, provided=provided, **facts
        )


def cells() -> Iterator[Cell]:
    """Yield the cells of both tables."""
    for table in ("cells", "released_cells"):
        for core, row in DESCRIPTION[table].items():
            for backend, outcome in row.items():
                is_in_python = backend in RELEASES and "library" not in RELEASES[backend]
                for door in DOORS[:1] if is_in_python else DOORS:
                    yield Cell(core, backend, door, outcome)


class Matrix:
    """The cores and backends, in folders for path or scan.

    Args:
        folder: Where they are made; what is there already is kept while nothing has changed.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Make everything that the cells need, several at once."""
        stamp, digest = self.folder / "sources.sha256", _digest()
        if stamp.exists() and stamp.read_text() == digest:
            return
        check_nothing_of_ours_is_installed()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        with ThreadPoolExecutor(WORKERS) as pool:
            tasks = [pool.submit(self._make_core, name) for name in CORES]
            tasks += [pool.submit(self._make_backend, name) for name in BACKENDS]
            tasks += [pool.submit(self._make_release, name) for name in RELEASES]
            for task in tasks:
                task.result()
        stamp.write_text(digest)

    def wheels_of_core(self, name: str) -> list[Path]:
        """Return the wheels of a core, CpuRef's among them."""
        if CORES[name]["is"] == "released":
            return released_wheels(name)
        return sorted((self._core(name) / "build").glob("*.whl"))

    def wheels_of_backend(self, name: str) -> list[Path]:
        """Return the wheels of a backend of either table."""
        is_made = name in BACKENDS and not BACKENDS[name]["is_frozen"]
        folder = self._backend(name) if is_made else FROZEN
        return [folder / wheel for wheel in wheels_of_backend(name)]

    def core(self, name: str) -> Path:
        """Return the folder of a core, without a backend."""
        return self._core(name) / "core"

    def cpuref(self, name: str) -> Path:
        """Return the folder of a core's CpuRef."""
        return self._core(name) / "cpuref"

    def backend(self, name: str, door: str) -> Path:
        """Return a backend's folder for the path or a scan."""
        return self._backend(name) / door

    def observed(self, cell: Cell, core: Sequence[Path] | None = None) -> dict[str, Any]:
        """Run a cell and return its output.

        A failure is a text under "crash".

        Args:
            cell: A cell of compat.toml.
            core: Folders of a core and CpuRef to take instead.
        """
        name, backend = cell.core, tried(cell.backend)
        path = list(core or [self.core(name), self.cpuref(name)])
        folder = self.backend(cell.backend, cell.door)
        arguments: list[str | Path] = [HERE / "cell.py", backend.id, backend.layer]
        if cell.door == "native":
            arguments.append(folder)
        elif backend.id == "CpuRef":
            path[-1] = folder
        else:
            path.append(folder)
        ran = run(path, *arguments)
        if ran.returncode:
            return {"crash": ran.stderr}
        found: dict[str, Any] = json.loads(ran.stdout)
        if "refusal" in found:
            found["refusal"] = found["refusal"].replace(str(folder / backend.library), PATH)
        return found

    def _core(self, name: str) -> Path:
        return self.folder / f"core-{name.replace(' ', '-')}"

    def _backend(self, name: str) -> Path:
        return self.folder / f"backend-{name.replace(' ', '-')}"

    def _make_core(self, name: str) -> None:
        row = CORES[name]
        if row["is"] != "released":
            pretended = version(row["api"]) if row["is"] == "pretended" else None
            built_wheels(self._core(name) / "build", pretended)
        wheels = self.wheels_of_core(name)
        cpuref = [wheel for wheel in wheels if wheel.name.startswith(CPUREF)]
        install([wheel for wheel in wheels if wheel not in cpuref], self.core(name))
        install(cpuref, self.cpuref(name))

    def _make_backend(self, name: str) -> None:
        backend, source = made(name), FROZEN
        if not BACKENDS[name]["is_frozen"]:
            source = self._backend(name)
            source.mkdir()
            write_wheel(backend, source)
            build_library(backend, header_of(backend.known), source)
        install(self.wheels_of_backend(name), self.backend(name, "python"))
        scanned = self.backend(name, "native")
        scanned.mkdir()
        shutil.copy(source / backend.library, scanned / tried(name).library)

    def _make_release(self, name: str) -> None:
        wheels, library = self.wheels_of_backend(name), RELEASES[name].get("library")
        install(wheels, self.backend(name, "python"))
        if library is not None:
            scanned = self.backend(name, "native")
            scanned.mkdir()
            with zipfile.ZipFile(wheels[0]) as wheel:
                (scanned / Path(library).name).write_bytes(wheel.read(library))


def _digest() -> str:
    """Return a digest of the folders' sources."""
    digest = hashlib.sha256(sys.version.encode())
    packages = (REPOSITORY / "packages" / name for name in DISTRIBUTIONS)
    shipped = (place for package in packages for place in (package / "src", package))
    for folder in (HERE, FROZEN, HERE / "sources", *shipped):
        files = folder.rglob("*") if folder.name == "src" else folder.glob("*")
        for path in sorted(path for path in files if path.is_file() and path.suffix != ".pyc"):
            digest.update(f"{path} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def outcome(found: dict[str, Any]) -> str:
    """Return observations in the form of :attr:`Cell.expected`, or the text of a crash."""
    if "crash" in found or "refusal" in found:
        return str(found.get("crash") or found["refusal"])
    if "field" not in found:
        return "runs"
    return "unknown" if found["field"] is None else found["field"]["reason"] or "offered"


if __name__ == "__main__":
    Matrix().prepare()
