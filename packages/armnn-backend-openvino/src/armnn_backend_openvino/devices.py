# SPDX-License-Identifier: MIT
"""OpenVINO in this process: one core, its devices, and the properties models are compiled with."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import openvino

from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from armnn.backends import OptionValue

DEVICE = "Device"
THREADS = "NumberOfThreads"
FAST_MATH = "FastMathEnabled"
OPTIONS = (DEVICE, THREADS, FAST_MATH)


@functools.cache
def core() -> openvino.Core:
    """Return the core; making one looks for devices and is slow, so there is one."""
    return openvino.Core()


def device_of(options: Mapping[str, OptionValue]) -> str:
    """Return the device that the options ask for, "CPU" if they do not.

    Raises:
        InvalidArgumentError: There is no such device here.
    """
    device = str(options.get(DEVICE, "CPU"))
    available = core().available_devices
    if device not in available:
        raise InvalidArgumentError(
            f"backend 'OpenVino' has no device {device!r} here: expected {', '.join(available)}."
        )
    return device


def properties_of(options: Mapping[str, OptionValue]) -> dict[str, Any]:
    """Return what a model is compiled with: float32 stays float32 unless fast math is asked for."""
    properties: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY"}
    if not options.get(FAST_MATH, False):
        properties["INFERENCE_PRECISION_HINT"] = "f32"
    if THREADS in options:
        properties["INFERENCE_NUM_THREADS"] = int(options[THREADS])
    return properties
