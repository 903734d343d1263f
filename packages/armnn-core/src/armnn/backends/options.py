# SPDX-License-Identifier: MIT
"""The options of a runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from armnn.arguments import (
    flag,
    instance,
    integer,
    mapping,
    path,
    real,
    refused,
    text,
    texts,
    with_known_names,
)
from armnn.backends.memory import Allocator

_T = TypeVar("_T")

OptionValue: TypeAlias = bool | int | float | str
"""The types of an option or a capability."""

LONGEST_CALL_SECONDS = 86400.0
"""The largest ``isolate_timeout``."""

LEAST_MEMORY = 1 << 27
"""The smallest ``isolate_memory``: an interpreter with NumPy."""

DEFAULT_STRATEGY = "SingleAxisPriorityList"
"""The memory strategy of backends for which none is named."""

ANY_BACKEND = "*"
"""The key of the strategy of all backends that have none of their own."""

WHOLE_GROUPS = ("dynamic", "auto")
"""The words of ``isolate`` besides a list of ids."""


@with_known_names("option {} of a runtime")
@dataclass(frozen=True, slots=True)
class CreationOptions:
    """The options that a runtime is made with (Arm NN: ``IRuntime::CreationOptions``).

    Attributes:
        dynamic_backends_path: The one directory to scan for dynamic backends; it overrides the
            environment variable and the installed packages.
        enable_static_backends: Whether backends of installed packages take part.
        enable_dynamic_backends: Whether directories are scanned at all.
        probe: Whether a dynamic backend is tried out in a process of its own before it is loaded:
            "on" unless the same file was tried out before, "again" in any case, "twice" beside the
            libraries of this process as well, "off" for trusted files.
        probe_timeout: Seconds that trying out one file may take.
        require_locked: Whether only those backends may be loaded that the lock file lists, which
            ``armnn backends lock`` writes. It is in the user's folder of settings by default.
        lock_file: Where the lock file is otherwise. A file that is named is required, with or
            without ``require_locked``.
        allowed_backends: If given, only these ids may be loaded; a runtime wants each to exist, but
            for those with a question mark.
        backend_options: Options for the contexts of backends, by backend id. A backend that is
            named here or in ``custom_allocators`` is opened with the runtime.
        custom_allocators: Where the working memory of a backend comes from, by backend id.
        memory_strategy: The memory planner's strategy: "ConstantMemoryStrategy",
            "SingleAxisPriorityList", "StrategyValidator" or "StrategyValidator(NAME)", which check
            each layout, or the name of an entry point of ``armnn.memory_strategies``.
        plan_limit: How many specializations of a network with dynamic shapes are kept.
        memory_strategies: Other strategies, by backend id, or by "*" for all backends without one:
            names as above, or functions from a list of ``armnn.runtime.Block`` to an
            ``armnn.runtime.Layout``.
        backends: The ids of backends in the order of preference, for networks that are loaded
            without such a list. They are opened with the runtime and must be usable; one with a
            question mark, as in "GpuAcc?", is skipped if it is not.
        isolate: The ids of backends that run in worker processes of their own, which may crash
            without harm; "dynamic" for all that are files, "auto" for all that took a process down
            before, as the journal of ``armnn doctor`` says.
        isolate_timeout: Seconds that a worker may take for one call. It has a minute at least for
            anything else, such as a compilation.
        isolate_memory: Bytes of private memory that a worker may have; None for any number.
        boards: Commands that run ``python3 -m armnn worker`` on other machines, by name: the
            backend "board://pi/CpuAcc" is CpuAcc of the board "pi".
        protected_mode: Whether only backends with the capability ProtectedContentAllocation take
            part, each with an allocator of protected memory (DmaBufProtected) that it accepts.
    """

    dynamic_backends_path: str | None = None
    enable_static_backends: bool = True
    enable_dynamic_backends: bool = True
    probe: str = "on"
    probe_timeout: float = 10.0
    require_locked: bool = False
    lock_file: str | None = None
    allowed_backends: Sequence[str] | None = None
    backend_options: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    custom_allocators: Mapping[str, Allocator] = field(default_factory=dict)
    memory_strategy: str = DEFAULT_STRATEGY
    plan_limit: int = 16
    memory_strategies: Mapping[str, str | Callable[..., Any]] = field(default_factory=dict)
    backends: Sequence[str] | None = None
    protected_mode: bool = False
    isolate: Sequence[str] | str = ()
    isolate_timeout: float = 60.0
    isolate_memory: int | None = None
    boards: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError for options of a wrong kind."""
        for name, convert in _OPTIONS.items():
            object.__setattr__(self, name, convert(getattr(self, name), f"the option {name}"))
        if self.plan_limit < 1:
            raise refused("the option plan_limit", self.plan_limit, "at least 1")
        if not 0 < self.isolate_timeout <= LONGEST_CALL_SECONDS:
            expected = f"more than 0 and at most {LONGEST_CALL_SECONDS:g} seconds"
            raise refused("the option isolate_timeout", self.isolate_timeout, expected)
        if self.isolate_memory is not None and self.isolate_memory < LEAST_MEMORY:
            raise refused(
                "the option isolate_memory", self.isolate_memory, f"{LEAST_MEMORY} at least"
            )


def _or_none(convert: Callable[[object, str], _T]) -> Callable[[object, str], _T | None]:
    return lambda value, what: None if value is None else convert(value, what)


def _seconds(value: object, what: str) -> object:
    """Return the number unchanged.

    A message about its range shows it.
    """
    real(value, what)
    return value


def _ids(value: object, what: str) -> object:
    """Return a text unchanged.

    Its checks are elsewhere.
    """
    return value if isinstance(value, str) else texts(value, what, "a list of ids")


def _isolated(value: object, what: str) -> object:
    if isinstance(value, str):
        if value not in WHOLE_GROUPS:
            groups = " or ".join(map(repr, WHOLE_GROUPS))
            raise refused(what, value, f"a list of ids such as ['AcmeNpu'], or {groups}")
        return value
    return texts(value, what, "a list of ids such as ['AcmeNpu']")


def _commands(value: object, what: str) -> Mapping[str, Any]:
    made = {}
    for name, command in _by_id(value, what).items():
        made[name] = texts(command, f"{what} for {name!r}", "the words of a command")
        if not made[name]:
            raise refused(f"{what} for {name!r}", command, "the words of a command")
    return made


def _by_id(value: object, what: str) -> Mapping[str, Any]:
    for name in mapping(value, what, "a mapping from backend ids"):
        text(name, f"a backend id in {what}")
    return mapping(value, what)


def _allocators(value: object, what: str) -> Mapping[str, Any]:
    for name, allocator in _by_id(value, what).items():
        instance(allocator, Allocator, f"{what} for {name!r}")  # type: ignore[type-abstract] # no call
    return mapping(value, what)


def _strategy(value: object, what: str) -> object:
    if not isinstance(value, str) and (isinstance(value, type) or not callable(value)):
        raise refused(what, value, "the name of a strategy, or a function of blocks")
    return value


def _strategies(value: object, what: str) -> Mapping[str, Any]:
    for name, strategy in _by_id(value, what).items():
        _strategy(strategy, f"{what} for {name!r}")
    return mapping(value, what)


def _options_by_id(value: object, what: str) -> Mapping[str, Any]:
    for name, options in _by_id(value, what).items():
        mapping(options, f"{what} for {name!r}")
    return mapping(value, what)


_OPTIONS: dict[str, Callable[[object, str], object]] = {
    "dynamic_backends_path": _or_none(path),
    "enable_static_backends": flag,
    "enable_dynamic_backends": flag,
    "probe": text,
    "probe_timeout": _seconds,
    "require_locked": flag,
    "lock_file": _or_none(path),
    "allowed_backends": _or_none(_ids),
    "backend_options": _options_by_id,
    "custom_allocators": _allocators,
    "memory_strategy": text,
    "memory_strategies": _strategies,
    "plan_limit": integer,
    "backends": _or_none(_ids),
    "protected_mode": flag,
    "isolate": _isolated,
    "isolate_timeout": real,
    "isolate_memory": _or_none(integer),
    "boards": _commands,
}
"""The converter of each field of CreationOptions."""
