# SPDX-License-Identifier: MIT
"""The layers of a file as checked records, producers first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from armnn.errors import ParseError
from armnn.parsing.flatbuffers import FlatFile, FlatTable
from armnn_parser_armnn.schema import IDENTIFIER, LAYERS, NAME_OF_MEMBER, TABLES

_LEAST_BYTES: Final = 8
_PORTS: Final = ("Input", "Output")


@dataclass(frozen=True, slots=True)
class Connection:
    """The content of an input slot.

    Attributes:
        layer: The index of the layer that makes it.
        output: Which output of that layer it is.
        override: The tensor info that the slot sees instead of the output's, if there is one.
    """

    layer: int
    output: int
    override: FlatTable | None


@dataclass(frozen=True, slots=True)
class StoredLayer:
    """One layer of a file.

    Attributes:
        index: The number by which others refer to it.
        kind: Its type; a number for one that is newer than the schema.
        name: Its name, "" if it has none.
        table: Its table.
        inputs: The values that it reads, in slot order.
        outputs: The tensor infos of its outputs, in slot order.
        binding: The binding id of an Input or Output layer, else 0.
    """

    index: int
    kind: str
    name: str
    table: FlatTable
    inputs: tuple[Connection, ...]
    outputs: tuple[FlatTable, ...]
    binding: int

    @property
    def title(self) -> str:
        """The name in messages, and of layers without one."""
        return self.name or f"{self.kind}_{self.index}"


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """The checked content of a file.

    Attributes:
        file: Its bytes.
        layers: Inputs, the other layers behind what they read, outputs.
        weights_layout: The version of the layout of depthwise weights; 0 for [M,I,KH,KW].
        constants_as_inputs: Whether weights are Constant layers, not members of their layers.
        notes: The notes of armnn beside the network, as JSON; "" without.
    """

    file: FlatFile
    layers: tuple[StoredLayer, ...]
    weights_layout: int
    constants_as_inputs: bool
    notes: str


def read_graph(data: bytes, name: str) -> StoredGraph:
    """Return the layers of a file.

    Raises:
        ParseError: It is malformed, or its layers form a cycle.
    """
    # Arm NN writes no identifier, though its schema declares one.
    start = int.from_bytes(data[:4], "little")
    if len(data) < _LEAST_BYTES or not 4 <= start <= len(data) - 4:
        raise ParseError(
            f"the model {name!r} is not an .armnn file: its first bytes do not lead to a table"
        )
    if start >= _LEAST_BYTES and data[4:8].isalnum() and data[4:8] != IDENTIFIER:
        raise ParseError(
            f"the model {name!r} is not an .armnn file: it is marked as {data[4:8].decode()!r}"
        )
    file = FlatFile(data, name, TABLES)
    root = FlatTable.at("Graph", start, file)
    tables = root.tables("layers")
    if not tables:
        raise ParseError(f"the model {name!r} is not an .armnn file, or has no layers")
    layers = [_layer(table, at, file) for at, table in enumerate(tables)]
    by_index: dict[int, StoredLayer] = {}
    for layer in layers:
        if by_index.setdefault(layer.index, layer) is not layer:
            raise file.error(f"two layers have the index {layer.index}")
    versions = root.table("feature_versions") or FlatTable.empty("Versions", file)
    by_binding = versions.integer("binding_ids_scheme") > 0
    inputs = _ports(root.integers("input_ids"), "Input", layers, file, by_binding=by_binding)
    outputs = _ports(root.integers("output_ids"), "Output", layers, file, by_binding=by_binding)
    inner = [layer for layer in layers if layer.kind not in _PORTS]
    return StoredGraph(
        file,
        (*inputs, *_ordered(inner, by_index, file), *outputs),
        versions.integer("weights_layout_scheme"),
        versions.integer("constant_tensors_as_inputs") > 0,
        root.text("notes"),
    )


def _layer(any_layer: FlatTable, at: int, file: FlatFile) -> StoredLayer:
    member = any_layer.integer("member")
    kind = NAME_OF_MEMBER.get(member, str(member))
    table = any_layer.union("layer", f"{kind}Layer" if kind in LAYERS else "ActivationLayer")
    port = None if table is None else table.table("base")
    base = port.table("base") if port is not None and kind in _PORTS else port
    if table is None or port is None or base is None:
        raise file.error(f"layer {at} has no base")
    inputs: dict[int, Connection] = {}
    for slot in base.tables("input_slots"):
        connection = slot.pair("connection")
        if connection is None:
            raise file.error(f"layer {at} has an input that is not connected")
        override = slot.table("overriding_info") if slot.flag("is_overridden") else None
        inputs[slot.integer("index")] = Connection(*connection, override)
    outputs: dict[int, FlatTable] = {}
    for slot in base.tables("output_slots"):
        info = slot.table("info")
        outputs[slot.integer("index")] = (
            FlatTable.empty("TensorInfo", file) if info is None else info
        )
    for slots in (inputs, outputs):
        if sorted(slots) != [*range(len(slots))]:
            raise file.error(f"layer {at} numbers its slots {sorted(slots)[:8]}")
    return StoredLayer(
        base.integer("index"),
        kind,
        base.text("name"),
        table,
        tuple(inputs[slot] for slot in range(len(inputs))),
        tuple(outputs[slot] for slot in range(len(outputs))),
        port.integer("binding_id") if kind in _PORTS else 0,
    )


def _ports(
    ids: Sequence[int],
    kind: str,
    layers: Sequence[StoredLayer],
    file: FlatFile,
    *,
    by_binding: bool,
) -> list[StoredLayer]:
    """Return Input or Output layers, ordered by their ids."""
    ports = [layer for layer in layers if layer.kind == kind]
    known = {layer.binding if by_binding else layer.index: layer for layer in ports}
    found: dict[int, StoredLayer] = {}
    for each in ids:
        if each not in known:
            what = "binding id" if by_binding else "index"
            raise file.error(f"it has no {kind} layer of the {what} {each}")
        found[known[each].index] = known[each]
    for layer in ports:  # others are not bound, and still read or made
        found.setdefault(layer.index, layer)
    return list(found.values())


def _ordered(
    layers: Sequence[StoredLayer], by_index: Mapping[int, StoredLayer], file: FlatFile
) -> Iterable[StoredLayer]:
    """Return layers in topological order, else in file order."""
    waiting: dict[int, int] = {}
    readers: dict[int, list[StoredLayer]] = {}
    for layer in layers:
        read = {each.layer for each in layer.inputs}
        for index in read:
            source = by_index.get(index)
            if source is None:
                raise file.error(f"layer {layer.title!r} reads layer {index}, which does not exist")
            if source.kind != "Input":
                readers.setdefault(index, []).append(layer)
        waiting[layer.index] = sum(by_index[index].kind != "Input" for index in read)
    ready = deque(layer for layer in layers if not waiting[layer.index])
    ordered: list[StoredLayer] = []
    while ready:
        layer = ready.popleft()
        ordered.append(layer)
        for reader in readers.get(layer.index, ()):
            waiting[reader.index] -= 1
            if not waiting[reader.index]:
                ready.append(reader)
    if len(ordered) != len(layers):
        stuck = [layer.title for layer in layers if waiting[layer.index]]
        raise file.error(f"its layers form a cycle: {', '.join(map(repr, stuck[:8]))}")
    return ordered
