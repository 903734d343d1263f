# SPDX-License-Identifier: MIT
"""Layers of a network as the flat arrays of ``armnn_graph``."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from types import TracebackType
from typing import Final

import numpy as np

from armnn._process_memory import trim_memory
from armnn.backends.ffi.constants import DROP, KEEP, constants
from armnn.backends.native.programs.packing import Place, RowMemory, word_place
from armnn.backends.views import SubgraphView
from armnn.graph import Layer, Value
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, struct

ABSENT: Final = -1

TRIMMED_BYTES: Final = 1 << 23
"""Of constants that went, after which the C library gives its free pages back."""


class NativeGraph:
    """A graph for queries or compilation; use it with ``with``.

    Attributes:
        layers: The nodes; the id of a node is its position.
        inputs: The values that execute receives, in its order: those that are not constant.
        outputs: The values that execute writes, in its order.
        gone: The names of the constants that went since.
        struct: The ``armnn_graph``, valid until the end of the ``with`` statement.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        version: BackendVersion,
        *,
        lets_go: bool = False,
    ) -> None:
        """Lay the layers out.

        Args:
            layers: In topological order.
            inputs: What the layers read and others make.
            outputs: What the layers make and others read.
            version: The Backend API version of the backend that shall read it.
            lets_go: Whether constants that only these layers read go out of their network when the
                backend kept and dropped them.
        """
        self.layers = tuple(layers)
        self._read = tuple(inputs)
        self.inputs = tuple(value for value in inputs if value.constant is None)
        self.outputs = tuple(outputs)
        self.gone: list[str] = []
        self._version = version
        self._untrimmed = 0
        self._own = dict.fromkeys(self.layers)
        self._lets_go = lets_go
        self._arena = Arena()
        self._lent: list[int] = []
        produced = (value for layer in self.layers for value in layer.outputs)
        self._values = dict.fromkeys(itertools.chain(inputs, produced))
        self._index = {value: index for index, value in enumerate(self._values)}
        self._constants: list[Value] = []  # in the order in which they are lent
        self._facts: tuple[object, ...] = ()
        self._stays_lent = False
        self.struct = struct(abi.Graph)
        self._fill()

    @classmethod
    def of_layer(cls, layer: Layer, version: BackendVersion) -> NativeGraph:
        """Return the graph of one layer, with all outputs."""
        inputs = dict.fromkeys(value for value in layer.inputs if value is not None)
        return cls((layer,), tuple(inputs), layer.outputs, version)

    @classmethod
    def of_view(
        cls, view: SubgraphView, version: BackendVersion, *, lets_go: bool = False
    ) -> NativeGraph:
        """Return the graph of a subgraph."""
        return cls(view.layers, view.inputs, view.outputs, version, lets_go=lets_go)

    def remember(self) -> None:
        """Note what the rows were made of, for :meth:`lent_for`.

        The constants stay lent as long as the graph, whose ``with`` statement ends: to lend them
        again takes a third of the rows.
        """
        self._stays_lent = True
        self._facts = tuple(self._facts_now())
        self.leave_with(self)

    def lent_for(self, view: SubgraphView, *, lets_go: bool) -> bool:
        """Return whether it is a view's graph.

        If not, the constants are taken back.

        Args:
            view: The view.
            lets_go: As for a new graph of it.
        """
        is_same = (
            view.layers == self.layers
            and view.inputs == self._read
            and view.outputs == self.outputs
            and all(map(operator.is_, self._facts_now(), self._facts))
        )
        self._stays_lent, self._facts = False, ()  # which hold the data
        if not is_same:
            self.leave()
        elif lets_go:
            self._lets_go = True
            for reference, value in zip(self._lent, self._constants, strict=True):
                constants.let_go_by(reference, self._what_lets_go(value))
        return is_same

    def _facts_now(self) -> Iterator[object]:
        """Yield what rows are made of."""
        for layer in self.layers:
            yield from (layer.name, layer.descriptor, layer.inputs)
        for value in self._values:
            yield from (value.info, value.producer.name, value.producer.data)

    def sign(self) -> str:
        """Write the fingerprint into the graph; return it.

        It reads all constants.
        """
        fingerprint = fingerprint_of(self.layers, self._read, self.outputs)
        self.struct.fingerprint = self._arena.text(fingerprint)
        return fingerprint

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the layers, by node id."""
        return tuple(layer.name for layer in self.layers)

    @property
    def title(self) -> str:
        """The layers in a word or two, for messages."""
        first, last = self.layers[0].name, self.layers[-1].name
        return repr(first) if len(self.layers) == 1 else f"{first!r} to {last!r}"

    def __enter__(self) -> NativeGraph:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._stays_lent:
            self.leave()

    def leave(self) -> None:
        """Take the lent constants back."""
        take_back_all(self._lent)

    def leave_with(self, keeper: object) -> None:
        """Take the lent constants back when an object is gone."""
        weakref.finalize(keeper, take_back_all, self._lent)  # which refers to no layer

    def _fill(self) -> None:
        graph, memory = self.struct, RowMemory(self._arena, self._version, len(self._values))
        values = [self._value_row(value, memory) for value in self._values]
        nodes = [self._node_row(*each, memory) for each in enumerate(self.layers)]
        inputs, outputs = self._indices(self.inputs, memory), self._indices(self.outputs, memory)
        memory.settle()
        texts, indices = memory.texts_at, memory.indices_at
        of_values = (texts, 0, 0, 0, memory.integers_at, 0, 0, 0)
        self._value_rows = memory.pack(abi.Value, values, of_values)
        of_nodes = (0, 0, 0, 0, texts, 0, indices, 0, indices, 0, memory.attributes_at, 0)
        self._node_rows = memory.pack(abi.Node, nodes, of_nodes)
        graph.value_stride = ctypes.sizeof(abi.Value)
        graph.node_stride = ctypes.sizeof(abi.Node)
        graph.attribute_stride = ctypes.sizeof(abi.Attribute)
        graph.values, graph.num_values = self._value_rows, len(values)
        graph.nodes, graph.num_nodes = self._node_rows, len(nodes)
        graph.inputs, graph.num_inputs = _pointer(indices + inputs[0]), inputs[1]
        graph.outputs, graph.num_outputs = _pointer(indices + outputs[0]), outputs[1]
        graph.keep, graph.drop = KEEP, DROP

    @functools.cached_property
    def rows(self) -> dict[Value, abi.Value]:
        """The descriptions of the values."""
        return dict(zip(self._values, self._value_rows, strict=False))

    @functools.cached_property
    def nodes(self) -> dict[Layer, abi.Node]:
        """The descriptions of the layers."""
        return dict(zip(self.layers, self._node_rows, strict=False))

    def _value_row(self, value: Value, memory: RowMemory) -> tuple[int, ...]:
        """Return a value's row, with places for addresses."""
        info = value.info
        shape, reference, tensor = info.shape, 0, 0
        place = 8 * len(memory.integers)
        if shape is not None:
            memory.integers += [d if isinstance(d, int) else abi.DYNAMIC_DIMENSION for d in shape]
        if value.constant is not None:
            self._constants.append(value)
            reference, pointer = self._lend(value)
            tensor = ctypes.addressof(pointer.contents)
        return (
            *memory.text(value.name),
            int(info.data_type),
            -1 if shape is None else len(shape),
            place,
            memory.quantization(info) if info.scales else 0,
            tensor,
            reference,
        )

    def _lend(self, value: Value) -> tuple[int, ctypes._Pointer[abi.Tensor]]:
        """Lend a constant; return its reference and its tensor."""
        assert value.constant is not None  # as the caller knows
        reference, pointer = constants.lend(value.constant, self._what_lets_go(value))
        self._lent.append(reference)
        return reference, pointer

    def _what_lets_go(self, value: Value) -> Callable[[], None] | None:
        may_go = self._lets_go and all(reader in self._own for reader in value.consumers)
        return functools.partial(self._let_go, value.producer) if may_go else None

    def _let_go(self, constant: Layer) -> None:
        self._untrimmed += 0 if constant.data is None else constant.data.nbytes
        if self._untrimmed >= TRIMMED_BYTES:
            trim_memory()
            self._untrimmed = 0
        constant.data = None
        self.gone.append(constant.name)

    def _node_row(self, number: int, layer: Layer, memory: RowMemory) -> tuple[int, ...]:
        """Return a layer's row, with places for addresses."""
        return (
            number,
            layer.spec.since[1],
            *word_place(layer.type),
            *memory.text(layer.name),
            *self._indices(layer.inputs, memory),
            *self._indices(layer.outputs, memory),
            *memory.attributes(layer.descriptor),
        )

    def _indices(self, values: Sequence[Value | None], memory: RowMemory) -> Place:
        """Add indices; return their place, and how many."""
        place, index = 4 * len(memory.indices), self._index
        memory.indices += [ABSENT if value is None else index[value] for value in values]
        return place, len(values)


def _pointer(address: int) -> ctypes._Pointer[ctypes.c_int32]:
    return ctypes.pointer(ctypes.c_int32.from_address(address))


def take_back_all(references: list[int]) -> None:
    """Take lent constants back; the list is empty then."""
    while references:
        constants.take_back(references.pop())


def fingerprint_of(
    layers: Iterable[Layer], inputs: Iterable[Value], outputs: Iterable[Value]
) -> str:
    """Return the fingerprint in hexadecimal.

    Names do not count, constants do.

    Args:
        layers: In topological order.
        inputs: The values that others make and the layers read, constants too.
        outputs: The values that others read.
    """
    digest = sha256()
    numbers: dict[Value, int] = {}
    for value in inputs:
        numbers[value] = len(numbers)
        _add(digest, f"value {value.info!r}")
        if value.constant is not None:
            # A flat copy of the bytes only where the array has gaps; 0-d arrays have no view.
            digest.update(np.ascontiguousarray(value.constant).reshape(-1).view(np.uint8).data)
    for layer in layers:
        read = [None if value is None else numbers[value] for value in layer.inputs]
        _add(digest, f"layer {layer.type} {layer.descriptor!r} {read}")
        for value in layer.outputs:
            numbers[value] = len(numbers)
            _add(digest, f"output {value.info!r}")
    _add(digest, f"outputs {[numbers[value] for value in outputs]}")
    return digest.hexdigest()


def _add(digest: hashlib._Hash, text: str) -> None:
    """Add a text with an unambiguous end."""
    raw = text.encode()
    digest.update(len(raw).to_bytes(8, "little"))
    digest.update(raw)
