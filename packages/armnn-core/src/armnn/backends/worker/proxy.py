# SPDX-License-Identifier: MIT
"""A backend in a worker process, as a :class:`armnn.backends.Backend`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from armnn.backends import (
    Allocator,
    BackendContext,
    BackendVersion,
    CreationOptions,
    ModelContext,
    OptimizationViews,
    OptionValue,
    SubgraphView,
    Support,
    TensorHandle,
    Workload,
)
from armnn.backends.calling import check_views
from armnn.backends.contract import NetworkBackend, Step
from armnn.backends.crashes import remember_lost_worker
from armnn.backends.memory import TensorHandleFactories
from armnn.backends.worker import protocol
from armnn.backends.worker.channels import MessageStep, SharedMemoryChannel
from armnn.backends.worker.connection import Fault, Recipe, WorkerConnection
from armnn.backends.worker.memory import PREFERENCES, Constants, SharedFactory
from armnn.backends.worker.protocol import ProtocolError
from armnn.backends.worker.remote import (
    Compilation,
    RemoteContext,
    RemoteGraph,
    RemoteModel,
    RemoteProgram,
    RemoteWorkload,
    view_of,
)
from armnn.backends.worker.supervisor import Supervisor
from armnn.errors import BackendError, OptimizationError, WorkerLostError
from armnn.graph import Layer
from armnn.graph.python_operators import PYTHON
from armnn.layers import LAYERS


class IsolatedModelContext(ModelContext):
    """The worker's context of one network.

    Attributes:
        remote: Its counterpart there.
    """

    def __init__(self, options: Mapping[str, OptionValue]) -> None:
        super().__init__(options)
        self.remote = RemoteModel(dict(options))


class IsolatedBackend(NetworkBackend):
    """A backend that computes in another process.

    Attributes:
        supervisor: Keeps its worker running.
    """

    def __init__(self, backend_id: str, supervisor: Supervisor) -> None:
        """Ask the worker for the facts of the backend.

        Args:
            backend_id: The id by which the user knows it.
            supervisor: Keeps its worker running.

        Raises:
            ArmnnError: The backend cannot be loaded there.
        """
        self.supervisor = supervisor
        weakref.finalize(self, supervisor.close)  # workloads that outlive it start another one
        self._constants = Constants()
        link = supervisor.link()
        try:
            found = link.request({"do": "describe"}).document
        except WorkerLostError:
            link.wait_exit()  # nothing runs yet, so that how it ended is worth the time
            raise link.error() from None
        try:
            version = BackendVersion(*protocol.integers(found.get("api_version"), 2))
            self._score = protocol.whole(found.get("score"))
            self._capabilities = {
                protocol.text(name): _option(value)
                for name, value in protocol.mapping(found.get("capabilities")).items()
            }
        except ProtocolError as error:
            raise link.malformed(error, "describe") from error
        self._has_devices = found.get("has_devices") is True
        vars(self).update(id=backend_id, api_version=version)

    def end_worker(self) -> None:
        """End the worker; a later call starts one again."""
        self.supervisor.close()

    def devices(self) -> dict[str, dict[str, Any]]:
        """Return the ``NativeDevice.as_dict`` of each of its devices, by id, best first.

        Of a backend in Python there are none.

        Raises:
            ArmnnError: It failed to tell, or the worker was lost.
        """
        if not self._has_devices:
            return {}
        link = self.supervisor.link()
        found = link.request({"do": "devices"}).document
        try:
            rows = protocol.mapping(found.get("devices")).items()
            return {protocol.text(name): _device(protocol.mapping(row)) for name, row in rows}
        except ProtocolError as error:
            raise link.malformed(error, "devices") from error

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The capabilities that it has through a worker."""
        return dict(self._capabilities)

    def score(self) -> int:
        """Return the backend's default preference."""
        return self._score

    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        """Memory that the worker maps, else host memory."""
        return PREFERENCES if self._shares_memory else ()

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        """Register the factory of shared memory."""
        if self._shares_memory:
            registry.register(SharedFactory())

    def accepts_allocator(self, allocator: Allocator) -> Support:  # noqa: ARG002  # none will do
        """Refuse: the worker's memory is its own."""
        return Support.no(f"backend {self.id!r} runs in a worker process, with memory of its own")

    def create_context(self, options: CreationOptions) -> BackendContext:
        """Open the backend in the worker.

        Raises:
            ArmnnError: It cannot be opened there, or does not know an option.
        """
        remote = RemoteContext(options.backend_options.get(self.id, {}))
        self.supervisor.link().number_of(remote)
        self.supervisor.opened = remote
        kind = ListeningContext if remote.listens else IsolatedContext
        return kind(self.supervisor, remote)

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Make the network's context in the worker, which checks options."""
        model = IsolatedModelContext(options)
        if options:
            self.supervisor.link().number_of(model.remote)
        return model

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Query the worker about a layer."""
        return self._answers(view_of(layer), _own(model))[0]

    def query(self, view: SubgraphView, model: ModelContext) -> tuple[Support, ...]:
        """Query the worker about layers of a network."""
        return self._answers(view, _own(model))

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Let the worker prepare a layer.

        Raises:
            ArmnnError: It cannot be prepared.
        """
        graph = RemoteGraph(view_of(layer), self._constants)
        remote = RemoteWorkload(graph, _own(model).remote, model)
        self.supervisor.link().number_of(remote)
        return IsolatedWorkload(self.supervisor, remote, layer)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Let the worker's backend compile the subgraph.

        If that ends the worker, or its views do not fit, the layers go to the next backend.
        """
        own = _own(model)
        compilation = Compilation(RemoteGraph(view, self._constants), own.remote, own)
        try:
            link = self.supervisor.link()
            views = compilation.optimize(link, view)
            try:
                check_views(self.id, view, views)
                _check_backends(self.id, views)
            except (OptimizationError, ProtocolError) as error:
                raise link.malformed(ProtocolError(str(error)), "optimize") from error
            return views
        except WorkerLostError as error:
            reason = self._why(error)
            reasons = {layer.name: reason for layer in view.layers}
            return OptimizationViews(failed=[view], reasons=reasons)

    def __repr__(self) -> str:
        return f"<IsolatedBackend {self.id!r} {self.supervisor.recipe.place!r}>"

    # -- inside -----------------------------------------------------------------------------------

    @functools.cached_property
    def _shares_memory(self) -> bool:
        return not self.supervisor.recipe.command

    def _answers(self, view: SubgraphView, model: IsolatedModelContext) -> tuple[Support, ...]:
        known = {layer: self._answer_of_host(layer) for layer in view.layers}
        asked = [layer for layer, answer in known.items() if answer is None]
        if asked:
            part = view if len(asked) == len(known) else view.part(*asked)
            known.update(zip(part.layers, self._asked(part, model), strict=True))
        return tuple(answer for answer in known.values() if answer is not None)

    def _asked(self, view: SubgraphView, model: IsolatedModelContext) -> list[Support]:
        try:
            link = self.supervisor.link()
            graph = RemoteGraph(view, self._constants)
            reply = link.request(*graph.request(link, "query", model.remote, model))
        except WorkerLostError as error:
            return [Support.no(self._why(error))] * len(view.layers)
        return self._decoded(link, reply.document, len(view.layers))

    def _why(self, error: WorkerLostError) -> str:
        """Return how the worker was lost, in full."""
        faults = self.supervisor.faults
        return str(faults[-1] if faults else error)

    def _decoded(
        self, link: WorkerConnection, document: protocol.Document, count: int
    ) -> list[Support]:
        try:
            rows = protocol.sequence(document.get("answers"), count)
            return [protocol.decoded_support(row) for row in rows]
        except ProtocolError as error:
            raise link.malformed(error, "query") from error

    def _answer_of_host(self, layer: Layer) -> Support | None:
        """Return the host's answer, None if the worker is asked."""
        if LAYERS.get(layer.type) is not layer.spec:
            return Support.no(f"a layer of type {layer.type!r} cannot be sent to a worker")
        if layer.call is not None:
            return Support.no(
                f"{layer.call!r} is a function of this process, which a worker cannot call: it "
                f"runs on {PYTHON}, in the host"
            )
        if layer.compiled is not None and not isinstance(layer.compiled, RemoteProgram):
            return Support.no(f"the layer holds {layer.compiled!r}, no program of the worker")
        return None


class IsolatedWorkload(Workload):
    """A layer that the worker has prepared."""

    def __init__(self, supervisor: Supervisor, remote: RemoteWorkload, layer: Layer) -> None:
        self._supervisor = supervisor
        self._remote = remote
        self._title = layer.name
        # Constants are in the worker already.
        self._variable = [
            slot
            for slot, value in enumerate(layer.inputs)
            if value is not None and value.constant is None
        ]
        self._infos = [layer.input_infos[slot] for slot in self._variable]
        self._outputs = layer.output_infos

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that the worker runs.

        Raises:
            BackendError: A tensor is missing, or has another size than the layer's.
            ArmnnError: The worker cannot bind it.
        """
        given = [inputs[slot] if slot < len(inputs) else None for slot in self._variable]
        present = [each for each in given if each is not None]
        sides = (("input", present, self._infos), ("output", outputs, self._outputs))
        for side, handles, infos in sides:
            got = [_size(each.info) for each in handles]
            expected = [_size(info) for info in infos if info is not None]
            if got != expected:
                raise BackendError(
                    f"{self._title!r} cannot be bound: got {side}s of {got} bytes, expected "
                    f"{expected}"
                )
        is_here = not self._supervisor.recipe.command
        is_known = all(each.info.is_static for each in (*present, *outputs))
        kind = SharedMemoryChannel if is_here and is_known else MessageStep
        return kind(self._supervisor, self._remote, self._title, present, outputs).run


class IsolatedContext(BackendContext):
    """Notifies the worker's backend of networks; ends the worker."""

    def __init__(self, supervisor: Supervisor, remote: RemoteContext) -> None:
        self._supervisor = supervisor
        self._remote = remote

    def before_load_network(self, network_id: int) -> None:
        """Tell the worker's backend, which may refuse the network."""
        self._tell("before_load_network", network_id)

    def after_load_network(self, network_id: int) -> None:
        """Tell the worker's backend."""
        self._tell("after_load_network", network_id)

    def before_unload_network(self, network_id: int) -> None:
        """Tell the worker's backend, if the worker lives."""
        self._tell("before_unload_network", network_id)

    def after_unload_network(self, network_id: int) -> None:
        """Tell the worker's backend, if the worker lives."""
        self._tell("after_unload_network", network_id)

    def close(self) -> None:
        """End the worker, unless another context was opened since."""
        if self._supervisor.opened is self._remote:
            self._supervisor.opened = None
            self._supervisor.close()

    def _tell(self, event: str, network_id: int) -> None:
        try:
            link = self._supervisor.link(wait=False)
            number = link.number_of(self._remote)
            link.request({"do": "event", "context": number, "event": event, "network": network_id})
        except WorkerLostError:
            return  # another one knows of no networks


class ListeningContext(IsolatedContext):
    """One whose backend wants to know of runs."""

    def after_enqueue_workload(self, network_id: int) -> None:
        """Tell the worker's backend."""
        self._tell("after_enqueue_workload", network_id)


def _own(model: ModelContext) -> IsolatedModelContext:
    if isinstance(model, IsolatedModelContext):
        return model
    made = IsolatedModelContext(model.options)
    made.quantized_arithmetic = model.quantized_arithmetic
    return made


def _check_backends(backend_id: str, views: OptimizationViews) -> None:
    """Check that replacements stay with the backend: others do not know the worker's programs.

    Raises:
        ProtocolError: A layer is given to another one.
    """
    for each in views.substitutions:
        for layer in each.replacement.layers:
            if layer.backend not in (None, backend_id):
                raise ProtocolError(f"layer {layer.name!r} is given to {layer.backend!r:.100}")


def _size(info: Any) -> int | None:
    return info.size_bytes if info.is_static else None


def _device(row: Mapping[str, object]) -> dict[str, Any]:
    texts = {name: protocol.text(row.get(name)) for name in ("name", "kind", "fingerprint")}
    info = protocol.mapping(row.get("info"))
    return {
        **texts,
        "memory_bytes": protocol.whole(row.get("memory_bytes")),
        "info": {protocol.text(name): _option(value) for name, value in info.items()},
    }


def _option(value: object) -> OptionValue:
    if not isinstance(value, (bool, int, float, str)):
        raise ProtocolError(f"a capability is {value!r:.100}")
    return value


def open_worker(recipe: Recipe) -> IsolatedBackend:
    """Start a worker with a backend; return the backend's stand-in.

    Raises:
        ArmnnError: It cannot be started, or cannot load the backend.
    """

    def tell(fault: Fault) -> None:
        remember_lost_worker(recipe.id, recipe.place, str(fault))

    supervisor = Supervisor(recipe, tell)
    try:
        return IsolatedBackend(recipe.name, supervisor)
    except BaseException:
        supervisor.close()
        raise
