# SPDX-License-Identifier: MIT
"""The backend under test, by id or path."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from pathlib import Path

from armnn.backends import (
    Backend,
    BackendEntry,
    BackendRegistry,
    BackendState,
    CreationOptions,
    ModelContext,
    Support,
    TensorHandleFactories,
    TensorHandleFactory,
)
from armnn.backends.selection import is_placed
from armnn.errors import BackendUnavailableError
from armnn.graph import Layer
from armnn.runtime import Runtime
from armnn.single_layer import supports

_DYNAMIC_MARKS = (os.sep, ".so")


class Subject:
    """One backend under test, without any other.

    Use it as a context manager, or call :meth:`close`.

    Attributes:
        wish: How the user named it: an id, or the path of a file.
        options: The options of a runtime that shall have just this backend.
        entry: Its entry in the registry.
        backend: The backend itself.
        model: Its context for a network without options.
    """

    def __init__(self, wish: str, options: CreationOptions | None = None) -> None:
        """Load the backend.

        Args:
            wish: Its id, or the path of its shared library.
            options: Where an id is looked for; the defaults if left out.

        Raises:
            UnknownBackendError: No backend has that id.
            BackendUnavailableError: It cannot be used, or nothing is at that path that can be.
        """
        self.wish = wish
        backend_id, found_by = _locate(wish, CreationOptions() if options is None else options)
        self._registry = BackendRegistry(found_by)
        self.backend: Backend = self._registry.get(backend_id)
        self.entry: BackendEntry = _usable(self._registry, backend_id)
        self.options = replace(found_by, allowed_backends=(backend_id,))
        self.model: ModelContext = self.backend.create_model_context({})

    @property
    def id(self) -> str:
        """The id of the backend."""
        return self.entry.id

    def lacks(self, capability: str) -> bool:
        """Return whether the backend states a capability to be false."""
        return self.backend.capabilities.get(capability, True) is False

    @functools.cached_property
    def own_factory(self) -> TensorHandleFactory:
        """The factory of the tensors that the backend prefers, of those that it registers."""
        factories = TensorHandleFactories()
        self.backend.register_tensor_handle_factories(factories)
        return factories[self.backend.handle_factory_preferences[0]]

    @functools.cached_property
    def runtime(self) -> Runtime:
        """A runtime that has just this backend."""
        return Runtime(self.options)

    def supports(self, layer: Layer) -> Support:
        """Return the backend's answer, or the host's for younger layers.

        Raises:
            BackendError: The backend failed instead of answering.
        """
        return supports(self.backend, self.model, layer)

    def close(self) -> None:
        """Close the runtime, and end the backend's process."""
        if "runtime" in vars(self):
            self.runtime.close()
        self._registry.close()

    def __enter__(self) -> Subject:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _locate(wish: str, options: CreationOptions) -> tuple[str, CreationOptions]:
    """Return a backend's id and the options to find it.

    Raises:
        BackendUnavailableError: Nothing at that path can be used.
    """
    if is_placed(wish) or not any(mark in wish for mark in _DYNAMIC_MARKS):
        return wish, options
    path = Path(wish).absolute()
    options = CreationOptions(dynamic_backends_path=str(path.parent), enable_static_backends=False)
    if not path.is_file():
        raise BackendUnavailableError(
            f"{wish!r} is not a file: expected the id of a backend or the path of its shared "
            "library."
        )
    for entry in BackendRegistry(options).entries():
        if Path(entry.origin).exists() and path.samefile(entry.origin):
            if entry.state is not BackendState.KNOWN:
                raise entry.error()
            return entry.id, options
    raise BackendUnavailableError(
        f"{wish!r} was not taken for a backend: its name must be <vendor>_<name>_backend.so."
    )


def _usable(registry: BackendRegistry, backend_id: str) -> BackendEntry:
    return next(
        entry
        for entry in registry.entries()
        if entry.id == backend_id and entry.state is BackendState.LOADED
    )
