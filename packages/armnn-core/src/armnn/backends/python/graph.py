# SPDX-License-Identifier: MIT
"""Reads an ``armnn_graph`` back into a network for Python backends.

Only what the header promises is relied on: strides, indices in range, UTF-8. Anything else raises,
so that a graph of a younger host is refused rather than misread.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.backends.ffi.values import attribute_type
from armnn.errors import UnimplementedError
from armnn.graph import Layer, Network, Value
from armnn.layers import LAYERS, Descriptor
from armnn.layers._descriptor import enumeration_of
from armnn.tensor import TensorInfo
from armnn.types import ArmnnEnum, DataType
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import copied, elements_of, text_of

_E = TypeVar("_E", bound=ArmnnEnum)


class DecodedGraph:
    """A graph as a network of its own.

    Attributes:
        network: Its layers; the inputs of the graph are Input layers.
        layers: The layers of the nodes, by position.
        node_ids: The ids of the nodes, by position.
        inputs: The values that execute receives, in its order.
        outputs: The values that execute writes, in its order.
        constant_refs: What to keep as long as the network lives.
    """

    def __init__(self, graph: abi.Graph) -> None:
        """Read a graph, with constants used in place.

        Raises:
            UnimplementedError: It holds something that this version of armnn does not know.
        """
        self.network = Network("from C")
        self.layers: list[Layer] = []
        self.node_ids: list[int] = []
        self.constant_refs: list[int] = []
        self._rows = list(_elements(abi.Value, graph.values, graph.value_stride, graph.num_values))
        self._values: dict[int, Value] = {}
        indices = list(graph.inputs[: graph.num_inputs])
        for number, index in enumerate(indices):
            info = _info_of(self._rows[index])
            self._values[index] = self.network.add_input(f"input {number}", info)
        self._add_constants()
        for node in _elements(abi.Node, graph.nodes, graph.node_stride, graph.num_nodes):
            self._add_node(node, graph.attribute_stride)
        self.inputs = tuple(self._values[index] for index in indices)
        self.outputs = tuple(self._values[index] for index in graph.outputs[: graph.num_outputs])

    def _add_constants(self) -> None:
        for index, row in enumerate(self._rows):
            if bool(row.constant):
                info = _info_of(row)
                data = array_at(row.constant.contents, info)
                self._values[index] = self.network.add_constant(data, info)
                self.constant_refs.append(row.constant_ref)

    def _add_node(self, node: abi.Node, attribute_stride: int) -> None:
        type_name = text_of(node.type)
        if type_name not in LAYERS:
            raise UnimplementedError(f"the layer type {type_name!r} is not known here")
        rows = _elements(abi.Attribute, node.attributes, attribute_stride, node.num_attributes)
        descriptor = _descriptor_of(LAYERS[type_name].descriptor, rows)
        inputs = [
            None if index < 0 else self._values[index] for index in node.inputs[: node.num_inputs]
        ]
        outputs = node.outputs[: node.num_outputs]
        layer = self.network.add(
            type_name,
            inputs,
            descriptor,
            name=self.network.unique_name(text_of(node.name) or type_name),
            outputs=[_info_of(self._rows[index]) for index in outputs],
        )
        self._values.update(zip(outputs, layer.outputs, strict=True))
        self.layers.append(layer)
        self.node_ids.append(node.id)


def array_at(tensor: abi.Tensor, info: TensorInfo) -> NDArray[Any]:
    """Return an array on a tensor's host memory.

    Raises:
        UnimplementedError: It is in other memory, or has strides.
    """
    if tensor.device_type != abi.DEVICE_CPU or bool(tensor.strides):
        raise UnimplementedError(
            f"a tensor of device type {tensor.device_type}, strides {bool(tensor.strides)}: "
            "expected one in host memory without strides"
        )
    dtype, shape = info.data_type.numpy_dtype, tuple(tensor.shape[: tensor.ndim])
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if not size or tensor.data is None:
        return np.empty(shape, dtype)
    raw = (ctypes.c_ubyte * size).from_address(tensor.data + tensor.byte_offset)
    return np.asarray(raw).view(dtype).reshape(shape)


def _elements(
    kind: type[Any], array: ctypes._Pointer[Any], stride: int, count: int
) -> Iterator[Any]:
    """Yield copies of growable structs, ``stride`` bytes apart."""
    if not count:
        return
    start = ctypes.addressof(array.contents)
    for index in range(count):
        yield copied(kind, start + index * stride)


def _info_of(row: abi.Value) -> TensorInfo:
    data_type = _member_of(DataType, row.data_type)
    dims = [None if dim < 0 else dim for dim in row.shape[: max(row.ndim, 0)]]
    shape = None if row.ndim < 0 else dims
    if not bool(row.quantization):
        return TensorInfo(shape, data_type)
    quantization = row.quantization.contents
    count = quantization.count
    points = quantization.zero_points[:count] if bool(quantization.zero_points) else ()
    axis = quantization.axis if quantization.scheme == abi.PER_AXIS else None
    return TensorInfo(shape, data_type, quantization.scales[:count], points, axis)


def _descriptor_of(kind: type[Descriptor], rows: Iterator[abi.Attribute]) -> Descriptor:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    values = {}
    for row in rows:
        name = text_of(row.name)
        if name not in fields:
            raise UnimplementedError(f"{kind.__name__} has no parameter {name!r} here")
        annotation = str(fields[name].type)
        if row.type != attribute_type(annotation):
            raise UnimplementedError(
                f"the parameter {name!r} of {kind.__name__} has attribute type {row.type}, "
                f"expected {attribute_type(annotation)}"
            )
        enumeration = enumeration_of(fields[name].default)
        values[name] = _value_of(annotation, enumeration, elements_of(row))
    return kind(**values)


def _value_of(annotation: str, enumeration: type[ArmnnEnum] | None, elements: Sequence[Any]) -> Any:
    """Return the value of a field of that declared type."""
    element, is_tuple, _ = annotation.removeprefix("tuple[").partition(",")
    if annotation.startswith("tuple[tuple["):
        return tuple(zip(elements[::2], elements[1::2], strict=True))
    values = tuple(_element_of(element, enumeration, each) for each in elements)
    return values if is_tuple else values[0]


def _element_of(annotation: str, enumeration: type[ArmnnEnum] | None, element: Any) -> Any:
    if enumeration is not None:
        return _member_of(enumeration, element)
    return bool(element) if annotation == "bool" else element


def _member_of(kind: type[_E], number: int) -> _E:
    for member in kind:
        if member == number:
            return member
    raise UnimplementedError(f"{kind.__name__} {number} is not known here")
