# SPDX-License-Identifier: MIT
"""Where onnxruntime itself defines its session, which some programs import from here."""

from __future__ import annotations

from armnn_compat.onnxruntime.binding import IOBinding
from armnn_compat.onnxruntime.session import InferenceSession
from armnn_compat.onnxruntime.values import OrtDevice, OrtValue

Session = InferenceSession

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtValue", "Session"]
