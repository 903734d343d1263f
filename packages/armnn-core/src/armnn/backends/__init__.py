# SPDX-License-Identifier: MIT
"""The Backend API: parts of backends, registry, reasons for refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, is_compatible
from armnn_backend_api.names import ASYNC_EXECUTION, SHARED_MEMORY

if TYPE_CHECKING:
    from armnn.backends.base import Backend, BackendContext, ModelContext, Step, Workload
    from armnn.backends.capability import Capability
    from armnn.backends.control import ProfilingContext, ProfilingSink
    from armnn.backends.discovery import refresh
    from armnn.backends.entries import BackendEntry, BackendState
    from armnn.backends.extensions import AsyncExecution, SharedBuffer, SharedMemory, Task
    from armnn.backends.memory import (
        ALIGNMENT,
        HOST_FACTORY_ID,
        Allocator,
        ArrayHandle,
        HostAllocator,
        MemoryManager,
        TensorHandle,
        TensorHandleFactories,
        TensorHandleFactory,
    )
    from armnn.backends.options import CreationOptions, OptionValue
    from armnn.backends.registry import BackendRegistry
    from armnn.backends.sources import BackendSource, SourceRecord
    from armnn.backends.support import SUPPORTED, Support
    from armnn.backends.views import OptimizationViews, SubgraphView, Substitution
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "base": "Backend BackendContext ModelContext Step Workload",
            "capability": "Capability",
            "control": "ProfilingContext ProfilingSink",
            "discovery": "refresh",
            "entries": "BackendEntry BackendState",
            "extensions": "AsyncExecution SharedBuffer SharedMemory Task",
            "memory": "ALIGNMENT HOST_FACTORY_ID Allocator ArrayHandle HostAllocator MemoryManager "
            "TensorHandle TensorHandleFactories TensorHandleFactory",
            "options": "CreationOptions OptionValue",
            "registry": "BackendRegistry",
            "sources": "BackendSource SourceRecord",
            "support": "SUPPORTED Support",
            "views": "OptimizationViews SubgraphView Substitution",
        },
    )

__all__ = [
    "ALIGNMENT",
    "ASYNC_EXECUTION",
    "BACKEND_API_VERSION",
    "HOST_FACTORY_ID",
    "SHARED_MEMORY",
    "SUPPORTED",
    "Allocator",
    "ArrayHandle",
    "AsyncExecution",
    "Backend",
    "BackendContext",
    "BackendEntry",
    "BackendRegistry",
    "BackendSource",
    "BackendState",
    "BackendVersion",
    "Capability",
    "CreationOptions",
    "HostAllocator",
    "MemoryManager",
    "ModelContext",
    "OptimizationViews",
    "OptionValue",
    "ProfilingContext",
    "ProfilingSink",
    "SharedBuffer",
    "SharedMemory",
    "SourceRecord",
    "Step",
    "SubgraphView",
    "Substitution",
    "Support",
    "Task",
    "TensorHandle",
    "TensorHandleFactories",
    "TensorHandleFactory",
    "Workload",
    "is_compatible",
    "refresh",
]
