# SPDX-License-Identifier: MIT
"""Layers of a network as the flat arrays of ``armnn_graph``, kept to be filled for other shapes.

Assigning the fields of structures of ctypes one by one takes five times as long as packing rows in
one go, and a model of a thousand layers has ten thousand rows.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from operator import add
from struct import Struct, pack
from types import TracebackType
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np

from armnn._forks import ForkedLock
from armnn._process_memory import trim_memory
from armnn._symbolic import Symbolic
from armnn.backends.cache import Changes, Footprint
from armnn.backends.capi.calls import compile_details
from armnn.backends.capi.values import (
    DROP,
    KEEP,
    constants,
    elements_of,
    flattened,
    known_fields,
    unfilled_attributes,
)
from armnn.backends.contract import SubgraphView
from armnn.graph import Layer, Value
from armnn.layers import Descriptor
from armnn.tensor import TensorInfo
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, struct, word

_Field: TypeAlias = "tuple[str, tuple[int, ...], list[Any] | None]"
"""The name of a parameter, how its row begins, and the memory of its elements but texts."""

_Range: TypeAlias = tuple[int, int]
"""Where elements begin in their memory, and how many they are."""

_ATTRIBUTE_BYTES: Final = ctypes.sizeof(abi.Attribute)
_QUANTIZATION_BYTES: Final = ctypes.sizeof(abi.Quantization)

_FORMATS: Final[dict[Any, str]] = {
    ctypes.c_int32: "i",
    ctypes.c_uint32: "I",
    ctypes.c_uint64: "Q",
    ctypes.c_double: "d",
    ctypes.c_void_p: "P",
}


@functools.cache
def packer(kind: type[ctypes.Structure]) -> Struct:
    """Return a struct's fields, nested ones flattened, as a format."""
    made = Struct(f"@{_format(kind)}0Q")  # the end is aligned as in C
    if made.size != ctypes.sizeof(kind):
        raise TypeError(f"{kind.__name__} has {ctypes.sizeof(kind)} bytes: packed {made.size}")
    return made


def _format(kind: Any) -> str:
    if issubclass(kind, ctypes.Structure):
        return "".join([_format(field[1]) for field in kind._fields_])
    return _FORMATS.get(kind, "P")  # a pointer to some type


class RowMemory:
    """The memory that the rows of one graph point to.

    Places in it are known first, their addresses when all is there.

    Attributes:
        integers: Shapes, and attributes of integers.
        reals: Attributes of real numbers.
        indices: The indices of values.
    """

    def __init__(self, arena: Arena, version: BackendVersion, values: int) -> None:
        """Begin without rows.

        Args:
            arena: Owns the memory.
            version: The Backend API version of the backend that reads it.
            values: How many there are.
        """
        self._arena = arena
        self._version = version
        self._texts: list[bytes] = []
        self._text_bytes = 0
        self.integers: list[int] = []
        self.reals: list[float] = []
        self.indices: list[int] = []
        self._fields: dict[type[Descriptor], list[_Field]] = {}
        self._attributes: list[tuple[_Field, int, int]] = []
        self._quantizations = (abi.Quantization * max(values, 1))()
        self._quantized: list[tuple[int, int, int, int]] = []
        self._scales: list[float] = []
        self._zero_points: list[int] = []

    def text(self, text: str) -> _Range:
        """Add a text; return its place."""
        raw = text.encode("utf-8", "replace")
        place = self._text_bytes
        self._texts.append(raw)
        self._text_bytes = place + len(raw) + 1
        return place, len(raw)

    def quantization(self, info: TensorInfo) -> int:
        """Add a quantization; return the address of its description."""
        scheme, axis = (abi.PER_TENSOR, -1) if info.axis is None else (abi.PER_AXIS, info.axis)
        number = len(self._quantized)
        self._quantized.append((scheme, axis, len(info.scales), 4 * len(self._scales)))
        self._scales += info.scales
        self._zero_points += info.zero_points
        return ctypes.addressof(self._quantizations) + number * _QUANTIZATION_BYTES

    def attributes(self, descriptor: Descriptor) -> _Range:
        """Add a descriptor's attributes; return their place, and how many."""
        fields = self._fields.get(type(descriptor))
        if fields is None:
            fields = self._fields[type(descriptor)] = self._fields_of(type(descriptor))
        first = len(self._attributes)
        for field in fields:
            value, memory = getattr(descriptor, field[0]), field[2]
            if memory is None:
                elements = flattened(value)
                place = self._arena.elements(abi.ATTRIBUTE_STRING, elements)
                count = len(elements)
            else:
                place = 8 * len(memory)
                if type(value) is tuple:
                    memory += flattened(value)
                else:
                    memory.append(value)
                count = len(memory) - place // 8
            self._attributes.append((field, count, place))
        return first * _ATTRIBUTE_BYTES, len(fields)

    def _fields_of(self, kind: type[Descriptor]) -> list[_Field]:
        header = _header_of(abi.Attribute)
        memories: dict[int, list[Any] | None] = {
            abi.ATTRIBUTE_INT64: self.integers,
            abi.ATTRIBUTE_FLOAT64: self.reals,
            abi.ATTRIBUTE_STRING: None,
        }
        return [
            (name, (*header, *_word_place(name), number, minor), memories[number])
            for name, minor, number in known_fields(kind, self._version)
        ]

    def assign(self) -> None:
        """Give everything that was added its memory."""
        self.texts_at = self._hold(b"\0".join([*self._texts, b""]))
        self.integers_at = self._hold(_packed("q", self.integers))
        self.indices_at = self._hold(_packed("i", self.indices))
        reals_at = self._hold(_packed("d", self.reals))
        starts = {id(self.integers): self.integers_at, id(self.reals): reals_at, id(None): 0}
        made = (abi.Attribute * max(len(self._attributes), 1))()
        pack = packer(abi.Attribute).pack_into
        for number, ((_, prefix, memory), count, place) in enumerate(self._attributes):
            pack(made, number * _ATTRIBUTE_BYTES, *prefix, count, starts[id(memory)] + place)
        self._arena.hold(made)
        self.attributes_at = ctypes.addressof(made)
        self._settle_quantizations()

    def _settle_quantizations(self) -> None:
        with np.errstate(over="ignore"):  # what a float cannot hold becomes infinite
            scales_at = self._hold(np.array(self._scales, np.float32).tobytes())
        zero_points_at = self._hold(_packed("i", self._zero_points))
        pack = packer(abi.Quantization).pack_into
        for number, (*facts, place) in enumerate(self._quantized):
            row = (*facts, scales_at + place, zero_points_at + place)
            pack(self._quantizations, number * _QUANTIZATION_BYTES, *row)
        self._arena.hold(self._quantizations)

    def _hold(self, data: bytes) -> int:
        """Return the address of memory, never an empty one."""
        made = ctypes.create_string_buffer(data)
        self._arena.hold(made)
        return ctypes.addressof(made)

    def pack(
        self,
        kind: type[ctypes.Structure],
        rows: Sequence[Iterable[int]],
        bases: Sequence[int],
    ) -> Any:
        """Return an array of growable structs, never an empty one.

        Args:
            kind: The struct.
            rows: The fields behind the header.
            bases: The address of each field's memory, which is added to the field.
        """
        made = (kind * max(len(rows), 1))()
        pack, size = packer(kind).pack_into, ctypes.sizeof(kind)
        header = _header_of(kind)
        for place, row in enumerate(rows):
            pack(made, place * size, *header, *map(add, row, bases))
        self._arena.hold(made)
        return made


def _packed(kind: str, elements: Sequence[Any]) -> bytes:
    """Return numbers as in an array of C."""
    return pack(f"@{len(elements)}{kind}", *elements)


def _header_of(kind: type[ctypes.Structure]) -> tuple[int, int, int]:
    return ctypes.sizeof(kind), abi.STRUCT_IDS[kind], 0


@functools.cache
def _word_place(name: str) -> _Range:
    """Return where a layer type's or parameter's name is."""
    text = word(name)
    return text.data or 0, text.size


_ABSENT: Final = -1

TRIMMED_BYTES: Final = 1 << 23
"""The bytes of freed constants after which the C library gives its free pages back."""


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
            inputs: The values that the layers read and others make.
            outputs: The values that the layers make and others read.
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
        """Record the sources of the rows, for :meth:`lent_for`.

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
        """Yield the facts that rows are made of."""
        for layer in self.layers:
            yield from (layer.name, layer.descriptor, layer.inputs)
        for value in self._values:
            yield from (value.info, value.producer.name, value.producer.data)

    def sign(self) -> str:
        """Write the fingerprint into the graph; return it.

        It reads all constants.
        """
        fingerprint = _fingerprint_of(self.layers, self._read, self.outputs)
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
        _take_back_all(self._lent)

    def leave_with(self, keeper: object) -> None:
        """Take the lent constants back when an object is gone."""
        weakref.finalize(keeper, _take_back_all, self._lent)  # which refers to no layer

    def _fill(self) -> None:
        graph, memory = self.struct, RowMemory(self._arena, self._version, len(self._values))
        values = [self._value_row(value, memory) for value in self._values]
        nodes = [self._node_row(*each, memory) for each in enumerate(self.layers)]
        inputs, outputs = self._indices(self.inputs, memory), self._indices(self.outputs, memory)
        memory.assign()
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
            *_word_place(layer.type),
            *memory.text(layer.name),
            *self._indices(layer.inputs, memory),
            *self._indices(layer.outputs, memory),
            *memory.attributes(layer.descriptor),
        )

    def _indices(self, values: Sequence[Value | None], memory: RowMemory) -> _Range:
        """Add indices; return their place, and how many."""
        place, index = 4 * len(memory.indices), self._index
        memory.indices += [_ABSENT if value is None else index[value] for value in values]
        return place, len(values)


def _pointer(address: int) -> ctypes._Pointer[ctypes.c_int32]:
    return ctypes.pointer(ctypes.c_int32.from_address(address))


def _take_back_all(references: list[int]) -> None:
    """Take lent constants back; the list is empty then."""
    while references:
        constants.take_back(references.pop())


def _fingerprint_of(
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


_P = TypeVar("_P")


class KeptGraph(Generic[_P]):
    """A graph as backends read it, for further compilations.

    Its constants stay lent, so that the backend finds what it packed of them.
    """

    def __init__(
        self,
        graph: NativeGraph,
        version: BackendVersion,
        compile_now: Callable[[NativeGraph, _P], _P | None],
    ) -> None:
        """Keep a graph, which is not left.

        Args:
            graph: The graph.
            version: The Backend API version of the backend.
            compile_now: Compiles the graph like an earlier program; returns None if a layer is
                refused.
        """
        self.graph = graph
        self._version = version
        self._compile = compile_now
        self._lock = ForkedLock()
        self._numbers: _GraphNumbers | None = None
        graph.leave_with(self)

    def compile(self, changes: Changes, earlier: _P) -> _P | None:
        """Return the program for other shapes; None if refused.

        Args:
            changes: The numbers that differ for these shapes.
            earlier: A program of the graph.

        Raises:
            ArmnnError: The backend failed.
        """
        with self._lock:
            if self._numbers is None or not self._numbers.are_of(changes):
                self._numbers = _GraphNumbers(self.graph, changes, self._version)
            self._numbers.write(changes.numbers)
            lent: list[int] = []
            try:
                self._lend(changes.constants, lent)
                return self._compile(self.graph, earlier)
            finally:
                _take_back_all(lent)

    def weighed(self, changes: Changes, earlier: _P) -> Footprint | None:
        """Return the footprint for other shapes, if reported.

        The network is compiled once more for it, as few callers ask and reporting it at once would
        take a tenth of the time of a further shape.

        Args:
            changes: See :meth:`compile`.
            earlier: See :meth:`compile`.

        Raises:
            ArmnnError: The backend failed.
        """
        with compile_details() as details:
            self.compile(changes, earlier)
        return Footprint.from_details(details)

    def _lend(self, changed: Mapping[Value, Any], lent: list[int]) -> None:
        for value, data in changed.items():
            row = self.graph.rows.get(value)
            if row is not None:
                row.constant_ref, row.constant = constants.lend(data)
                lent.append(row.constant_ref)


class _GraphNumbers:
    """The numbers in a graph that depend on the shapes.

    They are next to each other in memory, where shapes and attributes of the graph point, so that
    other shapes are one copy.
    """

    def __init__(self, graph: NativeGraph, changes: Changes, version: BackendVersion) -> None:
        self._infos, self._descriptors = changes.infos, changes.descriptors
        self._arena = Arena()
        self._integers: list[Any] = []
        self._reals: list[Any] = []
        shapes = self._places_of_shapes(graph, changes.infos)
        rows = self._attributes(graph, changes.descriptors, version)
        integer_memory = self._arena.array(ctypes.c_int64, len(self._integers))
        real_memory = self._arena.array(ctypes.c_double, len(self._reals))
        blocks = [_Block(integer_memory, self._integers), _Block(real_memory, self._reals)]
        self._blocks = [block for block in blocks if block.changes]
        start = ctypes.addressof(integer_memory)
        for value, place in shapes:
            dims = ctypes.c_int64.from_address(start + 8 * place)
            graph.rows[value].shape = ctypes.pointer(dims)
        for attribute, place in rows:
            memory = real_memory if _is_real(attribute) else integer_memory
            attribute.data = ctypes.addressof(memory) + 8 * place

    def are_of(self, changes: Changes) -> bool:
        """Return whether they were laid out for such changes."""
        return self._infos is changes.infos and self._descriptors is changes.descriptors

    def write(self, numbers: Sequence[Any]) -> None:
        """Write the numbers for some shapes."""
        for block in self._blocks:
            block.write(numbers)

    def _places_of_shapes(
        self, graph: NativeGraph, infos: Mapping[Value, TensorInfo]
    ) -> list[tuple[Value, int]]:
        places = []
        for value in graph.rows:
            info = infos.get(value)
            if info is not None and info.shape:
                places.append((value, len(self._integers)))
                self._integers += info.shape
        return places

    def _attributes(
        self, graph: NativeGraph, descriptors: Mapping[Layer, Descriptor], version: BackendVersion
    ) -> list[tuple[abi.Attribute, int]]:
        """Give nodes own attributes; return where their data is."""
        places = []
        for layer, node in graph.nodes.items():
            descriptor = descriptors.get(layer)
            if descriptor is None:
                continue
            attributes = unfilled_attributes(descriptor, version, self._arena)
            for attribute, elements in zip(
                attributes, elements_of(descriptor, version), strict=True
            ):
                if attribute.type == abi.ATTRIBUTE_STRING:
                    attribute.data = self._arena.elements(attribute.type, elements)
                    continue
                numbers = self._reals if _is_real(attribute) else self._integers
                places.append((attribute, len(numbers)))
                numbers += elements
            node.attributes, node.num_attributes = attributes, len(attributes)
        return places


class _Block:
    """Numbers of one type; the symbolic ones are written together.

    Attributes:
        changes: Whether there are symbolic ones.
    """

    def __init__(self, memory: ctypes.Array[Any], elements: Sequence[Any]) -> None:
        positions: dict[int, int] = {}
        places, which = [], []
        for place, each in enumerate(elements):
            if type(each) is Symbolic:
                places.append(place)
                which.append(positions.setdefault(each.position, len(positions)))
            else:
                memory[place] = each
        self._view = np.frombuffer(memoryview(memory), memory._type_)
        self._places, self._which = np.array(places, np.intp), np.array(which, np.intp)
        self.changes = bool(positions)
        # Twice, as itemgetter of one position does not return a tuple.
        self._pick = operator.itemgetter(*positions, *positions) if positions else tuple

    def write(self, numbers: Sequence[Any]) -> None:
        """Write the numbers for some shapes."""
        picked = np.array(self._pick(numbers), self._view.dtype)
        self._view[self._places] = picked[self._which]


def _is_real(attribute: abi.Attribute) -> bool:
    return bool(attribute.type == abi.ATTRIBUTE_FLOAT64)
