# SPDX-License-Identifier: MIT
"""Backends in Python behind files with static C tables: the extension ``armnn.host.python/1``.

Such a file forwards its functions to the table here. Graphs are read back through the C interface,
so a prototype in Python meets the same contract as a backend in C. Only what the header promises is
relied on: strides, indices in range, UTF-8. Anything else raises, so that a graph of a younger host
is refused rather than misread.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import importlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.backends.calling import check_answer
from armnn.backends.capi.calls import code_of, guarded
from armnn.backends.capi.values import attribute_type, constants, option_array, value_of
from armnn.backends.contract import (
    NOT_FORWARDED,
    Backend,
    BackendContext,
    ModelContext,
    Step,
    Support,
)
from armnn.backends.memory import (
    ArrayHandle,
    TensorHandle,
    TensorHandleFactories,
    TensorHandleFactory,
)
from armnn.backends.options import CreationOptions, OptionValue
from armnn.errors import BackendUnavailableError, UnimplementedError
from armnn.graph import Layer, Network, Value
from armnn.layers import LAYERS, Descriptor
from armnn.layers._descriptor import enumeration_of
from armnn.tensor import TensorInfo
from armnn.types import ArmnnEnum, DataType
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, copied, elements_of, end_of, struct, text_of

_E = TypeVar("_E", bound=ArmnnEnum)


class DecodedGraph:
    """A graph as a network of its own.

    Attributes:
        network: Its layers; the inputs of the graph are Input layers.
        layers: The layers of the nodes, by position.
        node_ids: The ids of the nodes, by position.
        inputs: The values that execute receives, in its order.
        outputs: The values that execute writes, in its order.
        constant_refs: The constants to keep as long as the network lives.
    """

    def __init__(self, graph: abi.Graph) -> None:
        """Read a graph, with constants used in place.

        Raises:
            UnimplementedError: It holds something that this version of armnn does not know.
        """
        self.network = Network("from C")
        self.layers: list[Layer] = []
        self.node_ids: list[int] = []
        self.constant_refs: list[int] = []
        self._rows = list(_elements(abi.Value, graph.values, graph.value_stride, graph.num_values))
        self._values: dict[int, Value] = {}
        indices = list(graph.inputs[: graph.num_inputs])
        for number, index in enumerate(indices):
            info = _info_of(self._rows[index])
            self._values[index] = self.network.add_input(f"input {number}", info)
        self._add_constants()
        for node in _elements(abi.Node, graph.nodes, graph.node_stride, graph.num_nodes):
            self._add_node(node, graph.attribute_stride)
        self.inputs = tuple(self._values[index] for index in indices)
        self.outputs = tuple(self._values[index] for index in graph.outputs[: graph.num_outputs])

    def _add_constants(self) -> None:
        for index, row in enumerate(self._rows):
            if bool(row.constant):
                info = _info_of(row)
                data = _array_at(row.constant.contents, info)
                self._values[index] = self.network.add_constant(data, info)
                self.constant_refs.append(row.constant_ref)

    def _add_node(self, node: abi.Node, attribute_stride: int) -> None:
        type_name = text_of(node.type)
        if type_name not in LAYERS:
            raise UnimplementedError(f"the layer type {type_name!r} is not known here")
        rows = _elements(abi.Attribute, node.attributes, attribute_stride, node.num_attributes)
        descriptor = _descriptor_of(LAYERS[type_name].descriptor, rows)
        inputs = [
            None if index < 0 else self._values[index] for index in node.inputs[: node.num_inputs]
        ]
        outputs = node.outputs[: node.num_outputs]
        layer = self.network.add(
            type_name,
            inputs,
            descriptor,
            name=self.network.unique_name(text_of(node.name) or type_name),
            outputs=[_info_of(self._rows[index]) for index in outputs],
        )
        self._values.update(zip(outputs, layer.outputs, strict=True))
        self.layers.append(layer)
        self.node_ids.append(node.id)


def _array_at(tensor: abi.Tensor, info: TensorInfo) -> NDArray[Any]:
    """Return an array on a tensor's host memory.

    Raises:
        UnimplementedError: It is in other memory, or has strides.
    """
    if tensor.device_type != abi.DEVICE_CPU or bool(tensor.strides):
        raise UnimplementedError(
            f"a tensor of device type {tensor.device_type}, strides {bool(tensor.strides)}: "
            "expected one in host memory without strides"
        )
    dtype, shape = info.data_type.numpy_dtype, tuple(tensor.shape[: tensor.ndim])
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if not size or tensor.data is None:
        return np.empty(shape, dtype)
    raw = (ctypes.c_ubyte * size).from_address(tensor.data + tensor.byte_offset)
    return np.asarray(raw).view(dtype).reshape(shape)


def _elements(
    kind: type[Any], array: ctypes._Pointer[Any], stride: int, count: int
) -> Iterator[Any]:
    """Yield copies of growable structs, ``stride`` bytes apart."""
    if not count:
        return
    start = ctypes.addressof(array.contents)
    for index in range(count):
        yield copied(kind, start + index * stride)


def _info_of(row: abi.Value) -> TensorInfo:
    data_type = _member_of(DataType, row.data_type)
    dims = [None if dim < 0 else dim for dim in row.shape[: max(row.ndim, 0)]]
    shape = None if row.ndim < 0 else dims
    if not bool(row.quantization):
        return TensorInfo(shape, data_type)
    quantization = row.quantization.contents
    count = quantization.count
    points = quantization.zero_points[:count] if bool(quantization.zero_points) else ()
    axis = quantization.axis if quantization.scheme == abi.PER_AXIS else None
    return TensorInfo(shape, data_type, quantization.scales[:count], points, axis)


def _descriptor_of(kind: type[Descriptor], rows: Iterator[abi.Attribute]) -> Descriptor:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    values = {}
    for row in rows:
        name = text_of(row.name)
        if name not in fields:
            raise UnimplementedError(f"{kind.__name__} has no parameter {name!r} here")
        annotation = str(fields[name].type)
        if row.type != attribute_type(annotation):
            raise UnimplementedError(
                f"the parameter {name!r} of {kind.__name__} has attribute type {row.type}, "
                f"expected {attribute_type(annotation)}"
            )
        enumeration = enumeration_of(fields[name].default)
        values[name] = _value_of(annotation, enumeration, elements_of(row))
    return kind(**values)


def _value_of(annotation: str, enumeration: type[ArmnnEnum] | None, elements: Sequence[Any]) -> Any:
    """Return the value of a field of that declared type."""
    element, is_tuple, _ = annotation.removeprefix("tuple[").partition(",")
    if annotation.startswith("tuple[tuple["):
        return tuple(zip(elements[::2], elements[1::2], strict=True))
    values = tuple(_element_of(element, enumeration, each) for each in elements)
    return values if is_tuple else values[0]


def _element_of(annotation: str, enumeration: type[ArmnnEnum] | None, element: Any) -> Any:
    if enumeration is not None:
        return _member_of(enumeration, element)
    return bool(element) if annotation == "bool" else element


def _member_of(kind: type[_E], number: int) -> _E:
    for member in kind:
        if member == number:
            return member
    raise UnimplementedError(f"{kind.__name__} {number} is not known here")


class _PythonProgram:
    """The workloads of a graph's layers, with its constants.

    The constants are kept as long as it lives.

    Attributes:
        graph: The graph.
        backend: The backend.
        factory: The factory of tensors of a backend that does not work in host memory.
        workloads: One per layer.
    """

    def __init__(self, backend: Backend, model: ModelContext, graph: DecodedGraph) -> None:
        self.graph = graph
        self.backend = backend
        self.factory = _factory_of(backend)
        self.workloads = [backend.create_workload(layer, model) for layer in graph.layers]
        for layer, workload in zip(graph.layers, self.workloads, strict=True):
            check_answer(backend.id, "create_workload", workload, about=layer)
        for reference in graph.constant_refs:
            constants.keep(reference)

    def close(self) -> None:
        """Give the constants back."""
        while self.graph.constant_refs:
            constants.drop(self.graph.constant_refs.pop())


def _factory_of(backend: Backend) -> TensorHandleFactory | None:
    """Return the factory of tensors that a backend prefers, None for host memory.

    Raises:
        UnimplementedError: It registers no such factory.
    """
    preferred = backend.handle_factory_preferences
    if not preferred:
        return None
    factories = TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    for factory_id in preferred:
        if factory_id in factories:
            return factories[factory_id]
    raise UnimplementedError(
        f"backend {backend.id!r} registers no factory of the tensors that it prefers, "
        f"{', '.join(preferred)}"
    )


class PythonContext:
    """One context's tensors and steps, bound when memory is first passed.

    Tensors of a backend with memory of its own are bound once: inputs are copied there and outputs
    back. Others are on the caller's memory, and bound anew if it moved.
    """

    def __init__(self, program: _PythonProgram) -> None:
        self._program = program
        self._memory = None if program.factory is None else program.backend.create_memory_manager()
        self._handles: dict[Value, TensorHandle] = {}
        self._bound_to: tuple[int | None, ...] = ()
        self._steps: list[Step] = []

    def execute(self, inputs: Sequence[abi.Tensor], outputs: Sequence[abi.Tensor]) -> None:
        """Run the steps."""
        if self._program.factory is None:
            places = tuple(tensor.data for tensor in (*inputs, *outputs))
            if not self._steps or places != self._bound_to:
                self._handles = dict(self._on_memory(inputs, outputs))
                self._steps = self._bind()
                self._bound_to = places
            for step in self._steps:
                step()
            return
        if not self._steps:
            self._steps = self._bind()
        if self._memory is not None:
            self._memory.acquire()
        try:
            graph = self._program.graph
            for value, tensor in zip(graph.inputs, inputs, strict=True):
                self._handle_of(value).copy_from(_array_at(tensor, value.info))
            for step in self._steps:
                step()
            for value, tensor in zip(graph.outputs, outputs, strict=True):
                self._handle_of(value).copy_to(_array_at(tensor, value.info))
        finally:
            if self._memory is not None:
                self._memory.release()

    def _on_memory(
        self, inputs: Sequence[abi.Tensor], outputs: Sequence[abi.Tensor]
    ) -> Iterator[tuple[Value, TensorHandle]]:
        """Yield the handles of tensors in the caller's memory."""
        graph = self._program.graph
        for values, tensors in ((graph.inputs, inputs), (graph.outputs, outputs)):
            for value, tensor in zip(values, tensors, strict=True):
                yield value, ArrayHandle(value.info, _array_at(tensor, value.info))

    def _handle_of(self, value: Value) -> TensorHandle:
        handle = self._handles.get(value)
        if handle is None:
            factory = self._program.factory
            if factory is None:
                handle = ArrayHandle(value.info, _array_of(value))
            elif value.constant is None:
                handle = factory.create(value.info, self._memory)
            else:
                handle = factory.create(value.info, None)
                handle.copy_from(value.constant)
            self._handles[value] = handle
        return handle

    def _bind(self) -> list[Step]:
        steps = []
        for layer, workload in zip(
            self._program.graph.layers, self._program.workloads, strict=True
        ):
            step = workload.bind(
                [None if value is None else self._handle_of(value) for value in layer.inputs],
                [self._handle_of(value) for value in layer.outputs],
            )
            check_answer(self._program.backend.id, "bind", step, about=layer)
            steps.append(step)
        return steps


def _array_of(value: Value) -> Any:
    if value.constant is not None:
        return value.constant
    return np.empty(value.info.static_shape, value.info.data_type.numpy_dtype)


_Function: TypeAlias = Callable[..., int]

_LAYOUT_END: Final = end_of(abi.Support, "layout")
"""The least size of an answer that holds a wished layout."""


@dataclass(slots=True, eq=False)
class _Hosted:
    """A backend in Python as C sees it.

    Attributes:
        backend: The backend.
        context: The backend's context of this opening.
        reasons: The texts of each thread's last query.
        texts: Its capabilities.
    """

    backend: Backend
    context: BackendContext | None
    reasons: threading.local = field(default_factory=threading.local)
    texts: Arena = field(default_factory=Arena)


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
    backend = _backend_of(text_of(backend_class))
    rows = (options[index] for index in range(count))
    given = {text_of(row.key): value_of(text_of(row.value)) for row in rows}
    backend_options = {backend.id: given} if given else {}
    context = backend.create_context(CreationOptions(backend_options=backend_options))
    made[0] = _objects.add(_Hosted(backend, context))


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


def _capabilities(
    handle: int | None,
    options: ctypes._Pointer[ctypes._Pointer[abi.Option]],
    count: ctypes._Pointer[ctypes.c_uint64],
) -> None:
    hosted: _Hosted = _objects[handle]
    stated = hosted.backend.capabilities
    told = {name: value for name, value in stated.items() if name not in NOT_FORWARDED}
    options[0] = option_array(told, hosted.texts)
    count[0] = len(told)


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
    made[0] = _objects.add(_PythonProgram(hosted.backend, model, decoded))


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
    api.capabilities = abi.BackendApiCapabilities(_answering(_capabilities))
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
