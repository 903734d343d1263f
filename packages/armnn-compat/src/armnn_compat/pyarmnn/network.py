# SPDX-License-Identifier: MIT
"""INetwork: layers by hand or of a parser, their slots, and the core's network made of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import armnn
from armnn.errors import GraphError
from armnn.graph import Value
from armnn.layers import LAYERS, LayerSpec
from armnn_compat.pyarmnn.descriptors import (
    DERIVED,
    PARAMETERS,
    ConcatDescriptor,
    LayerDescriptor,
    SplitterDescriptor,
    parameter_slots,
)
from armnn_compat.pyarmnn.tensors import ConstTensor, TensorInfo

_guids = itertools.count()


class IInputSlot:
    """An input of a layer; reads at most one output."""

    def __init__(self, layer: IConnectableLayer, index: int) -> None:
        self.layer, self.index = layer, index
        self.connection: IOutputSlot | None = None

    def GetConnection(self) -> IOutputSlot | None:
        """Return the output that it reads, None without any."""
        return self.connection


class IOutputSlot:
    """An output of a layer, for any number of inputs."""

    def __init__(self, layer: IConnectableLayer, index: int) -> None:
        self.layer, self.index = layer, index
        self._info: TensorInfo | None = None
        self._readers: list[IInputSlot] = []

    def GetNumConnections(self) -> int:
        """Return how many inputs read it."""
        return len(self._readers)

    def GetConnection(self, index: int) -> IInputSlot:
        """Return one of the inputs that read it.

        Raises:
            ValueError: There are fewer.
        """
        if not 0 <= index < len(self._readers):
            raise ValueError(f"Invalid index {index} provided: {len(self._readers)} inputs read it")
        return self._readers[index]

    def __len__(self) -> int:
        return len(self._readers)

    def __bool__(self) -> bool:
        return True  # a slot without readers is still one

    __getitem__ = GetConnection

    def SetTensorInfo(self, tensorInfo: TensorInfo) -> None:
        """Set the info of the output."""
        self._info = TensorInfo(tensorInfo)

    def GetTensorInfo(self) -> TensorInfo:
        """Return the declared description of the tensor; an empty one if none was declared."""
        return TensorInfo() if self._info is None else self._info

    def IsTensorInfoSet(self) -> bool:
        """Return whether the output was declared."""
        return self._info is not None

    def Connect(self, destination: IInputSlot) -> int:
        """Let an input read this output; return its number.

        Raises:
            RuntimeError: It reads another one already.
        """
        if destination.connection is not None:
            raise RuntimeError(
                f"Tried to connect an output slot to an input slot of {destination.layer.shown}, "
                "but the latter already has a connection: Disconnect() it first"
            )
        destination.connection = self
        self._readers.append(destination)
        return len(self._readers) - 1

    def Disconnect(self, slot: IInputSlot) -> None:
        """Let an input read this output no more."""
        if slot in self._readers:
            self._readers.remove(slot)
            slot.connection = None

    def CalculateIndexOnOwner(self) -> int:
        """Return its position among the outputs of its layer."""
        return self.index

    def GetOwningLayerGuid(self) -> int:
        """Return the number of its layer."""
        return self.layer.GetGuid()


class IConnectableLayer:
    """A layer that was added by hand.

    Attributes:
        spec: Its row of the layer table.
        descriptor: Its parameters, None without any.
        constants: The tensors that were given with it, by the names of the table's inputs.
        binding: The id of an input or output of the network.
    """

    def __init__(
        self,
        spec: LayerSpec,
        name: str | None,
        descriptor: Any,
        slots: tuple[int, int],
        constants: dict[str, ConstTensor],
        binding: int = -1,
    ) -> None:
        self.spec, self.descriptor = spec, descriptor
        self.constants, self.binding = constants, binding
        self._name, self._guid = name, next(_guids)
        self.inputs = [IInputSlot(self, index) for index in range(slots[0])]
        self.outputs = [IOutputSlot(self, index) for index in range(slots[1])]

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return f"layer {self._name or self._guid!r} ({self.spec.name})"

    def GetName(self) -> str | None:
        """Return its name, None without one."""
        return self._name

    def GetNumInputSlots(self) -> int:
        """Return the number of its inputs."""
        return len(self.inputs)

    def GetNumOutputSlots(self) -> int:
        """Return the number of its outputs."""
        return len(self.outputs)

    def GetInputSlot(self, index: int) -> IInputSlot:
        """Return an input.

        Raises:
            ValueError: There are fewer.
        """
        return self.inputs[self._checked(index, len(self.inputs), "inputs")]

    def GetOutputSlot(self, index: int) -> IOutputSlot:
        """Return an output.

        Raises:
            ValueError: There are fewer.
        """
        return self.outputs[self._checked(index, len(self.outputs), "outputs")]

    def GetGuid(self) -> int:
        """Return its number, unique in the process."""
        return self._guid

    def _checked(self, index: int, count: int, what: str) -> int:
        if not 0 <= index < count:
            raise ValueError(f"Invalid index {index} provided: {self.shown} has {count} {what}")
        return index


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


def _build(layers: Sequence[IConnectableLayer]) -> Built:
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


DESCRIPTORS: dict[str, type[Any]] = {
    **DERIVED,
    "ConcatDescriptor": ConcatDescriptor,
    "SplitterDescriptor": SplitterDescriptor,
}
"""The classes of layers' parameters by name."""

_MEMBERS = {
    "BatchNormalization": ("mean", "variance", "beta", "gamma"),
    "DetectionPostProcess": ("anchors",),
}
"""Inputs of the table that Arm NN takes as tensors when the layer is added."""

_NOT_BY_HAND = {
    "ConvertFp16ToFp32",
    "ConvertFp32ToFp16",
    "Debug",
    "FakeQuantization",
    "Fused",
    "Map",
    "MemCopy",
    "MemImport",
    "PreCompiled",
    "ScatterNd",
    "Unmap",
}
"""Layer types that the optimizer makes, or that are younger than PyArmNN."""


class INetwork:
    """A network, of a parser or by hand."""

    def __init__(self) -> None:
        self._layers: list[IConnectableLayer] = []
        self._parsed: Built | None = None

    @classmethod
    def of(cls, parsed: Built) -> INetwork:
        """Return the network that a parser made."""
        made = cls()
        made._parsed = parsed
        return made

    def built(self) -> Built:
        """Return the core's network.

        Raises:
            RuntimeError: A layer was added to a parser's network.
            ArmnnError: A layer is not connected, or its inputs do not fit.
        """
        if self._parsed is None:
            return _build(self._layers)
        if self._layers:
            raise RuntimeError(
                f"{self._layers[0].shown} was added to the network of a parser, whose slots "
                "PyArmNN does not show: build the whole network by hand"
            )
        return self._parsed

    def AddInputLayer(self, id: int, name: str | None = None) -> IConnectableLayer:
        """Add an input; runs name it by its id."""
        return self._added(LAYERS["Input"], name, None, (0, 1), {}, id)

    def AddOutputLayer(self, id: int, name: str | None = None) -> IConnectableLayer:
        """Add an output; runs name it by its id."""
        return self._added(LAYERS["Output"], name, None, (1, 0), {}, id)

    def AddConstantLayer(self, input: ConstTensor, name: str | None = None) -> IConnectableLayer:
        """Add a tensor whose data is known."""
        return self._added(LAYERS["Constant"], name, None, (0, 1), {"data": input})

    def _added(self, *what: Any) -> IConnectableLayer:
        self._layers.append(IConnectableLayer(*what))
        return self._layers[-1]


def _method(spec: LayerSpec) -> Callable[..., IConnectableLayer]:
    kind = DESCRIPTORS.get(f"{spec.name}Descriptor")
    members = _MEMBERS.get(spec.name, ())
    params = PARAMETERS.get(spec.name)
    kinds = [each for each in (kind, *[ConstTensor] * len(members), params) if each is not None]
    expected = [
        *([] if kind is None else [kind.__name__]),
        *members,
        *([] if params is None else [params.__name__]),
    ]
    method_name = f"Add{spec.name}Layer"

    def add(self: INetwork, *arguments: Any, **named: Any) -> IConnectableLayer:
        name = named.pop("name", None)
        given = [*arguments, *named.values()]  # Arm NN's names of them vary with the method
        if len(given) == len(expected) + 1 and name is None:
            name = given.pop()
        fits = len(given) == len(kinds) and all(map(isinstance, given, kinds))
        if not fits or not (name is None or isinstance(name, str)):
            raise TypeError(
                f"Wrong number or type of arguments for {method_name}: got "
                f"{', '.join(type(each).__name__ for each in given) or 'none'}, expected "
                f"{', '.join([*expected, 'name'])}"
            )
        descriptor = given.pop(0) if kind is not None else None
        constants = dict(zip(members, given, strict=False))
        if params is not None:
            constants = given[0].tensors(spec)
        slots = _slots(spec, descriptor, members)
        return self._added(spec, name, descriptor, slots, constants)

    add.__name__ = add.__qualname__ = method_name
    add.__doc__ = (
        f"Add a layer of type {spec.name}: {', '.join([*expected, 'name'])}.\n\n"
        f"{spec.descriptor.__doc__}"
    )
    return add


def _slots(spec: LayerSpec, descriptor: Any, members: tuple[str, ...]) -> tuple[int, int]:
    """Return the numbers of inputs and outputs in Arm NN."""
    outputs = len(spec.outputs)
    if isinstance(descriptor, SplitterDescriptor):
        outputs = descriptor.GetNumViews()
    elif spec.name == "StandIn":
        outputs = descriptor.m_NumOutputs
    if isinstance(descriptor, ConcatDescriptor):
        return descriptor.GetNumViews(), outputs
    if spec.is_variadic:
        return descriptor.m_NumInputs, outputs
    left_out = {*members, *parameter_slots(spec)}
    needed = [slot for slot in spec.inputs if not slot.optional and slot.name not in left_out]
    has_bias = isinstance(descriptor, LayerDescriptor) and descriptor.has_bias
    return len(needed) + has_bias, outputs


for _spec in LAYERS.values():
    _name = f"Add{_spec.name}Layer"
    if _spec.number < 1000 and _spec.name not in _NOT_BY_HAND and not hasattr(INetwork, _name):
        setattr(INetwork, _name, _method(_spec))
