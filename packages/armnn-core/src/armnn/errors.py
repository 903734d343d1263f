# SPDX-License-Identifier: MIT
"""The exceptions that armnn raises, all derived from :class:`ArmnnError`."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ArmnnError",
    "BackendError",
    "BackendUnavailableError",
    "CancelledError",
    "ClosedError",
    "ClosingError",
    "DeadlineExceededError",
    "DeviceLostError",
    "ExecutionError",
    "GraphError",
    "IncompatibleBackendError",
    "IncompatibleBlobError",
    "InvalidArgumentError",
    "MemoryImportError",
    "ModelFileError",
    "ModelFileNotFoundError",
    "NotExportableError",
    "NotFoundError",
    "NotInstalledError",
    "NotStorableError",
    "OptimizationError",
    "ParseError",
    "PlacementError",
    "ResourceExhaustedError",
    "ShapeError",
    "UnimplementedError",
    "UnknownBackendError",
    "UnknownNameError",
    "UnsupportedOperatorError",
    "WorkerLostError",
]


class ArmnnError(Exception):
    """Root of every error that armnn raises on purpose."""


class InvalidArgumentError(ArmnnError, ValueError):
    """A value that the caller passed cannot be used."""


class UnknownNameError(InvalidArgumentError, KeyError):
    """Nothing has the name that was asked for."""

    __str__ = Exception.__str__  # a KeyError's would put the message in quotes


class NotInstalledError(ArmnnError, ModuleNotFoundError):
    """A distribution that is needed is not installed."""


class GraphError(ArmnnError, ValueError):
    """A network is malformed or would become so."""


class ShapeError(InvalidArgumentError):
    """Shapes, types or parameters of a layer disagree."""


class ModelFileError(ArmnnError):
    """A model file cannot be found, read or understood."""


class ModelFileNotFoundError(ModelFileError, FileNotFoundError):
    """There is no file at the model's path."""


class ParseError(ModelFileError, ValueError):
    """A model file is malformed, or the parser refuses it."""


class UnsupportedOperatorError(ParseError):
    """A model uses unknown operators; ``operators`` lists them all."""

    def __init__(self, message: str, operators: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.operators = operators


class NotExportableError(ArmnnError, ValueError):
    """A layer has no counterpart in another format."""


class NotStorableError(ArmnnError, ValueError):
    """A file format lacks layers of a network, ``layers``."""

    def __init__(self, message: str, layers: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.layers = layers


class BackendError(ArmnnError, RuntimeError):
    """A backend cannot be used, or failed."""


class UnknownBackendError(BackendError, LookupError):
    """No backend of that id was ever heard of."""


class BackendUnavailableError(BackendError):
    """A known backend cannot be used; the message says why."""


class IncompatibleBackendError(BackendUnavailableError):
    """A backend needs a Backend API this core lacks."""


class NotFoundError(BackendError, LookupError):
    """A backend lacks a named object, for example a device."""


class ResourceExhaustedError(BackendError, MemoryError):
    """A backend has no memory left, or reached another limit."""


class UnimplementedError(BackendError, NotImplementedError):
    """A backend cannot do that at all."""


class IncompatibleBlobError(BackendError):
    """A serialized program cannot be read by this backend."""


class OptimizationError(ArmnnError, RuntimeError):
    """A network cannot be prepared for the requested backends."""


class PlacementError(ArmnnError, RuntimeError):
    """Backends cannot be chosen by measurement.

    Nothing right could be measured, or a file of verdicts cannot be used.
    """


class MemoryImportError(ArmnnError, ValueError):
    """Memory cannot be used without a copy, or mapped."""


class ExecutionError(ArmnnError, RuntimeError):
    """A layer failed while the network ran."""


class CancelledError(ExecutionError):
    """A run was cancelled by its caller."""


class DeadlineExceededError(ExecutionError, TimeoutError):
    """A run did not end within its time limit."""


class DeviceLostError(BackendError, ExecutionError):
    """A device is gone, or its driver failed: nothing on it can be used any more.

    A backend that runs isolated goes on in a new process; any other needs a new process.
    """


class WorkerLostError(ExecutionError):
    """An isolated backend's process ended, or did not answer.

    Attributes:
        backend: The id of the backend; "" where it is in the cause's.
        is_starting: Whether a new process is being started.
    """

    def __init__(self, message: str, backend: str = "", *, is_starting: bool = False) -> None:
        super().__init__(message)
        self.backend = backend
        self.is_starting = is_starting


class ClosedError(ArmnnError, RuntimeError):
    """The runtime or the network was closed before the call."""


class ClosingError(ArmnnError, ExceptionGroup[Exception]):
    """Some resources of an object could not be closed; the others are closed."""

    # The base is generic in what a group holds; this one holds what was raised.
    def derive(self, excs: Sequence[Exception]) -> ClosingError:  # type: ignore[override]  # see above
        """Return a group of the same kind with other errors."""
        return ClosingError(self.message, excs)
