# SPDX-License-Identifier: MIT
"""The operation that writes one layer as ONNX nodes.

It has the inputs by name and adds nodes, constants and refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.errors import NotExportableError
from armnn.graph import Layer
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType
from armnn_parser_onnx.export.writer import GraphWriter
from armnn_parser_onnx.tensors import onnx_type_of

Exporter: TypeAlias = "Callable[[Operation], str | Sequence[str]]"
"""Writes the nodes of one layer and returns the name of each of its outputs."""

EXPORTERS: dict[str, Exporter] = {}
"""By layer type."""


def exports(*layer_types: str) -> Callable[[Exporter], Exporter]:
    """Register what writes layers of these types."""

    def register(exporter: Exporter) -> Exporter:
        for layer_type in layer_types:
            EXPORTERS[layer_type] = exporter
        return exporter

    return register


class Operation:
    """One layer on its way into an ONNX graph.

    Attributes:
        layer: The layer; its shapes are known in full.
        d: Its descriptor.
    """

    def __init__(self, writer: GraphWriter, layer: Layer, inputs: Sequence[str]) -> None:
        self.layer = layer
        self.d: Any = layer.descriptor
        self.inputs = tuple(inputs)
        self._writer = writer

    @property
    def x(self) -> str:
        """The name of the first input."""
        return self.inputs[0]

    @property
    def info(self) -> TensorInfo:
        """What the first input is."""
        return self._info(0)

    def input(self, name: str) -> str:
        """Return the name in an input slot, "" if empty."""
        index = self.layer.spec.input_index(name)
        return self.inputs[index] if index < len(self.inputs) else ""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of what is in an input slot."""
        return self._info(self.layer.spec.input_index(name)).static_shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the first output."""
        return self.layer.outputs[0].info.static_shape

    def emit(self, op_type: str, *inputs: str, **attributes: object) -> str:
        """Add a node and return the name of its output.

        Absent inputs are "", and attributes that are None are left out.
        """
        (name,) = self.emit_several(1, op_type, *inputs, **attributes)
        return name

    def emit_several(
        self, count: int, op_type: str, *inputs: str, **attributes: object
    ) -> tuple[str, ...]:
        """Add a node with ``count`` outputs and return their names."""
        given = {name: value for name, value in attributes.items() if value is not None}
        for name, value in given.items():
            if isinstance(value, float) and self._is_rounded(value):
                self.refuse(f"its {name} is {value!r}, which ONNX rounds to a Float32")
        return self._writer.add_node(self.layer.name, op_type, inputs, count, given)

    def constant(self, values: ArrayLike, dtype: Any = None) -> str:
        """Add a constant and return its name.

        Its type is that of the first input by default.
        """
        array = np.asarray(values, self.info.data_type.numpy_dtype if dtype is None else dtype)
        return self._writer.add_constant(self.layer.name, array)

    def integers(self, values: ArrayLike) -> str:
        """Add a constant of 64-bit integers and return its name."""
        return self.constant(values, np.int64)

    def data(self, name: str) -> NDArray[Any]:
        """Return the data of an input that must be constant."""
        array = self.layer.constant(name)
        if array is None:
            self.refuse(f"its input {name!r} is computed, expected a constant")
        return array

    def cast(self, name: str, data_type: DataType) -> str:
        """Return the value as another type."""
        return self.emit("Cast", name, to=onnx_type_of(data_type))

    def reshape(self, name: str, shape: Sequence[int]) -> str:
        """Return the value reshaped; 0 is a size here."""
        return self.emit("Reshape", name, self.integers(shape), allowzero=1)

    def channels_first(self, name: str, layout: DataLayout) -> str:
        """Return the value with its channels in axis 1."""
        rank = len(layout.name)
        if layout.channel_axis == 1:
            return name
        return self.emit("Transpose", name, perm=[0, rank - 1, *range(1, rank - 1)])

    def laid_out(self, name: str, layout: DataLayout) -> str:
        """Return a value in a layout, undoing :meth:`channels_first`."""
        rank = len(layout.name)
        if layout.channel_axis == 1:
            return name
        return self.emit("Transpose", name, perm=[0, *range(2, rank), 1])

    def refuse(self, reason: str) -> NoReturn:
        """Say that the layer cannot be exported."""
        raise NotExportableError(
            f"layer {self.layer.name!r} ({self.layer.type}) cannot be exported to ONNX: {reason}."
        )

    def _is_rounded(self, attribute: float) -> bool:
        """Return whether ONNX rounds an attribute of a Float64 layer."""
        first = next((value for value in self.layer.inputs if value is not None), None)
        is_double = first is not None and first.info.data_type is DataType.FLOAT64
        return is_double and float(np.float32(attribute)) != attribute

    def _info(self, index: int) -> TensorInfo:
        value = self.layer.inputs[index]
        if value is None:
            self.refuse(f"its input {index} is absent")
        return value.info
