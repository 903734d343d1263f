# SPDX-License-Identifier: MIT
"""The host's side of a native backend's life, with memory that it takes away.

The Backend API lends a graph for a call and constants until they are dropped. Here all of that
memory is overwritten as soon as the contract allows it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.native import NativeGraph, NativeLibrary, tensor_of
from armnn.single_layer import prepare
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.device_memory import DeviceMemory, DeviceTableError, DeviceTensor
from armnn_backend_api.guarded import GuardedTensor, GuardLayout, attempt
from armnn_backend_api.structs import Arena, struct, text_of
from armnn_conformance.graphs._graph import Graph, GraphValue
from armnn_conformance.running import GARBAGE, MemoryDamageError, NonconformityError, garbage

POISON: Final = 0xFF
"""NaN for floats, and no address of anything."""

_GUARD: Final = 64

GAP: Final = 48
"""Bytes between elements of spaced arrays: fields that a younger host would have there."""

FIRST_NODE: Final = 1000
"""The id of the first node: ids are not positions."""

_ELEMENT_BYTES: Final = {
    abi.ATTRIBUTE_INT64: 8,
    abi.ATTRIBUTE_FLOAT64: 8,
    abi.ATTRIBUTE_STRING: ctypes.sizeof(abi.String),
    abi.ATTRIBUTE_BYTES: 1,
}


class Blocks:
    """Memory that can be overwritten at once."""

    def __init__(self) -> None:
        self._blocks: list[Any] = []

    def copy(self, source: Any, size: int) -> int:
        """Return the address of a copy; of no bytes, too."""
        block = (ctypes.c_ubyte * max(size, 8))()
        if size:
            ctypes.memmove(block, source, size)
        self._blocks.append(block)
        return ctypes.addressof(block)

    def text(self, text: abi.String) -> abi.String:
        """Return a copy of a text, zero-terminated."""
        raw = b"" if not text.data else ctypes.string_at(text.data, text.size)
        return abi.String(self.copy(raw + b"\0", len(raw) + 1), len(raw))

    def poison(self) -> None:
        """Overwrite it."""
        for block in self._blocks:
            ctypes.memset(block, POISON, ctypes.sizeof(block))


class CountedConstants:
    """Constants of a graph, with their reference counts.

    A constant that is not held is overwritten when :meth:`end_of_call` comes, one that is dropped
    later at once.

    Attributes:
        frees_dropped: Whether one that is dropped is overwritten at once before, too.
        names: The name of each reference, for people.
    """

    def __init__(self) -> None:
        self.frees_dropped = False
        self.names: dict[int, str] = {}
        self._memory: dict[int, Blocks] = {}
        self._counts: dict[int, int] = {}
        self._lock = threading.Lock()
        self._is_lent = True
        self._problems: list[str] = []
        self.keep = abi.ConstantFn(self._keep)
        self.drop = abi.ConstantFn(self._drop)

    def add(self, constant: abi.Tensor, size: int, name: str) -> tuple[int, Any]:
        """Return reference and tensor of a copy of a constant."""
        reference, blocks = FIRST_NODE + len(self._memory), Blocks()
        self.names[reference] = name
        copied = abi.Tensor.from_buffer_copy(constant)
        given = ctypes.string_at((constant.data or 0) + constant.byte_offset, size) if size else b""
        copied.data = blocks.copy(bytes([POISON]) * _GUARD + given, _GUARD + size)
        copied.byte_offset = _GUARD
        copied.shape = ctypes.cast(
            blocks.copy(constant.shape, 8 * constant.ndim), type(constant.shape)
        )
        self._memory[reference], self._counts[reference] = blocks, 0
        tensor = blocks.copy(ctypes.addressof(copied), ctypes.sizeof(copied))
        return reference, ctypes.cast(tensor, ctypes.POINTER(abi.Tensor))

    def end_of_call(self) -> None:
        """End the loan: overwrite the data that the backend does not keep."""
        with self._lock:
            self._is_lent = False
            for reference, count in self._counts.items():
                if not count:
                    self._memory[reference].poison()

    def check_balance(self, when: str) -> None:
        """Check that all kept constants were dropped.

        Raises:
            NonconformityError: One was not, or was dropped too often.
        """
        held = sum(self._counts.values())
        if held:
            names = ", ".join(self.names[each] for each, count in self._counts.items() if count)
            self._problems.append(
                f"{when}, {held} references of keep were not given back by drop, of {names}: its "
                "memory, or the program itself, is never freed"
            )
        if self._problems:
            raise NonconformityError(self._problems[0])

    def overwritten(self) -> str:
        """Return the constants that were not kept, "" if all were."""
        with self._lock:
            lost = [] if self._is_lent else [n for n, count in self._counts.items() if not count]
        return ", ".join(self.names[reference] for reference in lost)

    def _keep(self, reference: int | None) -> None:
        with self._lock:
            if reference not in self._counts:
                self._problems.append(f"keep got {reference!r}, which is not a constant_ref")
            elif not self._is_lent and not self._counts[reference]:
                self._problems.append(
                    f"keep of {self.names[reference]} came after the call that lent the constant"
                )
            else:
                self._counts[reference] += 1

    def _drop(self, reference: int | None) -> None:
        with self._lock:
            if reference not in self._counts:
                self._problems.append(f"drop got {reference!r}, which is not a constant_ref")
            elif not self._counts[reference]:
                self._problems.append(
                    f"the constant {self.names[reference]} was dropped more often than it was kept"
                )
            else:
                self._counts[reference] -= 1
                if not self._counts[reference] and (self.frees_dropped or not self._is_lent):
                    self._memory[reference].poison()


class LentGraph:
    """A graph in memory of its own, for one compile.

    Attributes:
        struct: The ``armnn_graph``.
        constants: Its constants.
    """

    def __init__(self, graph: NativeGraph, *, gap: int = 0) -> None:
        """Copy a graph.

        Args:
            graph: The graph.
            gap: Bytes of garbage between the elements of its arrays.
        """
        self._memory = Blocks()
        self._gap = gap
        self._readers = _readers_of(graph)
        self.constants = CountedConstants()
        self.struct = abi.Graph.from_buffer_copy(graph.struct)
        source = graph.struct
        self.struct.values = self._rows(abi.Value, source.values, source.num_values, self._value)
        self.struct.nodes = self._rows(abi.Node, source.nodes, source.num_nodes, self._node)
        self.struct.inputs = self._indices(source.inputs, source.num_inputs)
        self.struct.outputs = self._indices(source.outputs, source.num_outputs)
        self.struct.keep, self.struct.drop = self.constants.keep, self.constants.drop
        self.struct.value_stride += gap
        self.struct.node_stride += gap
        self.struct.attribute_stride += gap

    @property
    def node_ids(self) -> range:
        """The ids of the nodes."""
        return range(FIRST_NODE, FIRST_NODE + self.struct.num_nodes)

    @contextmanager
    def lent(self) -> Iterator[Any]:
        """Yield the struct; then overwrite it and unkept constants."""
        yield self.struct
        self._memory.poison()
        self.constants.end_of_call()

    def _rows(self, kind: type[Any], rows: Any, count: int, fill: Any) -> Any:
        stride = ctypes.sizeof(kind) + self._gap
        block = bytearray([GARBAGE] * stride * max(count, 1))
        for number in range(count):
            row = kind.from_buffer(block, number * stride)
            ctypes.memmove(
                ctypes.addressof(row), ctypes.addressof(rows[number]), ctypes.sizeof(kind)
            )
            row.header.struct_size += self._gap
            fill(row, number)
        place = self._memory.copy(bytes(block), len(block))
        return ctypes.cast(place, ctypes.POINTER(kind))

    def _value(self, row: abi.Value, number: int) -> None:
        row.name = self._memory.text(row.name)
        shape = [row.shape[axis] for axis in range(max(row.ndim, 0))]
        row.shape = self._pointer(row.shape, 8 * len(shape))
        if bool(row.quantization):
            made = abi.Quantization.from_buffer_copy(row.quantization.contents)
            made.scales = self._pointer(made.scales, 4 * made.count)
            if bool(made.zero_points):
                made.zero_points = self._pointer(made.zero_points, 4 * made.count)
            place = self._memory.copy(ctypes.addressof(made), ctypes.sizeof(made))
            row.quantization = ctypes.cast(place, ctypes.POINTER(abi.Quantization))
        if bool(row.constant):
            constant = row.constant.contents
            size = int(np.prod(shape, dtype=np.int64)) * constant.dtype_bits // 8
            name = self._readers.get(number, f"value {number}")
            row.constant_ref, row.constant = self.constants.add(constant, size, name)

    def _node(self, row: abi.Node, _number: int) -> None:
        row.id += FIRST_NODE
        row.type, row.name = self._memory.text(row.type), self._memory.text(row.name)
        row.inputs = self._indices(row.inputs, row.num_inputs)
        row.outputs = self._indices(row.outputs, row.num_outputs)
        row.attributes = self._rows(
            abi.Attribute, row.attributes, row.num_attributes, self._attribute
        )

    def _attribute(self, row: abi.Attribute, _number: int) -> None:
        row.name = self._memory.text(row.name)
        if row.type == abi.ATTRIBUTE_STRING:
            texts = (abi.String * max(row.count, 1)).from_address(row.data or 0)
            copies = (abi.String * max(row.count, 1))(*(self._memory.text(t) for t in texts))
            row.data = self._memory.copy(copies, ctypes.sizeof(copies))
        else:
            row.data = self._memory.copy(row.data, _ELEMENT_BYTES[row.type] * row.count)

    def _indices(self, indices: Any, count: int) -> Any:
        return self._pointer(indices, 4 * count)

    def _pointer(self, pointer: Any, size: int) -> Any:
        return ctypes.cast(self._memory.copy(pointer, size), type(pointer))


def _readers_of(graph: NativeGraph) -> dict[int, str]:
    """Return where each value is read first, by its index."""
    found: dict[int, str] = {}
    for layer in graph.layers:
        row = graph.nodes[layer]
        for position in range(row.num_inputs):
            slot = layer.spec.inputs[min(position, len(layer.spec.inputs) - 1)].name
            found.setdefault(row.inputs[position], f"{slot!r} of {layer.name!r}")
    return found


class GuardedTensors:
    """Tensors of one call: at an offset, between guards.

    Attributes:
        arrays: Their elements.
        first: Points to the first of the pointers that ``armnn_execute_args`` holds.
    """

    def __init__(
        self, arrays: Sequence[Any], *, offset: int, device: DeviceMemory | None = None
    ) -> None:
        """Place copies of arrays.

        Args:
            arrays: The elements before the call.
            offset: The ``byte_offset`` of the tensors in host memory.
            device: Where ``execute`` needs them instead.
        """
        self._arena = Arena()
        self._on_device: list[DeviceTensor] = []
        self._given = [np.ascontiguousarray(array) for array in arrays]
        self._guarded = [GuardedTensor(a.nbytes, None, GuardLayout(), _GUARD) for a in self._given]
        self.arrays: list[Any] = []
        pointers = self._arena.array(ctypes.POINTER(abi.Tensor), len(arrays))
        for number, (array, guarded) in enumerate(zip(self._given, self._guarded, strict=True)):
            memory = (ctypes.c_ubyte * max(array.nbytes, 1)).from_address(guarded.address)
            body: Any = np.ndarray(array.shape, array.dtype, memoryview(memory))
            body[...] = array
            self.arrays.append(body)
            tensor = tensor_of(body, self._arena)
            tensor.data, tensor.byte_offset = guarded.address - offset, offset
            if device is not None:
                self._on_device.append(device.move(tensor, array.nbytes))
                self._on_device[-1].send()
            pointers[number] = ctypes.pointer(tensor)
        self.first: Any = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(abi.Tensor)))

    def fetch(self) -> None:
        """Copy tensors of a device to the arrays, and free the device's memory."""
        for tensor in self._on_device:
            tensor.fetch()
            tensor.close()

    def check_guards(self, what: str, *, unchanged: bool) -> None:
        """Check that nothing but output elements was written.

        Raises:
            NonconformityError: Other memory was written.
        """
        for guarded, array, given in zip(self._guarded, self.arrays, self._given, strict=True):
            if guarded.outside():
                raise MemoryDamageError(f"execute wrote around the elements of an {what}")
            if unchanged and array.tobytes() != given.tobytes():
                raise MemoryDamageError(f"execute changed an {what}")


def device_needed_by(library: NativeLibrary, backend: ctypes.c_void_p) -> DeviceMemory | None:
    """Return the device whose tensors a backend needs, None if it takes host memory."""

    def call(function: Callable[..., int], *arguments: object) -> None:
        failure = attempt(function, *arguments)
        if failure is not None:
            raise NonconformityError(
                f"the memory of its device answered {failure.code} ({failure.text})"
            )

    try:
        return DeviceMemory.needed_by(library.table, backend, call)
    except DeviceTableError as error:
        raise NonconformityError(f"the backend {error}") from None


CALL: Final = 7
"""The call_id of a call that is watched; others have 0."""

_OFFSET: Final = 64
_NO_LAYERS: Final = ("Input", "Output", "Constant")


@dataclass(slots=True)
class Answer:
    """The answer of a call.

    Attributes:
        code: An ``armnn_code``.
        message: For people.
        nodes: The ids of nodes that the error names.
    """

    code: int
    message: str = ""
    nodes: tuple[int, ...] = ()


class GraphOfC:
    """A graph as C gets it.

    Attributes:
        graph: The graph with its expected values.
        native: It in memory of the usual host.
        feeds: The tensors that execute reads, in its order.
        outputs: The tensors that execute writes, in its order.
        constants: The constants of its last program.
    """

    def __init__(self, graph: Graph, library: NativeLibrary) -> None:
        network = graph.network()
        layers = [each for each in network.topological_order() if each.type not in _NO_LAYERS]
        for layer in layers:
            prepare(network, layer.name)
        made = {value for layer in layers for value in layer.outputs}
        read = dict.fromkeys(v for layer in layers for v in layer.inputs if v is not None)
        shown = dict.fromkeys(layer.inputs[0] for layer in network.outputs)
        wanted = [value for value in shown if value in made]  # others never reach a backend
        inputs = [value for value in read if value not in made]
        self.graph = graph
        self.constants: CountedConstants | None = None
        self.native = NativeGraph(
            layers, inputs, [v for v in wanted if v is not None], library.api_version
        )
        expected = dict(zip(shown, graph.outputs, strict=True))
        feeds = graph.feeds()
        self.feeds = [feeds[value.producer.name] for value in self.native.inputs]
        self.outputs: list[GraphValue] = [expected[value] for value in wanted]

    def problem(self, results: Sequence[NDArray[Any]]) -> str:
        """Return the first output's difference from its expected value, or ""."""
        shown = Graph(self.graph.name, nodes=self.graph.nodes, outputs=self.outputs)
        return shown.problem(results)


class NativeLife:
    """A backend with a host of its own.

    Attributes:
        library: The backend's.
        polls: How often the backend asked whether a call shall stop.
        stops: Answers whether the call of this number shall stop.
        frees_dropped: Whether constants that ``compile`` drops are freed at once.
        gap: Bytes of garbage between the elements of all arrays.
    """

    def __init__(self, library: NativeLibrary) -> None:
        self.library = library
        self.polls = 0
        self.stops: Callable[[int], bool] = lambda _call: False
        self.frees_dropped = False
        self.gap = 0
        self._table = type(library.host.table).from_buffer_copy(library.host.table)
        self._cancelled = abi.HostCancelled(self._asked)
        self._table.cancelled = self._cancelled
        self._table.get_extension = abi.HostGetExtension()
        self._arena = Arena()
        self._device: DeviceMemory | None = None

    def call(self, name: str, *args: Any) -> Answer:
        """Call a function that fills an error.

        Raises:
            NonconformityError: The error does not agree with the code.
        """
        failure = attempt(self.library.required(name), *args)
        if failure is None:
            return Answer(abi.OK)
        if failure.said not in (failure.code, abi.OK):
            raise NonconformityError(
                f"{name} returned {failure.code}, but its error says {failure.said}"
            )
        return Answer(failure.code, failure.text, failure.nodes or (-1,))

    @contextmanager
    def backend(self) -> Iterator[ctypes.c_void_p]:
        """Yield a backend."""
        made = ctypes.c_void_p()
        self._must("create", self._table, None, 0, ctypes.byref(made))
        self._device = device_needed_by(self.library, made)
        yield made
        self._device = None
        self.library.required("destroy")(made)

    def create(self, **options: str) -> Answer:
        """Create a backend with options; destroy it if that works."""
        made = ctypes.c_void_p()
        rows, count = self._options(options)
        answer = self.call("create", self._table, rows, count, ctypes.byref(made))
        if answer.code == abi.OK:
            self.library.required("destroy")(made)
        return answer

    def compile(
        self, backend: ctypes.c_void_p, lent: LentGraph, **options: str
    ) -> tuple[Answer, ctypes.c_void_p]:
        """Compile a graph, which is overwritten then."""
        made, how = ctypes.c_void_p(), struct(abi.CompileArgs)
        how.options, how.num_options = self._options(options)
        with lent.lent() as graph:
            answer = self.call("compile", backend, None, graph, how, ctypes.byref(made))
        ctypes.memset(ctypes.addressof(how), 0xFF, ctypes.sizeof(how))
        return answer, made

    def query(self, backend: ctypes.c_void_p, lent: LentGraph) -> list[bool]:
        """Return which nodes of a graph the backend takes.

        Raises:
            NonconformityError: It fails, or refuses one without a reason.
        """
        size = ctypes.sizeof(abi.Support)
        stride = size + self.gap
        block = self._arena.filled(ctypes.c_ubyte, [GARBAGE] * stride * len(lent.node_ids))
        rows = [abi.Support.from_buffer(block, n * stride) for n in range(len(lent.node_ids))]
        for row, number in zip(rows, lent.node_ids, strict=True):
            ctypes.memset(ctypes.addressof(row), 0, size)
            row.header = abi.Header(stride, abi.STRUCT_IDS[abi.Support], None)
            row.node_id = number
        first = ctypes.cast(block, ctypes.POINTER(abi.Support))
        self._must("query", backend, None, lent.struct, first, stride)
        between = [bytes(block[n * stride + size : (n + 1) * stride]) for n in range(len(rows))]
        if any(set(gap) - {GARBAGE} for gap in between):
            raise MemoryDamageError(
                f"query wrote between its answers, which are {stride} bytes apart: step by "
                "support_stride, as ARMNN_AT does"
            )
        for row in rows:
            if row.level == abi.NOT_SUPPORTED and not text_of(row.reason):
                raise NonconformityError("a node of a graph is refused without a reason")
        return [row.level != abi.NOT_SUPPORTED for row in rows]

    @contextmanager
    def program(
        self, backend: ctypes.c_void_p, graph: GraphOfC
    ) -> Iterator[tuple[ctypes.c_void_p, LentGraph]]:
        """Yield a program and the overwritten memory of its graph.

        Raises:
            NonconformityError: It is not compiled, or constants are still held in the end.
        """
        lent = LentGraph(graph.native, gap=self.gap)
        lent.constants.frees_dropped = self.frees_dropped
        answer, made = self.compile(backend, lent)
        if answer.code != abi.OK:
            raise NonconformityError(
                f"compile answered {answer.code} ({answer.message}) to {len(lent.node_ids)} "
                f"layers that are claimed one by one: {graph.graph}"
            )
        graph.constants = lent.constants
        yield made, lent
        self.library.required("program_destroy")(made)
        lent.constants.check_balance("after program_destroy")

    @contextmanager
    def context(self, program: ctypes.c_void_p) -> Iterator[ctypes.c_void_p]:
        """Yield a context."""
        made = ctypes.c_void_p()
        self._must("context_create", program, ctypes.byref(made))
        yield made
        self.library.required("context_destroy")(made)

    def execute(
        self,
        context: ctypes.c_void_p,
        graph: GraphOfC,
        feeds: Sequence[NDArray[Any]] | None = None,
        *,
        call: int = 0,
        deadline_ns: int = 0,
    ) -> tuple[Answer, list[NDArray[Any]]]:
        """Execute a program; return answer and outputs.

        Raises:
            NonconformityError: It wrote elsewhere than to the outputs' elements.
        """
        given = graph.feeds if feeds is None else feeds
        inputs = GuardedTensors(given, offset=_OFFSET, device=self._device)
        blank = [np.full(v.shape, garbage(v.info)) for v in graph.outputs]
        outputs = GuardedTensors(blank, offset=_OFFSET, device=self._device)
        args = struct(abi.ExecuteArgs)
        args.inputs, args.num_inputs = inputs.first, len(inputs.arrays)
        args.outputs, args.num_outputs = outputs.first, len(outputs.arrays)
        args.call_id, args.deadline_ns = call, deadline_ns
        answer = self.call("execute", context, args)
        inputs.fetch()
        outputs.fetch()
        inputs.check_guards("input", unchanged=True)
        outputs.check_guards("output", unchanged=False)
        return answer, [array.copy() for array in outputs.arrays]

    def check_right(
        self, context: ctypes.c_void_p, graph: GraphOfC, when: str, **how: Any
    ) -> list[NDArray[Any]]:
        """Execute a program and compare; return the outputs.

        Raises:
            NonconformityError: It failed, or computed something else than the oracles.
        """
        answer, results = self.execute(context, graph, **how)
        if answer.code != abi.OK:
            raise NonconformityError(
                f"{graph.graph}: {when}, execute answered {answer.code} ({answer.message})"
            )
        problem = graph.problem(results)
        if problem:
            lost = "" if graph.constants is None else graph.constants.overwritten()
            hint = f"; compile did not keep {lost}: they are overwritten by now" if lost else ""
            raise NonconformityError(f"{graph.graph}: {when}, {problem}{hint}")
        return results

    def _must(self, name: str, *args: Any) -> None:
        answer = self.call(name, *args)
        if answer.code != abi.OK:
            raise NonconformityError(f"{name} answered {answer.code} ({answer.message})")

    def _asked(self, _ctx: int | None, call: int) -> int:
        self.polls += 1
        return int(self.stops(call))

    def _options(self, options: dict[str, str]) -> tuple[Any, int]:
        if not options:
            return None, 0
        rows = self._arena.array(abi.Option, len(options))
        for row, (key, value) in zip(rows, options.items(), strict=False):
            row.key, row.value = self._arena.text(key), self._arena.text(value)
        return rows, len(options)
