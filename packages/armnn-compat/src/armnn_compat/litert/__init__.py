# SPDX-License-Identifier: MIT
"""A drop-in for ``ai_edge_litert.interpreter`` and ``tflite_runtime.interpreter``.

Use it under its own name, or put it in the place of the others before they are imported::

    import armnn_compat.litert

    armnn_compat.litert.install()
    from ai_edge_litert.interpreter import Interpreter  # runs on armnn

``docs/coming-from-onnxruntime.md`` says what is there, what has no effect and what is refused.
"""

from __future__ import annotations

import sys
from types import ModuleType

from armnn_compat.litert import interpreter
from armnn_compat.litert.interpreter import (
    Delegate,
    Interpreter,
    InterpreterWithCustomOps,
    OpResolverType,
    SignatureRunner,
    load_delegate,
)
from armnn_compat.standing_in import AlreadyImportedError, StandIn, withdraw

__version__ = "2.3.0"
"""The release of LiteRT whose names, types and messages these are."""


def install() -> StandIn:
    """Make ``ai_edge_litert`` and ``tflite_runtime`` name this module, until :func:`uninstall`.

    Returns:
        A context manager that takes the names away again when its block ends.

    Raises:
        AlreadyImportedError: One of them was imported before.
    """
    return StandIn(_modules())


def uninstall() -> None:
    """Give the names back; imported modules stay."""
    withdraw(_modules())


def _modules() -> dict[str, ModuleType]:
    modules = {}
    for name in ("ai_edge_litert", "tflite_runtime"):
        modules[name] = sys.modules[__name__]
        modules[f"{name}.interpreter"] = interpreter
    return modules


__all__ = [
    "AlreadyImportedError",
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "OpResolverType",
    "SignatureRunner",
    "__version__",
    "install",
    "interpreter",
    "load_delegate",
    "uninstall",
]
