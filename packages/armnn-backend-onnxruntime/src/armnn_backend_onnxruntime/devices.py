# SPDX-License-Identifier: MIT
"""Execution providers as devices, those of pip packages included."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from armnn.backends import OptionValue
from armnn.errors import InvalidArgumentError
from armnn_backend_onnxruntime.library import onnxruntime

DEVICE = "Device"
PACKAGE = "ProviderPackage"

CPU = "CPUExecutionProvider"
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
    name = str(options.get(DEVICE, CPU))
    package = str(options.get(PACKAGE, ""))
    if name == CPU and not package:
        return name  # no plug-in is loaded for it
    available = devices(package)
    if name not in available:
        raise InvalidArgumentError(
            f"backend 'OnnxRuntime' has no device {name!r} here: expected "
            f"{', '.join(available)}; a package with a plug-in provider is named by the option "
            f"{PACKAGE}."
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
        InvalidArgumentError: There is none, or onnxruntime does not take it.
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
