# SPDX-License-Identifier: MIT
"""What is to be written of one layer."""

from __future__ import annotations

import dataclasses
from typing import Any

from numpy.typing import NDArray

from armnn.graph import Layer, Value
from armnn.layers import Descriptor, filled_descriptor, infer_outputs
from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatRecord
from armnn.storage.armnn_files._bindings import LAYERS, TABLES
from armnn.storage.armnn_files.names import NEWEST, is_known_to
from armnn.storage.armnn_files.parameters import extra_parameters, parameter_record
from armnn.storage.armnn_files.tensors import constant_record, info_fault
from armnn.tensor import TensorInfo, format_shape


class Plan:
    """A layer on its way into a file.

    Attributes:
        layer: The layer.
        version: The Arm NN that has to read it.
        kind: Its type on the wire.
        values: Its parameters, by the names of the format's fields.
        inputs: What is connected with it.
        members: The constants that it keeps.
        scales: The quantisation that an input's info gets in the file, by slot.
        extra_allowed: Its parameters that need no place in the format.
    """

    def __init__(self, layer: Layer, version: str) -> None:
        """Begin with what the layer table says.

        Raises:
            RefusedError: The format has no such layer, or an input has no place in it.
        """
        if layer.type not in LAYERS:
            raise RefusedError(f"the files of Arm NN {NEWEST} have no such layer")
        self.layer = layer
        self.version = version
        self.kind = layer.type
        self.descriptor = self._filled()
        fields = {field.name for field in dataclasses.fields(self.descriptor)}
        stored = TABLES.get(LAYERS[self.kind].parameters, {})
        self.values: dict[str, Any] = {
            name: getattr(self.descriptor, name) for name in stored if name in fields
        }
        slots = layer.spec.inputs
        self.inputs: list[Value] = [
            value
            for at, value in enumerate(layer.inputs)
            if value is not None and not slots[min(at, len(slots) - 1)].optional
        ]
        self.members: dict[str, FlatRecord] = {}
        self.scales: dict[int, TensorInfo | None] = {}
        self.extra_allowed: set[str] = set()

    def _filled(self) -> Descriptor:
        """Return the descriptor with the values of constant inputs."""
        layer = self.layer
        values = [None if value is None else value.constant for value in layer.inputs]
        for slot, value, data in zip(layer.spec.inputs, layer.inputs, values, strict=False):
            if slot.fills is not None and value is not None and data is None:
                raise RefusedError(f"its {slot.name} is computed, and Arm NN keeps it in the layer")
        return filled_descriptor(layer.spec, layer.descriptor, layer.input_infos, values)

    def finish(self) -> FlatRecord | None:
        """Return the table of the parameters.

        Raises:
            RefusedError: A parameter has no place in the format.
        """
        if not is_known_to(self.version, self.kind):
            raise RefusedError(f"Arm NN {self.version} reads no such layer")
        known = {*TABLES.get(LAYERS[self.kind].parameters, ()), *self.extra_allowed}
        if self.kind == self.layer.type:
            extra = extra_parameters(self.descriptor, known)
            if extra:
                raise RefusedError("; ".join(extra))
        return parameter_record(self.kind, self.values, self.version)

    def keep(self, name: str, value: Value, scales: TensorInfo | None = None) -> None:
        """Store an input as a constant of the layer.

        Raises:
            RefusedError: It is computed, or of a type that the format lacks.
        """
        data = self.constant(name, value)
        self.members[name] = constant_record(data, value.info, self.version, scales)

    def constant(self, name: str, value: Value) -> NDArray[Any]:
        """Return the data of a constant.

        Raises:
            RefusedError: It is computed, or of a type that the format lacks.
        """
        if value.constant is None:
            where = f"Arm NN {self.version} keeps them in the layer"
            raise RefusedError(f"its {name} are computed, and {where}")
        fault = info_fault(value.info, self.version)
        if fault:
            raise RefusedError(f"its {name} cannot be stored: {fault}")
        return value.constant

    def outputs_with(self, descriptor: Descriptor) -> tuple[TensorInfo, ...]:
        """Return the layer's outputs for other parameters."""
        layer = self.layer
        values = [None if value is None else value.constant for value in layer.inputs]
        requested = [None] * len(layer.outputs)
        return infer_outputs(layer.spec, descriptor, layer.input_infos, values, requested)

    def static_shape(self, value: Value) -> tuple[int, ...]:
        """Return a shape that the format has to hold.

        Raises:
            RefusedError: It is open.
        """
        if not value.info.is_static:
            raise RefusedError(
                f"the shape {format_shape(value.info.shape)} of {value.name!r} is open, and Arm NN "
                "stores it with the layer"
            )
        return value.info.static_shape

    def rank(self, value: Value) -> int:
        """Return the rank of a value.

        Raises:
            RefusedError: It is not known.
        """
        if value.info.rank is None:
            raise RefusedError(f"the rank of {value.name!r} is not known")
        return value.info.rank

    def axis(self, name: str, info: TensorInfo | None = None) -> int:
        """Return an axis counted from the front."""
        rank = self.rank(self.inputs[0]) if info is None else info.rank
        axis: int = self.values[name] if name in self.values else getattr(self.descriptor, name)
        return axis % rank if rank else 0
