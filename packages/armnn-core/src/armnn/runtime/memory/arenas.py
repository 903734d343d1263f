# SPDX-License-Identifier: MIT
"""The working memory of a plan: one arena per backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armnn.backends import Allocator, TensorHandle, Workload
from armnn.backends.calling import call
from armnn.backends.memory import address_of, handle_at
from armnn.graph import Layer, Value
from armnn.optimizer.assignment.boundaries import owner
from armnn.runtime.memory.planner import Block, Layout
from armnn.runtime.memory.strategies import MemoryStrategies


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
