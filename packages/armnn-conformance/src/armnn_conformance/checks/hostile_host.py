# SPDX-License-Identifier: MIT
"""A hostile host: unexpected arguments for native backends.

It acts as a younger, older or careless host may. Tables and structs are larger or smaller than the
backend knows, functions of the host are missing, arrays have larger strides, layers, data types,
enumerators and attributes are unknown. A backend answers no or with an error; it never crashes, and
what it computes anyway is right. The tricks are played in a process of their own.
"""

from __future__ import annotations

import ctypes
import dataclasses
import faulthandler
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.backends import ModelContext
from armnn.backends.native import NativeBackend, NativeGraph, NativeLibrary
from armnn.types import ArmnnEnum
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.guarded import attempt
from armnn_backend_api.processes import PythonCall, run
from armnn_backend_api.structs import Arena, end_of, struct, text_of
from armnn_conformance.cases import LayerCase, cases_of, covered_layers
from armnn_conformance.checks.child import CHILD_BOUNDS
from armnn_conformance.hostile.host import GuardedTensors, device_needed_by
from armnn_conformance.running import NonconformityError, layer_of

Outcome: TypeAlias = tuple[list[int], "list[NDArray[Any]] | None"]
"""The levels of the nodes, and their results."""


class BareSession:
    """One life of a backend, for one layer.

    Attributes:
        library: The backend's.
        arena: The memory of the changed structs.
        host: The ``armnn_host`` that create gets.
        graph: Keeps the arrays of the graph.
        struct: The ``armnn_graph``.
        support_stride: Bytes from one answer of query to the next.
    """

    def __init__(self, library: NativeLibrary, case: LayerCase) -> None:
        self.library = library
        self.arena = Arena()
        self.host: Any = library.host.table
        self.layer = layer_of(case)
        self.graph = NativeGraph.of_layer(self.layer, library.api_version)
        self.struct = self.graph.struct
        self.support_stride = ctypes.sizeof(abi.Support)
        operands = [None if v is None else case.inputs[i] for i, v in enumerate(self.layer.inputs)]
        positions = [self.layer.inputs.index(value) for value in self.graph.inputs]
        chosen = [operands[at] for at in positions]
        self.inputs = [np.ascontiguousarray(each.stored) for each in chosen if each is not None]

    def play(self) -> Outcome:
        """Create, query, compile and execute; return levels and results."""
        backend = ctypes.c_void_p()
        if self._call("create", self.host, None, 0, ctypes.byref(backend)) != abi.OK:
            return [], None
        self._device = device_needed_by(self.library, backend)
        try:
            levels = self._query(backend)
            outputs = self._run(backend) if levels and all(levels) else None
        finally:
            self.library.required("destroy")(backend)
        return levels, outputs

    def _call(self, name: str, *args: Any) -> int:
        failure = attempt(self.library.required(name), *args)
        return int(abi.OK) if failure is None else failure.code

    def _query(self, backend: ctypes.c_void_p) -> list[int]:
        count = self.struct.num_nodes
        rows = self.arena.array(ctypes.c_ubyte, self.support_stride * max(count, 1))
        start = ctypes.addressof(rows)
        supports = [
            abi.Support.from_address(start + index * self.support_stride) for index in range(count)
        ]
        for index, row in enumerate(supports):
            row.header = abi.Header(ctypes.sizeof(abi.Support), abi.STRUCT_IDS[abi.Support], None)
            row.node_id = index
        first = ctypes.cast(start, ctypes.POINTER(abi.Support))
        code = self._call("query", backend, None, self.struct, first, self.support_stride)
        if code != abi.OK:
            return []
        for row in supports:
            if row.level == abi.NOT_SUPPORTED and not row.reason.size:
                raise NonconformityError("the refusal has no reason")
        return [row.level for row in supports]

    def _run(self, backend: ctypes.c_void_p) -> list[NDArray[Any]] | None:
        program, context = ctypes.c_void_p(), ctypes.c_void_p()
        how = struct(abi.CompileArgs)
        code = self._call("compile", backend, None, self.struct, how, ctypes.byref(program))
        if code != abi.OK:
            return None
        try:
            if self._call("context_create", program, ctypes.byref(context)) != abi.OK:
                return None
            try:
                return self._execute(context)
            finally:
                self.library.required("context_destroy")(context)
        finally:
            self.library.required("program_destroy")(program)

    def _execute(self, context: ctypes.c_void_p) -> list[NDArray[Any]] | None:
        infos = self.layer.output_infos
        outputs = [np.empty(info.static_shape, info.data_type.numpy_dtype) for info in infos]
        args = struct(abi.ExecuteArgs)
        inputs = GuardedTensors(self.inputs, offset=0, device=self._device)
        made = GuardedTensors(outputs, offset=0, device=self._device)
        args.inputs, args.num_inputs = inputs.first, len(self.inputs)
        args.outputs, args.num_outputs = made.first, len(outputs)
        code = self._call("execute", context, args)
        inputs.fetch()
        made.fetch()
        return [array.copy() for array in made.arrays] if code == abi.OK else None


_UNKNOWN: Final = 424242
_GAP: Final = 48
_GARBAGE: Final = 0xA5
_WITHOUT_EFFECT: Final = (("StridedSlice", "data_layout"),)
"""Parameters that a backend need not look at."""


# -- the tricks: each bends a session before it is played ------------------------------------------


def _nothing(_session: BareSession) -> None:
    """Do nothing; the other hosts are compared with this one."""


def _larger_host(session: BareSession) -> None:
    session.host = _grown(session, session.host)


def _smaller_host(session: BareSession) -> None:
    session.host = _copied(session.host)
    session.host.header.struct_size = end_of(abi.Host, "ctx")


def _host_without_functions(session: BareSession) -> None:
    session.host = _copied(session.host)
    for name, *_ in abi.Host._fields_:
        value = getattr(session.host, name)
        if callable(value):
            setattr(session.host, name, type(value)())


def _larger_strides(session: BareSession) -> None:
    graph = session.struct
    for index in range(graph.num_nodes):
        node = graph.nodes[index]
        node.attributes = _spread(session, abi.Attribute, node.attributes, node.num_attributes)
    graph.values = _spread(session, abi.Value, graph.values, graph.num_values)
    graph.nodes = _spread(session, abi.Node, graph.nodes, graph.num_nodes)
    graph.value_stride += _GAP
    graph.node_stride += _GAP
    graph.attribute_stride += _GAP
    session.support_stride += _GAP
    graph.header.struct_size += _GAP


def _unknown_layer_type(session: BareSession) -> None:
    session.struct.nodes[0].type = session.arena.text("FluxCapacitor")


def _unknown_data_type(session: BareSession) -> None:
    for index in range(session.struct.num_values):
        session.struct.values[index].data_type = _UNKNOWN


def _unknown_enumerators(session: BareSession) -> None:
    node = session.struct.nodes[0]
    for index in range(node.num_attributes):
        row = node.attributes[index]
        if row.type == abi.ATTRIBUTE_INT64 and row.count:
            row.data = ctypes.addressof(
                session.arena.filled(ctypes.c_int64, [_UNKNOWN] * row.count)
            )


def _unknown_enumerator(field: str) -> Callable[[BareSession], None]:
    """Return a trick that alters one enumeration."""

    def bend(session: BareSession) -> None:
        node = session.struct.nodes[0]
        for index in range(node.num_attributes):
            row = node.attributes[index]
            if text_of(row.name) == field:
                unknown = session.arena.filled(ctypes.c_int64, [_UNKNOWN] * row.count)
                row.data = ctypes.addressof(unknown)

    return bend


def _enumerations(case: LayerCase) -> list[str]:
    """Return the parameters of a case that are enumerators."""
    found = []
    for field in dataclasses.fields(case.descriptor):
        value = getattr(case.descriptor, field.name)
        several = value if isinstance(value, tuple) else (value,)
        is_read = (case.layer, field.name) not in _WITHOUT_EFFECT
        if is_read and several and all(isinstance(each, ArmnnEnum) for each in several):
            found.append(field.name)
    return found


def _unknown_attribute(session: BareSession) -> None:
    node = session.struct.nodes[0]
    rows = session.arena.structs(abi.Attribute, node.num_attributes + 1)
    for index in range(node.num_attributes):
        rows[index] = node.attributes[index]
    last = rows[node.num_attributes]
    last.name, last.since_minor = session.arena.text("no_such_parameter"), 99
    last.type, last.count = 77, 1
    node.attributes, node.num_attributes = rows, len(rows)


def _unknown_rank(session: BareSession) -> None:
    for index in range(session.struct.num_values):
        session.struct.values[index].ndim = -1
        session.struct.values[index].shape = None


def _no_nodes(session: BareSession) -> None:
    session.struct.num_nodes = 0


_SAME_RESULT: Final[dict[str, Callable[[BareSession], None]]] = {
    "hands over a larger table of its own": _larger_host,
    "hands over arrays with larger strides": _larger_strides,
}
_ANY_HONEST_ANSWER: Final[dict[str, Callable[[BareSession], None]]] = {
    "hands over a smaller table of its own": _smaller_host,
    "has none of its functions": _host_without_functions,
}
_NO: Final[dict[str, Callable[[BareSession], None]]] = {
    "asks about an unknown layer type": _unknown_layer_type,
    "asks about an unknown data type": _unknown_data_type,
    "adds an unknown attribute": _unknown_attribute,
}
_SURVIVE: Final[dict[str, Callable[[BareSession], None]]] = {
    "sets every number of a layer to an unknown one": _unknown_enumerators,
    "does not know the rank of any tensor": _unknown_rank,
    "asks about no node at all": _no_nodes,
}


def _grown(session: BareSession, table: Any) -> Any:
    """Return a struct's copy with unknown fields behind it."""
    size = ctypes.sizeof(table)
    block = session.arena.filled(ctypes.c_ubyte, [_GARBAGE] * (size + _GAP))
    ctypes.memmove(block, ctypes.addressof(table), size)
    grown = type(table).from_buffer(block)
    grown.header.struct_size = size + _GAP
    return grown


def _copied(table: Any) -> Any:
    return type(table).from_buffer_copy(table)


def _spread(session: BareSession, kind: type[Any], array: Any, count: int) -> Any:
    """Return the elements of an array with garbage between them."""
    size = ctypes.sizeof(kind)
    block = session.arena.filled(ctypes.c_ubyte, [_GARBAGE] * ((size + _GAP) * max(count, 1)))
    start = ctypes.addressof(block)
    for index in range(count):
        place = start + index * (size + _GAP)
        ctypes.memmove(place, ctypes.addressof(array[index]), size)
        kind.from_address(place).header.struct_size = size + _GAP
    return ctypes.cast(start, ctypes.POINTER(kind))


# -- playing them ----------------------------------------------------------------------------------


def check_hostile_host(path: str, layers: Iterable[str] | None = None) -> None:
    """Run a shared library under the hostile host.

    Args:
        path: The file.
        layers: The layer types to play with; all if left out.

    Raises:
        NonconformityError: The backend crashed, claimed what it cannot know, or computed
            something else.
    """
    named = list(covered_layers() if layers is None else layers)
    child = run(PythonCall(f"{__name__}:main", [path, *named]), CHILD_BOUNDS)
    lines = [json.loads(line) for line in child.output.splitlines()]
    problems = [f"{row['layer']}: {row['problem']}" for row in lines if "problem" in row]
    if not child.is_success:
        errors = child.errors.decode(errors="replace")
        last = lines[-1] if lines else {"layer": "none", "trick": "loads it"}
        problems.append(
            f"{last['layer']}: the process ended with {child} when the host "
            f"{last['trick']}: {errors[-500:]}"
        )
    if problems:
        raise NonconformityError("\n".join(problems))


def _problems(library: NativeLibrary, case: LayerCase) -> Iterator[dict[str, str]]:
    """Yield each trick in advance, and the problems with answers."""

    def play(trick: str, bend: Callable[[BareSession], None]) -> Outcome:
        print(json.dumps({"layer": case.layer, "trick": trick}), flush=True)
        session = BareSession(library, case)
        with session.graph:
            bend(session)
            return session.play()

    levels, right = play("behaves", _nothing)
    for trick, bend in {**_SAME_RESULT, **_ANY_HONEST_ANSWER}.items():
        got_levels, got = play(trick, bend)
        if trick in _SAME_RESULT and got_levels != levels:
            yield _problem(case, trick, f"the answer changed from {levels} to {got_levels}")
        if got is not None and right is not None and not _equal(got, right):
            yield _problem(case, trick, "the result changed")
    unknown = {
        f"sets {n} to an unknown number": _unknown_enumerator(n) for n in _enumerations(case)
    }
    for trick, bend in {**_NO, **unknown}.items():
        got_levels, _ = play(trick, bend)
        if any(got_levels):
            yield _problem(case, trick, f"the backend claims it: {got_levels}")
    for trick, bend in _SURVIVE.items():
        play(trick, bend)


def _equal(one: Sequence[NDArray[Any]], other: Sequence[NDArray[Any]]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def _problem(case: LayerCase, trick: str, what: str) -> dict[str, str]:
    return {"layer": case.layer, "problem": f"when the host {trick}: {what}"}


def _claimed(backend: NativeBackend, layer: str) -> LayerCase | None:
    for case in cases_of(layer):
        made = layer_of(case)
        if all(i.is_static for i in made.output_infos) and backend.supports(made, ModelContext({})):
            return case
    return None


def main(path: str, *layers: str) -> None:
    """Play every trick; print one JSON object per line."""
    faulthandler.enable()
    library = NativeLibrary.open(path)
    backend = NativeBackend(library)
    for layer in layers:
        case = _claimed(backend, layer)
        if case is not None:
            for problem in _problems(library, case):
                print(json.dumps(problem), flush=True)
