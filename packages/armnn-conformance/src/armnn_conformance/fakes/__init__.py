# SPDX-License-Identifier: MIT
"""Fake backends and plug-ins, ordinary and misbehaving ones.

There are fake plug-ins, too. :mod:`armnn_conformance.fakes.misbehaving` has backends that break the
contract in one way each; they prove that the conformance kit notices.
"""

from __future__ import annotations

from armnn_conformance.fakes.device import DeviceBackend
from armnn_conformance.fakes.layouts import OneLayoutBackend
from armnn_conformance.fakes.ordinary import (
    FailingBackend,
    NullBackend,
    RecordingBackend,
    SelectiveBackend,
)

__all__ = [
    "DeviceBackend",
    "FailingBackend",
    "NullBackend",
    "OneLayoutBackend",
    "RecordingBackend",
    "SelectiveBackend",
]
