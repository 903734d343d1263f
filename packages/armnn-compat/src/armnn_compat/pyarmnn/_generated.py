# SPDX-License-Identifier: MIT
"""The place of PyArmNN's bindings, whose names programs import too.

PyArmNN exports fewer names than its bindings have (``BatchMatMulDescriptor`` is not among them), so
programs go to the bindings. Here each of these modules is the package itself.
"""

from __future__ import annotations

import importlib
from types import ModuleType

MODULES = ("pyarmnn", "pyarmnn_deserializer", "pyarmnn_onnxparser", "pyarmnn_tfliteparser")
"""The names of the modules."""

_PACKAGE = __name__.rpartition(".")[0]


def __getattr__(name: str) -> ModuleType:
    """Return the package for the name of a module."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(_PACKAGE)
