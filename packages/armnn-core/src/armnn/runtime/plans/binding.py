# SPDX-License-Identifier: MIT
"""Choice of the tensors that stand on callers' arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import ArrayHandle, Step, TensorHandle
from armnn.graph import Layer, Network, Value
from armnn.types import MemorySource

StandOn = Callable[["Value", "NDArray[Any]", MemorySource], "TensorHandle | None"]
"""Returns the handle of a tensor on an array, None if its backend cannot use the array."""


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """A network's arrays for one execution context.

    Attributes:
        inputs: One array per input.
        outputs: One array per output.
        sources: Where the memory of an array comes from, if it is not plain memory, by the name of
            the input or output.
        free: The inputs and outputs that may have other arrays instead.
        chosen: The arrays that these have, if they are other ones, once the context is made.
    """

    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    sources: Mapping[str, MemorySource] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    chosen: dict[str, NDArray[Any]] = field(default_factory=dict)

    def source(self, name: str) -> MemorySource:
        """Return the memory source of an input or output."""
        return self.sources.get(name, MemorySource.MALLOC)


@dataclass(frozen=True, slots=True, eq=False)
class DirectTensors:
    """The tensors of a context that stand on arrays.

    Attributes:
        handles: Their handles.
        inputs: The names of the inputs that need no copy.
        outputs: The names of the outputs that need no copy.
    """

    handles: Mapping[Value, TensorHandle]
    inputs: frozenset[str]
    outputs: frozenset[str]

    def copied(self, network: Network) -> tuple[str, ...]:
        """Return the names of inputs and outputs without."""
        inputs = [layer.name for layer in network.inputs if layer.name not in self.inputs]
        outputs = [layer.name for layer in network.outputs if layer.name not in self.outputs]
        return tuple(dict.fromkeys((*inputs, *outputs)))


def direct_tensors(
    network: Network,
    binding: Binding,
    lifetimes: Mapping[Value, tuple[int, int]],
    stand_on: StandOn,
) -> DirectTensors:
    """Return the tensors that need no memory of their own.

    An output whose array is also the array of an input, as a state is, may be written in place if
    the last step that reads the input is before the step that writes the output.

    Args:
        network: The network of the plan.
        binding: The caller's arrays.
        lifetimes: The first and the last step of each tensor.
        stand_on: Makes a handle on an array.
    """
    handles: dict[Value, TensorHandle] = {}
    read: dict[Value, NDArray[Any]] = {}
    inputs, outputs = [], []
    for layer in network.inputs:
        array = binding.inputs[layer.name]
        handle = stand_on(layer.output, array, binding.source(layer.name))
        if handle is not None:
            handles[layer.output], read[layer.output] = handle, array
            inputs.append(layer.name)
    for layer in network.outputs:
        (value,) = layer.inputs
        if value is None or value.constant is not None or value in handles:
            continue
        if value.producer.type == "Input":
            continue
        array = binding.outputs[layer.name]
        ends = [lifetimes[each][1] for each, a in read.items() if np.may_share_memory(a, array)]
        if all(end < lifetimes[value][0] for end in ends):
            handle = stand_on(value, array, binding.source(layer.name))
            if handle is not None:
                handles[value] = handle
                outputs.append(layer.name)
    return DirectTensors(handles, frozenset(inputs), frozenset(outputs))


def steps_after(
    arrays: Mapping[str, NDArray[Any]],
    made: Mapping[Layer, TensorHandle | None],
    direct: frozenset[str],
    chosen: Collection[str],
) -> list[tuple[Layer, Step]]:
    """Return steps that bring outputs into a caller's arrays.

    Args:
        arrays: The arrays by output.
        made: The tensors of the outputs.
        direct: The outputs that stand on their arrays.
        chosen: The outputs whose arrays are those of their tensors.
    """
    steps: list[tuple[Layer, Step]] = []
    for layer, handle in made.items():
        if handle is None or layer.name in chosen:
            continue
        if layer.name not in direct:
            steps.append((layer, partial(handle.copy_to, arrays[layer.name])))
        elif not isinstance(handle, ArrayHandle):
            steps.append((layer, partial(_synchronise, handle)))
    return steps


def _synchronise(handle: TensorHandle) -> None:
    """Let a device's writes reach the memory that it imported."""
    try:
        handle.map()
    finally:
        handle.unmap()
