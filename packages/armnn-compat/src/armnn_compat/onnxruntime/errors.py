# SPDX-License-Identifier: MIT
"""The exceptions of onnxruntime, their errors of armnn, and names that are refused when used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, NoReturn, TypeVar

from armnn.backends.calling import explained, is_blamed
from armnn.errors import (
    ArmnnError,
    InvalidArgumentError,
    ModelFileNotFoundError,
    ParseError,
    UnsupportedOperatorError,
)

# ruff: noqa: N818 - the names of the exceptions are onnxruntime's


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
    """The model or the caller asks for something that does not exist."""

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
    """A device lost its memory."""

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
    """Raise onnxruntime's exceptions for errors of armnn and of backends, their causes."""
    try:
        yield
    except Status:
        raise
    except ArmnnError as error:
        for ours, theirs in _COUNTERPARTS:
            if isinstance(error, ours):
                raise theirs(explained(error)) from error
        raise
    except Exception as error:
        if is_blamed(error):
            raise Fail(explained(error)) from error
        raise


_Class = TypeVar("_Class", bound=type)

_ADVICE = "armnn's stand-in lacks it; docs/coming-from-onnxruntime.md lists what it has"


class _Refused(type):
    """A class that refuses to be used."""

    def __call__(cls, *_: object, **__: object) -> NoReturn:
        raise NotImplemented(f"onnxruntime.{cls.__name__} is used: {_ADVICE}")  # noqa: F901  # the class above

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplemented(f"onnxruntime.{cls.__name__}.{name} is used: {_ADVICE}")  # noqa: F901  # the class above


def _refused_method(owner: str, name: str) -> Callable[..., NoReturn]:
    """Return a method that raises ``NotImplemented`` when it is called."""

    def method(*_: object, **__: object) -> NoReturn:
        raise NotImplemented(f"{owner}.{name}() is called: {_ADVICE}")  # noqa: F901  # the class above

    method.__name__, method.__doc__ = name, "Refuse to be called."
    return method


def refusing(*names: str) -> Callable[[_Class], _Class]:
    """Return a decorator that adds methods which raise."""

    def decorate(kind: _Class) -> _Class:
        for name in names:
            setattr(kind, name, _refused_method(kind.__name__, name))
        return kind

    return decorate


class AdapterFormat(metaclass=_Refused):
    """Files of LoRA adapters."""


class LoraAdapter(metaclass=_Refused):
    """A LoRA adapter."""


class ModelCompiler(metaclass=_Refused):
    """Compiles models ahead of time."""


class OrtEpAssignedNode(metaclass=_Refused):
    """A node and its execution provider."""


class OrtEpAssignedSubgraph(metaclass=_Refused):
    """A subgraph and its execution provider."""


class OrtEpContextData(metaclass=_Refused):
    """Data of models that were compiled ahead of time."""


class OrtEpContextDataBuffer(metaclass=_Refused):
    """Data of models compiled ahead of time."""


class OrtEpDevice(metaclass=_Refused):
    """A device of an execution provider."""


class OrtExternalInitializerInfo(metaclass=_Refused):
    """Where the data of an initializer is."""


class OrtHardwareDevice(metaclass=_Refused):
    """A device."""


class OrtSyncStream(metaclass=_Refused):
    """A stream of a device."""


class SessionIOBinding(metaclass=_Refused):
    """The inner object of an ``IOBinding``."""


class SparseTensor(metaclass=_Refused):
    """A sparse tensor."""


register_execution_provider_library = _refused_method(
    "onnxruntime", "register_execution_provider_library"
)
unregister_execution_provider_library = _refused_method(
    "onnxruntime", "unregister_execution_provider_library"
)
