# SPDX-License-Identifier: MIT
"""The memory of a plan: one arena per backend, and the tensor handles in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    Allocator,
    MemoryManager,
    Step,
    TensorHandle,
    TensorHandleFactories,
    TensorHandleFactory,
    Workload,
)
from armnn.backends.calling import call
from armnn.backends.memory import (
    HOST_FACTORY_ID,
    HOST_SOURCES,
    ArrayHandle,
    ComputedHandle,
    address_of,
    handle_at,
)
from armnn.errors import ExecutionError
from armnn.graph import Layer, Value
from armnn.optimizer.assignment.boundaries import Placement, owner
from armnn.runtime.memory.planner import Block, Layout, MemoryStrategies
from armnn.types import MemorySource


def _constant_handle(value: Value) -> ArrayHandle:
    """Return the handle of a constant, made contiguous.

    Raises:
        ExecutionError: The value is not constant.
    """
    if value.constant is None:
        raise ExecutionError(f"the value {value.name!r} is not constant")
    return ArrayHandle(
        value.info, np.ascontiguousarray(value.constant).reshape(value.constant.shape)
    )


class CopyWorkload(Workload):
    """The workload of MemCopy, and of MemImport without an import."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that copies the input through host memory."""
        (source,), (target,) = inputs, outputs
        if source is None:
            raise ExecutionError("a copy needs a tensor to copy: got none")

        def step() -> None:
            try:
                target.copy_from(source.map())
            finally:
                source.unmap()

        return step


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """The working memory of one backend in one context.

    Attributes:
        values: The tensors in it.
        scratch: The layers with scratch memory in it, after the tensors, and its bytes.
        layout: Where.
        allocator: Where the memory comes from.
    """

    values: tuple[Value, ...]
    scratch: tuple[tuple[Layer, int], ...]
    layout: Layout
    allocator: Allocator

    def place(
        self,
        memory: NDArray[np.uint8],
        handles: dict[Value, TensorHandle],
        scratch: dict[Layer, NDArray[np.uint8]],
    ) -> None:
        """Add the handles and the scratch memory in one block."""
        source = self.allocator.memory_source
        start = address_of(memory)
        offsets = iter(self.layout.offsets)  # of the tensors, then of the scratch memory
        for value, offset in zip(self.values, offsets, strict=False):
            info = value.info
            shape, dtype = info.static_shape, info.data_type.numpy_dtype
            handles[value] = handle_at(memory, offset, info, shape, dtype, source, start)
        for (layer, size), offset in zip(self.scratch, offsets, strict=True):
            scratch[layer] = memory[offset : offset + size]


def plan_arenas(
    lifetimes: Mapping[Value, tuple[int, int]],
    values: Iterable[Value],
    order: Sequence[Layer],
    workloads: Mapping[Layer, Workload],
    strategies: MemoryStrategies,
    allocator_of: Callable[[str], Allocator],
) -> dict[str, Arena]:
    """Lay out tensors and scratch memory per backend.

    Args:
        lifetimes: The first and the last step of each tensor.
        values: The tensors that are in arenas.
        order: The layers in the order of their steps.
        workloads: Their workloads, which say how much scratch memory they need.
        strategies: The memory strategy of each backend.
        allocator_of: Returns the allocator of a backend.
    """
    owned: dict[str, list[Value]] = {}
    for value in values:
        owned.setdefault(owner(value), []).append(value)
    scratch: dict[str, list[tuple[Layer, Block]]] = {}
    for index, layer in enumerate(order):
        size = 0
        if layer in workloads:
            size = call(layer.backend or "", workloads[layer], "scratch_bytes", about=layer)
        if size:
            scratch.setdefault(layer.backend or "", []).append((layer, Block(index, index, size)))
    arenas: dict[str, Arena] = {}
    for backend_id in dict.fromkeys((*owned, *scratch)):
        tensors, beside = owned.get(backend_id, []), scratch.get(backend_id, [])
        blocks = [Block(*lifetimes[value], value.info.size_bytes) for value in tensors]
        blocks += [block for _, block in beside]
        arenas[backend_id] = Arena(
            tuple(tensors),
            tuple((layer, block.size) for layer, block in beside),
            strategies.place(backend_id, blocks),
            allocator_of(backend_id),
        )
    return arenas


Handles = dict["Value", TensorHandle]
"""The handles of one context."""


class TensorHandles:
    """Makes the handles of one network's tensors.

    Those of constants are made once, for all contexts.

    Args:
        placement: The factory of each tensor.
        factories: The factories.
        order: The layers of the network.
    """

    def __init__(
        self, placement: Placement, factories: TensorHandleFactories, order: Sequence[Layer]
    ) -> None:
        self._placement = placement
        self._factories = factories
        self._constants = self._placed_constants(order)

    def is_in_arena(self, value: Value) -> bool:
        """Return whether a tensor has its memory in an arena."""
        return self._placement.factories[value] == HOST_FACTORY_ID and value.info.is_static

    def on_array(
        self, value: Value, array: NDArray[Any], source: MemorySource
    ) -> TensorHandle | None:
        """Return a tensor's handle on an array, if possible."""
        given = ArrayHandle(value.info, array, source)
        if self.is_in_arena(value):
            return given if source in HOST_SOURCES else None
        factory = self._factories.import_factory(self._placement.factories[value])
        if factory is None or not self.imports(value, source):
            return None
        return _imported(value, factory, given)

    def imports(self, value: Value, source: MemorySource) -> bool:
        """Return whether a tensor's own factory imports from a source."""
        factory = self._factories.import_factory(self._placement.factories.get(value, ""))
        if factory is None or not value.info.is_static:
            return False
        return source in factory.import_sources

    def add_outputs(
        self, layer: Layer, handles: Handles, managers: Mapping[str, MemoryManager]
    ) -> None:
        """Make the handles of a layer's outputs outside of arenas."""
        for value in () if layer.data is not None else layer.outputs:
            if value in handles:
                continue
            factory = self._placement.factories[value]
            if factory == HOST_FACTORY_ID:
                handles[value] = ComputedHandle(value.info)
            else:
                manager = managers.get(owner(value))
                handles[value] = self._created(value, factory, manager)

    def import_output(self, layer: Layer, handles: Handles) -> bool:
        """Import the input's memory for the output, if possible."""
        if layer.type != "MemImport" or layer.inputs[0] is None:
            return False
        factory = self._factories.import_factory(self._placement.factories[layer.output])
        if factory is None:
            return False
        imported = _imported(layer.output, factory, handles[layer.inputs[0]])
        if imported is None:
            return False
        handles[layer.output] = imported
        return True

    def of_input(self, layer: Layer, value: Value | None, handles: Handles) -> TensorHandle | None:
        """Return the handle of one of a layer's inputs."""
        if value is None:
            return None
        if value.constant is None:
            return handles[value]
        return self._constants[value, self._constant_factory(layer)]

    def _created(
        self, value: Value, factory: str, manager: MemoryManager | None, owner_id: str | None = None
    ) -> TensorHandle:
        made: TensorHandle = call(
            owner_id or owner(value),
            self._factories[factory],
            "create",
            value.info,
            manager,
            about=f"tensor {value.name!r}",
        )
        return made

    def _placed_constants(self, order: Sequence[Layer]) -> dict[tuple[Value, str], TensorHandle]:
        """Put each constant into the memory that its readers need."""
        placed: dict[tuple[Value, str], TensorHandle] = {}
        for layer in order:
            factory = self._constant_factory(layer)
            for value in layer.inputs:
                if value is None or value.constant is None or (value, factory) in placed:
                    continue
                host = _constant_handle(value)
                handle: TensorHandle = host
                if factory != HOST_FACTORY_ID:
                    handle = self._created(value, factory, None, layer.backend)
                    CopyWorkload().bind([host], [handle])()
                placed[value, factory] = handle
        return placed

    def _constant_factory(self, layer: Layer) -> str:
        preferences = self._placement.preferences(layer)
        return HOST_FACTORY_ID if HOST_FACTORY_ID in preferences else preferences[0]


def _imported(
    value: Value, factory: TensorHandleFactory, handle: TensorHandle
) -> TensorHandle | None:
    made: TensorHandle | None = call(
        owner(value), factory, "import_memory", value.info, handle, about=f"tensor {value.name!r}"
    )
    return made
