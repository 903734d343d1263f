# SPDX-License-Identifier: MIT
"""Backend sources: distributions that find backends in other ways.

Their backends have no entry point each. A source is an entry point of the group
``armnn.backend_sources``. The one named ``dynamic`` scans folders for shared libraries. A source is
imported only when there is something for it to do.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from armnn import metadata
from armnn.backends.contract import Backend
from armnn.backends.loading import LOAD_EVENT, describe_error
from armnn.backends.options import CreationOptions
from armnn.backends.selection import (
    PATH_VARIABLE,
    PATHS_GROUP,
    Selection,
    asked_by,
    environment,
    is_elevated,
)
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from armnn.installing import LOADER, install_command
from armnn_backend_api import BackendVersion
from armnn_backend_api.files import FileState

__all__ = [
    "LOAD_EVENT",
    "PATH_VARIABLE",
    "BackendSource",
    "SearchedFolder",
    "Selection",
    "SourceRecord",
    "declared_folders",
    "describe_error",
    "environment",
    "is_elevated",
]

GROUP = "armnn.backend_sources"
PROBES = ("on", "again", "twice", "off")
"""The values of ``CreationOptions.probe``."""

LONGEST_PROBE_SECONDS = 3600.0
"""The largest ``CreationOptions.probe_timeout``: a start must end."""

DYNAMIC = "dynamic"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A backend that a source found, or a refused file.

    Attributes:
        id: Its id; of a file that was turned down, as far as it is known.
        path: Where it is.
        distribution: The distribution that it belongs to, if any.
        version: The version of that distribution, or of the backend.
        api_version: The Backend API version that it needs, if that is known without opening it.
        sha256: Of the file, if it was computed.
        noted_id: The id that the file says it has, known without running any of it.
        stage: At which check it was turned down; empty if it was not.
        reason: Why it was turned down, as the rest of a sentence that begins with its name.
        remedy: The advice.
        isolation: Why a worker process loads it and this one does not, as the rest of a sentence;
            empty if this process may.
        examined: The files that are mapped when it is loaded, with the state in which each was
            examined.
    """

    id: str
    path: str
    distribution: str = ""
    version: str = ""
    api_version: BackendVersion | None = None
    sha256: str | None = None
    noted_id: str | None = None
    stage: str = ""
    reason: str = ""
    remedy: str = ""
    isolation: str = ""
    examined: tuple[tuple[str, FileState], ...] = ()


@dataclass(frozen=True, slots=True)
class SearchedFolder:
    """A folder that a source was asked to scan.

    Attributes:
        path: As it was given.
        origin: Who gave it: an option, a variable, or a distribution.
        problem: Why it is not scanned, as the rest of a sentence that begins with its path.
    """

    path: str
    origin: str
    problem: str = ""


class BackendSource(ABC):
    """Finds backends without entry points of their own."""

    @abstractmethod
    def scan(self, options: CreationOptions) -> Sequence[SourceRecord]:
        """Find backends, in order of precedence, without loading any.

        Nothing that is found there may raise: what cannot be used becomes a record with a reason.
        """

    @abstractmethod
    def load(self, record: SourceRecord, runtime: object) -> Backend:
        """Load a result of :meth:`scan`.

        Args:
            record: One of its records, not turned down.
            runtime: A token of the runtime that the backend will belong to: the same object for
                all loads of one runtime. Two runtimes may load the same record.

        Raises:
            Exception: It cannot be loaded; the registry keeps the exception as the cause.
        """

    def folders(self, options: CreationOptions) -> Sequence[SearchedFolder]:
        """Return the folders, those not scanned with their reasons."""
        return ()

    def files(self, options: CreationOptions) -> Sequence[str]:
        """Return the files that :meth:`scan` would probe, running nothing."""
        return ()

    @abstractmethod
    def lint(self, path: str) -> Sequence[str]:
        """Return a file's or folder's defects, one sentence each."""


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source that took part.

    Attributes:
        name: Its name, "dynamic" for one.
        source: The object.
    """

    name: str
    source: BackendSource


def installed_sources() -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of the sources; none is imported."""
    return metadata.entry_points(GROUP)


def declared_folders() -> tuple[SearchedFolder, ...]:
    """Return the folders that distributions declare, importing nothing.

    A folder is found by the files that the distribution's RECORD lists, or where there are none
    of it, as in an editable install, by where the package would be imported from.
    """
    return tuple(_declared_folder(entry) for entry in metadata.entry_points(PATHS_GROUP))


def _declared_folder(entry: metadata.EntryPoint) -> SearchedFolder:
    origin = str(entry.distribution)
    folder = Path(entry.distribution.location, *entry.module.split("."))
    if any(folder in path.parents for path in entry.distribution.files()):
        return SearchedFolder(str(folder), origin)
    spec = metadata.find_module(entry.module)
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        return SearchedFolder(str(location), origin)
    problem = (
        f"cannot be found: {entry.distribution} declares it, but has no package {entry.module!r}"
    )
    return SearchedFolder(entry.module, origin, problem)


def sources_for(options: CreationOptions) -> tuple[FoundSource, ...]:
    """Import the sources if there is work for them.

    With ``dynamic_backends_path`` a missing or broken source is an error; otherwise it is logged
    and left out.

    Raises:
        BackendUnavailableError: A path was given and the source is missing or cannot be imported.
        InvalidArgumentError: The options say something about the probe that has no meaning.
    """
    asked = asked_by(options)
    if not asked:
        return ()
    _check_probe(options)
    found: list[FoundSource] = []
    entry_points = installed_sources()
    problems = [] if any(e.name == DYNAMIC for e in entry_points) else [_missing(asked)]
    for entry_point in entry_points:
        try:
            found.append(FoundSource(entry_point.name, load_source(entry_point)))
        except BackendUnavailableError as error:
            problems.append(error)
    for problem in problems:
        if options.dynamic_backends_path is not None:
            raise problem
        _log.warning("%s", problem)
    return tuple(found)


def find_source(name: str = DYNAMIC) -> BackendSource:
    """Import the source of that name, for a lint.

    Raises:
        BackendUnavailableError: It is missing or cannot be imported.
    """
    for entry_point in installed_sources():
        if entry_point.name == name:
            return load_source(entry_point)
    raise _missing(f"the backend source {name!r}")


def load_source(entry_point: metadata.EntryPoint) -> BackendSource:
    """Import a source.

    Raises:
        BackendUnavailableError: It cannot be imported, or is not a source.
    """
    subject = f"Backend source {entry_point.name!r} ({entry_point.distribution})"
    try:
        found = entry_point.load()
        source = found() if isinstance(found, type) else found
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a plug-in must not end the process
        raise BackendUnavailableError(
            f"{subject} cannot be imported: {describe_error(error)}; reinstall "
            f"{entry_point.distribution.name}."
        ) from error
    if not isinstance(source, BackendSource):
        raise BackendUnavailableError(
            f"{subject} is not a source: got {type(source).__name__} from {entry_point.value}, "
            "expected a subclass or an instance of armnn.backends.BackendSource."
        )
    return source


def _check_probe(options: CreationOptions) -> None:
    if options.probe not in PROBES:
        raise InvalidArgumentError(
            f"the probe is {options.probe!r}: expected one of {', '.join(map(repr, PROBES))}"
        )
    if not 0 < options.probe_timeout <= LONGEST_PROBE_SECONDS:
        raise InvalidArgumentError(
            f"the probe_timeout is {options.probe_timeout!r}: expected seconds above 0 and at most "
            f"{LONGEST_PROBE_SECONDS:g}"
        )


def _missing(asked: str) -> BackendUnavailableError:
    return BackendUnavailableError(
        f"Dynamic backends cannot be loaded ({asked}), as the distribution {LOADER!r} is not "
        f"installed: {install_command(LOADER)}."
    )
