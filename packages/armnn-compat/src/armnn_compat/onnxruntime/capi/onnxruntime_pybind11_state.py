# SPDX-License-Identifier: MIT
# ruff: noqa: F401 - programs import the exceptions from here
"""The names of onnxruntime's compiled module, such as its exceptions."""

from __future__ import annotations

from armnn_compat.onnxruntime.errors import (
    DeviceReset,
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelRequiresCompilation,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,
    RuntimeException,
)
from armnn_compat.onnxruntime.names import *  # noqa: F403  # the list of names is there
