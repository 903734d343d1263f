# SPDX-License-Identifier: MIT
"""A table of ``armnn/backend.h`` as a :class:`armnn.backends.Backend`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.cache import Program
from armnn.backends.capi.blobs import lending
from armnn.backends.capi.calls import (
    NativeLoadError,
    attempt,
    call,
    check_open,
    exception_of,
    extension_address,
    extension_table,
)
from armnn.backends.capi.contexts import (
    DEVICE_OPTION,
    EventfulBackendContext,
    NativeAllocator,
    NativeBackendContext,
    NativeDevice,
    NativeModelContext,
    NativeProfilingContext,
    NotifiedBackendContext,
    read_capabilities,
    read_devices,
)
from armnn.backends.capi.devices import (
    DeviceMemory,
    NativeHandleFactory,
    NativeQueue,
    factory_id,
)
from armnn.backends.capi.extensions import NativeAsyncExecution, NativeSharedMemory
from armnn.backends.capi.library import NativeLibrary, NativeObject
from armnn.backends.capi.programs import NativeProgram, stored_program
from armnn.backends.capi.values import option_array
from armnn.backends.capi.workload import NativeWorkload, host_places
from armnn.backends.contract import (
    SUPPORTED,
    BackendContext,
    CachingBackend,
    ModelContext,
    NetworkBackend,
    ProfilingContext,
    ProfilingSink,
    Support,
    Workload,
)
from armnn.backends.memory import (
    HOST_FACTORY_ID,
    Allocator,
    MemoryManager,
    TensorHandleFactories,
)
from armnn.backends.options import CreationOptions, OptionValue
from armnn.errors import ArmnnError, BackendError, InvalidArgumentError, NotFoundError
from armnn.tensor import TensorInfo
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.names import ASYNC_EXECUTION, SHARED_MEMORY
from armnn_backend_api.processes import Bounds, PythonCall, run
from armnn_backend_api.structs import Arena

if TYPE_CHECKING:
    from armnn.backends.contract import OptimizationViews, SubgraphView
    from armnn.graph import Layer


def _noted(library: NativeLibrary) -> AbstractContextManager[None]:
    """Keep a note while a file makes a backend."""
    if not library.is_dropped_file:
        return contextlib.nullcontext()
    from armnn.backends.crashes import noted_load  # late: a prepared load does without

    return noted_load(library.path)


class NativeBackend(NetworkBackend, CachingBackend):
    """A backend in C.

    Each runtime has its own, even of the same library; ``copy.copy`` makes another one, without
    options and allocator. The C backend is created when it is first needed, and destroyed when the
    last runtime is closed that uses it.
    """

    def __init__(self, library: NativeLibrary, *, source: str = "") -> None:
        """Wrap a library as a backend.

        Args:
            library: It was opened and checked.
            source: Where it was found, for messages; the library's path if left out.
        """
        # Python backends say these two per class; here they are known per library.
        vars(self).update(id=library.id, api_version=library.api_version)
        self.library = library
        self.source = source or library.path
        self._forget()

    def _forget(self) -> None:
        """Begin without a C backend."""
        self._lock = threading.Lock()
        self._backend: NativeObject | None = None
        self._options: dict[str, OptionValue] | None = None
        self._allocator: NativeAllocator | None = None
        self._users = 0

    def __copy__(self) -> NativeBackend:
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        made._forget()
        return made

    def start(self, options: Mapping[str, OptionValue] | None = None) -> NativeObject:
        """Return the C backend; the first call creates it.

        Args:
            options: The options of the runtime for the backend; None if there is nothing to say.

        Raises:
            NativeLoadError: ``create`` failed (stage "create").
            InvalidArgumentError: It does not take an option, or was created with other options.
        """
        with self._lock:
            check_open(self.library)
            if self._options is None:
                wanted = dict(options or {})
                self._backend = self._create(wanted)
                self._options = wanted
            elif options is not None and dict(options) != self._options:
                raise InvalidArgumentError(
                    f"backend {self.id!r} was created with the options {self._options}: another "
                    f"runtime cannot give the same object {dict(options)}; copy.copy() makes a "
                    "second one"
                )
            if self._backend is None:
                self._backend = self._create(self._options)
            return self._backend

    def devices(self) -> tuple[NativeDevice, ...]:
        """Return its devices, best first; empty if it reports none.

        Raises:
            ArmnnError: It failed to tell.
        """
        return read_devices(self.start())

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """Its capabilities."""
        return read_capabilities(self.start())

    def score(self) -> int:
        """Return its table's score; at most 0 excludes it."""
        return max(0, self.library.table.score)

    @property
    def handle_factory_preferences(self) -> tuple[str, ...]:
        """The factories of device memory and host memory, if usable.

        Raises:
            BackendError: The table of its device memory is not what the header describes.
        """
        return self._factories(None)

    def _factories(self, device: NativeDevice | None) -> tuple[str, ...]:
        """Return the factories of a device's memory and of host memory, if usable."""
        table = self.library.device_memory
        if table is None:
            return ()
        own = factory_id(self.id, device)
        return (own, HOST_FACTORY_ID) if table.takes_host_memory else (own,)

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        """Register the factories of device memory, if there is any: one for each device."""
        if self.library.device_memory is None:
            return
        registry.register(NativeHandleFactory(self.start()))
        if self.library.has_placed_memory:
            for device in self.devices()[1:]:
                registry.register(NativeHandleFactory(self.start(), device))

    def create_memory_manager(self) -> MemoryManager | None:
        """Return the stream of an execution context, None without streams."""
        table = self.library.streams
        return None if table is None else NativeQueue(self.start(), table)

    @property
    def cache_file_count(self) -> int:
        """One file per program, if programs can be serialized."""
        return 0 if self.library.function("serialize") is None else 1

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Query a layer; a refusal has the backend's own reason."""
        known = self._answer_of_host(layer)
        if known is not None:
            return known
        from armnn.backends.capi.compiling import query  # late: a prepared load does without
        from armnn.backends.capi.graph import NativeGraph

        graphs = NativeGraph.of_layer(layer, self.api_version)
        with lending(model.blobs), graphs as graph:
            (answer,) = query(self.start(), _own(model).device, graph)
        return answer

    def query(self, view: SubgraphView, model: ModelContext) -> tuple[Support, ...]:
        """Query layers of a network in one call.

        Raises:
            ArmnnError: It failed to answer.
        """
        answers = {layer: self._answer_of_host(layer) for layer in view.layers}
        asked = [layer for layer, answer in answers.items() if answer is None]
        if asked:
            from armnn.backends.capi.compiling import query  # late: a prepared load does without
            from armnn.backends.capi.graph import NativeGraph

            part = view if len(asked) == len(answers) else view.part(*asked)
            graphs = NativeGraph.of_view(part, self.api_version)
            with lending(model.blobs), graphs as graph:
                found = query(self.start(), _own(model).device, graph)
                graph.remember()
            _own(model).asked = graph  # rows of all layers are made once
            answers.update(zip(graph.layers, found, strict=True))
        return tuple(answer for answer in answers.values() if answer is not None)

    def host_inputs(self, layer: Layer, model: ModelContext) -> Collection[int]:  # noqa: ARG002  # programs know
        """Return the inputs that a compiled part takes in host memory.

        Raises:
            ArmnnError: The backend does not say what it needs.
        """
        return self._host_places(layer, is_output=False)

    def host_outputs(self, layer: Layer, model: ModelContext) -> Collection[int]:  # noqa: ARG002  # as above
        """Return the outputs that a compiled part writes in host memory.

        Raises:
            ArmnnError: The backend does not say what it needs.
        """
        return self._host_places(layer, is_output=True)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Compile a layer, or use a PreCompiled layer's program.

        Raises:
            ArmnnError: It cannot be compiled.
        """
        if layer.type != "PreCompiled":
            # late: a prepared load does without
            from armnn.backends.capi.compiling import compile_layer

            with lending(model.blobs):
                return compile_layer(self.start(), self.api_version, layer, _own(model))
        if not isinstance(layer.compiled, NativeProgram):
            raise BackendError(
                f"layer {layer.name!r} holds {layer.compiled!r}, expected a program of backend "
                f"{self.id!r}"
            )
        return self.program_workload(layer.compiled, layer.input_infos, layer.output_infos)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Compile the subgraph into PreCompiled layers.

        Refused layers are tried on the next backend.

        Raises:
            ArmnnError: It failed.
        """
        from armnn.backends.capi.compiling import compile_view  # late: a prepared load does without

        with lending(model.blobs):
            return compile_view(self.start(), self.api_version, view, _own(model))

    def cached_program(self, key: Sequence[Any], model: ModelContext) -> NativeProgram:
        """Return a program that the network's cache has; see ``blobs.stored_program``.

        Raises:
            StaleEntryError: It is not there, or does not fit any more.
        """
        with lending(model.blobs):
            return stored_program(self.start(), _own(model), key)

    def program_workload(
        self,
        program: Program,
        inputs: Sequence[TensorInfo | None],
        outputs: Sequence[TensorInfo],
    ) -> Workload:
        """Return a workload that runs a program of this backend.

        Raises:
            BackendError: It is not a program of this backend.
        """
        if not isinstance(program, NativeProgram):
            raise BackendError(f"{program!r} is not a program of backend {self.id!r}")
        return NativeWorkload(program, range(len(inputs)), inputs, outputs)

    def create_context(self, options: CreationOptions) -> BackendContext:
        """Create the C backend with the runtime's options and allocator.

        Raises:
            BackendUnavailableError: The hardware or driver is not there.
            InvalidArgumentError: It does not take an option, or this very object is in use already,
                with other options or another allocator.
        """
        backend = self.start(options.backend_options.get(self.id))
        allocator = options.custom_allocators.get(self.id)
        if allocator is not None and self.library.function("use_allocator") is not None:
            backend = self._with_allocator(allocator)
        with self._lock:
            self._users += 1
        return self._context_kind(backend, self._leave)

    def create_profiling_context(self, sink: ProfilingSink) -> ProfilingContext | None:
        """Return the context that asks queues for their kernels, None before API 1.3."""
        version = self.api_version.major, self.api_version.minor
        if version < (1, 3) or self.library.function("network_event") is None:
            return None
        return NativeProfilingContext(self.start(), sink)

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Return one network's options; ``Device`` is a device's id.

        Raises:
            NotFoundError: It has no such device.
        """
        others = {key: value for key, value in options.items() if key != DEVICE_OPTION}
        if DEVICE_OPTION not in options:
            return self._limited(NativeModelContext(others, None, self._options))
        wanted = str(options[DEVICE_OPTION])
        devices = self.devices()
        is_placed = self.library.has_placed_memory
        for index, device in enumerate(devices):
            if device.id == wanted:
                factories = self._factories(device) if index and is_placed else None
                made = NativeModelContext(others, device, self._options, factories)
                return self._limited(made)
        known = ", ".join(repr(device.id) for device in devices)
        raise NotFoundError(
            f"backend {self.id!r} has no device {wanted!r}: expected one of {known or 'none'}"
        )

    def extension(self, name: str) -> object | None:
        """Return an optional feature, or its vendor table's address.

        Raises:
            BackendError: The table is not what the header describes.
        """
        if name == ASYNC_EXECUTION:
            tasks = self.library.tasks
            if tasks is None:
                return None
            return NativeAsyncExecution(self.library, tasks)
        if name == SHARED_MEMORY:
            memory = extension_table(self.library, name, abi.Memory)
            if memory is None:
                return None
            return NativeSharedMemory(self.start(), memory)
        return extension_address(self.library, name)

    def __repr__(self) -> str:
        return f"<NativeBackend {self.id!r} {self.source!r}>"

    # -- inside ---------------------------------------------------------------------------------

    def _limited(self, model: NativeModelContext) -> NativeModelContext:
        """Return a model's context with the limit of its device.

        Raises:
            ArmnnError: The backend does not describe the memory of the device.
        """
        if self.library.has_placed_memory:
            memory = DeviceMemory(self.start(), model.device)
            model.context_limit = memory.max_contexts or None
        return model

    @property
    def _context_kind(self) -> type[NativeBackendContext]:
        if self.library.function("network_event") is None:
            return NativeBackendContext
        listens = (self.api_version.major, self.api_version.minor) >= (1, 2)
        return NotifiedBackendContext if listens else EventfulBackendContext

    def _create(self, options: Mapping[str, OptionValue]) -> NativeObject:
        library, arena, pointer = self.library, Arena(), ctypes.c_void_p()
        library.has_created = True
        with _noted(library):
            failure = attempt(
                library,
                library.required("create"),
                library.host.table,
                option_array(options, arena),
                len(options),
                ctypes.byref(pointer),
            )
        if failure is not None:
            error = exception_of(failure, library, "be created", options=options)
            if options and isinstance(error, InvalidArgumentError):
                raise error
            raise NativeLoadError(self.source, "create", str(error))
        if pointer.value is None:
            raise NativeLoadError(
                self.source, "create", "it returned neither a backend nor an error"
            )
        return NativeObject(library, pointer.value, library.required("destroy"), None)

    def _host_places(self, layer: Layer, *, is_output: bool) -> Collection[int]:
        program = layer.compiled
        if not isinstance(program, NativeProgram) or not self.library.has_placed_memory:
            return ()
        infos = layer.output_infos if is_output else layer.input_infos
        return host_places(program, infos, is_output=is_output)

    def _answer_of_host(self, layer: Layer) -> Support | None:
        """Return the host's answer, None if C is queried."""
        if layer.type == "PreCompiled":
            program = layer.compiled
            if isinstance(program, NativeProgram) and program.library is self.library:
                return SUPPORTED
            return Support.no(f"the layer holds {program!r}, which is not a program of {self.id!r}")
        for value in layer.outputs:
            if not value.info.is_static:
                return Support.no(
                    f"the shape of {value.name!r} is known only when it is computed, and the C "
                    "interface takes outputs of known shape"
                )
        return None

    def _with_allocator(self, allocator: Allocator) -> NativeObject:
        """Return a C backend with that allocator.

        Nothing was compiled with it before.
        """
        with self._lock:
            if self._allocator is None or self._backend is None:
                made, taken = self._create(self._options or {}), NativeAllocator(allocator)
                call(self.library, "use_allocator", "take an allocator", made.pointer, taken.table)
                made.hold(taken)
                self._backend, self._allocator = made, taken
            elif self._allocator.allocator is not allocator:
                raise InvalidArgumentError(
                    f"backend {self.id!r} uses the custom allocator of another runtime: got a "
                    "second one; copy.copy() makes a second backend"
                )
            return self._backend

    def _leave(self) -> None:
        """Destroy the C backend with the last runtime that uses it; the next one makes its own."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            backend, self._backend, self._options, self._allocator = self._backend, None, None, None
        if backend is not None:
            backend.end_with_children()


def _own(model: ModelContext) -> NativeModelContext:
    """Return this module's context; plain ones have options only."""
    return model if isinstance(model, NativeModelContext) else NativeModelContext(model.options)


_SECONDS: Final = 60.0


def trial_load(path: str, seconds: float = _SECONDS) -> str:
    """Return how loading a file ends a process, or "".

    The child has loaded the core and NumPy, as this process has. The file is opened, created and
    asked about itself.

    Args:
        path: The file.
        seconds: How long that may take.
    """
    bounds = Bounds(seconds=seconds, output=1 << 24)
    try:
        ending = run(PythonCall(f"{__name__}:load_on_trial", [path]), bounds)
    except OSError:
        return ""  # no process can be started: nothing is known
    return "" if ending.is_success or ending.cause == "killed" else str(ending)


def load_on_trial(path: str) -> None:
    """Load a file in this process, whatever it answers."""
    import numpy  # noqa: F401  # the host has it, and its BLAS

    try:
        backend = NativeBackend(NativeLibrary.open(os.path.realpath(path)))
        backend.devices()
        _ = backend.capabilities
    except ArmnnError:
        return
