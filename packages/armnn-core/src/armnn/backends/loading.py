# SPDX-License-Identifier: MIT
"""The entries of the backends that were found, and their loading: once, with all checks."""

from __future__ import annotations

import copy
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

from armnn._load_times import IMPORT, stage
from armnn.arguments import closest, shown
from armnn.backends.calling import blamed
from armnn.backends.contract import Backend
from armnn.errors import BackendUnavailableError, IncompatibleBackendError, UnknownBackendError
from armnn.installing import BACKENDS, CPU_EXTRA, install_command
from armnn_backend_api import BackendVersion, is_compatible
from armnn_backend_api.memory import printable
from armnn_backend_api.processes.channel import text_of
from armnn_backend_api.refusal import RefusedError, refused
from armnn_backend_api.structs import MESSAGE_LIMIT

if TYPE_CHECKING:
    from armnn_backend_api.files import FileState


GROUP = "armnn.backends"
"""The entry-point group: an entry's name is the backend's id, its value a class or an instance."""

NAMED_GROUP = "armnn.named_backends"
"""The entry-point group by which a distribution says, in the same words as in :data:`GROUP`, which
of its backends take part only where they are named: their score is 0. So none is imported to learn
that."""

UNREMARKABLE_STAGES = ("name", "duplicate")
"""Where a file may be turned down without a warning: it was not meant for us, or is a link."""

LISTED_LIMIT = 8
"""Backends whose reason a message gives; 'armnn doctor' has all."""


class BackendState(StrEnum):
    """How far a backend got."""

    KNOWN = "known"
    """The backend was found, and nothing speaks against loading it."""
    LOADED = "loaded"
    """The backend can be used."""
    FAILED = "failed"
    """The backend cannot be loaded; the reason is kept, and it is not tried again."""
    INCOMPATIBLE = "incompatible"
    """The backend needs a Backend API that this core does not provide."""
    BLOCKED = "blocked"
    """The user's switches keep it out; it is neither imported nor opened."""
    SHADOWED = "shadowed"
    """Another backend of the same id came first."""


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """One backend that was found.

    Attributes:
        id: Its id; for a file that was turned down, as far as it is known.
        state: How far it got.
        origin: The entry point ("package.module:attribute"), or the path of the file.
        source: Which backend source brought it; empty for a static backend.
        distribution: The distribution that it belongs to, if any.
        version: The version of the distribution.
        location: The folder that holds the distribution's metadata, if any.
        declared_range: The versions of ``armnn-backend-api`` that the distribution admits.
        api_version: The Backend API version that it needs, once that is known.
        stage: The check at which a file was turned down.
        reason: Why it cannot be used, as the rest of a sentence that begins with its name.
        remedy: The advice.
        shadowed_by: The origin of the backend that came first.
        import_seconds: How long importing or opening it took, once it is loaded.
        isolation: Why a worker process loads it and this one does not, as the rest of a sentence;
            empty if this process may.
        examined: The files that are mapped when it is loaded, with the state in which each was
            examined.
        is_named_only: Whether its distribution says that it takes part only where it is named.
    """

    id: str
    state: BackendState
    origin: str
    source: str = ""
    distribution: str = ""
    version: str = ""
    location: str = ""
    declared_range: str = ""
    api_version: BackendVersion | None = None
    stage: str = ""
    reason: str = ""
    remedy: str = ""
    shadowed_by: str = ""
    import_seconds: float | None = None
    isolation: str = ""
    examined: tuple[tuple[str, FileState], ...] = ()
    is_named_only: bool = False

    @property
    def is_static(self) -> bool:
        """Whether an entry point of an installed distribution brought it."""
        return not self.source

    @property
    def is_registered(self) -> bool:
        """Whether the program registered it, without a package."""
        return not (self.source or self.distribution or self.location)

    @property
    def owner(self) -> str:
        """The distribution with version, or the origin without one."""
        return f"{self.distribution} {self.version}" if self.distribution else self.origin

    @property
    def message(self) -> str:
        """The reason and the remedy in one sentence, or ""."""
        if not self.reason:
            return ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        subject = f"Backend {self.id!r} ({self.owner})" if self.id else f"File {self.origin!r}"
        return f"{subject} {self.reason}{remedy}."

    def error(self) -> BackendUnavailableError:
        """Return a new exception with the reason."""
        if self.state is BackendState.INCOMPATIBLE:
            return IncompatibleBackendError(self.message)
        return BackendUnavailableError(self.message)


def unknown_backend(backend_id: str, entries: Sequence[BackendEntry]) -> UnknownBackendError:
    """Return the error for an id that no backend has.

    Args:
        backend_id: The id that the caller named.
        entries: The entries that were found.
    """
    known = list(dict.fromkeys(entry.id for entry in entries if entry.id))
    listed = f"known here: {', '.join(known)}" if known else "none is installed"
    meant = closest(backend_id, [*known, *BACKENDS])
    if backend_id in BACKENDS:
        remedy = f"; {_bringing(backend_id)}."
    elif meant is not None and meant not in known:
        remedy = f"; did you mean {meant!r}? {_bringing(meant)}."
    elif meant is not None:
        remedy = f"; did you mean {meant!r}?"
    elif known:
        remedy = "; install its package, or name the folder of its file by dynamic_backends_path."
    else:
        remedy = f". The usual ones: {install_command(CPU_EXTRA)}."
    if not all(entry.id for entry in entries):
        remedy += " Some files were turned down: 'armnn doctor' with the same folders says why."
    return UnknownBackendError(f"There is no backend {backend_id!r} ({listed}){remedy}")


def none_usable(entries: Sequence[BackendEntry]) -> BackendUnavailableError:
    """Return the error for a runtime without usable backends.

    The runtime is to choose the backends itself.

    Args:
        entries: The entries that were found, in the states that the attempt to use them left them
            in.
    """
    found = [
        entry
        for entry in entries
        if entry.state is not BackendState.SHADOWED and entry.stage not in UNREMARKABLE_STAGES
    ]
    if not found:
        return BackendUnavailableError(
            f"No backend can be used, as none is installed. The usual ones: "
            f"{install_command(CPU_EXTRA)}."
        )
    found.sort(key=lambda entry: bool(entry.message))  # those that only need to be named first
    reasons = [_reason(entry) for entry in found[:LISTED_LIMIT]]
    if len(found) > LISTED_LIMIT:
        reasons.append(f"{len(found) - LISTED_LIMIT} more: see 'armnn doctor'.")
    separator = "\n- " if len(reasons) > 1 else " "
    return BackendUnavailableError(separator.join(["No backend can be used:", *reasons]))


def _bringing(backend_id: str) -> str:
    distribution = BACKENDS[backend_id]
    return f"{distribution} brings it: {install_command(distribution)}"


def _reason(entry: BackendEntry) -> str:
    if entry.message:
        return entry.message
    what = "its score is 0" if entry.is_static else "it is a file in a scanned folder"
    return (
        f"Backend {entry.id!r} ({entry.owner}) is used only if it is named, as {what}; name it in "
        f"the list of backends (backends=[{entry.id!r}])."
    )


LOAD_EVENT = "armnn.backend.load"
"""The audit event before a backend is imported or opened.

Its arguments are the id, as far as it is known without running anything of the backend, else None;
the path of its file, or its entry point; and the file's sha256 or None.
"""

_BackendOrClass: TypeAlias = "Backend | type[Backend]"
_log = logging.getLogger(__name__)


class FoundBackend:
    """A found backend, its loader and the outcome.

    The first outcome stays: a backend is imported or opened once, and a failure is never retried.
    Any number of threads may ask for it.
    """

    def __init__(
        self,
        entry: BackendEntry,
        obtain: Callable[[], object],
        api_version: BackendVersion,
        audited: Callable[[], tuple[str | None, str, str | None]],
        again: Callable[[], object] | None = None,
    ) -> None:
        """Record the found backend; nothing is loaded yet.

        Args:
            entry: The facts of it; a state other than ``known`` is final.
            obtain: Imports or opens it and returns the class or the instance.
            api_version: The Backend API version that the core provides.
            audited: Returns the arguments of the audit event.
            again: The function that makes a further backend after one that ``obtain`` made.
        """
        self.may_load = entry.state is BackendState.KNOWN
        self.entry = entry
        self._obtain = obtain
        self._api_version = api_version
        self._audited = audited
        self._again = again
        self._found: _BackendOrClass | None = None
        self._first: Backend | None = None
        self._made: WeakKeyDictionary[object, Backend] = WeakKeyDictionary()
        self._cause: BaseException | None = None
        self._is_loading = False
        self._has_warned = False
        self._lock = threading.RLock()

    def backend(self, owner: object) -> Backend:
        """Return a registry's backend; the first call loads it.

        Each registry has its own, so that runtimes may use other options and allocators: a class is
        called once for each, an instance is copied if its class defines ``__copy__`` and else
        shared.

        Args:
            owner: The registry; it is not kept alive.

        Raises:
            IncompatibleBackendError: It needs another Backend API.
            BackendUnavailableError: It cannot be loaded; the cause is chained.
        """
        with self._lock:
            if self.entry.state is BackendState.KNOWN:
                self._load()
            if self._found is None:
                raise self.entry.error() from self._cause
            if owner not in self._made:
                self._made[owner], self._first = self._first or self._another(self._found), None
            return self._made[owner]

    def drop(self, owner: object) -> None:
        """Let a registry's backend go."""
        with self._lock:
            self._made.pop(owner, None)

    def warn_once(self) -> None:
        """Log why it cannot be used, the first time only."""
        with self._lock:
            if not self._has_warned:
                self._has_warned = True
                _log.warning("%s It is left out.", printable(self.entry.message))

    @stage(IMPORT)
    def _load(self) -> None:
        if self._is_loading:
            raise BackendUnavailableError(
                f"Backend {self.entry.id!r} ({self.entry.owner}) asks for itself while it is being "
                "loaded; it should do so when it is used."
            )
        self._is_loading = True
        try:
            found = self._checked(self._import())
            self._first = self._made_of(found, is_first=True)
        except RefusedError as error:
            is_other_api = isinstance(error, _IncompatibleError)
            state = BackendState.INCOMPATIBLE if is_other_api else BackendState.FAILED
            self._cause = error.__cause__
            self.entry = refused(replace(self.entry, state=state), error.refusal)
        else:
            self._found = found
            self.entry = replace(self.entry, state=BackendState.LOADED)
            _log.debug("loaded backend %r from %s", self.entry.id, self.entry.origin)
        finally:
            self._is_loading = False

    def _another(self, found: _BackendOrClass) -> Backend:
        """Return one more backend of the loaded class or file."""
        try:
            return self._made_of(found)
        except RefusedError as error:
            raise refused(self.entry, error.refusal).error() from error.__cause__

    def _made_of(self, found: _BackendOrClass, *, is_first: bool = False) -> Backend:
        try:
            if not isinstance(found, Backend):
                return self._instance(found())
            if self._again is not None:
                return (
                    found
                    if is_first
                    else self._made_of(self._checked(self._again()), is_first=True)
                )
            return self._instance(_copied(found)) if hasattr(type(found), "__copy__") else found
        except (KeyboardInterrupt, RefusedError):
            raise
        except BaseException as error:
            raise self._failed(f"cannot be made: {describe_error(error)}") from error

    def _instance(self, made: object) -> Backend:
        if isinstance(made, Backend):
            return made
        raise self._failed(f"cannot be made: got {shown(made)}, expected a Backend")

    def _import(self) -> object:
        start = time.perf_counter()
        try:
            sys.audit(LOAD_EVENT, *self._audited())
            found = blamed(self._obtain, self.entry.id, "load")()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: a plug-in must not end the process
            what = "made" if self.entry.is_registered else "imported"
            what = what if self.entry.is_static else "opened"
            is_ours = isinstance(error, BackendUnavailableError)
            reason = (
                f"cannot be {what}: {str(error).rstrip('.') if is_ours else describe_error(error)}"
            )
            # A source may say at which check it was and what to do; the others have no such words.
            stage, remedy = (str(getattr(error, name, "")) for name in ("stage", "remedy"))
            raise self._failed(reason, stage, remedy) from error
        self.entry = replace(self.entry, import_seconds=time.perf_counter() - start)
        return found

    def _checked(self, found: object) -> _BackendOrClass:
        backend = self._checked_type(found)
        self._check_id(backend)
        self._check_version(backend)
        return backend

    def _checked_type(self, found: object) -> _BackendOrClass:
        if isinstance(found, Backend) or (isinstance(found, type) and issubclass(found, Backend)):
            return found
        kind = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
        raise self._failed(
            f"is not a backend: got {kind} from {self.entry.origin}, expected a subclass or an "
            "instance of armnn.backends.Backend"
        )

    def _check_id(self, found: _BackendOrClass) -> None:
        backend_id = getattr(found, "id", None)
        if backend_id is None:
            raise self._failed("lacks the attribute 'id'")
        if backend_id != self.entry.id:
            raise self._failed(
                f"was found as {self.entry.id!r} but calls itself {backend_id!r}: the two must be "
                "the same"
            )

    def _check_version(self, found: _BackendOrClass) -> None:
        needed = getattr(found, "api_version", None)
        if needed is None:
            raise self._failed("lacks the attribute 'api_version'")
        if not isinstance(needed, BackendVersion):
            raise self._failed(f"has api_version {needed!r}, expected a BackendVersion")
        self.entry = replace(self.entry, api_version=needed)
        if not is_compatible(needed, self._api_version):
            reason, remedy = incompatibility(
                self.entry.distribution,
                str(needed),
                self._api_version,
                core_is_older=needed > self._api_version,
            )
            raise _IncompatibleError("", reason, remedy)

    def _failed(self, reason: str, stage: str = "", remedy: str = "") -> RefusedError:
        if not remedy and self.entry.distribution:
            remedy = f"reinstall {self.entry.distribution} or tell its authors"
        return RefusedError(stage, reason, remedy or "its authors can help")


def _copied(backend: Backend) -> Backend:
    return copy.copy(backend)


class _IncompatibleError(RefusedError):
    """A backend needs another Backend API."""


def incompatibility(
    distribution: str, needed: str, provided: BackendVersion, *, core_is_older: bool
) -> tuple[str, str]:
    """Return reason and remedy for an incompatible Backend API.

    Args:
        distribution: The backend's distribution, empty for a file that belongs to none.
        needed: The version or the range that it needs.
        provided: The version that the core provides.
        core_is_older: Whether a newer core would do, rather than a newer backend.
    """
    reason = f"needs Backend API {needed}, this core provides {provided}"
    backend = distribution or "build of the backend"
    if core_is_older:
        return reason, f"upgrade armnn-core or install an older {backend}"
    return reason, f"install a newer {backend} or an older armnn-core"


def describe_error(error: BaseException) -> str:
    """Return an exception's type and text, with escapes."""
    text = printable(text_of(error), MESSAGE_LIMIT)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
