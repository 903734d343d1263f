# SPDX-License-Identifier: MIT
"""The tensor handles of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from armnn.backends import MemoryManager, TensorHandleFactories, TensorHandleFactory
from armnn.backends.calling import call
from armnn.backends.memory import (
    HOST_FACTORY_ID,
    HOST_SOURCES,
    ArrayHandle,
    ComputedHandle,
    TensorHandle,
)
from armnn.graph import Layer, Value
from armnn.optimizer.assignment.boundaries import Placement, owner
from armnn.runtime.memory.handles import CopyWorkload, constant_handle
from armnn.types import MemorySource

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
                host = constant_handle(value)
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
