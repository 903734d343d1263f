# SPDX-License-Identifier: MIT
"""The modules inside ``onnxruntime.capi`` that programs import from."""

from __future__ import annotations

from armnn_compat.onnxruntime.capi import (
    onnxruntime_inference_collection,
    onnxruntime_pybind11_state,
)

_pybind_state = onnxruntime_pybind11_state

__all__ = ["_pybind_state", "onnxruntime_inference_collection", "onnxruntime_pybind11_state"]
