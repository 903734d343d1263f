# SPDX-License-Identifier: MIT
"""The backends that a program registers, and the registry of all backends of a runtime."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from armnn.arguments import closest, flag, refused, shown, text, texts
from armnn.backends.calling import call
from armnn.backends.contract import Backend
from armnn.backends.discovery import dynamic_backends, static_backends, static_backends_of
from armnn.backends.loading import (
    BackendEntry,
    BackendState,
    FoundBackend,
    describe_error,
    none_usable,
    unknown_backend,
)
from armnn.backends.locking import Lock
from armnn.backends.options import CreationOptions
from armnn.backends.selection import (
    Selection,
    SkippedBackend,
    all_skipped,
    is_locked,
    is_placed,
    own_id,
    preferences,
)
from armnn.errors import (
    BackendUnavailableError,
    InvalidArgumentError,
    UnknownBackendError,
    UnknownNameError,
)
from armnn.installing import CPU_REF
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion
from armnn_backend_api.names import fault_of_id

if TYPE_CHECKING:
    from armnn.backends.isolation import Workers

BackendFactory: TypeAlias = "type[Backend] | Backend | Callable[[], Backend]"
"""A backend's class, a backend that all runtimes share, or a function called for each runtime."""

_Factory = TypeVar("_Factory", bound=BackendFactory)

_lock = threading.RLock()
_registrations: dict[str, list[Registration]] = {}


class Registration:
    """A registered backend, as :func:`register_backend` returns it.

    It is a context manager, which undoes the registration at its end, and a decorator for a factory
    that was not given.

    Attributes:
        id: The id of the backend.
    """

    def __init__(self, id: str, *, replace: bool) -> None:
        self.id = id
        self._replace = replace
        self._factory: BackendFactory | None = None
        self._origin = ""
        self._found: dict[BackendVersion, FoundBackend] = {}

    def __call__(self, factory: _Factory) -> _Factory:
        """Register a factory; return it unchanged.

        Raises:
            InvalidArgumentError: It is not a factory, has another id, or the id is taken.
        """
        _check_factory(self.id, factory)
        origin = _origin_of(factory)
        with _lock:
            present = _registrations.setdefault(self.id, [])
            kept = [each for each in present if each is not self]
            if not self._replace:
                # A notebook's cell that runs again replaces its own earlier registration.
                kept = [each for each in kept if each._origin != origin]
            if kept and not self._replace:
                raise InvalidArgumentError(
                    f"backend {self.id!r} is registered already, as {kept[-1]._origin}: "
                    f"replace=True puts {origin} in its place until it is undone, "
                    f"unregister_backend({self.id!r}) removes all registrations of the id"
                )
            self._factory, self._origin, self._found = factory, origin, {}
            present[:] = [*kept, self]
        return factory

    def undo(self) -> None:
        """Remove the registration; a replaced one counts again.

        Networks that are loaded stay as they are. Undoing twice does nothing.
        """
        with _lock:
            present = _registrations.get(self.id, [])
            if self in present:
                present.remove(self)
            if not present:
                _registrations.pop(self.id, None)

    def found(self, api_version: BackendVersion) -> FoundBackend:
        """Return the entry of the backend for registries, the same object for each version.

        Args:
            api_version: The Backend API version that the core provides.
        """
        with _lock:
            if api_version not in self._found:
                entry = BackendEntry(self.id, BackendState.KNOWN, self._origin)
                factory = self._factory
                again = None if isinstance(factory, (type, Backend)) else factory
                obtain = functools.partial(_obtain, factory)
                self._found[api_version] = FoundBackend(
                    entry, obtain, api_version, lambda: (self.id, self._origin, None), again
                )
            return self._found[api_version]

    def __enter__(self) -> Registration:
        if self._factory is None:
            raise InvalidArgumentError(
                f"register_backend({self.id!r}) has no factory yet: give it as the second "
                f"argument, or write @armnn.register_backend({self.id!r}) above the class"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<Registration {self.id!r} {self._origin or 'without a factory'}>"


def register_backend(
    id: str, factory: BackendFactory | None = None, *, replace: bool = False
) -> Registration:
    """Add a backend to the program's, without a package.

    Counterpart of Arm NN's ``BackendRegistry::Register``. All runtimes see it at once, also
    existing ones; it replaces an installed backend of the same id. Three ways to write it::

        armnn.register_backend("Sketch", Sketch)

        @armnn.register_backend("Sketch")
        class Sketch(armnn.backends.Backend): ...

        with armnn.register_backend("Sketch", Sketch):
            ...  # undone at the end

    Args:
        id: Letters and digits, as the backend itself says.
        factory: The backend's class or a function without arguments, which is called once per
            runtime; or a backend object, which all runtimes share. Without a factory the returned
            object is a decorator for one.
        replace: Whether the factory may come before another one that is registered for the id. A
            class or function of the same module and name always replaces its own registration, as
            when a cell of a notebook runs again.

    Raises:
        InvalidArgumentError: The id is invalid or taken, or the factory is not one of these kinds.
    """
    fault = fault_of_id(id)
    if fault:
        raise InvalidArgumentError(f"the id of a backend is {shown(id)}, {fault}")
    registration = Registration(id, replace=flag(replace, "replace"))
    if factory is not None:
        registration(factory)
    return registration


def unregister_backend(id: str) -> None:
    """Remove the backends that :func:`register_backend` added under an id.

    Counterpart of Arm NN's ``BackendRegistry::Deregister``.

    Raises:
        UnknownNameError: Nothing is registered under it.
    """
    with _lock:
        if _registrations.pop(id, None) is None:
            known = [*_registrations]
            meant = closest(id, known) if isinstance(id, str) else None
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise UnknownNameError(
                f"no backend is registered as {shown(id)}: registered are "
                f"{', '.join(known) or 'none'}{hint}"
            )


def registered_backends(api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the registered backends; of one id the last first.

    Args:
        api_version: The Backend API version that the core provides.
    """
    with _lock:
        stacks = tuple(_registrations.values())
        return tuple(each.found(api_version) for stack in stacks for each in reversed(stack))


def _obtain(factory: BackendFactory | None) -> object:
    return factory if factory is None or isinstance(factory, (type, Backend)) else factory()


def _check_factory(id: str, factory: object) -> None:
    is_backend = isinstance(factory, Backend)
    if isinstance(factory, type) and issubclass(factory, Backend):
        is_backend = True
    elif isinstance(factory, type) or not (is_backend or callable(factory)):
        raise refused(
            f"the factory of backend {id!r}",
            factory,
            "a class derived from armnn.backends.Backend, a function that returns a backend, or a "
            "backend",
        )
    if not is_backend:
        return  # what a function returns is checked when it is called
    for name, example in (("id", repr(id)), ("api_version", "armnn.backends.BACKEND_API_VERSION")):
        if getattr(factory, name, None) is None:
            raise InvalidArgumentError(
                f"{_origin_of(factory)} lacks the attribute {name!r}: write {name} = {example} "
                "in the class"
            )
    found: object = getattr(factory, "id", None)
    if found != id:
        raise InvalidArgumentError(
            f"{_origin_of(factory)} has the id {found!r} and is registered as {id!r}: the two "
            "must be the same"
        )


def _origin_of(factory: object) -> str:
    named = type(factory) if isinstance(factory, Backend) else factory
    name = getattr(named, "__qualname__", type(named).__qualname__)
    return f"{getattr(named, '__module__', '')}:{name}"


MORE_IN_DOCTOR = "'armnn doctor' says more"
"""The remedy for a backend that was loaded and cannot be used after all."""

_log = logging.getLogger(__name__)


class BackendRegistry:
    """The backends of one runtime: an entry for each that was found, and those that are loaded.

    A static backend's module is imported once per process; each registry makes a backend of its
    own. Of several backends of one id, the first that may be loaded is used: registered ones come
    before installed ones, these by normalized distribution name, and dynamic ones come last, in the
    order in which their source found them. Several threads may use a registry.
    """

    def __init__(
        self,
        options: CreationOptions | None = None,
        api_version: BackendVersion = BACKEND_API_VERSION,
    ) -> None:
        """Make a registry; folders are scanned now, packages later.

        Packages are read when they are needed.

        Args:
            options: Which backends take part; the defaults if left out.
            api_version: The Backend API version that the core provides.

        Raises:
            BackendUnavailableError: ``dynamic_backends_path`` was given and cannot be scanned.
            InvalidArgumentError: A switch is not a list of ids, or the lock file cannot be read.
        """
        self._options = CreationOptions() if options is None else options
        self._api_version = api_version
        self._selection = Selection.of(self._options)
        self._lock_file = _lock_of(self._options)
        self._workers: Workers | None = None
        self._used: set[FoundBackend] = set()
        self._left_out: dict[FoundBackend, BaseException] = {}
        self._lock = threading.Lock()
        self._dynamic: tuple[FoundBackend, ...] | None = None
        if self._options.isolate:
            self._needed_workers()
        if self._options.dynamic_backends_path is not None:
            self._dynamic_backends()

    def entries(self) -> tuple[BackendEntry, ...]:
        """Return the entries of all backends in the order of precedence; none is loaded."""
        return tuple(entry for _, entry in self._rows())

    def get(self, backend_id: str) -> Backend:
        """Return a backend; loads it unless it is loaded.

        Raises:
            UnknownBackendError: None of that id was found; the message lists those that were.
            IncompatibleBackendError: It needs a Backend API that this core does not provide.
            BackendUnavailableError: It cannot be used; the message says why, the cause is chained.
        """
        found, entry = self._winner(backend_id)
        if found is None:
            raise entry.error()
        if found in self._left_out:
            raise entry.error() from self._left_out[found]
        return self._backend(found)

    def find_usable(self, backend_ids: Sequence[str] | None = None) -> tuple[Backend, ...]:
        """Return backends in order of preference, each once.

        Args:
            backend_ids: The ids that the user named: each must be usable, but for those with a
                question mark, as in "GpuAcc?", which are skipped if they are not. Left out, all
                static backends that can be used, the highest score first, then by id, CpuRef last;
                those that cannot be used are logged once. Dynamic backends must be named.

        Raises:
            UnknownBackendError: A named backend was not found.
            BackendUnavailableError: A named backend cannot be used, or none was named and there is
                none.
            InvalidArgumentError: ``backend_ids`` is a text or empty.
        """
        if backend_ids is None:
            return self._usable_static_backends()
        return self.preferred(backend_ids)[0]

    def preferred(
        self, backend_ids: Sequence[str], use: Callable[[Backend], object] = id
    ) -> tuple[tuple[Backend, ...], tuple[SkippedBackend, ...]]:
        """Return the usable backends of a list, and skipped ones.

        Args:
            backend_ids: In the order of preference; see :meth:`find_usable`.
            use: Called with each backend as it is found; it may raise as :meth:`get` does, which
                makes the backend one that cannot be used.

        Raises:
            UnknownBackendError: A backend without a question mark was not found.
            BackendUnavailableError: A backend without a question mark cannot be used, or all
                backends are skipped.
            InvalidArgumentError: ``backend_ids`` is a text or empty.
        """
        ids: tuple[str, ...] = ()
        if not isinstance(backend_ids, str):
            ids = texts(backend_ids, "the backends", f"a list of ids such as {[CPU_REF]}")
        if not ids:
            raise InvalidArgumentError(
                f"the backends are {backend_ids!r}: expected a list of ids such as {[CPU_REF]}"
            )
        found: list[Backend] = []
        skipped: list[SkippedBackend] = []
        for backend_id, may_be_missing in preferences(ids).items():
            try:
                backend = self.get(backend_id)
                use(backend)
            except (UnknownBackendError, BackendUnavailableError) as error:
                if not may_be_missing:
                    raise
                skipped.append(SkippedBackend(backend_id, str(error)))
                _log.info("Backend %r is skipped: %s", backend_id, error)
            else:
                found.append(backend)
        if not found:
            raise all_skipped(skipped)
        return tuple(found), tuple(skipped)

    def leave_out(self, backend_id: str, error: BaseException) -> None:
        """Exclude a loaded backend from this runtime.

        :meth:`get` raises from now on. The first error stays.

        Args:
            backend_id: The backend.
            error: Why; ``Backend.create_context`` raises it when the hardware is not there.

        Raises:
            UnknownBackendError: None of that id was found.
        """
        found, entry = self._winner(backend_id)
        if found is None:
            raise entry.error()
        self._left_out.setdefault(found, error)

    def close(self) -> None:
        """Drop the backends; a later call finds and loads static ones again."""
        with self._lock:
            used, self._used, self._dynamic = tuple(self._used), set(), ()
        for found in used:
            found.drop(self)
        if self._workers is not None:
            self._workers.close()

    def _backend(self, found: FoundBackend) -> Backend:
        if self._workers is not None:
            self._workers.before_loading(found.entry)
        backend = found.backend(self)
        self._used.add(found)
        return backend

    def _winner(self, backend_id: str) -> tuple[FoundBackend | None, BackendEntry]:
        """Return the backend of an id and its entry; None and the reason if none may be loaded."""
        text(backend_id, "the id of a backend")
        if is_placed(backend_id):
            self._needed_workers().find(backend_id, [found.entry for found in self._every()])
        rows = [row for row in self._rows(backend_id) if row[1].id == backend_id]
        if not rows:
            raise unknown_backend(backend_id, self.entries())
        for found, entry in rows:
            if found.may_load and entry.state not in (BackendState.BLOCKED, BackendState.SHADOWED):
                return found, entry
        # Of two reasons, a fault of an allowed backend says more than that another is not allowed.
        admitted = [entry for _, entry in rows if entry.state is not BackendState.BLOCKED]
        return None, (admitted or [rows[0][1]])[0]

    def _rows(self, backend_id: str | None = None) -> Iterator[tuple[FoundBackend, BackendEntry]]:
        """Yield found backends with entries as this registry sees them.

        Args:
            backend_id: The only id that is asked for; static backends of other ids may be missing.
        """
        winners: dict[str, BackendEntry] = {}
        for found in self._in_place(self._every(backend_id)):
            entry = found.entry
            refusal = self._switched_off(entry) or self._lock_refusal(entry)
            if refusal is not None:
                reason, remedy = refusal
                entry = replace(entry, state=BackendState.BLOCKED, reason=reason, remedy=remedy)
            elif found.may_load and entry.id in winners:
                entry = _shadowed(entry, winners[entry.id])
            elif found.may_load:
                winners[entry.id] = entry
                if found in self._left_out:
                    entry = _left_out(entry, self._left_out[found])
            yield found, entry

    def _in_place(self, every: Sequence[FoundBackend]) -> Sequence[FoundBackend]:
        """Return the backends, those in worker processes or on boards as their stand-ins."""
        if self._workers is None and not any(found.entry.isolation for found in every):
            return every
        workers = self._needed_workers()
        return (*map(workers.in_place, every), *workers.placed)

    def _needed_workers(self) -> Workers:
        from armnn.backends.isolation import Workers  # late: a prepared load does without

        with self._lock:
            if self._workers is None:
                self._workers = Workers(self._options, self._api_version)
            return self._workers

    def _every(self, backend_id: str | None = None) -> tuple[FoundBackend, ...]:
        api = self._api_version
        static = static_backends_of(backend_id, api) if backend_id else static_backends(api)
        return (*registered_backends(api), *static, *self._dynamic_backends())

    def _switched_off(self, entry: BackendEntry) -> tuple[str, str] | None:
        """Return reason and remedy if the switches exclude a backend.

        A backend whose id has a place, as in "isolated:CpuAcc", may be allowed by either id.
        """
        refusal = self._selection.refusal(entry)
        if refusal is None or not is_placed(entry.id):
            return refusal
        return self._selection.refusal(replace(entry, id=own_id(entry.id)))

    def _lock_refusal(self, entry: BackendEntry) -> tuple[str, str] | None:
        """Return reason and remedy if the lock file excludes a static backend.

        Of dynamic backends the files are checked before they are loaded.
        """
        if self._lock_file is None or not entry.is_static:
            return None
        if entry.is_registered:
            return "is registered by the program, and a lock file admits packages and files only", (
                "install it as a package and lock it"
            )
        refusal = self._lock_file.refusal_of_distribution(entry.distribution, entry.location)
        return refusal if any(refusal) else None

    def _usable_static_backends(self) -> tuple[Backend, ...]:
        ranked: list[tuple[bool, int, str, Backend]] = []
        for found, entry in self._rows():
            skipped = entry.state in (BackendState.BLOCKED, BackendState.SHADOWED)
            is_named_only = not entry.is_static or entry.is_named_only or is_placed(entry.id)
            if skipped or is_named_only or found in self._left_out:
                continue
            try:
                backend = self._backend(found)
                score = call(backend.id, backend, "score")
            except BackendUnavailableError:
                found.warn_once()
            except Exception as error:
                self.leave_out(entry.id, error)
                _log.warning("%s It is left out.", _left_out(entry, error).message)
            else:
                if score > 0:
                    ranked.append((entry.id == CPU_REF, -score, entry.id, backend))
        if not ranked:
            raise none_usable(self.entries())
        return tuple(backend for *_, backend in sorted(ranked, key=lambda row: row[:3]))

    def _dynamic_backends(self) -> tuple[FoundBackend, ...]:
        with self._lock:
            if self._dynamic is None:
                found = dynamic_backends(
                    self._options, self._api_version, owner=self, locked=self._lock_file
                )
                self._dynamic = tuple(found)
            return self._dynamic


def first_entry(registry: BackendRegistry, backend_id: str) -> BackendEntry | None:
    """Return the first entry of an id, if any."""
    rows = registry._rows(backend_id)
    return next((entry for _, entry in rows if entry.id == backend_id), None)


def _lock_of(options: CreationOptions) -> Lock | None:
    if not is_locked(options):
        return None
    return Lock.of(options)


def _shadowed(entry: BackendEntry, winner: BackendEntry) -> BackendEntry:
    first = winner.origin if winner.owner == winner.origin else f"{winner.owner}, {winner.origin}"
    return replace(
        entry,
        state=BackendState.SHADOWED,
        reason=f"from {entry.origin} is shadowed by the one from {first}",
        remedy="remove one of the two",
        shadowed_by=winner.origin,
    )


def _left_out(entry: BackendEntry, error: BaseException) -> BackendEntry:
    reason = f"cannot be used: {describe_error(error)}".rstrip(".")
    return replace(entry, state=BackendState.FAILED, reason=reason, remedy=MORE_IN_DOCTOR)
