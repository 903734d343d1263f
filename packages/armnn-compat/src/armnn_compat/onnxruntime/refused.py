# SPDX-License-Identifier: MIT
"""Names that can be imported, and are refused when used."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from armnn_compat.onnxruntime.errors import NotImplemented as NotImplementedStatus

_Class = TypeVar("_Class", bound=type)

_ADVICE = "armnn's stand-in lacks it; docs/coming-from-onnxruntime.md lists what it has"


class _Refused(type):
    """A class that refuses to be used."""

    def __call__(cls, *_: object, **__: object) -> NoReturn:
        raise NotImplementedStatus(f"onnxruntime.{cls.__name__} is used: {_ADVICE}")

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedStatus(f"onnxruntime.{cls.__name__}.{name} is used: {_ADVICE}")


def refused_method(owner: str, name: str) -> Callable[..., NoReturn]:
    """Return a method that raises ``NotImplemented`` when it is called."""

    def method(*_: object, **__: object) -> NoReturn:
        raise NotImplementedStatus(f"{owner}.{name}() is called: {_ADVICE}")

    method.__name__, method.__doc__ = name, "Refuse to be called."
    return method


def refusing(*names: str) -> Callable[[_Class], _Class]:
    """Return a decorator that adds methods which raise."""

    def decorate(kind: _Class) -> _Class:
        for name in names:
            setattr(kind, name, refused_method(kind.__name__, name))
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
    """Where the data of an initialiser is."""


class OrtHardwareDevice(metaclass=_Refused):
    """A device."""


class OrtSyncStream(metaclass=_Refused):
    """A stream of a device."""


class SessionIOBinding(metaclass=_Refused):
    """What is inside of an ``IOBinding``."""


class SparseTensor(metaclass=_Refused):
    """A sparse tensor."""


register_execution_provider_library = refused_method(
    "onnxruntime", "register_execution_provider_library"
)
unregister_execution_provider_library = refused_method(
    "onnxruntime", "unregister_execution_provider_library"
)
