# SPDX-License-Identifier: MIT
"""Fake backends: ordinary ones for tests around backends, and misbehaving ones for the kit itself.

:mod:`armnn.testing.fakes.misbehaving` has backends that break the contract in one way each; they
prove that the conformance kit notices.
"""

from __future__ import annotations

from armnn.testing.fakes.device import DeviceBackend
from armnn.testing.fakes.ordinary import (
    FailingBackend,
    NullBackend,
    RecordingBackend,
    SelectiveBackend,
)

__all__ = [
    "DeviceBackend",
    "FailingBackend",
    "NullBackend",
    "RecordingBackend",
    "SelectiveBackend",
]
