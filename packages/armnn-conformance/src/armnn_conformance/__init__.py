# SPDX-License-Identifier: MIT
"""What tests of backends and of programs that use them need: fake backends, fake plug-ins."""

from __future__ import annotations

from armnn.testing.fakes import (
    FailingBackend,
    NullBackend,
    RecordingBackend,
    SelectiveBackend,
)
from armnn.testing.fakes.device import DeviceBackend
from armnn.testing.plugin_dirs import Plugin, backend_plugin, installed, write_plugin

__all__ = [
    "DeviceBackend",
    "FailingBackend",
    "NullBackend",
    "Plugin",
    "RecordingBackend",
    "SelectiveBackend",
    "backend_plugin",
    "installed",
    "write_plugin",
]
