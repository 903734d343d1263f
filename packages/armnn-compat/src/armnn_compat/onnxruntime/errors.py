# SPDX-License-Identifier: MIT
# ruff: noqa: N818 - the names of the exceptions are onnxruntime's
"""The exceptions of onnxruntime, and their errors of armnn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from armnn.errors import (
    ArmnnError,
    InvalidArgumentError,
    ModelFileNotFoundError,
    ParseError,
    UnsupportedOperatorError,
)


class Status(ArmnnError):
    """Root of the exceptions; onnxruntime itself has none but ``Exception``."""

    number: ClassVar[int]
    label: ClassVar[str]

    def __init__(self, message: str) -> None:
        super().__init__(f"[ONNXRuntimeError] : {self.number} : {self.label} : {message}")


class Fail(Status):
    """Something failed that has no exception of its own."""

    number, label = 1, "FAIL"


class InvalidArgument(Status):
    """An input, an output or an option is wrong."""

    number, label = 2, "INVALID_ARGUMENT"


class NoSuchFile(Status):
    """There is no such model file."""

    number, label = 3, "NO_SUCHFILE"


class NoModel(Status):
    """No model was loaded."""

    number, label = 4, "NO_MODEL"


class EngineError(Status):
    """An execution provider could not be made."""

    number, label = 5, "ENGINE_ERROR"


class RuntimeException(Status):
    """A node failed while the model ran."""

    number, label = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(Status):
    """The model is no ONNX file."""

    number, label = 7, "INVALID_PROTOBUF"


class ModelLoaded(Status):
    """A model was loaded twice."""

    number, label = 8, "MODEL_LOADED"


class NotImplemented(Status):
    """The model, or the caller, wants what is not there."""

    number, label = 9, "NOT_IMPLEMENTED"


class InvalidGraph(Status):
    """The model is malformed."""

    number, label = 10, "INVALID_GRAPH"


class EPFail(Status):
    """An execution provider failed."""

    number, label = 11, "EP_FAIL"


class ModelLoadCanceled(Status):
    """Loading was told to end."""

    number, label = 12, "MODEL_LOAD_CANCELED"


class ModelRequiresCompilation(Status):
    """The model must be compiled first."""

    number, label = 13, "MODEL_REQUIRES_COMPILATION"


class NotFound(Status):
    """Something that was named is not there."""

    number, label = 14, "NOT_FOUND"


class DeviceReset(Status):
    """A device lost what was on it."""

    number, label = 15, "DEVICE_RESET"


_COUNTERPARTS: tuple[tuple[type[ArmnnError], type[Status]], ...] = (
    (ModelFileNotFoundError, NoSuchFile),
    (UnsupportedOperatorError, NotImplemented),
    (ParseError, InvalidGraph),
    (InvalidArgumentError, InvalidArgument),
    (ArmnnError, Fail),
)


@contextmanager
def translated() -> Iterator[None]:
    """Raise onnxruntime's exceptions for armnn's errors, their causes."""
    try:
        yield
    except Status:
        raise
    except ArmnnError as error:
        for ours, theirs in _COUNTERPARTS:
            if isinstance(error, ours):
                raise theirs(str(error)) from error
        raise
