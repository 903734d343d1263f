# SPDX-License-Identifier: MIT
"""INetwork: one method per layer type of Arm NN.

``AddXxxLayer`` is derived from the layer table. Its arguments are the descriptor if the type has
parameters, the tensors that Arm NN takes as members of the layer, and the name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armnn.layers import LAYERS, LayerSpec
from armnn_compat.pyarmnn.built import Built, build
from armnn_compat.pyarmnn.descriptors import DERIVED, LayerDescriptor
from armnn_compat.pyarmnn.lstm import PARAMETERS, parameter_slots
from armnn_compat.pyarmnn.slots import IConnectableLayer
from armnn_compat.pyarmnn.tensors import ConstTensor
from armnn_compat.pyarmnn.views import ConcatDescriptor, SplitterDescriptor

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
            return build(self._layers)
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
