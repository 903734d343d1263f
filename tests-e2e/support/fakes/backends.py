# SPDX-License-Identifier: MIT
"""Backends for tests of everything around backends.

They compute nothing, refuse, fail, wish a layout, or keep their tensors on a device. They work as
entry points and as instances; ``NullBackend("B")`` gives an instance another id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armnn.backends import (
    BACKEND_API_VERSION,
    SUPPORTED,
    ArrayHandle,
    Backend,
    BackendVersion,
    MemoryManager,
    ModelContext,
    OptionValue,
    Step,
    Support,
    TensorHandle,
    TensorHandleFactories,
    TensorHandleFactory,
    Workload,
)
from armnn.errors import BackendError
from armnn.types import DataLayout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer
    from armnn.tensor import TensorInfo


def _nothing() -> None:
    """Do nothing."""


class NullWorkload(Workload):
    """Leaves its outputs as they are."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that does nothing."""
        return _nothing


class NullBackend(Backend):
    """Supports every layer and computes none; any options are accepted."""

    id: ClassVar[str] = "Null"
    api_version: ClassVar[BackendVersion] = BACKEND_API_VERSION

    def __init__(self, backend_id: str | None = None) -> None:
        """Make a backend, with another id if one is given."""
        if backend_id is not None:
            self.id = backend_id  # type: ignore[misc]  # instances of one class have different ids

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Say yes."""
        return SUPPORTED

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that does nothing."""
        return NullWorkload()

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Accept any options."""
        return ModelContext(options)


class SelectiveBackend(NullBackend):
    """Supports some layers, which another backend runs."""

    id = "Selective"

    def __init__(
        self,
        backend_id: str | None = None,
        support: Mapping[str, bool | str] | None = None,
        *,
        default: bool | str = False,
        inner: Backend | None = None,
    ) -> None:
        """Make a backend from a map of what it supports.

        Args:
            backend_id: Its id.
            support: From the name or the type of a layer (the name counts first) to whether it
                is supported; a text is a refusal with that reason.
            default: The same for layers that are not in the map.
            inner: What runs the layers.
        """
        super().__init__(backend_id)
        self._support = {} if support is None else dict(support)
        self._default = default
        self._inner = NullBackend() if inner is None else inner

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Answer from the map, if the inner backend agrees."""
        answer = self._support.get(layer.name, self._support.get(layer.type, self._default))
        if answer is True:
            return self._inner.supports(layer, model)
        reason = answer if isinstance(answer, str) else f"{layer.type} is not in the support map"
        return Support.no(reason)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return the inner backend's workload."""
        return self._inner.create_workload(layer, model)


class FailingBackend(NullBackend):
    """Claims every layer and cannot compile one."""

    id = "Failing"

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Fail."""
        raise BackendError("told to fail in create_workload")


class OneLayoutBackend(SelectiveBackend):
    """Refuses images in another layout, and wishes its own."""

    id = "OneLayout"

    def __init__(
        self,
        backend_id: str | None = None,
        support: Mapping[str, bool | str] | None = None,
        *,
        layout: DataLayout = DataLayout.NHWC,
        default: bool | str = False,
        inner: Backend | None = None,
    ) -> None:
        """Make a backend of one layout.

        Args:
            backend_id: Its id.
            support: See :class:`SelectiveBackend`.
            layout: The layout that it computes in.
            default: See :class:`SelectiveBackend`.
            inner: What runs the layers.
        """
        super().__init__(backend_id, support, default=default, inner=inner)
        self._layout = layout

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Refuse an image in another layout, with the wish."""
        answer = super().supports(layer, model)
        own = getattr(layer.descriptor, "data_layout", self._layout)
        if not answer or own is self._layout:
            return answer
        return Support.no(f"it computes in {self._layout.name}, not {own.name}", self._layout)


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
