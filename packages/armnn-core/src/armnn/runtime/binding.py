# SPDX-License-Identifier: MIT
"""Choice of the tensors that stand on callers' arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends import ArrayHandle, TensorHandle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import Step
    from armnn.graph import Layer, Network, Value


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """A network's arrays for one execution context.

    Attributes:
        inputs: One array per input.
        outputs: One array per output.
    """

    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]


def direct_arrays(
    network: Network,
    binding: Binding,
    lifetimes: Mapping[Value, tuple[int, int]],
    in_host_memory: Callable[[Value], bool],
) -> dict[Value, NDArray[Any]]:
    """Return the tensors that need no memory of their own.

    An output whose array is also the array of an input, as a state is, may be written in place if
    the last step that reads the input is before the step that writes the output.

    Args:
        network: The network of the plan.
        binding: The caller's arrays.
        lifetimes: The first and the last step of each tensor.
        in_host_memory: Whether a tensor can stand on an array.
    """
    given = {layer.output: binding.inputs[layer.name] for layer in network.inputs}
    direct = {value: array for value, array in given.items() if in_host_memory(value)}
    read = dict(direct)
    for layer in network.outputs:
        (value,) = layer.inputs
        if value is None or value.constant is not None or value in direct:
            continue
        array = binding.outputs[layer.name]
        ends = [lifetimes[each][1] for each, a in read.items() if np.may_share_memory(a, array)]
        if in_host_memory(value) and all(end < lifetimes[value][0] for end in ends):
            direct[value] = array
    return direct


def copied_names(
    network: Network, binding: Binding, direct: Mapping[Value, NDArray[Any]]
) -> tuple[str, ...]:
    """Return the inputs and outputs that each call copies."""
    names = [layer.name for layer in network.inputs if layer.output not in direct]
    for layer in network.outputs:
        (value,) = layer.inputs
        if value is None or direct.get(value) is not binding.outputs[layer.name]:
            names.append(layer.name)
    return tuple(names)


def steps_after(
    arrays: Mapping[str, NDArray[Any]], made: Mapping[Layer, TensorHandle | None]
) -> list[tuple[Layer, Step]]:
    """Return steps that copy outputs into a caller's arrays."""
    steps: list[tuple[Layer, Step]] = []
    for layer, handle in made.items():
        if handle is not None:
            target = ArrayHandle(handle.info, arrays[layer.name])
            if not stands_on(handle, target):
                steps.append((layer, partial(handle.copy_to, arrays[layer.name])))
    return steps


def stands_on(handle: TensorHandle, given: ArrayHandle) -> bool:
    """Return whether a tensor's memory is a caller's array."""
    return isinstance(handle, ArrayHandle) and handle.map() is given.map()
