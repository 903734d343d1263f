# SPDX-License-Identifier: MIT
"""A probe's layers, as structs of the C interface.

They are what the backend is queried about. The parent describes them in JSON, as only it can import
the layer table::

    {"type": "Addition", "attributes": [["alpha", 2, [1.0]]],
     "inputs": [{"data_type": 1, "shape": [2, 8], "bits": 32, "content": "<hex>",
                 "is_constant": false}],
     "outputs": [{"data_type": 1, "shape": [2, 8], "bits": 32}]}
"""

from __future__ import annotations

import ctypes
import math
import struct as struct_module
from collections.abc import Callable, Sequence
from typing import Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.device_memory import DeviceMemory, DeviceTensor
from armnn_backend_api.guarded import GuardedTensor, GuardLayout
from armnn_backend_api.structs import Arena, struct
from armnn_dynamic_loader.child.calls import DefectError

_DL_FLOAT: Final = 2
_NOBODY_COUNTS: Final = abi.ConstantFn(lambda _: None)
_ANYWHERE: Final = GuardLayout()


class ProbeGraph:
    """A graph of unconnected layers.

    Attributes:
        struct: The struct that the backend receives.
        layers: The descriptions.
    """

    def __init__(self, layers: Sequence[dict[str, Any]]) -> None:
        """Build the structs."""
        self.layers = layers
        self._arena = Arena()
        tensors = [each for layer in layers for each in layer["inputs"] + layer["outputs"]]
        values = self._arena.structs(abi.Value, len(tensors))
        for value, tensor in zip(values, tensors, strict=True):
            self._fill_value(value, tensor)
        nodes = self._arena.structs(abi.Node, len(layers))
        inputs: list[int] = []
        outputs: list[int] = []
        first = 0
        for number, (node, layer) in enumerate(zip(nodes, layers, strict=True)):
            middle = first + len(layer["inputs"])
            end = middle + len(layer["outputs"])
            node.id = number
            self._fill_node(node, layer, range(first, middle), range(middle, end))
            inputs += (i for i in range(first, middle) if not tensors[i]["is_constant"])
            outputs += range(middle, end)
            first = end
        self.struct = struct(abi.Graph)
        self.struct.value_stride = ctypes.sizeof(abi.Value)
        self.struct.node_stride = ctypes.sizeof(abi.Node)
        self.struct.attribute_stride = ctypes.sizeof(abi.Attribute)
        self.struct.values, self.struct.num_values = values, len(tensors)
        self.struct.nodes, self.struct.num_nodes = nodes, len(layers)
        self.struct.inputs, self.struct.num_inputs = self._indices(inputs), len(inputs)
        self.struct.outputs, self.struct.num_outputs = self._indices(outputs), len(outputs)
        self.struct.keep = self.struct.drop = _NOBODY_COUNTS

    def _fill_node(
        self, node: abi.Node, layer: dict[str, Any], inputs: range, outputs: range
    ) -> None:
        node.type, node.name = self._arena.text(layer["type"]), self._arena.text(f"probe{node.id}")
        node.inputs, node.num_inputs = self._indices(inputs), len(inputs)
        node.outputs, node.num_outputs = self._indices(outputs), len(outputs)
        rows = layer["attributes"]
        attributes = self._arena.structs(abi.Attribute, len(rows))
        for attribute, (name, kind, elements) in zip(attributes, rows, strict=True):
            attribute.name, attribute.type = self._arena.text(name), kind
            attribute.count = len(elements)
            attribute.data = self._arena.elements(kind, elements)
        node.attributes, node.num_attributes = attributes, len(rows)

    def _fill_value(self, value: abi.Value, tensor: dict[str, Any]) -> None:
        value.data_type, value.ndim = tensor["data_type"], len(tensor["shape"])
        value.shape = self._arena.filled(ctypes.c_int64, tensor["shape"])
        if tensor["is_constant"]:
            bound = BoundTensor(tensor)
            self._arena.hold(bound)
            value.constant = ctypes.pointer(bound.struct)

    def _indices(self, indices: Sequence[int]) -> Any:
        return self._arena.filled(ctypes.c_int32, indices)


class BoundTensor:
    """An input or output of the execution, in guarded memory.

    Attributes:
        struct: The struct that the backend receives.
        memory: Where its elements are.
    """

    def __init__(
        self,
        tensor: dict[str, Any],
        need: abi.IoRequirement | None = None,
        layout: GuardLayout = _ANYWHERE,
    ) -> None:
        """Allocate and fill it.

        Args:
            tensor: Its description.
            need: How many bytes the backend may touch, and the alignment that it needs.
            layout: Where in the guarded pages the elements are.
        """
        shape = tensor["shape"]
        content = tensor.get("content")
        element = tensor["bits"] // 8
        size, alignment = math.prod(shape) * element, element
        if need is not None:
            size, alignment = max(size, need.min_bytes), max(alignment, need.min_align)
        raw = None if content is None else bytes.fromhex(content)
        self.memory = GuardedTensor(size, raw, layout, alignment)
        self._arena = Arena()
        self.struct = abi.Tensor()
        self.struct.data, self.struct.device_type = self.memory.address, abi.DEVICE_CPU
        self.struct.ndim, self.struct.shape = len(shape), self._arena.filled(ctypes.c_int64, shape)
        self.struct.dtype_code, self.struct.dtype_bits = _DL_FLOAT, tensor["bits"]
        self.struct.dtype_lanes = 1


class Execution:
    """The arguments of one call of ``execute``.

    Attributes:
        arguments: The arguments that the backend receives.
        inputs: Bound, in the order of the graph's inputs.
        outputs: Bound, in the order of the graph's outputs.
    """

    def __init__(
        self,
        layer: dict[str, Any],
        need: Callable[[bool, int], abi.IoRequirement],
        layout: GuardLayout,
        device: DeviceMemory | None,
    ) -> None:
        """Bind guarded memory to a layer's inputs and outputs.

        Args:
            layer: Its description.
            need: Says what the memory of an input (False) or output (True) must be like.
            layout: Where in the guarded pages the tensors are.
            device: Where ``execute`` needs them instead; what it computes is copied to the pages.
        """
        inputs = [each for each in layer["inputs"] if not each["is_constant"]]
        self.inputs = [BoundTensor(each, need(False, n), layout) for n, each in enumerate(inputs)]
        self.outputs = [
            BoundTensor(each, need(True, n), layout) for n, each in enumerate(layer["outputs"])
        ]
        self._elements = [each["bits"] // 8 for each in layer["outputs"]]
        self._lists = [_pointers(self.inputs), _pointers(self.outputs)]
        self.arguments = struct(abi.ExecuteArgs)
        self.arguments.inputs, self.arguments.num_inputs = self._lists[0], len(self.inputs)
        self.arguments.outputs, self.arguments.num_outputs = self._lists[1], len(self.outputs)
        self._on_device: list[list[DeviceTensor]] = [[], []]
        if device is not None:
            self._on_device = [
                [device.move(tensor.struct, tensor.memory.size) for tensor in tensors]
                for tensors in (self.inputs, self.outputs)
            ]

    def send(self) -> None:
        """Copy all tensors to the device, if they are to be there."""
        for tensor in self._on_device[0] + self._on_device[1]:
            tensor.send()

    def fetch(self) -> None:
        """Copy the outputs from the device.

        Raises:
            DefectError: An input has changed there.
        """
        for index, (tensor, given) in enumerate(zip(self._on_device[0], self.inputs, strict=False)):
            if tensor.read() != given.memory.read():
                raise DefectError(f"writes to input {index}")
        for tensor in self._on_device[1]:
            tensor.fetch()

    def close(self) -> None:
        """Give the memory of the device back."""
        for tensor in self._on_device[0] + self._on_device[1]:
            tensor.close()

    def damage(self) -> str:
        """Return which guarded memory the backend changed; empty if none."""
        for word, tensors in (("output", self.outputs), ("input", self.inputs)):
            for index, tensor in enumerate(tensors):
                done = tensor.memory.damage()
                if done:
                    return f"{done} {word} {index}"
        return ""

    def poison(self, byte: int) -> None:
        """Fill the outputs with another byte."""
        for tensor in self.outputs:
            tensor.memory.poison(byte)

    def unwritten(self) -> list[set[int]]:
        """Return the elements of each output that have its poison."""
        pairs = zip(self.outputs, self._elements, strict=True)
        return [tensor.memory.unwritten(element) for tensor, element in pairs]

    def results(self) -> list[float]:
        """Return the elements of all outputs; the probe's are float32."""
        content = b"".join(
            tensor.memory.read()[: 4 * math.prod(tensor.struct.shape[: tensor.struct.ndim])]
            for tensor in self.outputs
        )
        return list(struct_module.unpack(f"={len(content) // 4}f", content))


def supports_of(graph: ProbeGraph) -> Any:
    """Return the structs that ``query`` fills, one per layer."""
    supports = Arena().structs(abi.Support, len(graph.layers))
    for number, support in enumerate(supports):
        support.node_id = number
    return supports


def _pointers(tensors: Sequence[BoundTensor]) -> Any:
    kind = ctypes.POINTER(abi.Tensor)
    return (kind * max(len(tensors), 1))(*(ctypes.pointer(each.struct) for each in tensors))
