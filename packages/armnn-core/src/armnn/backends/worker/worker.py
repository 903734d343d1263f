# SPDX-License-Identifier: MIT
"""The worker process: serves one backend to a host over a connection."""

from __future__ import annotations

import faulthandler
import fcntl
import functools
import importlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.__about__ import __version__
from armnn.backends import (
    BACKEND_API_VERSION,
    HOST_FACTORY_ID,
    ArrayHandle,
    Backend,
    BackendRegistry,
    BlobStore,
    CreationOptions,
    MemoryManager,
    ProfilingSink,
    Step,
    SubgraphView,
    Support,
    TensorHandle,
    TensorHandleFactories,
    TensorHandleFactory,
    Workload,
)
from armnn.backends.calling import check_answer
from armnn.backends.contract import (
    NOT_FORWARDED,
    BackendContext,
    ModelContext,
    NetworkBackend,
    RunControl,
    controlled,
)
from armnn.backends.memory import ComputedHandle
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.backends.worker import protocol
from armnn.backends.worker.channels import ChannelServer
from armnn.backends.worker.connection import GoneError, Transport
from armnn.backends.worker.memory import Mapped, tensor_in
from armnn.backends.worker.protocol import (
    PROTOCOL,
    Document,
    Kind,
    Message,
    ProtocolError,
    integers,
    mapping,
    sequence,
    text,
    whole,
)
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from armnn.graph import Layer, Value
from armnn.tensor import TensorInfo
from armnn.types import QuantizedArithmetic
from armnn_backend_api.files import FileState, change_in

Stores: TypeAlias = Callable[[str], BlobStore]
"""Makes the store of the blobs of a backend, by its id."""

PROGRAMS_FROM: Final = 1 << 40
"""The numbers of programs, which the worker gives; the host's are smaller."""

OUT_OF_THE_WAY: Final = 200
"""Descriptors from here on are ours: a plug-in that closes the first ones does not end us."""


@dataclass(slots=True, eq=False)
class _Prepared:
    """A layer with its workload.

    Attributes:
        layer: The layer.
        workload: The workload.
        constants: The tensors of its constants by input slot.
        on_host: Whether each of the other inputs, and each output, is in host memory in any case.
    """

    layer: Layer
    workload: Workload
    constants: list[TensorHandle | None]
    on_host: tuple[list[bool], list[bool]]


@dataclass(slots=True, eq=False)
class _Bound:
    """A step whose tensors come and go with messages."""

    step: Callable[[], object]
    inputs: list[TensorHandle]
    outputs: list[TensorHandle]


@dataclass(slots=True, eq=False)
class Answer:
    """The answer to a request."""

    document: Document = field(default_factory=dict)
    arrays: Sequence[NDArray[Any]] = ()


class Served:
    """A backend with a host's objects.

    Args:
        backend: The backend.
        descriptors: Where the descriptors of the next requests are found, in their order.
        store: Where the backend keeps blobs.
    """

    def __init__(
        self, backend: Backend, descriptors: list[int], store: BlobStore | None = None
    ) -> None:
        self.backend = backend
        self._store = store
        self._context: BackendContext | None = None
        self._descriptors = descriptors
        self._objects: dict[int, Any] = {}
        self._numbers = itertools.count(PROGRAMS_FROM)

    def answer(self, request: Document, blobs: Sequence[memoryview]) -> Answer:
        """Carry out a request.

        Raises:
            ProtocolError: It is not a request.
            Exception: The backend failed.
        """
        for number in sequence(request.get("free", [])):
            self._free(self._objects.pop(whole(number), None))
        do = text(request.get("do"))
        handler = _HANDLERS.get(do)
        if handler is None:
            raise ProtocolError(f"there is no request {do!r:.100}")
        return handler(self, request, blobs)

    def close(self) -> None:
        """Close all contexts."""
        while self._objects:
            self._free(self._objects.popitem()[1])

    # -- one method per request -------------------------------------------------------------------

    def describe(self, _request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Return the facts about the backend that a registry asks for."""
        backend = self.backend
        capabilities, score = backend.capabilities, backend.score()
        check_answer(backend.id, "capabilities", capabilities)
        check_answer(backend.id, "score", score)
        found = {
            name: value
            for name, value in capabilities.items()
            if name not in NOT_FORWARDED and isinstance(value, (bool, int, float, str))
        }
        version = backend.api_version
        return Answer(
            {
                "id": backend.id,
                "api_version": [version.major, version.minor],
                "score": score,
                "capabilities": found,
                "has_devices": isinstance(backend, NativeBackend),
            }
        )

    def devices(self, _request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Return the descriptions of a C backend's devices."""
        found = self.backend.devices() if isinstance(self.backend, NativeBackend) else ()
        return Answer({"devices": {each.id: each.as_dict() for each in found}})

    def block(self, request: Document, blobs: Sequence[memoryview]) -> Answer:
        """Take memory, by descriptor or as bytes."""
        number, size = self._new(request), whole(request.get("size"))
        if blobs:
            self._objects[number] = np.frombuffer(blobs[0], np.uint8)
        else:
            descriptor = self._taken()
            try:
                memory = Mapped(descriptor, size, is_written=request.get("write") is True)
            finally:
                os.close(descriptor)
            self._objects[number] = memory.bytes
        return Answer()

    def context(self, request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Open the backend with the options of a runtime."""
        number, options = self._new(request), mapping(request.get("options"))
        given = {self.backend.id: options} if options else {}
        context = self.backend.create_context(CreationOptions(backend_options=given))
        check_answer(self.backend.id, "create_context", context)
        self._objects[number] = self._context = context
        listener = BackendContext if context is None else type(context)
        is_default = listener.after_enqueue_workload is BackendContext.after_enqueue_workload
        return Answer({"listens": not is_default})

    def event(self, request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Tell a context of an event."""
        event = text(request.get("event"))
        if event not in _EVENTS:
            raise ProtocolError(f"there is no event {event!r:.100}")
        context = self._objects.get(whole(request.get("context")))
        if isinstance(context, BackendContext):
            getattr(context, event)(whole(request.get("network")))
        return Answer()

    def model(self, request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Make the backend's context of a network."""
        number, options = self._new(request), mapping(request.get("options"))
        model = self.backend.create_model_context(options)
        check_answer(self.backend.id, "create_model_context", model)
        model.context, model.blobs = self._context, self._store
        self._objects[number] = model
        return Answer()

    def query(self, request: Document, blobs: Sequence[memoryview]) -> Answer:
        """Return the backend's answers about layers."""
        model = self._model(request)
        view, _ = self._graph(request, blobs)
        if isinstance(self.backend, NetworkBackend):
            answers = self.backend.query(view, model)
            check_answer(self.backend.id, "query", answers, (view,))
        else:
            answers = [self._support(layer, model) for layer in view.layers]
        return Answer({"answers": [protocol.encoded_support(each) for each in answers]})

    def optimize(self, request: Document, blobs: Sequence[memoryview]) -> Answer:
        """Return the backend's views of layers; the worker keeps the programs."""
        model = self._model(request)
        view, graph = self._graph(request, blobs)
        views = self.backend.optimize_subgraph(view, model)
        check_answer(self.backend.id, "optimize_subgraph", views)
        document, arrays = protocol.encoded_views(views, graph, self._keep)
        return Answer({"views": document}, arrays)

    def workload(self, request: Document, blobs: Sequence[memoryview]) -> Answer:
        """Prepare a layer."""
        number, model = self._new(request), self._model(request)
        view, _ = self._graph(request, blobs)
        if len(view.layers) != 1:
            raise ProtocolError(f"got {len(view.layers)} layers for a workload, expected one")
        (layer,) = view.layers
        workload = self.backend.create_workload(layer, model)
        check_answer(self.backend.id, "create_workload", workload, about=layer)
        backend_id = self.backend.id
        read, made = self.backend.host_inputs(layer, model), self.backend.host_outputs(layer, model)
        check_answer(backend_id, "host_inputs", read, about=layer)
        check_answer(backend_id, "host_outputs", made, about=layer)
        variable = [i for i, each in enumerate(layer.inputs) if each and each.constant is None]
        on_host = [i in read for i in variable], [i in made for i in range(len(layer.outputs))]
        constants = self._constants(layer, read)
        self._objects[number] = _Prepared(layer, workload, constants, on_host)
        return Answer()

    def bind(self, request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Bind a workload to tensors that come with messages."""
        number = self._new(request)
        prepared = self._workload(request)
        inputs = [self._unplaced(info) for info in _variable_infos(prepared.layer)]
        outputs = [self._unplaced(info) for info in prepared.layer.output_infos]
        step = self._step(prepared, inputs, outputs)
        self._objects[number] = _Bound(step, inputs, outputs)
        return Answer()

    def run(self, request: Document, blobs: Sequence[memoryview]) -> Answer:
        """Run a bound workload on the tensors of the message."""
        bound = self._objects.get(whole(request.get("step")))
        if not isinstance(bound, _Bound):
            raise ProtocolError("the request names no bound step")
        shapes = sequence(request.get("shapes"), len(bound.inputs))
        for handle, shape, blob in zip(bound.inputs, shapes, blobs, strict=True):
            given = np.frombuffer(blob, handle.info.data_type.numpy_dtype)
            given = given.reshape(integers(shape, len(shape)))
            if isinstance(handle, ArrayHandle):
                handle.map()[...] = given
            else:
                handle.assign(given)
        events = _Events() if request.get("profile") is True else None
        seconds = request.get("nanoseconds")
        _run_within(bound.step, None if seconds is None else whole(seconds), events)
        arrays = [handle.map() for handle in bound.outputs]
        document: Document = {"shapes": [list(array.shape) for array in arrays]}
        return Answer(document | ({} if events is None else {"events": events.rows}), arrays)

    def channel(self, request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Bind a workload to shared memory and start its thread."""
        number = self._new(request)
        prepared = self._workload(request)
        wake, done = self._taken(), self._taken()
        try:
            infos = _variable_infos(prepared.layer)
            inputs = self._placed(request.get("inputs"), infos)
            outputs = self._placed(request.get("outputs"), prepared.layer.output_infos)
            step = self._step(prepared, inputs, outputs)
            command, answer = integers(request.get("blocks"), 2)
            channel = ChannelServer(
                step, self._bytes(command).data, self._bytes(answer).data, wake, done
            )
        except BaseException:
            os.close(wake)
            os.close(done)
            raise
        self._objects[number] = channel
        return Answer()

    def nothing(self, _request: Document, _blobs: Sequence[memoryview]) -> Answer:
        """Answer, to show that the worker is there."""
        return Answer()

    # -- inside -----------------------------------------------------------------------------------

    def _support(self, layer: Layer, model: ModelContext) -> Support:
        answer = self.backend.supports(layer, model)
        check_answer(self.backend.id, "supports", answer, about=layer)
        return answer

    @functools.cached_property
    def _factory(self) -> TensorHandleFactory | None:
        """The factory of the backend's tensors, None if it takes those in host memory."""
        preferences = self.backend.handle_factory_preferences
        check_answer(self.backend.id, "handle_factory_preferences", preferences)
        if not preferences or HOST_FACTORY_ID in preferences:
            return None
        factories = TensorHandleFactories()
        self.backend.register_tensor_handle_factories(factories)
        return factories[preferences[0]]

    def _constants(self, layer: Layer, on_host: Collection[int]) -> list[TensorHandle | None]:
        """Return the tensor of each input slot that is a constant."""
        return [
            None
            if value is None or value.constant is None
            else self._constant(value, on_host=index in on_host)
            for index, value in enumerate(layer.inputs)
        ]

    def _constant(self, value: Value, *, on_host: bool) -> TensorHandle:
        assert value.constant is not None
        if self._factory is None or on_host:
            return ArrayHandle(value.info, value.constant)
        made = self._created(self._factory, value.info, None)
        made.copy_from(value.constant)
        return made

    def _created(
        self, factory: TensorHandleFactory, info: TensorInfo, manager: MemoryManager | None
    ) -> TensorHandle:
        made = factory.create(info, manager)
        check_answer(self.backend.id, "create", made)
        return made

    def _step(
        self, prepared: _Prepared, inputs: Sequence[TensorHandle], outputs: Sequence[TensorHandle]
    ) -> Step:
        if self._factory is None:
            return self._bound(prepared, inputs, outputs, None)
        factory, manager = self._factory, self.backend.create_memory_manager()
        check_answer(self.backend.id, "create_memory_manager", manager)
        here, there = [
            [
                self._created(factory, each.info, manager)
                if each.info.is_static and not stays
                else each
                for each, stays in zip(handles, on_host, strict=True)
            ]
            for handles, on_host in zip((inputs, outputs), prepared.on_host, strict=True)
        ]
        step = self._bound(prepared, here, there, manager)

        def run() -> None:
            with nullcontext() if manager is None else manager:
                for source, target in zip(inputs, here, strict=True):
                    if source is not target:
                        target.copy_from(source.map())
                step()
                for source, target in zip(there, outputs, strict=True):
                    if source is not target:
                        source.copy_to(target.map())

        return run

    def _bound(
        self,
        prepared: _Prepared,
        inputs: Sequence[TensorHandle],
        outputs: Sequence[TensorHandle],
        manager: MemoryManager | None,
    ) -> Step:
        given = iter(inputs)
        handles = [
            None if value is None else constant if constant is not None else next(given)
            for value, constant in zip(prepared.layer.inputs, prepared.constants, strict=True)
        ]
        step = prepared.workload.bind_in(handles, outputs, manager)
        check_answer(self.backend.id, "bind", step, about=prepared.layer)
        return step

    def _free(self, thing: object) -> None:
        if isinstance(thing, ChannelServer):
            thing.end()
        elif isinstance(thing, BackendContext):
            thing.close()

    def _new(self, request: Document) -> int:
        """Return the number of an object to be made.

        Raises:
            ProtocolError: The number is missing, or that of another object.
        """
        number = whole(request.get("number"))
        if number >= PROGRAMS_FROM or number in self._objects:
            raise ProtocolError(f"the number {number} is not the host's to give, or given already")
        return number

    def _taken(self) -> int:
        if not self._descriptors:
            raise ProtocolError("a descriptor is missing")
        given = self._descriptors.pop(0)
        try:
            return fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
        finally:
            os.close(given)

    def _model(self, request: Document) -> ModelContext:
        model = self._objects.get(whole(request.get("model")))
        if not isinstance(model, ModelContext):
            raise ProtocolError("the request names no context of a network")
        arithmetic = whole(request.get("arithmetic"))
        with suppress(StopIteration):
            model.quantized_arithmetic = next(a for a in QuantizedArithmetic if a == arithmetic)
        return model

    def _workload(self, request: Document) -> _Prepared:
        found = self._objects.get(whole(request.get("workload")))
        if not isinstance(found, _Prepared):
            raise ProtocolError("the request names no workload")
        return found

    def _graph(
        self, request: Document, blobs: Sequence[memoryview]
    ) -> tuple[SubgraphView, protocol.Graph]:
        given, blocks = iter(blobs), []
        for place in sequence(request.get("constants")):
            if place is None:
                blocks.append(next(given, memoryview(b"")))
            else:
                block, offset, size = integers(place, 3)
                blocks.append(self._bytes(block)[offset : offset + size].data)
        return protocol.decoded_graph(request.get("graph"), blocks, self._program)

    def _bytes(self, number: int) -> NDArray[np.uint8]:
        found = self._objects.get(number)
        if not isinstance(found, np.ndarray):
            raise ProtocolError(f"there is no block {number}")
        return found

    def _placed(self, places: object, infos: Sequence[TensorInfo]) -> list[TensorHandle]:
        handles: list[TensorHandle] = []
        for place, info in zip(sequence(places, len(infos)), infos, strict=True):
            block, offset = integers(place, 2)
            handles.append(ArrayHandle(info, tensor_in(self._bytes(block), offset, info)))
        return handles

    def _unplaced(self, info: TensorInfo) -> TensorHandle:
        if not info.is_static:
            return ComputedHandle(info)
        block = np.empty(info.size_bytes + 64, np.uint8)
        return ArrayHandle(info, tensor_in(block, -block.ctypes.data % 64, info))

    def _keep(self, program: object) -> Document:
        number = next(self._numbers)
        self._objects[number] = program
        footprint = getattr(program, "footprint", None)
        return {"number": number, "footprint": None if footprint is None else footprint.as_dict()}

    def _program(self, stored: object) -> object:
        number = whole(stored)
        if number < PROGRAMS_FROM or number not in self._objects:
            raise ProtocolError(f"there is no program {number}")
        return self._objects[number]


_EVENTS: Final = (
    "before_load_network",
    "after_load_network",
    "before_unload_network",
    "after_unload_network",
    "after_enqueue_workload",
)

_HANDLERS: Final[dict[str, Callable[[Served, Document, Sequence[memoryview]], Answer]]] = {
    "bind": Served.bind,
    "block": Served.block,
    "context": Served.context,
    "describe": Served.describe,
    "devices": Served.devices,
    "event": Served.event,
    "lane": Served.channel,
    "model": Served.model,
    "nothing": Served.nothing,
    "optimize": Served.optimize,
    "query": Served.query,
    "run": Served.run,
    "workload": Served.workload,
}


class _Events(ProfilingSink):
    """Keeps events for the host."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def event(self, name: str, start_ns: int, end_ns: int, **details: Any) -> None:
        self.rows.append([name, start_ns, end_ns, details])


def _run_within(
    step: Callable[[], object], nanoseconds: int | None, events: _Events | None
) -> None:
    if nanoseconds is None and events is None:
        step()
        return
    deadline = None if nanoseconds is None else time.perf_counter_ns() + nanoseconds
    with controlled(RunControl(deadline, None, events)):
        step()


def _variable_infos(layer: Layer) -> list[TensorInfo]:
    """Return the infos of the inputs that are not constant."""
    return [value.info for value in layer.inputs if value is not None and value.constant is None]


def serve_socket(descriptor: int, stores: Stores | None = None) -> None:
    """Serve the host at the other end of a socket."""
    own = _moved(descriptor)
    _watch_faults()
    serve(Transport(own, own), stores)


def serve_standard_streams(stores: Stores | None = None) -> None:
    """Serve the host at standard input and output.

    What the backend prints goes to standard error.

    Raises:
        InvalidArgumentError: Standard input is a terminal.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        raise InvalidArgumentError(
            "standard input is a terminal: expected a program that speaks the worker's protocol, "
            "as armnn run --backends ssh://user@board/ID starts it"
        )
    reading, writing = _moved(0, keep=True), _moved(1, keep=True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    _watch_faults()
    serve(Transport(reading, writing), stores)


def serve(transport: Transport, stores: Stores | None = None) -> None:
    """Answer requests until the host has gone.

    Args:
        transport: To the host.
        stores: Makes the store of the backend's blobs, by its id.
    """
    served: Served | None = None
    try:
        while True:
            request = transport.receive()
            if request.kind is not Kind.REQUEST:
                raise ProtocolError(
                    f"got a message of kind {request.kind.name}, expected a request"
                )
            try:
                if served is None:
                    served, answer = _greeted(request.document, transport, stores)
                else:
                    answer = served.answer(request.document, request.blobs)
                blobs = [protocol.blob_of(each) for each in answer.arrays]
                reply = Message(Kind.REPLY, request.sequence, answer.document, blobs)
            except Exception as error:
                reply = Message(Kind.FAILURE, request.sequence, protocol.encoded_error(error))
            transport.send(reply)
    except GoneError:
        if served is not None:
            served.close()
    except ProtocolError as error:
        sys.exit(f"armnn worker: {error}")


def _greeted(
    request: Mapping[str, Any], transport: Transport, stores: Stores | None
) -> tuple[Served, Answer]:
    """Load the backend that a host asks for.

    Raises:
        ProtocolError: It is not a greeting.
        ArmnnError: The backend cannot be loaded.
    """
    if request.get("do") != "hello":
        raise ProtocolError("the first request is not a greeting")
    wanted = protocol.mapping(request.get("backend"))
    _check_unchanged(wanted.get("examined"))
    backend = _loaded(protocol.text(wanted.get("id")), protocol.path(wanted.get("origin")))
    document = {
        "protocol": [PROTOCOL.major, PROTOCOL.minor],
        "api": [BACKEND_API_VERSION.major, BACKEND_API_VERSION.minor],
        "core": __version__,
        "pid": os.getpid(),
    }
    store = None if stores is None else stores(backend.id)
    return Served(backend, transport.received, store), Answer(document)


def _check_unchanged(examined: Any) -> None:
    """Refuse files that changed after the host examined them.

    Raises:
        ProtocolError: It is not a list of paths with states.
        BackendUnavailableError: One has changed, or cannot be read.
    """
    try:
        rows = [(str(path), FileState(*map(int, state))) for path, state in examined or ()]
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"got {examined!r} for examined files") from error
    change = change_in(rows)
    if change:
        raise BackendUnavailableError(change)


def _loaded(backend_id: str, origin: str) -> Backend:
    if not origin:
        return BackendRegistry().get(backend_id)
    if os.path.isabs(origin):
        return NativeBackend(NativeLibrary.open(origin, id=backend_id))
    module, _, attribute = origin.partition(":")
    found: Any = importlib.import_module(module)
    for name in filter(None, attribute.split(".")):
        found = getattr(found, name)
    if not isinstance(found, Backend):
        found = found()
    if not isinstance(found, Backend) or found.id != backend_id:
        raise BackendUnavailableError(
            f"{origin!r} makes {found!r}, expected backend {backend_id!r}"
        )
    return found


def _moved(descriptor: int, *, keep: bool = False) -> int:
    own = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    if not keep:
        os.close(descriptor)
    return own


def _watch_faults() -> None:
    """Let fatal signals write Python's frames to standard error."""
    try:
        where = _moved(2, keep=True)
    except OSError:
        return  # there is none
    faulthandler.enable(where, all_threads=False)


if __name__ == "__main__":
    serve_standard_streams()
