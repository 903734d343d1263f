# SPDX-License-Identifier: MIT
"""Options of sessions, runs and the process; execution providers and their backends."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from operator import index
from typing import Any, NoReturn, SupportsIndex, TypeAlias

from armnn import __version__ as armnn_version
from armnn.backends import Backend, OptionValue
from armnn.errors import BackendError
from armnn.runtime import default_runtime
from armnn_compat.onnxruntime.errors import NotImplemented as NotImplementedStatus
from armnn_compat.onnxruntime.errors import refusing
from armnn_compat.threads import thread_options

_CPU = "CPUExecutionProvider"
"""The provider of every backend of an installed package, in the order of the default preference."""

_SUFFIX = "ExecutionProvider"

Providers: TypeAlias = "Sequence[str | tuple[str, Mapping[str, object]]]"
"""Names, or names with options."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The backends that run a session.

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
    return [*(f"{backend.id}{_SUFFIX}" for backend in _defaults()), _CPU]


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
        if name == _CPU:
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
    if _CPU not in chosen and (with_defaults or not backends):
        chosen[_CPU] = {}
        backends |= {each: defaults[each] for each in defaults if each not in backends}
    for backend_id, default in thread_options(backends.values(), threads).items():
        options[backend_id] = {**default, **options.get(backend_id, {})}
    return Choice(chosen, None if [*chosen] == [_CPU] else list(backends), options)


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


class GraphOptimizationLevel(IntEnum):
    """How far a graph is rewritten; without effect."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Whether nodes may run side by side; without effect."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """In which order nodes run; without effect."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Checked:
    """Refuses attributes of wrong types, as onnxruntime does."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        expected = type(_default(type(self), name))
        if expected is int and isinstance(value, IntEnum):
            value = int(value)
        fits = isinstance(value, expected) and (expected is bool or not isinstance(value, bool))
        if not fits:
            raise TypeError(
                f"{type(self).__name__}.{name} got {value!r} of the type {type(value).__name__}: "
                f"expected {expected.__name__}"
            )
        object.__setattr__(self, name, value)


def _default(owner: type, name: str) -> Any:
    try:
        entry = owner.__dataclass_fields__[name]  # type: ignore[attr-defined]  # of its subclasses
    except KeyError:
        raise AttributeError(f"{owner.__name__!r} object has no attribute {name!r}") from None
    return {} if entry.default_factory is dict else entry.default


@refusing(
    "add_external_initializers",
    "add_external_initializers_from_files_in_memory",
    "add_provider_for_devices",
    "clear_ep_context_data_read_func",
    "set_ep_context_data_read_func",
    "set_load_cancellation_flag",
    "set_provider_selection_policy",
    "set_provider_selection_policy_delegate",
)
@dataclass(slots=True, eq=False)
class SessionOptions(_Checked):
    """How a session is made.

    ``intra_op_num_threads``, ``enable_profiling`` and ``profile_file_prefix`` have an effect; the
    others are kept for the caller.

    Attributes:
        intra_op_num_threads: The threads of a layer, for the backends that have such an option.
        enable_profiling: Whether ``end_profiling`` writes what the session's runs took.
        profile_file_prefix: How the name of that file begins.
        config_entries: The entries of ``add_session_config_entry``. The entry
            ``session.disable_cpu_ep_fallback`` keeps the backends to those that were named.
        free_dimensions: The sizes of dimensions that the model gives a name.
        free_denotations: The sizes of dimensions that the model gives a denotation.
        providers: The providers of ``add_provider``.
    """

    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_profiling: bool = False
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    inter_op_num_threads: int = 0
    intra_op_num_threads: int = 0
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "onnxruntime_profile_"
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    config_entries: dict[str, str] = field(default_factory=dict, repr=False)
    free_dimensions: dict[str, int] = field(default_factory=dict, repr=False)
    free_denotations: dict[str, int] = field(default_factory=dict, repr=False)
    providers: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keep an entry of the configuration.

        Raises:
            TypeError: The key or the value is not a text.
        """
        _add_entry(self.config_entries, key, value)

    def get_session_config_entry(self, key: str) -> str:
        """Return an entry of the configuration.

        Raises:
            RuntimeError: There is no such entry.
        """
        return _entry(self.config_entries, key, "SessionOptions")

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Give a dimension that the model names a size.

        Raises:
            TypeError: The name is not a text or the size not an integer.
        """
        _add_size(self.free_dimensions, name, size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Set the size of dimensions of a denotation ("DATA_BATCH").

        Raises:
            TypeError: The denotation is not a text or the size not an integer.
        """
        _add_size(self.free_denotations, denotation, size)

    def add_provider(self, name: str, options: dict[str, str]) -> None:
        """Add a provider for sessions without a list of them."""
        self.providers[name] = dict(options)

    def has_providers(self) -> bool:
        """Return whether ``add_provider`` was called."""
        return bool(self.providers)

    def register_custom_ops_library(self, path: str) -> NoReturn:
        """Refuse a library of operators, which needs onnxruntime itself.

        Raises:
            NotImplemented: Always.
        """
        raise NotImplementedStatus(
            f"the library {path!r} holds operators for onnxruntime's own C++ interface, which is "
            "not here: a backend can bring operators"
        )

    def add_initializer(self, name: str, _value: object) -> NoReturn:
        """Refuse an initializer that is shared by sessions.

        Raises:
            NotImplemented: Always.
        """
        raise NotImplementedStatus(
            f"the initializer {name!r} cannot come from outside of the model: store it in the file"
        )


@refusing("add_active_adapter")
@dataclass(slots=True, eq=False)
class RunOptions(_Checked):
    """Options of one run; ``terminate`` works from any thread.

    Attributes:
        terminate: Whether the run shall end before its next layer.
        config_entries: The entries of ``add_run_config_entry``.
    """

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    terminate: bool = False
    config_entries: dict[str, str] = field(default_factory=dict, repr=False)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keep an entry of the configuration.

        Raises:
            TypeError: The key or the value is not a text.
        """
        _add_entry(self.config_entries, key, value)

    def get_run_config_entry(self, key: str) -> str:
        """Return an entry of the configuration.

        Raises:
            RuntimeError: There is no such entry.
        """
        return _entry(self.config_entries, key, "RunOptions")

    def is_set(self) -> bool:
        """Return whether to end the run, checked between layers."""
        return self.terminate


def _add_size(sizes: dict[str, int], name: str, size: int) -> None:
    if not isinstance(name, str) or not isinstance(size, SupportsIndex):
        raise TypeError(f"a free dimension is {name!r}: {size!r}: expected a text and an integer")
    sizes[name] = index(size)


def _add_entry(entries: dict[str, str], key: str, value: str) -> None:
    if not isinstance(key, str) or not isinstance(value, str):
        raise TypeError(f"a configuration entry is {key!r}: {value!r}: expected two texts")
    entries[key] = value


def _entry(entries: dict[str, str], key: str, owner: str) -> str:
    if key not in entries:
        raise RuntimeError(f"{owner} does not have configuration with key: {key}")
    return entries[key]


VERSION = "1.31.1"
"""The release of onnxruntime whose names, defaults and messages these are."""

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


def get_version_string() -> str:
    """Return the release of onnxruntime that this replaces."""
    return VERSION


def get_build_info() -> str:
    """Return the build of armnn that answers in onnxruntime's place."""
    return f"armnn-core {armnn_version} in the place of onnxruntime {VERSION}"


def get_device() -> str:
    """Return "CPU": inputs and outputs are in host memory."""
    return "CPU"


def get_all_providers() -> list[str]:
    """Return the same as ``get_available_providers``: others are not known here."""
    return get_available_providers()


def set_default_logger_severity(severity: int) -> None:
    """Set the level of the logger "armnn".

    Args:
        severity: 0 (verbose) to 4 (fatal).

    Raises:
        RuntimeError: It is another number.
    """
    if not 0 <= severity < len(_LEVELS):
        raise RuntimeError(f"Invalid logging severity {severity}: expected 0 to {len(_LEVELS) - 1}")
    logging.getLogger("armnn").setLevel(_LEVELS[severity])


def set_default_logger_verbosity(verbosity: int) -> None:
    """Do nothing: there is one level of verbose messages."""
    del verbosity


def set_seed(seed: int) -> None:
    """Do nothing: operators that draw random numbers are refused."""
    del seed


def set_global_thread_pool_sizes(intra_op: int, inter_op: int) -> None:
    """Do nothing: each backend has its own threads; see ``intra_op_num_threads``."""
    del intra_op, inter_op


def disable_telemetry_events() -> None:
    """Do nothing: nothing is reported to anyone."""


def enable_telemetry_events() -> None:
    """Do nothing: nothing is reported to anyone."""


def preload_dlls(
    cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None
) -> None:
    """Do nothing: backends bring the libraries that they need."""
    del cuda, cudnn, msvc, directory


def has_collective_ops() -> bool:
    """Return false."""
    return False


def get_ep_devices() -> list[object]:
    """Return none: backends are listed by ``armnn backends``."""
    return []


def print_debug_info() -> None:
    """Print the settings."""
    print(get_build_info())
    print("providers:", ", ".join(get_available_providers()))
