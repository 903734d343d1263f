# SPDX-License-Identifier: MIT
"""Backends that a program registers itself, as a notebook does."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeAlias, TypeVar

from armnn._arguments import closest, flag, refused, shown
from armnn.backends.base import Backend
from armnn.backends.entries import BackendEntry, BackendState
from armnn.backends.loading import FoundBackend
from armnn.errors import InvalidArgumentError, UnknownNameError
from armnn_backend_api import BackendVersion
from armnn_backend_api.names import fault_of_id

BackendFactory: TypeAlias = "type[Backend] | Backend | Callable[[], Backend]"
"""A backend's class, a backend that all runtimes share, or a function called for each runtime."""

_Factory = TypeVar("_Factory", bound=BackendFactory)

_lock = threading.RLock()
_registered: dict[str, list[Registration]] = {}


class Registration:
    """A registered backend, as :func:`register_backend` returns it.

    Leaving it as a context undoes the registration. Without a factory it decorates one.

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
            InvalidArgumentError: It is none, its class has another id, or the id is taken.
        """
        _check_factory(self.id, factory)
        origin = _origin_of(factory)
        with _lock:
            present = _registered.setdefault(self.id, [])
            kept = [each for each in present if each is not self]
            if not self._replace:
                # The cell of a notebook that is run again registers the same name anew.
                kept = [each for each in kept if each._origin != origin]
            if kept and not self._replace:
                raise InvalidArgumentError(
                    f"backend {self.id!r} is registered already, as {kept[-1]._origin}: "
                    f"replace=True puts {origin} in its place until it is undone, "
                    f"unregister_backend({self.id!r}) removes the first"
                )
            self._factory, self._origin, self._found = factory, origin, {}
            present[:] = [*kept, self]
        return factory

    def undo(self) -> None:
        """Remove the registration; a replaced one counts again.

        Networks that are loaded stay as they are. Undoing twice does nothing.
        """
        with _lock:
            present = _registered.get(self.id, [])
            if self in present:
                present.remove(self)
            if not present:
                _registered.pop(self.id, None)

    def found(self, api_version: BackendVersion) -> FoundBackend:
        """Return the backend for registries, the same object each time.

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

    Counterpart of Arm NN's ``BackendRegistry::Register``. All runtimes see it at once, those that
    exist too; it comes before an installed backend of the same id. Three ways to write it::

        armnn.register_backend("Sketch", Sketch)

        @armnn.register_backend("Sketch")
        class Sketch(armnn.backends.Backend): ...

        with armnn.register_backend("Sketch", Sketch):
            ...  # undone at the end

    Args:
        id: Letters and digits, as the backend itself says.
        factory: The backend's class, or a function without arguments, either of which is called
            once per runtime; or a backend, which all runtimes share. Left out, what is returned
            decorates one.
        replace: Whether it may come before another factory that is registered for the id. A class
            or a function of the same module and name replaces itself without, as when a cell of a
            notebook is run again.

    Raises:
        InvalidArgumentError: The id is none or taken, or the factory is none.
    """
    fault = fault_of_id(id)
    if fault:
        raise InvalidArgumentError(f"the id of a backend is {shown(id)}, {fault}")
    registration = Registration(id, replace=flag(replace, "replace"))
    if factory is not None:
        registration(factory)
    return registration


def unregister_backend(id: str) -> None:
    """Remove what :func:`register_backend` added under an id.

    Counterpart of Arm NN's ``BackendRegistry::Deregister``.

    Raises:
        UnknownNameError: Nothing is registered under it.
    """
    with _lock:
        if _registered.pop(id, None) is None:
            known = [*_registered]
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
        stacks = tuple(_registered.values())
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
