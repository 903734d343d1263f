# SPDX-License-Identifier: MIT
"""The extension ``armnn.host.python/1``: Python backends behind static C files.

Such a file forwards its functions to the table here. Graphs are read back through the C interface,
so a prototype in Python meets the same contract as a backend in C.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from armnn.backends.base import Backend, ModelContext
from armnn.backends.calling import check_answer
from armnn.backends.ffi.calls import guarded
from armnn.backends.ffi.errors import code_of
from armnn.backends.ffi.values import value_of
from armnn.backends.options import OptionValue
from armnn.backends.python.graph import DecodedGraph
from armnn.backends.python.program import PythonContext, PythonProgram
from armnn.backends.support import Support
from armnn.errors import BackendUnavailableError, UnimplementedError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, end_of, struct, text_of

_Function: TypeAlias = Callable[..., int]

_LAYOUT_END: Final = end_of(abi.Support, "layout")
"""The least size of an answer that holds a wished layout."""


@dataclass(slots=True, eq=False)
class _Hosted:
    """A backend in Python as C sees it.

    Attributes:
        backend: The backend.
        reasons: The texts of each thread's last query.
    """

    backend: Backend
    reasons: threading.local = field(default_factory=threading.local)


class _Objects:
    """Python objects that C knows by number."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._objects: dict[int, Any] = {}

    def add(self, thing: object) -> int:
        number = next(self._numbers)
        self._objects[number] = thing
        return number

    def pop(self, number: int | None) -> Any:
        return self._objects.pop(number or 0)

    def __getitem__(self, number: int | None) -> Any:
        return self._objects[number or 0]


_objects: Final = _Objects()


@guarded(None)
def _release_error(error: ctypes._Pointer[abi.Error]) -> None:
    _objects.pop(error.contents.priv)


_RELEASE_ERROR: Final = abi.ErrorRelease(_release_error)


def _answering(function: Callable[..., None]) -> _Function:
    """Make a table function that turns exceptions into codes.

    The last argument is the error. What is no Exception, such as KeyboardInterrupt, is stored for
    the adapter, which waits above.
    """

    @guarded(abi.INTERNAL)
    @functools.wraps(function)
    def answer(*args: Any) -> int:
        try:
            function(*args[:-1])
        except _RefusedNodesError as error:
            return _fill(args[-1], error, error.nodes)
        except Exception as error:
            return _fill(args[-1], error, ())
        return abi.OK

    return answer


class _RefusedNodesError(Exception):
    """Layers that the backend does not run, by node id."""

    def __init__(self, message: str, nodes: tuple[int, ...]) -> None:
        super().__init__(message)
        self.nodes = nodes


def _fill(pointer: ctypes._Pointer[abi.Error], cause: Exception, nodes: tuple[int, ...]) -> int:
    arena, error = Arena(), pointer.contents
    code = abi.UNSUPPORTED_NODE if nodes else code_of(cause)
    error.code = code
    error.message = arena.text(str(cause) or type(cause).__name__)
    error.node_id = nodes[0] if nodes else -1
    error.nodes, error.num_nodes = arena.filled(ctypes.c_int32, nodes), len(nodes)
    error.priv = _objects.add(arena)
    error.release = _RELEASE_ERROR
    return code


def _create(
    _ctx: int | None,
    backend_class: abi.String,
    options: ctypes._Pointer[abi.Option],
    count: int,
    made: ctypes._Pointer[ctypes.c_void_p],
) -> None:
    if count:
        names = ", ".join(text_of(options[index].key) for index in range(count))
        raise UnimplementedError(f"a backend in Python takes no options here: got {names}")
    backend = _backend_of(text_of(backend_class))
    if backend.handle_factory_preferences:
        raise UnimplementedError(f"backend {backend.id!r} does not work in host memory")
    made[0] = _objects.add(_Hosted(backend))


def _backend_of(spelling: str) -> Backend:
    module_name, _, attribute = spelling.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BackendUnavailableError(f"cannot import {spelling!r}: {error}") from error
    if isinstance(found, type) and issubclass(found, Backend):
        found = found()
    if not isinstance(found, Backend):
        raise BackendUnavailableError(f"{spelling!r} is {found!r}, expected a Backend")
    return found


def _query(
    handle: int | None,
    _device: object,
    graph: ctypes._Pointer[abi.Graph],
    supports: Any,
    stride: int,
) -> None:
    hosted: _Hosted = _objects[handle]
    arena = hosted.reasons.arena = Arena()
    answers = _answers(hosted.backend, graph.contents)
    start = ctypes.addressof(supports.contents)
    for index, answer in enumerate(answers):
        row = abi.Support.from_address(start + index * stride)
        row.level = abi.SUPPORTED if answer else abi.NOT_SUPPORTED
        if not answer:
            row.reason = arena.text(answer.reason)
        if answer.layout is not None and row.header.struct_size >= _LAYOUT_END:
            row.layout = int(answer.layout)


def _answers(backend: Backend, graph: abi.Graph) -> list[Support]:
    """Return one answer per node; unreadable ones are unsupported."""
    try:
        decoded = DecodedGraph(graph)
    except UnimplementedError as error:
        return [Support.no(str(error))] * graph.num_nodes
    return _supported(backend, _model(backend, {}), decoded)


def _model(backend: Backend, options: dict[str, OptionValue]) -> ModelContext:
    model = backend.create_model_context(options)
    check_answer(backend.id, "create_model_context", model)
    return model


def _supported(backend: Backend, model: ModelContext, decoded: DecodedGraph) -> list[Support]:
    answers = []
    for layer in decoded.layers:
        answer = backend.supports(layer, model)
        check_answer(backend.id, "supports", answer, about=layer)
        answers.append(answer)
    return answers


def _compile(
    handle: int | None,
    _device: object,
    graph: ctypes._Pointer[abi.Graph],
    args: ctypes._Pointer[abi.CompileArgs],
    made: ctypes._Pointer[ctypes.c_void_p],
) -> None:
    hosted: _Hosted = _objects[handle]
    decoded = DecodedGraph(graph.contents)
    given = args.contents
    rows = (given.options[index] for index in range(given.num_options))
    options = {text_of(row.key): value_of(text_of(row.value)) for row in rows}
    model = _model(hosted.backend, options)
    answers = _supported(hosted.backend, model, decoded)
    refused = [number for number, answer in enumerate(answers) if not answer]
    if refused:
        nodes = tuple(decoded.node_ids[number] for number in refused)
        raise _RefusedNodesError(answers[refused[0]].reason, nodes)
    made[0] = _objects.add(PythonProgram(hosted.backend, model, decoded))


def _create_context(handle: int | None, made: ctypes._Pointer[ctypes.c_void_p]) -> None:
    made[0] = _objects.add(PythonContext(_objects[handle]))


def _execute(handle: int | None, args: ctypes._Pointer[abi.ExecuteArgs]) -> None:
    given = args.contents
    inputs = [given.inputs[index].contents for index in range(given.num_inputs)]
    outputs = [given.outputs[index].contents for index in range(given.num_outputs)]
    _objects[handle].execute(inputs, outputs)


@guarded(None)
def _destroy(handle: int | None) -> None:
    _objects.pop(handle)


@guarded(None)
def _destroy_program(handle: int | None) -> None:
    _objects.pop(handle).close()


@functools.cache
def _extension() -> tuple[abi.HostPython, abi.BackendApi]:
    api = struct(abi.BackendApi)
    api.api_major, api.api_minor = abi.API_MAJOR, abi.API_MINOR
    api.destroy = abi.BackendApiDestroy(_destroy)
    api.query = abi.BackendApiQuery(_answering(_query))
    api.compile = abi.BackendApiCompile(_answering(_compile))
    api.program_destroy = abi.BackendApiProgramDestroy(_destroy_program)
    api.context_create = abi.BackendApiContextCreate(_answering(_create_context))
    api.context_destroy = abi.BackendApiContextDestroy(_destroy)
    api.execute = abi.BackendApiExecute(_answering(_execute))
    extension = struct(abi.HostPython)
    extension.api = ctypes.pointer(api)
    extension.create = abi.HostPythonCreate(_answering(_create))
    return extension, api


def extension_address() -> int:
    """Return where the ``armnn_host_python`` is; it stays there."""
    return ctypes.addressof(_extension()[0])
