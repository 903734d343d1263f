# SPDX-License-Identifier: MIT
"""Running networks: the runtime, loaded networks, plans, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.runtime.calls.control import NetworkProperties
    from armnn.runtime.calls.imports import FileMemory
    from armnn.runtime.loaded_network import LoadedNetwork
    from armnn.runtime.planner import Block, Layout, MemoryValidationError, StrategyValidator
    from armnn.runtime.record import Difference, Record
    from armnn.runtime.runtime import Runtime, default_runtime, load_model, optimize
    from armnn.runtime.states import Stream
    from armnn.runtime.verification import verify
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "calls.imports": "FileMemory",
            "loaded_network": "LoadedNetwork",
            "planner": "Block Layout MemoryValidationError StrategyValidator",
            "calls.control": "NetworkProperties",
            "record": "Difference Record",
            "runtime": "Runtime default_runtime load_model optimize",
            "states": "Stream",
            "verification": "verify",
        },
    )

__all__ = [
    "Block",
    "Difference",
    "FileMemory",
    "Layout",
    "LoadedNetwork",
    "MemoryValidationError",
    "NetworkProperties",
    "Record",
    "Runtime",
    "StrategyValidator",
    "Stream",
    "default_runtime",
    "load_model",
    "optimize",
    "verify",
]
