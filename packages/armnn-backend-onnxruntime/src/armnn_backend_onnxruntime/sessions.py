# SPDX-License-Identifier: MIT
"""Sessions of onnxruntime: the library without its telemetry, providers as devices, options."""

from __future__ import annotations

import functools
import importlib
import logging
import os
import pkgutil
from collections.abc import Mapping
from typing import Any, Final

from armnn.backends import OptionValue
from armnn.errors import InvalidArgumentError

_VARIABLE = "ORT_DISABLE_TELEMETRY"

_given = os.environ.get(_VARIABLE)
os.environ[_VARIABLE] = "1"
try:
    import onnxruntime
finally:
    if _given is None:
        del os.environ[_VARIABLE]
    else:
        os.environ[_VARIABLE] = _given

__all__ = ["onnxruntime"]

onnxruntime.disable_telemetry_events()


_DEVICE = "Device"
_PACKAGE = "ProviderPackage"

_CPU = "CPUExecutionProvider"
"""The default device."""

_REMOTE = ("AzureExecutionProvider",)
"""Providers that send data to other machines."""

_PREFIX = "onnxruntime_ep_"
"""How the modules of packages with a plug-in provider begin (onnxruntime's packaging guide)."""


def devices(package: str = "") -> dict[str, Any]:
    """Return the devices by name.

    A provider that is part of onnxruntime is None; one of a plug-in is its ``OrtEpDevice``, named
    by provider and kind of hardware, as in "OpenVINOExecutionProvider:GPU".

    Args:
        package: A module with a plug-in provider, for names that say nothing about it.

    Raises:
        InvalidArgumentError: The package has no library that onnxruntime takes.
    """
    if package:
        _register(package)
    for module in _packages():
        _register_found(module)
    # Registered plug-ins are available too, and are not in the list of all providers.
    compiled_in = set(onnxruntime.get_all_providers()) - set(_REMOTE)
    available = reversed(onnxruntime.get_available_providers())
    found: dict[str, Any] = {name: None for name in available if name in compiled_in}
    for device in getattr(onnxruntime, "get_ep_devices", tuple)():
        if device.ep_name not in found:
            found.setdefault(f"{device.ep_name}:{device.device.type.name}", device)
    return found


def device_of(options: Mapping[str, OptionValue]) -> str:
    """Return the device of the options, by default the CPU's.

    Raises:
        InvalidArgumentError: There is no such device here.
    """
    name = str(options.get(_DEVICE, _CPU))
    package = str(options.get(_PACKAGE, ""))
    if name == _CPU and not package:
        return name  # no plug-in is loaded for it
    available = devices(package)
    if name not in available:
        raise InvalidArgumentError(
            f"backend 'OnnxRuntime' has no device {name!r} here: expected "
            f"{', '.join(available)}; a package with a plug-in provider is named by the option "
            f"{_PACKAGE}."
        )
    return name


def _packages() -> list[str]:
    """Return the installed modules with plug-in providers."""
    names = (module.name for module in pkgutil.iter_modules())
    return sorted(name for name in names if name.startswith(_PREFIX))


@functools.cache
def _register(package: str) -> None:
    """Register a package's library, once in the process.

    Raises:
        InvalidArgumentError: There is no such package, or onnxruntime refuses it.
    """
    register = getattr(onnxruntime, "register_execution_provider_library", None)
    try:
        if register is None:
            raise RuntimeError("plug-in providers need onnxruntime 1.23")
        register(package, str(importlib.import_module(package).get_library_path()))
    except Exception as error:
        raise InvalidArgumentError(
            f"backend 'OnnxRuntime' cannot use the plug-in provider of package {package!r}: "
            f"{type(error).__name__}: {error}; expected an installed module whose "
            "get_library_path() names a library for this onnxruntime "
            f"({onnxruntime.__version__})."
        ) from error


@functools.cache
def _register_found(package: str) -> None:
    """Register a found package; one that fails has no devices."""
    try:
        _register(package)
    except InvalidArgumentError:
        return


_log = logging.getLogger(__name__)

_THREADS = "NumberOfThreads"
_OPTIMIZATION = "GraphOptimization"
_PROVIDER_OPTIONS = "ProviderOptions"
TRUST = "TrustResults"
OPTIONS = (_DEVICE, _THREADS, _OPTIMIZATION, _PROVIDER_OPTIONS, _PACKAGE, TRUST)

_LEVELS: Final = {"none": "DISABLE_ALL", "basic": "ENABLE_BASIC", "extended": "ENABLE_EXTENDED"}
_ALL: Final = "all"

_FATAL: Final = 4
"""The severity from which on onnxruntime writes to the log; its errors are exceptions too."""


def check_options(options: Mapping[str, OptionValue]) -> None:
    """Check the options of a model.

    Raises:
        InvalidArgumentError: One is unknown or has no such value, or the device is not here.
    """
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:
        raise InvalidArgumentError(
            f"backend 'OnnxRuntime' does not know the option {unknown[0]!r}: expected some of "
            f"{', '.join(OPTIONS)}."
        )
    threads = options.get(_THREADS, 0)
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 0:
        raise _refused(_THREADS, threads, "a whole number, 0 for onnxruntime's choice")
    level = options.get(_OPTIMIZATION, _ALL)
    if level not in (*_LEVELS, _ALL):
        raise _refused(_OPTIMIZATION, level, f"{', '.join(_LEVELS)} or {_ALL}")
    provider_options(options)
    device_of(options)


def with_usable_threads(options: Mapping[str, OptionValue]) -> Mapping[str, OptionValue]:
    """Return options with at most a thread for each CPU that the process may use."""
    asked, most = options.get(_THREADS, 0), len(os.sched_getaffinity(0))
    if not isinstance(asked, int) or asked <= most:
        return options
    _log.warning("%s is %d, but there are %d CPUs to use: it takes %d", _THREADS, asked, most, most)
    return {**options, _THREADS: most}


def make_session(
    content: bytes, options: Mapping[str, OptionValue], *, optimize: bool = True
) -> onnxruntime.InferenceSession:
    """Return a session with all nodes on the options' device.

    Args:
        content: An ONNX model.
        options: Checked options of a model.
        optimize: Whether to rewrite the graph; False to find out whether the device runs it.

    Raises:
        Exception: onnxruntime refused the model; its exceptions have no common class.
    """
    made = onnxruntime.SessionOptions()
    made.log_severity_level = _FATAL
    level = _LEVELS.get(str(options.get(_OPTIMIZATION, _ALL)), "ENABLE_ALL")
    made.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, f"ORT_{level if optimize else 'DISABLE_ALL'}"
    )
    made.intra_op_num_threads = int(options.get(_THREADS, 0)) if optimize else 1
    made.inter_op_num_threads = 1
    # Waiting threads would take the processor from the other backends' layers.
    made.add_session_config_entry("session.force_spinning_stop", "1")
    name, given = device_of(options), provider_options(options)
    if name == _CPU:
        return onnxruntime.InferenceSession(content, made, providers=[_CPU])
    made.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    device = devices()[name]
    if device is None:
        return onnxruntime.InferenceSession(content, made, providers=[(name, given)])
    made.add_provider_for_devices([device], given)
    return onnxruntime.InferenceSession(content, made)


def first_line(error: Exception) -> str:
    """Return onnxruntime's message in one line."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)


def provider_options(options: Mapping[str, OptionValue]) -> dict[str, str]:
    """Return the options of the execution provider.

    Raises:
        InvalidArgumentError: One has no value.
    """
    given = str(options.get(_PROVIDER_OPTIONS, ""))
    pairs = [pair.partition("=") for pair in given.split(",") if pair.strip()]
    if any(not equals or not name.strip() for name, equals, _ in pairs):
        raise _refused(_PROVIDER_OPTIONS, given, "pairs such as 'device_type=GPU,num_streams=2'")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _refused(name: str, got: object, expected: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"option {name} of backend 'OnnxRuntime' is {got!r}: expected {expected}."
    )
