# SPDX-License-Identifier: MIT
"""A planted fault: a layer type and its wrong computation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends import ArrayHandle, Backend, ModelContext
from armnn.graph import Network
from armnn.single_layer import ComputedHandle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import TensorHandle
    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

    Array = NDArray[Any]


@dataclass(slots=True)
class Call:
    """One run of the layer that a fault is in.

    Attributes:
        layer: The layer.
        operands: Its inputs as stored, None where one is absent.
        count: How often the layer has run before.
        kept: What earlier runs left behind, by any name.
        follows: The type of the layer before it in the same compiled part, "" if there is none.
        inner: Computes right.
        model: Its context.
    """

    layer: Layer
    operands: Sequence[Array | None]
    count: int
    kept: dict[str, Any]
    follows: str
    inner: Backend
    model: ModelContext

    def operand(self, name: str) -> Array:
        """Return an input by the name of its slot."""
        found = self.operands[self.layer.spec.input_index(name)]
        if found is None:
            raise ValueError(f"layer {self.layer.name!r} has no input {name!r}")
        return found

    def right(
        self, operands: Mapping[str, Array | None] | None = None, **parameters: Any
    ) -> list[Array]:
        """Return the inner backend's outputs, of changed inputs or parameters.

        Args:
            operands: Data by the names of slots, in the place of the layer's own.
            parameters: Of the layer, in the place of its own.
        """
        layer, network = self.layer, Network("call")
        arrays = list(self.operands)
        for name, array in (operands or {}).items():
            arrays[layer.spec.input_index(name)] = array
        values = [
            None
            if array is None or value is None
            else network.add_constant(array, value.info.with_shape(array.shape))
            for array, value in zip(arrays, layer.inputs, strict=True)
        ]
        twin = network.add(
            layer.type,
            values,
            dataclasses.replace(layer.descriptor, **parameters),
            outputs=layer.output_infos,
        )
        handles = [
            None if value is None else ArrayHandle(value.info, np.asarray(array))
            for value, array in zip(twin.inputs, arrays, strict=True)
        ]
        outputs = [_handle(info) for info in layer.output_infos]
        self.inner.create_workload(twin, self.model).bind(handles, outputs)()
        network.clear()  # else its constants wait for the garbage collector, longer on Python 3.13
        return [handle.map() for handle in outputs]


def _handle(info: TensorInfo) -> TensorHandle:
    if not info.is_static:
        return ComputedHandle(info)
    return ArrayHandle(info, np.empty(info.static_shape, info.data_type.numpy_dtype))


Change = Callable[[Call], "list[NDArray[Any]]"]
"""Computes the outputs of a layer wrongly."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault.

    Attributes:
        name: Unique.
        network: The name of the small network that shows it; see :func:`planted_network`.
        layer: The type of the layer that is wrong.
        change: Computes it.
        is_fused: Whether it is only wrong in a compiled part.
        is_flaky: Whether only some runs are wrong.
        options: Of the networks' maker.
    """

    name: str
    network: str
    layer: str
    change: Change
    is_fused: bool = False
    is_flaky: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
