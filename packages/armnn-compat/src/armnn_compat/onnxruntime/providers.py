# SPDX-License-Identifier: MIT
"""Execution providers by onnxruntime's names, and their backends."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from armnn.backends import Backend, OptionValue
from armnn.errors import BackendError
from armnn.runtime import default_runtime
from armnn_compat.threads import thread_options

CPU = "CPUExecutionProvider"
"""The provider of every backend of an installed package, in the order of the default preference."""

_SUFFIX = "ExecutionProvider"

Providers: TypeAlias = "Sequence[str | tuple[str, Mapping[str, object]]]"
"""Names, or names with options."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which backends run a session.

    Attributes:
        providers: The names of the providers that take part, with their options.
        backends: The ids of the backends in the order of preference; None for the default ones,
            of which those are left out that turn out to be unusable.
        options: The options of the backends, by id.
    """

    providers: dict[str, dict[str, str]]
    backends: list[str] | None
    options: dict[str, dict[str, OptionValue]]


def get_available_providers() -> list[str]:
    """Return a provider per default backend, and CPUExecutionProvider."""
    return [*(f"{backend.id}{_SUFFIX}" for backend in _defaults()), CPU]


def choose(
    providers: Providers | None,
    provider_options: Sequence[Mapping[str, object]] | None,
    *,
    threads: int,
    with_defaults: bool,
) -> Choice:
    """Return the backends of a session, with their options.

    Args:
        providers: The preferred one first. A backend is named by its id or by its id and
            "ExecutionProvider"; unknown names are warned of and left out.
        provider_options: The options of each, if ``providers`` is a list of names.
        threads: How many threads a layer may use; 0 leaves it to the backends.
        with_defaults: Whether the default backends take what the named ones cannot run.

    Raises:
        ValueError: The arguments are not lists of names and options.
        InvalidArgumentError: A backend that was named does not take its options.
    """
    wanted = _normalized(providers, provider_options)
    defaults = {backend.id: backend for backend in _defaults()}
    chosen: dict[str, dict[str, str]] = {}
    backends: dict[str, Backend] = {}
    options: dict[str, dict[str, OptionValue]] = {}
    for name, given in wanted.items():
        if name == CPU:
            backends |= {each: defaults[each] for each in defaults if each not in backends}
        elif (backend := _backend(name)) is not None:
            backends[backend.id] = backend
            options[backend.id] = dict(given)
        else:
            warnings.warn(
                f"Specified provider {name!r} is not in available provider names. Available "
                f"providers: {', '.join(get_available_providers())}",
                stacklevel=4,
            )
            continue
        chosen[name] = given
    if CPU not in chosen and (with_defaults or not backends):
        chosen[CPU] = {}
        backends |= {each: defaults[each] for each in defaults if each not in backends}
    for backend_id, default in thread_options(backends.values(), threads).items():
        options[backend_id] = {**default, **options.get(backend_id, {})}
    return Choice(chosen, None if [*chosen] == [CPU] else list(backends), options)


def _defaults() -> tuple[Backend, ...]:
    try:
        return default_runtime().registry.find_usable()
    except BackendError:
        return ()  # loading a model will say what is missing


def _backend(name: str) -> Backend | None:
    registry = default_runtime().registry
    known = dict.fromkeys(entry.id for entry in registry.entries())
    for backend_id in (name, name.removesuffix(_SUFFIX)):
        if backend_id in known:
            return registry.get(backend_id)
    return None


def _normalized(
    providers: Providers | None, provider_options: Sequence[Mapping[str, object]] | None
) -> dict[str, dict[str, str]]:
    if providers is None:
        return {}
    if isinstance(providers, str) or not isinstance(providers, Sequence):
        raise ValueError(f"'providers' should be a sequence of names: got {providers!r}")
    if provider_options is None:
        pairs = [(each, {}) if isinstance(each, str) else each for each in providers]
    elif len(providers) != len(provider_options):
        raise ValueError(
            "'providers' and 'provider_options' should be the same length if both are given: got "
            f"{len(providers)} and {len(provider_options)}"
        )
    else:
        pairs = list(zip(providers, provider_options, strict=True))  # type: ignore[arg-type]  # checked below
    wanted: dict[str, dict[str, str]] = {}
    for pair in pairs:
        match pair:
            case (str(name), Mapping() as options):
                wanted.setdefault(name, {str(key): str(value) for key, value in options.items()})
            case _:
                raise ValueError(
                    "'providers' values must be either strings or (string, dict) tuples: got "
                    f"{pair!r}"
                )
    return wanted
