# SPDX-License-Identifier: MIT
"""A fake backend with device memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends import (
    ArrayHandle,
    Backend,
    MemoryManager,
    ModelContext,
    Step,
    Support,
    TensorHandle,
    TensorHandleFactories,
    TensorHandleFactory,
    Workload,
)
from armnn.errors import BackendError
from armnn_conformance.fakes.ordinary import NullBackend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer
    from armnn.tensor import TensorInfo


class DeviceMemory(MemoryManager):
    """A device's memory; tensors are mapped between acquire and release.

    Attributes:
        acquisitions: How often it was acquired.
    """

    def __init__(self) -> None:
        self.acquisitions = 0
        self._is_acquired = False

    def acquire(self) -> None:
        """Make the tensors valid."""
        self.acquisitions += 1
        self._is_acquired = True

    def release(self) -> None:
        """Make the tensors invalid."""
        self._is_acquired = False

    def check(self) -> None:
        """Raise BackendError unless the memory is acquired."""
        if not self._is_acquired:
            raise BackendError("device memory was mapped while it was not acquired")


class DeviceHandle(TensorHandle):
    """A tensor of which the host maps copies."""

    def __init__(self, info: TensorInfo, memory: DeviceMemory | None) -> None:
        self.info = info
        self._memory = memory
        self._device = np.zeros(info.static_shape, info.data_type.numpy_dtype)
        self._mapped: NDArray[Any] | None = None

    def map(self) -> NDArray[Any]:
        """Return a copy; raise BackendError without acquired memory."""
        if self._memory is not None:
            self._memory.check()
        if self._mapped is None:
            self._mapped = self._device.copy()
        return self._mapped

    def unmap(self) -> None:
        """Write the copy back."""
        if self._mapped is not None:
            self._device[...] = self._mapped
            self._mapped = None


class DeviceFactory(TensorHandleFactory):
    """Makes DeviceHandles; ``id`` names the device."""

    def __init__(self, factory_id: str) -> None:
        self.id = factory_id

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:
        """Return a device tensor; raise BackendError for other memory."""
        if memory is not None and not isinstance(memory, DeviceMemory):
            raise BackendError(f"the device's tensors need its DeviceMemory: got {memory!r}")
        return DeviceHandle(info, memory)


class DeviceBackend(NullBackend):
    """Keeps tensors in device memory; another backend computes on copies."""

    id = "Device"

    def __init__(self, backend_id: str | None = None, inner: Backend | None = None) -> None:
        """Make a backend whose layers ``inner`` runs, or a NullBackend."""
        super().__init__(backend_id)
        self._inner = NullBackend() if inner is None else inner

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return the inner backend's answer."""
        return self._inner.supports(layer, model)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that maps, runs ``inner``'s and unmaps."""
        return _DeviceWorkload(self._inner.create_workload(layer, model))

    def create_memory_manager(self) -> MemoryManager:
        """Return new device memory."""
        return DeviceMemory()

    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        """The device's factory only."""
        return (f"{self.id}.memory",)

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        """Register the device's factory."""
        registry.register(DeviceFactory(f"{self.id}.memory"))


class _DeviceWorkload(Workload):
    def __init__(self, inner: Workload) -> None:
        self._inner = inner

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        handles = [handle for handle in (*inputs, *outputs) if handle is not None]

        def execute() -> None:
            self._inner.bind(
                [None if handle is None else _on_host(handle) for handle in inputs],
                [_on_host(handle) for handle in outputs],
            )()
            for handle in handles:
                handle.unmap()

        return execute


def _on_host(handle: TensorHandle) -> ArrayHandle:
    return ArrayHandle(handle.info, handle.map())
