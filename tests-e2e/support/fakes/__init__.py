# SPDX-License-Identifier: MIT
"""What our own tests stand on: backends, plug-ins and planted faults that no wheel holds."""

from __future__ import annotations

from fakes.backends import (
    DeviceBackend,
    FailingBackend,
    NullBackend,
    OneLayoutBackend,
    SelectiveBackend,
)
from fakes.plugins import Plugin, backend_plugin, installed, write_plugin

__all__ = [
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
