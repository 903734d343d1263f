# SPDX-License-Identifier: MIT
"""What our own tests stand on: backends, plug-ins and planted faults that no wheel holds."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fakes.backends import (
    DeviceBackend,
    FailingBackend,
    NullBackend,
    OneLayoutBackend,
    SelectiveBackend,
)
from fakes.plugins import Plugin, backend_plugin, installed, write_plugin

DEVICE_SOURCE: Final = Path(__file__).with_name("device.c")
"""A backend in C whose tensors are in memory that the host cannot reach."""

__all__ = [
    "DEVICE_SOURCE",
    "DeviceBackend",
    "FailingBackend",
    "NullBackend",
    "OneLayoutBackend",
    "Plugin",
    "SelectiveBackend",
    "backend_plugin",
    "installed",
    "write_plugin",
]
