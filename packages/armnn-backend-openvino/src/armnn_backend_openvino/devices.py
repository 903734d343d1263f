# SPDX-License-Identifier: MIT
"""OpenVINO in this process: the library without its telemetry, one core, devices, options."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

import openvino

from armnn.backends import BackendContext, OptionValue
from armnn.errors import InvalidArgumentError

sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None: not there


__all__ = ["openvino"]


_log = logging.getLogger(__name__)

_DEVICE = "Device"
_THREADS = "NumberOfThreads"
_FAST_MATH = "FastMathEnabled"
TRUST = "TrustResults"
OPTIONS = (_DEVICE, _THREADS, _FAST_MATH, TRUST)


@functools.cache
def core() -> openvino.Core:
    """Return the one core; making it searches for devices, slowly."""
    made = openvino.Core()
    made.set_property({"FORCE_TBB_TERMINATE": True})  # its worker threads go when it goes
    return made


class CoreUser(BackendContext):
    """Keeps the core for one runtime.

    When the last user is closed, the core is destroyed with its threads.
    """

    _lock = threading.Lock()
    _count = 0

    def __init__(self) -> None:
        with self._lock:
            CoreUser._count += 1

    def close(self) -> None:
        """Let the core go if no other runtime has it."""
        with self._lock:
            CoreUser._count -= 1
            if CoreUser._count == 0:
                core.cache_clear()


def device_of(options: Mapping[str, OptionValue]) -> str:
    """Return the device of the options, by default "CPU".

    Raises:
        InvalidArgumentError: There is no such device here.
    """
    device = str(options.get(_DEVICE, "CPU"))
    available = core().available_devices
    if device not in available:
        raise InvalidArgumentError(
            f"backend 'OpenVino' has no device {device!r} here: expected {', '.join(available)}."
        )
    return device


def with_usable_threads(options: Mapping[str, OptionValue]) -> Mapping[str, OptionValue]:
    """Return options with at most a thread for each CPU that the process may use."""
    asked, most = options.get(_THREADS, 0), len(os.sched_getaffinity(0))
    if not isinstance(asked, int) or asked <= most:
        return options
    _log.warning("%s is %d, but there are %d CPUs to use: it takes %d", _THREADS, asked, most, most)
    return {**options, _THREADS: most}


def properties_of(options: Mapping[str, OptionValue]) -> dict[str, Any]:
    """Return the compile properties of the options.

    float32 stays float32 unless fast math is asked for.
    """
    # Counting costs too little to be measured (2.1 ms per run of a network of 45 nodes either way).
    properties: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "PERF_COUNT": True}
    if not options.get(_FAST_MATH, False):
        properties["INFERENCE_PRECISION_HINT"] = "f32"
    if _THREADS in options:
        properties["INFERENCE_NUM_THREADS"] = int(options[_THREADS])
    return properties
