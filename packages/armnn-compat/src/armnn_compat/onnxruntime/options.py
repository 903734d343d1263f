# SPDX-License-Identifier: MIT
"""``SessionOptions``, ``RunOptions`` and the enumerations that they use."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from operator import index
from typing import Any, NoReturn, SupportsIndex

from armnn_compat.onnxruntime.errors import NotImplemented as NotImplementedStatus
from armnn_compat.onnxruntime.refused import refusing


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
        config_entries: What ``add_session_config_entry`` was given. The entry
            ``session.disable_cpu_ep_fallback`` keeps the backends to those that were named.
        free_dimensions: The sizes of dimensions that the model gives a name.
        free_denotations: The sizes of dimensions that the model gives a denotation.
        providers: What ``add_provider`` was given.
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
            RuntimeError: There is none.
        """
        return _entry(self.config_entries, key, "SessionOptions")

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Give a dimension that the model names a size.

        Raises:
            TypeError: The name is no text or the size no integer.
        """
        _add_size(self.free_dimensions, name, size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Set the size of dimensions of a denotation ("DATA_BATCH").

        Raises:
            TypeError: The denotation is no text or the size no integer.
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
        """Refuse an initialiser that is shared by sessions.

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
        config_entries: What ``add_run_config_entry`` was given.
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
            RuntimeError: There is none.
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
