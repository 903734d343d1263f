# SPDX-License-Identifier: MIT
"""The execution contexts of a network that is one program.

Inputs and outputs of the program are those of the network and live at the same time, in host
memory: there is nothing to plan, and no graph is needed to run it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from armnn.backends import Workload
from armnn.backends.calling import call
from armnn.backends.memory import ALIGNMENT, address_of, allocated, handle_at
from armnn.backends.named_frames import blamed
from armnn.optimizer import Participants
from armnn.optimizer.prepared import SingleProgram
from armnn.runtime.plans.context import ExecutionContext, memory_managers
from armnn.types import MemorySource

if TYPE_CHECKING:
    from armnn.runtime.plans.binding import Binding
    from armnn.runtime.plans.layer_contexts import LayerContexts


class ProgramContexts:
    """Makes contexts with one step; leaves all else to LayerContexts.

    Attributes:
        arena_bytes: See :class:`LayerContexts`, as for the rest.
    """

    def __init__(
        self,
        single: SingleProgram,
        workload: Workload,
        participants: Participants,
        make_general: Callable[[], LayerContexts],
    ) -> None:
        """Lay out the inputs and outputs, one behind the other.

        Args:
            single: The network.
            workload: What runs its program.
            participants: The backends that take part.
            make_general: Makes what does the rest; is called once, if ever.
        """
        self._single = single
        self._workload = workload
        self._participants = participants
        self._make_general = make_general
        self._general: LayerContexts | None = None
        self._lock = threading.Lock()
        ports = single.ports
        infos = (*ports.inputs.values(), *ports.made)
        self._places = []
        self.arena_bytes = 0
        for info in infos:
            shape, dtype = info.static_shape, info.data_type.numpy_dtype
            self._places.append((self.arena_bytes, info, shape, dtype))
            size = prod(shape) * dtype.itemsize
            self.arena_bytes += -(-size // ALIGNMENT) * ALIGNMENT

    @property
    def output_shapes(self) -> dict[str, tuple[int, ...] | None]:
        ports = self._single.ports
        infos = {
            name: ports.inputs[at] if isinstance(at, str) else ports.made[at]
            for name, at in ports.outputs.items()
        }
        return {name: info.static_shape for name, info in infos.items()}

    def make(self) -> ExecutionContext:
        layer, ports, candidate = self._single.layer, self._single.ports, self._single.candidate
        managers = memory_managers(self._participants)
        allocator = call(candidate.id, candidate.backend, "default_allocator")
        block = allocated(layer.backend, allocator, self.arena_bytes)
        source, begin = allocator.memory_source, address_of(block)
        handles = [handle_at(block, *place, source, begin) for place in self._places]
        inputs = dict(zip(ports.inputs, handles, strict=False))
        made = handles[len(inputs) :]
        read = [inputs[name] for name in ports.read]
        step = call(candidate.id, self._workload, "bind", read, made, about=layer)
        step = blamed(step, layer.backend, layer.name)
        return ExecutionContext(
            inputs=list(inputs.items()),
            outputs=[
                (name, inputs[at] if isinstance(at, str) else made[at])
                for name, at in ports.outputs.items()
            ],
            steps=[(layer, step)],
            managers=managers,
            memory=[(allocator, block)],
        )

    def bound(self, binding: Binding) -> tuple[ExecutionContext, tuple[str, ...]]:
        return self._by_layers.bound(binding)

    def imports(self, name: str, source: MemorySource) -> bool:
        return self._by_layers.imports(name, source)

    def owners(self, name: str) -> set[str]:
        return self._by_layers.owners(name)

    @property
    def _by_layers(self) -> LayerContexts:
        with self._lock:
            if self._general is None:
                self._general = self._make_general()
            return self._general
