# SPDX-License-Identifier: MIT
"""Delegates: Arm NN's has options, others are refused."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath
from typing import Any

_ARMNN = "armnnDelegate"


@dataclass(frozen=True, slots=True)
class Delegate:
    """The delegate that ``load_delegate`` returns.

    Attributes:
        library: The name that was asked for.
        backends: The ids of the backends, the preferred one first.
        threads: How many threads a layer may use; None if that is not given.
        optimizer: Options of the optimizer by armnn's names.
        fast_math: Whether backends with such an option may compute less exactly.
        dynamic_backends_path: The directory to scan for dynamic backends; "" for the usual ones.
        dot_file: The file for a drawing of the network; "" for none.
        profiles: Whether runs are recorded, and the profile printed at the end.
        profiles_events: Whether that profile has the times, beside the layers.
        log_level: The level of the logger "armnn"; "" leaves it alone.
    """

    library: str
    backends: tuple[str, ...] = field(default=())
    threads: int | None = None
    optimizer: Mapping[str, Any] = field(default_factory=dict)
    fast_math: bool | None = None
    dynamic_backends_path: str = ""
    dot_file: str = ""
    profiles: bool = False
    profiles_events: bool = True
    log_level: str = ""

    def merged(self, other: Delegate) -> Delegate:
        """Return both in one; where they differ, the other one counts."""
        unset = Delegate("")
        changes = {
            each.name: getattr(other, each.name)
            for each in fields(other)
            if getattr(other, each.name) != getattr(unset, each.name)
        }
        changes["backends"] = (*self.backends, *other.backends)
        changes["optimizer"] = {**self.optimizer, **other.optimizer}
        return replace(self, **changes)


def load_delegate(library: str, options: Mapping[str, object] | None = None) -> Delegate:
    """Return Arm NN's delegate, as its options describe it.

    Args:
        library: The name of a library that would be ``libarmnnDelegate.so``; it is not opened.
        options: The options of Arm NN's delegate, as texts.

    Raises:
        ValueError: It is another library, there is no such option, a value is wrong, or the option
            asks for something that armnn does not have.
    """
    if _ARMNN not in PurePath(library).name:
        raise ValueError(
            f"Failed to load delegate from {library}\nit is made for another run time: backends "
            'take its place; load_delegate("libarmnnDelegate.so", {"backends": "CpuAcc,CpuRef"}) '
            "names them"
        )
    delegate = Delegate(library)
    try:
        for name, value in (options or {}).items():
            delegate = _read(delegate, str(name), str(value).strip())
    except ValueError as error:
        raise ValueError(f"Failed to load delegate from {library}\n{error}") from error
    return delegate


def combined(delegates: Iterable[Delegate]) -> Delegate:
    """Return several delegates in one; later ones count."""
    made = Delegate("")
    for each in delegates:
        made = made.merged(each)
    return made


def _read(delegate: Delegate, name: str, value: str) -> Delegate:
    if name in _OPTIMIZER:
        changes: dict[str, Any] = {_OPTIMIZER[name]: _flag(name, value)}
        if changes.get("allow_expanded_dims"):
            # Else there are no shapes to compare.
            changes["shape_inference_method"] = "ValidateOnly"
        return replace(delegate, optimizer={**delegate.optimizer, **changes})
    if name in _FIELDS:
        at, convert = _FIELDS[name]
        return replace(delegate, **{at: convert(name, value)})
    if name == "infer-output-shape":
        method = "InferAndValidate" if _flag(name, value) else "ValidateOnly"
        optimizer = {**delegate.optimizer, "shape_inference_method": method}
        return replace(delegate, optimizer=optimizer)
    if name == "disable-tflite-runtime-fallback":
        _flag(name, value)  # there is no such run time to fall back to, whatever it says
        return delegate
    if name in _REFUSED:
        if value.lower() not in _OFF:
            raise ValueError(f"{name} is {value!r}, which is not supported: {_REFUSED[name]}")
        return delegate
    close = difflib.get_close_matches(name, OPTIONS, 1, 0.6)
    hint = f"did you mean {close[0]!r}?" if close else f"the options are {', '.join(OPTIONS)}"
    raise ValueError(f"Unknown option for the ArmNN Delegate given: {name!r}; {hint}")


def _flag(name: str, value: str) -> bool:
    if value.lower() not in ("true", "1", "false", "0"):
        raise ValueError(f"{name} is {value!r}: expected 'true' or 'false'")
    return value.lower() in ("true", "1")


def _number(name: str, value: str) -> int:
    if not value.isdecimal():
        raise ValueError(f"{name} is {value!r}: expected a number")
    return int(value)


def _ids(_name: str, value: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in value.split(",") if each.strip())


def _text(_name: str, value: str) -> str:
    return value


def _one_of(values: Mapping[str, Any]) -> Callable[[str, str], Any]:
    def chosen(name: str, value: str) -> Any:
        if value.lower() not in values:
            raise ValueError(f"{name} is {value!r}: expected one of {', '.join(values)}")
        return values[value.lower()]

    return chosen


_OPTIMIZER = {
    "reduce-fp32-to-fp16": "reduce_fp32_to_fp16",
    "reduce-fp32-to-bf16": "reduce_fp32_to_bf16",
    "debug-data": "debug",
    "allow-expanded-dims": "allow_expanded_dims",
    "memory-import": "import_enabled",
}
"""Flags of the optimizer by the delegate's names."""

_LEVELS = {
    "trace": "DEBUG",
    "debug": "DEBUG",
    "info": "INFO",
    "warning": "WARNING",
    "error": "ERROR",
    "fatal": "CRITICAL",
}

_FIELDS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "backends": ("backends", _ids),
    "number-of-threads": ("threads", _number),
    "enable-fast-math": ("fast_math", _flag),
    "dynamic-backends-path": ("dynamic_backends_path", _text),
    "logging-severity": ("log_level", _one_of(_LEVELS)),
    "serialize-to-dot": ("dot_file", _text),
    "enable-internal-profiling": ("profiles", _flag),
    "internal-profiling-detail": ("profiles_events", _one_of({"1": True, "2": False})),
}
"""Fields of Delegate and the converters of their values, by the delegate's names."""

_OFF = ("", "0", "false")
_GPU = "it is of Arm NN's own GpuAcc backend; leave it out"
_CACHE = "it is of GpuAcc; armnn.load_model(cache_dir=...) keeps what backends compile"
_EXTERNAL = "there is no external profiling; enable-internal-profiling records runs"

_REFUSED = {
    "gpu-tuning-level": _GPU,
    "gpu-mlgo-tuning-file": _GPU,
    "gpu-tuning-file": _GPU,
    "gpu-enable-profiling": _GPU,
    "gpu-kernel-profiling-enabled": _GPU,
    "save-cached-network": _CACHE,
    "cached-network-filepath": _CACHE,
    "enable-external-profiling": _EXTERNAL,
    "timeline-profiling": _EXTERNAL,
    "outgoing-capture-file": _EXTERNAL,
    "incoming-capture-file": _EXTERNAL,
    "file-only-external-profiling": _EXTERNAL,
    "counter-capture-period": _EXTERNAL,
    "profiling-file-format": _EXTERNAL,
}
"""Options that are refused unless they are off, with the reason."""

OPTIONS = (
    *_FIELDS,
    *_OPTIMIZER,
    "infer-output-shape",
    "disable-tflite-runtime-fallback",
    *_REFUSED,
)
"""The options of Arm NN's delegate."""
