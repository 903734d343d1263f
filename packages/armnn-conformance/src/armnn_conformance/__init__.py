# SPDX-License-Identifier: MIT
"""The conformance kit for backends, with fakes for tests."""

from __future__ import annotations

from armnn_conformance.fakes import (
    FailingBackend,
    NullBackend,
    RecordingBackend,
    SelectiveBackend,
)
from armnn_conformance.fakes.device import DeviceBackend
from armnn_conformance.fakes.plugin_dirs import Plugin, backend_plugin, installed, write_plugin

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
