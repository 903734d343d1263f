# SPDX-License-Identifier: MIT
"""The functions of onnxruntime that concern the whole process."""

from __future__ import annotations

import logging

from armnn import __version__ as armnn_version
from armnn_compat.onnxruntime.providers import get_available_providers

VERSION = "1.31.1"
"""The release of onnxruntime whose names, defaults and messages these are."""

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


def get_version_string() -> str:
    """Return the release of onnxruntime that this replaces."""
    return VERSION


def get_build_info() -> str:
    """Return what really is there."""
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
    """Print what is there."""
    print(get_build_info())
    print("providers:", ", ".join(get_available_providers()))
