# SPDX-License-Identifier: MIT
"""The choice of backends that run in worker processes, and where."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from armnn.arguments import closest
from armnn.backends.crashes import UseNote, blame, lost_workers
from armnn.backends.loading import BackendEntry, BackendState, FoundBackend
from armnn.backends.selection import (
    BOARD_VARIABLE,
    ELSEWHERE,
    ISOLATED,
    SSH,
    environment,
    own_id,
)
from armnn.backends.worker.connection import Recipe
from armnn.backends.worker.proxy import IsolatedBackend, open_worker
from armnn.errors import BackendUnavailableError, UnknownBackendError
from armnn_backend_api.names import fault_of_id

if TYPE_CHECKING:
    from armnn.backends.contract import Backend
    from armnn.backends.options import CreationOptions
    from armnn_backend_api import BackendVersion
    from armnn_backend_api.files import FileState

_START_WORKER: Final = (
    'sh -c \'python3 -c "import armnn" 2>/dev/null && exec python3 -m armnn worker; '
    "exec armnn worker'"
)
"""The command that a shell of another machine runs. python3 is tried first, as the core alone has
no command ``armnn``; the command is for machines where it has another interpreter than python3."""

_TARGET: Final = r"[A-Za-z0-9_][A-Za-z0-9_.@:%+-]*"


class Workers:
    """The backends of one registry that run in worker processes.

    Args:
        options: The options of the runtime.
        api_version: The Backend API version that the core provides.
    """

    def __init__(self, options: CreationOptions, api_version: BackendVersion) -> None:
        self._options = options
        self._api_version = api_version
        self._isolated: dict[FoundBackend, FoundBackend] = {}
        self._placed: dict[str, FoundBackend] = {}
        self._made: WeakSet[IsolatedBackend] = WeakSet()
        self._note = UseNote() if options.isolate == "auto" else None

    @property
    def placed(self) -> Sequence[FoundBackend]:
        """The backends that were named with their place."""
        return tuple(self._placed.values())

    def in_place(self, found: FoundBackend) -> FoundBackend:
        """Return a backend, isolated if that is wanted."""
        if not found.may_load or not self._isolates(found.entry):
            return found
        if found not in self._isolated:
            self._isolated[found] = self._in_worker(found.entry, found.entry.id)
        return self._isolated[found]

    def before_loading(self, entry: BackendEntry) -> None:
        """Note a backend of this process before its use."""
        if self._note is not None:
            self._note.add(entry.id, entry.origin)

    def find(self, name: str, entries: Sequence[BackendEntry]) -> None:
        """Find the backend of an id with a place.

        Raises:
            UnknownBackendError: There is no such backend, or no such board.
            BackendUnavailableError: It cannot be used.
        """
        if name in self._placed:
            return
        backend_id = own_id(name)
        fault = fault_of_id(backend_id)
        if fault:
            raise UnknownBackendError(
                f"There is no backend {name!r}: got {backend_id!r} for its id, {fault}."
            )
        if not name.startswith(ISOLATED):
            entry = BackendEntry(
                name, BackendState.KNOWN, " ".join(self._command(name)), source=ELSEWHERE
            )
            self._placed[name] = self._found(
                entry, self._recipe(name, backend_id, command=self._command(name))
            )
            return
        own = [entry for entry in entries if entry.id == backend_id]
        if not own:
            known = list(dict.fromkeys(entry.id for entry in entries if entry.id))
            meant = closest(backend_id, known)
            hint = f"; did you mean {ISOLATED + meant!r}?" if meant else "."
            raise UnknownBackendError(
                f"There is no backend {backend_id!r} to isolate (known here: "
                f"{', '.join(known) or 'none'}){hint}"
            )
        usable = [e for e in own if e.state in (BackendState.KNOWN, BackendState.LOADED)]
        if not usable:
            raise own[0].error()
        self._placed[name] = self._in_worker(usable[0], name)

    def close(self) -> None:
        """End the workers that were started."""
        for made in tuple(self._made):
            made.end_worker()
        if self._note is not None:
            self._note.close()

    def _opened(self, recipe: Recipe) -> Backend:
        made = open_worker(recipe)
        self._made.add(made)
        return made

    def _isolates(self, entry: BackendEntry) -> bool:
        if entry.isolation:
            return True
        wish = self._options.isolate
        if wish == "auto":
            return (entry.id, entry.origin) in self._fallen
        if isinstance(wish, str):
            return not entry.is_static
        return entry.id in wish

    @functools.cached_property
    def _fallen(self) -> frozenset[tuple[str, str]]:
        """The backends that took a program or a worker down."""
        blame()
        return frozenset((each.backend, each.origin) for each in lost_workers())

    def _in_worker(self, entry: BackendEntry, name: str) -> FoundBackend:
        return self._found(
            replace(entry, id=name, state=BackendState.KNOWN, import_seconds=None),
            self._recipe(name, entry.id, _importable(entry), examined=entry.examined),
        )

    def _recipe(
        self,
        name: str,
        backend_id: str,
        origin: str = "",
        command: tuple[str, ...] = (),
        examined: tuple[tuple[str, FileState], ...] = (),
    ) -> Recipe:
        seconds, memory = self._options.isolate_timeout, self._options.isolate_memory
        return Recipe(name, backend_id, origin, command, seconds, memory, examined)

    def _found(self, entry: BackendEntry, recipe: Recipe) -> FoundBackend:
        obtain = functools.partial(self._opened, recipe)
        return FoundBackend(
            entry, obtain, self._api_version, lambda: (entry.id, entry.origin, None), obtain
        )

    def _command(self, name: str) -> tuple[str, ...]:
        """Return the command of a board.

        Raises:
            UnknownBackendError: There is no such board.
        """
        target = name.partition("://")[2].rpartition("/")[0]
        if name.startswith(SSH):
            if not re.fullmatch(_TARGET, target):
                raise UnknownBackendError(
                    f"There is no backend {name!r}: got {target!r} for the machine, expected "
                    "ssh://user@machine/ID."
                )
            return ("ssh", "-T", "-o", "BatchMode=yes", target, _START_WORKER)
        boards = self._options.boards
        if target in boards:
            return tuple(boards[target])
        command = shlex.split(environment(f"{BOARD_VARIABLE}{target}") or "")
        if not command:
            raise UnknownBackendError(
                f"There is no board {target!r} for the backend {name!r}: the option boards has "
                f"{', '.join(map(repr, boards)) or 'none'}, and {BOARD_VARIABLE}{target} is "
                "not set."
            )
        return tuple(command)


def _importable(entry: BackendEntry) -> str:
    """Return the module or path that a worker imports or opens.

    Raises:
        BackendUnavailableError: It can be found in this process only.
    """
    module, _, attribute = entry.origin.partition(":")
    if entry.is_registered and (module == "__main__" or "<" in attribute):
        raise BackendUnavailableError(
            f"Backend {entry.id!r} ({entry.origin}) cannot be isolated: a worker process "
            "imports it, and it is defined in a program or a function: move it into a module."
        )
    return entry.origin
