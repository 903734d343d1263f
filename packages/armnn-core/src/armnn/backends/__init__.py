# SPDX-License-Identifier: MIT
"""Backends: the Backend API in Python, and how backends are found, loaded and called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, is_compatible
from armnn_backend_api.names import ASYNC_EXECUTION, SHARED_MEMORY

if TYPE_CHECKING:
    from armnn.backends.cache import BlobStore
    from armnn.backends.contract import (
        SUPPORTED,
        Backend,
        BackendContext,
        Capability,
        Event,
        ModelContext,
        OptimizationViews,
        ProfilingContext,
        ProfilingSink,
        Step,
        SubgraphView,
        Substitution,
        Support,
        Workload,
        raise_if_stopped,
    )
    from armnn.backends.discovery import refresh
    from armnn.backends.extensions import AsyncExecution, SharedBuffer, SharedMemory, Task
    from armnn.backends.loading import BackendEntry, BackendState
    from armnn.backends.memory import (
        ALIGNMENT,
        HOST_FACTORY_ID,
        Allocator,
        ArrayHandle,
        HostAllocator,
        MapAccess,
        MemoryManager,
        TensorHandle,
        TensorHandleFactories,
        TensorHandleFactory,
    )
    from armnn.backends.options import CreationOptions, OptionValue
    from armnn.backends.registry import BackendRegistry
    from armnn.backends.sources import BackendSource, SourceRecord
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "cache": "BlobStore",
            "contract": "SUPPORTED Backend BackendContext Capability Event ModelContext "
            "OptimizationViews ProfilingContext ProfilingSink Step SubgraphView Substitution "
            "Support Workload raise_if_stopped",
            "discovery": "refresh",
            "extensions": "AsyncExecution SharedBuffer SharedMemory Task",
            "loading": "BackendEntry BackendState",
            "memory": "ALIGNMENT HOST_FACTORY_ID Allocator ArrayHandle HostAllocator MapAccess "
            "MemoryManager TensorHandle TensorHandleFactories TensorHandleFactory",
            "options": "CreationOptions OptionValue",
            "registry": "BackendRegistry",
            "sources": "BackendSource SourceRecord",
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
    "BlobStore",
    "Capability",
    "CreationOptions",
    "Event",
    "HostAllocator",
    "MapAccess",
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
    "raise_if_stopped",
    "refresh",
]
