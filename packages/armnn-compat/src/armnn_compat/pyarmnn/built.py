# SPDX-License-Identifier: MIT
"""Networks by hand and of parsers as the core's networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import armnn
from armnn.errors import GraphError
from armnn.graph import Value
from armnn_compat.pyarmnn.shapes import TensorInfo
from armnn_compat.pyarmnn.slots import IConnectableLayer, IOutputSlot
from armnn_compat.pyarmnn.tensors import ConstTensor


@dataclass(frozen=True, slots=True)
class Built:
    """A network of the core with inputs' and outputs' ids.

    Attributes:
        network: The network.
        inputs: The names of inputs by id.
        outputs: The names of outputs by id.
        infers_shapes: Whether dimensions may be open, as a parser's option says.
    """

    network: armnn.Network
    inputs: Mapping[int, str]
    outputs: Mapping[int, str]
    infers_shapes: bool = False

    @classmethod
    def of(cls, network: armnn.Network, *, infers_shapes: bool = False) -> Built:
        """Return a parsed network; ids are positions."""
        inputs = dict(enumerate(layer.name for layer in network.inputs))
        outputs = dict(enumerate(layer.name for layer in network.outputs))
        infos = [info for layer in network.layers for info in layer.output_infos]
        is_open = not all(info.is_static for info in infos)  # until constants are folded
        return cls(network, inputs, outputs, infers_shapes or is_open)


def build(layers: Sequence[IConnectableLayer]) -> Built:
    """Return the core's network of layers by hand.

    Raises:
        GraphError: An input is not connected, an input of the network has no TensorInfo, or an id
            comes twice.
        ShapeError: The inputs of a layer do not fit, or what was declared of its outputs.
    """
    network = armnn.Network()
    values: dict[IOutputSlot, Value] = {}
    ids: dict[str, dict[int, str]] = {"Input": {}, "Output": {}}
    for layer in _in_order(layers):
        kind = layer.spec.name
        if kind in ids:
            name = _unique(layer.GetName() or f"{kind.lower()}_{layer.binding}", ids[kind].values())
            if layer.binding in ids[kind]:
                raise GraphError(f"{layer.shown}: the id {layer.binding} is used twice")
            ids[kind][layer.binding] = name
        if kind == "Input":
            values[layer.outputs[0]] = network.add_input(name, _input_info(layer))
        elif kind == "Output":
            network.add_output(name, values[_source(layer, 0)])
        elif kind == "Constant":
            made = _constant(network, layer.constants["data"], layer.GetName())
            values[layer.outputs[0]] = made
        else:
            values.update(zip(layer.outputs, _added(network, layer, values), strict=True))
    return Built(network, ids["Input"], ids["Output"])


def _added(
    network: armnn.Network, layer: IConnectableLayer, values: Mapping[IOutputSlot, Value]
) -> tuple[Value, ...]:
    connected = iter([values[_source(layer, index)] for index in range(len(layer.inputs))])
    operands: list[Value | None] = []
    for slot in layer.spec.inputs:
        if slot.variadic:
            operands.extend(connected)
        elif slot.name in layer.constants:
            operands.append(_constant(network, layer.constants[slot.name], None))
        elif slot.optional and slot.name != "bias":
            operands.append(None)
        else:
            operands.append(next(connected, None))
    declared = [
        slot.GetTensorInfo().for_core() if slot.IsTensorInfoSet() else None
        for slot in layer.outputs
    ]
    descriptor = None if layer.descriptor is None else layer.descriptor.for_core()
    name = network.unique_name(layer.GetName() or f"{layer.spec.name}_{layer.GetGuid()}")
    return network.add(layer.spec.name, operands, descriptor, name=name, outputs=declared).outputs


def _in_order(layers: Sequence[IConnectableLayer]) -> list[IConnectableLayer]:
    """Return the layers, each after those that it reads."""
    done: set[int] = set()
    order: list[IConnectableLayer] = []
    waiting = list(layers)
    while waiting:
        ready = [each for each in waiting if _producers(each) <= done]
        if not ready:
            raise GraphError(f"{waiting[0].shown} is part of a cycle, or reads another network")
        order += ready
        done.update(each.GetGuid() for each in ready)
        waiting = [each for each in waiting if each.GetGuid() not in done]
    return order


def _producers(layer: IConnectableLayer) -> set[int]:
    return {_source(layer, index).GetOwningLayerGuid() for index in range(len(layer.inputs))}


def _source(layer: IConnectableLayer, index: int) -> IOutputSlot:
    source = layer.inputs[index].connection
    if source is None:
        raise GraphError(
            f"{layer.shown}: the input slot {index} is not connected: Connect() an output slot to "
            "it"
        )
    return source


def _input_info(layer: IConnectableLayer) -> armnn.TensorInfo:
    slot = layer.outputs[0]
    if not slot.IsTensorInfoSet():
        raise GraphError(
            f"{layer.shown} has no TensorInfo: call SetTensorInfo() of its output slot 0"
        )
    return slot.GetTensorInfo().for_core()


def _constant(network: armnn.Network, tensor: ConstTensor, name: str | None) -> Value:
    info: TensorInfo = tensor.GetInfo()
    described = info.for_core()
    data = tensor.get_memory_area().reshape(described.static_shape)
    return network.add_constant(
        data, described, name=None if name is None else network.unique_name(name)
    )


def _unique(stem: str, taken: Iterable[str]) -> str:
    names, name, number = set(taken), stem, 1
    while name in names:
        number += 1
        name = f"{stem}_{number}"
    return name
