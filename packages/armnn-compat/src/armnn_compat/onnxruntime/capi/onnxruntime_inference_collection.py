# SPDX-License-Identifier: MIT
"""The module that onnxruntime defines its session in."""

from __future__ import annotations

from armnn_compat.onnxruntime.session import InferenceSession, IOBinding
from armnn_compat.onnxruntime.values import OrtDevice, OrtValue

Session = InferenceSession

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtValue", "Session"]
