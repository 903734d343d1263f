# SPDX-License-Identifier: MIT
"""Layers of a network by hand, and their slots."""

from __future__ import annotations

import itertools
from typing import Any

from armnn.layers import LayerSpec
from armnn_compat.pyarmnn.shapes import TensorInfo
from armnn_compat.pyarmnn.tensors import ConstTensor

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
        """Declare what the output is."""
        self._info = TensorInfo(tensorInfo)

    def GetTensorInfo(self) -> TensorInfo:
        """Return what was declared; an empty description otherwise."""
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
        """What messages call it."""
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
