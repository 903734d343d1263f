# SPDX-License-Identifier: MIT
"""The backend class of CpuRef, named by the entry point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from armnn.backends import (
    ASYNC_EXECUTION,
    SHARED_MEMORY,
    Backend,
    BackendVersion,
    ModelContext,
    OptionValue,
    Support,
    Workload,
)

if TYPE_CHECKING:
    from armnn.graph import Layer


class RefBackend(Backend):
    """The reference backend: every layer, every data type, plain NumPy.

    It works in host memory, keeps nothing and takes no options.
    """

    id: ClassVar[str] = "CpuRef"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 2)

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """What CpuRef can do, by Arm NN's names."""
        return {
            "NonConstWeights": True,
            "AsyncExecution": self.extension(ASYNC_EXECUTION) is not None,
            "ProtectedContentAllocation": False,
            "ConstantTensorsAsInputs": True,
            "PreImportIOTensors": True,
            "ExternallyManagedMemory": True,
            "MultiAxisPacking": True,
            "SingleAxisPacking": True,
            "HasFp16": True,
            "PropagatesNaN": True,
            "KeepsExtremes": True,
        }

    def supports(self, layer: Layer, model: ModelContext) -> Support:  # noqa: ARG002  # no options
        """Say whether CpuRef runs a layer."""
        # Imported late: a network that was prepared before has no layer to ask about.
        from armnn_backend_ref.support import support_of

        return support_of(layer)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer."""
        # Imported late: a network may well be run by another backend whose one fallback is CpuRef.
        from armnn_backend_ref.workload import RefWorkload

        return RefWorkload(layer, model)

    def extension(self, name: str) -> object | None:
        """Return "armnn.async/1" or "armnn.memory/1", else None."""
        if name not in (ASYNC_EXECUTION, SHARED_MEMORY):
            return None
        # Imported late: few programs submit steps or share memory.
        from armnn_backend_ref.extensions import RefAsyncExecution, RefSharedMemory

        return RefAsyncExecution() if name == ASYNC_EXECUTION else RefSharedMemory()
