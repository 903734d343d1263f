# SPDX-License-Identifier: MIT
"""Backends' own descriptions: capabilities, and devices of C backends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from armnn.backends import (
    Backend,
    BackendRegistry,
    BackendState,
    CreationOptions,
    OptionValue,
)
from armnn.backends.calling import call
from armnn.backends.native import NativeBackend


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that a backend reports about itself.

    Attributes:
        backend: The id of the backend.
        name: A capability, or a property of a device.
        value: As text.
    """

    backend: str
    name: str
    value: str


def opened_and_described(registry: BackendRegistry, options: CreationOptions) -> tuple[Fact, ...]:
    """Open the loaded backends and return their self-descriptions.

    They are opened as a runtime does it. A backend that cannot be opened or described is left out
    of the registry, which keeps the reason: its hardware or its driver is not there.

    Args:
        registry: The backends.
        options: What the registry was made with.
    """
    facts: list[Fact] = []
    for entry in registry.entries():
        if entry.state is BackendState.LOADED:
            try:
                facts += _described(registry.get(entry.id), options)
            except Exception as error:  # whatever a plug-in raises, the doctor goes on
                registry.leave_out(entry.id, error)
    return tuple(facts)


def stated_capabilities(
    registry: BackendRegistry, options: CreationOptions
) -> dict[str, dict[str, OptionValue]]:
    """Open the loaded backends; return what each states, by id.

    One that cannot be opened is left out, as by :func:`opened_and_described`.
    """
    found: dict[str, dict[str, OptionValue]] = {}
    for entry in registry.entries():
        if entry.state is BackendState.LOADED:
            try:
                backend = registry.get(entry.id)
                with _open(backend, options):
                    found[entry.id] = dict(_capabilities(backend))
            except Exception as error:  # whatever a plug-in raises, the others are shown
                registry.leave_out(entry.id, error)
    return found


def _described(backend: Backend, options: CreationOptions) -> list[Fact]:
    with _open(backend, options):
        return [Fact(backend.id, name, value) for name, value in _facts(backend)]


@contextmanager
def _open(backend: Backend, options: CreationOptions) -> Iterator[None]:
    context = call(backend.id, backend, "create_context", options)
    try:
        yield
    finally:
        if context is not None:
            context.close()


def _facts(backend: Backend) -> Iterator[tuple[str, str]]:
    if isinstance(backend, NativeBackend):
        for device in backend.devices():
            yield f"device {device.id}", f"{device.name} ({device.kind})"
            for name, value in device.info.items():
                yield f"device {device.id}: {name}", str(value)
    for name, value in _capabilities(backend).items():
        yield str(name), str(value)


def _capabilities(backend: Backend) -> Mapping[str, OptionValue]:
    capabilities: Mapping[str, OptionValue] = call(backend.id, backend, "capabilities")
    return capabilities
