# SPDX-License-Identifier: MIT
"""Backends by id, their options, the device's list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from armnn.runtime import Runtime

_REFERENCE = "CpuRef"
_USABLE = ("known", "loaded")


class BackendId:
    """The id of a backend."""

    def __init__(self, id: str) -> None:
        self._id = str(id)

    def IsCpuRef(self) -> bool:
        """Return whether it is the reference backend's."""
        return self._id == _REFERENCE

    def Get(self) -> str:
        """Return the id as text."""
        return self._id

    def __str__(self) -> str:
        return self._id

    def __repr__(self) -> str:
        return f"BackendId({self._id!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (BackendId, str)) and self._id == str(other)

    def __hash__(self) -> int:
        return hash(self._id)


class BackendOption:
    """An option: a name and a flag, number or text."""

    thisown: bool

    def __init__(self, name: str, value: bool | int | float | str) -> None:
        self._name, self.value = str(name), value

    def GetName(self) -> str:
        """Return the name."""
        return self._name


class BackendOptions:
    """Options for a backend.

    ``BackendOptions(backend_id)`` or ``BackendOptions(options)``.
    """

    def __init__(self, backend: BackendId | BackendOptions) -> None:
        self._options: list[BackendOption] = []
        if isinstance(backend, BackendOptions):
            self._options += backend._options
            backend = backend.GetBackendId()
        self._backend = backend

    def AddOption(self, option: BackendOption) -> None:
        """Add a copy of an option."""
        own = BackendOption(option.GetName(), option.value)
        own.thisown = False
        self._options.append(own)

    def GetBackendId(self) -> BackendId:
        """Return the backend's id."""
        return self._backend

    def GetOptionCount(self) -> int:
        """Return the number of options."""
        return len(self._options)

    def GetOption(self, idx: int) -> BackendOption:
        """Return an option by position."""
        return self._options[idx]

    def __len__(self) -> int:
        return len(self._options)

    def __getitem__(self, index: int) -> BackendOption:
        return self._options[index]

    def __iter__(self) -> Iterator[BackendOption]:
        return iter(self._options)

    def for_core(self) -> dict[str, Any]:
        """Return the options' values by name."""
        return {option.GetName(): option.value for option in self._options}


class IDeviceSpec:
    """The backends that a runtime can use; ``GetDeviceSpec`` returns one."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def GetSupportedBackends(self) -> tuple[BackendId, ...]:
        """Return the ids of the usable backends."""
        entries = self.runtime.registry.entries()
        return tuple(BackendId(each.id) for each in entries if str(each.state) in _USABLE)

    def __str__(self) -> str:
        ids = ", ".join(map(str, self.GetSupportedBackends()))
        return f"IDeviceSpec {{ supportedBackends: [{ids}]}}"
