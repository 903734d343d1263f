# SPDX-License-Identifier: MIT
"""One layer of a file during its conversion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from armnn.errors import ParseError, ShapeError
from armnn.graph import Network, Value
from armnn.layers import LAYERS, Descriptor
from armnn.parsing.flatbuffers import FlatTable
from armnn.storage.armnn_files._bindings import LAYERS as STORED
from armnn.storage.armnn_files.parameters import read_parameters
from armnn.storage.armnn_files.records import StoredGraph, StoredLayer
from armnn.storage.armnn_files.tensors import read_constant, read_info
from armnn.tensor import TensorInfo

_T = TypeVar("_T")


class StoredOperation:
    """A layer with its values.

    Attributes:
        network: The network that its layers are added to.
        record: The layer.
        graph: The file.
        inputs: The values that it reads.
        parameters: The table of its parameters, that of the defaults if it is absent.
    """

    def __init__(self, network: Network, record: StoredLayer, graph: StoredGraph) -> None:
        self.network = network
        self.record = record
        self.graph = graph
        self.inputs: list[Value] = []
        kind = STORED[record.kind].parameters
        table = record.table.table("parameters") if kind else None
        self.parameters = table or FlatTable.empty(kind, graph.file)

    def __str__(self) -> str:
        return f"layer {self.record.title!r} ({self.record.kind})"

    def exactly(self, found: Sequence[_T], count: int, what: str) -> Sequence[_T]:
        """Return a list of a known length.

        Raises:
            ParseError: It has another one.
        """
        if len(found) != count:
            raise ParseError(f"{self} has {len(found)} {what}, expected {count}")
        return found

    def free_name(self, part: str = "") -> str:
        """Return a free name for a layer or its part."""
        return self.network.unique_name(
            f"{self.record.title}/{part}" if part else self.record.title
        )

    def descriptor(self, kind: str, **values: Any) -> Descriptor:
        """Return the descriptor of a layer type.

        Args:
            kind: The layer type.
            values: Parameters that are not read but given.
        """
        descriptor = LAYERS[kind].descriptor
        table = STORED[self.record.kind].parameters
        read = {}
        if table:
            read = read_parameters(descriptor, self.parameters, table, tuple(values))
        return descriptor(**read, **values)

    def constant(self, name: str, table: FlatTable | None = None) -> Value | None:
        """Return a member as a Constant layer's value."""
        member = (self.record.table if table is None else table).table(name)
        return None if member is None else self.added_constant(member, name)

    def added_constant(
        self,
        member: FlatTable,
        part: str,
        info: Callable[[FlatTable], TensorInfo] = read_info,
    ) -> Value:
        """Add a stored constant.

        Raises:
            ParseError: It has no info.
            RefusedError: Its data does not fit its info.
        """
        table = member.table("info")
        if table is None:
            raise ParseError("a constant of it has no tensor info")
        found = info(table)
        data = read_constant(member, found)
        return self.network.add_constant(data, found, name=self.free_name(part))

    def add(
        self,
        kind: str,
        inputs: Sequence[Value | None],
        descriptor: Descriptor,
        infos: Sequence[TensorInfo],
    ) -> Sequence[Value]:
        """Add the layer with the output infos of the file.

        Where armnn makes a scalar, Arm NN makes one element of rank 1: a Reshape follows then.
        """
        name = self.free_name()
        try:
            return self.network.add(kind, inputs, descriptor, name=name, outputs=infos).outputs
        except ShapeError:
            if len(infos) != 1 or not infos[0].is_static or infos[0].num_elements != 1:
                raise
        (info,) = infos
        scalar = self.network.add(
            kind, inputs, descriptor, name=self.free_name("scalar"), outputs=[info.with_shape(())]
        )
        return [self.network.add_reshape(scalar.output, target_shape=info.static_shape, name=name)]


Converter: TypeAlias = Callable[["StoredOperation", "Sequence[TensorInfo]"], "Sequence[Value]"]
"""What adds a layer: from the layer and the infos of its outputs to its outputs."""
