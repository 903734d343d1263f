# SPDX-License-Identifier: MIT
"""Running networks: the runtime, loaded networks, plans, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.runtime.calls.imports import FileMemory
    from armnn.runtime.calls.properties import NetworkProperties
    from armnn.runtime.default import default_runtime, load_model, optimize
    from armnn.runtime.loaded_network import LoadedNetwork
    from armnn.runtime.memory.planner import Block, Layout, MemoryValidationError
    from armnn.runtime.memory.strategies import StrategyValidator
    from armnn.runtime.runtime import Runtime
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "default": "default_runtime load_model optimize",
            "calls.imports": "FileMemory",
            "loaded_network": "LoadedNetwork",
            "memory.planner": "Block Layout MemoryValidationError",
            "calls.properties": "NetworkProperties",
            "runtime": "Runtime",
            "memory.strategies": "StrategyValidator",
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
