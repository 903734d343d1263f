# SPDX-License-Identifier: MIT
"""Running networks: the runtime, loaded networks, plans, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.runtime.default import default_runtime, load_model, optimize
    from armnn.runtime.imports import FileMemory
    from armnn.runtime.loaded_network import LoadedNetwork
    from armnn.runtime.memory import Block, Layout, MemoryValidationError
    from armnn.runtime.properties import NetworkProperties
    from armnn.runtime.runtime import Runtime
    from armnn.runtime.strategies import StrategyValidator
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "default": "default_runtime load_model optimize",
            "imports": "FileMemory",
            "loaded_network": "LoadedNetwork",
            "memory": "Block Layout MemoryValidationError",
            "properties": "NetworkProperties",
            "runtime": "Runtime",
            "strategies": "StrategyValidator",
        },
    )

__all__ = [
    "Block",
    "FileMemory",
    "Layout",
    "LoadedNetwork",
    "MemoryValidationError",
    "NetworkProperties",
    "Runtime",
    "StrategyValidator",
    "default_runtime",
    "load_model",
    "optimize",
]
