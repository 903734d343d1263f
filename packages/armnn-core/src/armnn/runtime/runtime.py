# SPDX-License-Identifier: MIT
"""The runtime: owns backends' contexts and loaded networks.

The functions of the package, ``optimize`` and ``load_model``, use one runtime that all share.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from os.path import realpath
from typing import TYPE_CHECKING, TypeGuard, Unpack
from weakref import WeakKeyDictionary, WeakMethod, finalize

from armnn._load_times import measured, phase
from armnn.arguments import file_path, flag, instance, items
from armnn.backends import ProfilingSink
from armnn.backends.options import CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn.errors import ClosingError, InvalidArgumentError
from armnn.optimizer import OptimizedNetwork
from armnn.parsing import (
    ModelContent,
    ParserOptions,
    checked_folder,
    checked_options,
    checked_path,
    content_in,
    with_format,
)
from armnn.runtime.backends_in_use import BackendEvents, BackendsInUse
from armnn.runtime.calls.control import NetworkProperties, check_properties, properties_for
from armnn.runtime.calls.inputs import InputShapes
from armnn.runtime.closing import Closable, Closing, Gate
from armnn.runtime.engine import IdleMemory, LoadedPlan
from armnn.runtime.loaded_network import (
    LoadedNetwork,
    NetworkResources,
    frees_by_call,
)
from armnn.runtime.model_files import open_artifact, open_model, write_artifact
from armnn.runtime.plans import PlanCache
from armnn.runtime.request import (
    BackendOptions,
    LoadRequest,
    ModelSource,
    OptimizationRequest,
    cache_folder,
    checked_request,
    memory_strategies,
    parsed,
    profiler_of,
    tensor_sink,
    with_backends,
)
from armnn.runtime.states import States

if TYPE_CHECKING:  # a prepared load imports no graph and no optimizer
    from armnn.graph import Network
    from armnn.optimizer import OptimizerKeywords, OptimizerOptions, Report
    from armnn.runtime.calls.failover import Failover


def _trimming(runtime: Runtime) -> Callable[[], object]:
    """Return a function that trims a runtime as long as it exists, without keeping it alive."""
    trim = WeakMethod(runtime.trim)

    def call() -> None:
        found = trim()
        if found is not None:
            found()

    return call


_lock = threading.RLock()  # a backend that is opened may load a model itself
_shared: list[Runtime] = []


class Runtime(Closable):
    """Loads and runs networks on backends (Arm NN: ``IRuntime``).

    Use it as a context manager, or call :meth:`close`.

    Attributes:
        options: The options that it was made with.
    """

    def __init__(self, options: CreationOptions | None = None) -> None:
        """Make a runtime; backends named in the options are opened.

        Args:
            options: The defaults if left out.

        Raises:
            UnknownBackendError: Options or an allocator are for a backend that does not exist.
            BackendUnavailableError: A backend that the options name cannot be used.
            InvalidArgumentError: An option is wrong, or a backend does not take its allocator.
        """
        self.options = (
            CreationOptions() if options is None else instance(options, CreationOptions, "options")
        )
        self._strategies = memory_strategies(self.options)
        self._backends = BackendsInUse(self.options)
        self._gate = Gate("the runtime")
        self._lock = threading.RLock()
        self._networks: dict[int, NetworkResources] = {}  # of those that are loaded
        self._last_id = -1
        self._sources = WeakKeyDictionary[object, tuple["Network", "OptimizationRequest"]]()

    @property
    def registry(self) -> BackendRegistry:
        """The backends that can be used, and why others cannot."""
        return self._backends.registry

    @property
    def is_closed(self) -> bool:
        """Whether it was closed and takes no calls any more."""
        return self._gate.is_closed

    # -- preparing and loading ------------------------------------------------------------------

    def optimize(
        self,
        network: Network,
        backends: Sequence[str] | None = None,
        *,
        options: OptimizerOptions | None = None,
        backend_options: BackendOptions | None = None,
        profiler: ProfilingSink | None = None,
        cache_dir: str | PathLike[str] | None = None,
        **keywords: Unpack[OptimizerKeywords],
    ) -> OptimizedNetwork:
        """Prepare a network for its backends.

        See :func:`armnn.optimize`, which has the same arguments and errors.
        """
        from armnn.graph import Network  # late: a prepared load does without

        instance(network, Network, "the network", "; parse() makes one of a file")
        request = checked_request(
            backends, options, keywords, backend_options, cache_dir, self.optimize
        )
        profiler = profiler_of(profiler, request.options)
        return self._optimized(network, request, profiler)

    def compile_network(
        self,
        network: Network,
        file: str | PathLike[str],
        backends: Sequence[str] | None = None,
        *,
        options: OptimizerOptions | None = None,
        backend_options: BackendOptions | None = None,
        shapes: Sequence[Mapping[str, Sequence[int]]] = (),
        profiler: ProfilingSink | None = None,
        states: States = None,
        **keywords: Unpack[OptimizerKeywords],
    ) -> Report:
        """Prepare a network and write it for :meth:`load_model`.

        The file is for machines with the same versions and the same kind of CPU.

        Args:
            network: Is not changed.
            file: Its name ends in ".armnn-prepared".
            backends: See :func:`armnn.optimize`.
            options: See :func:`armnn.optimize`.
            backend_options: See :func:`armnn.optimize`.
            shapes: The sets of input shapes that it is prepared for, where the network leaves some
                open; the file holds the weights of all of them once.
            profiler: Gets one event per phase.
            states: The states with which the file will be loaded; see :func:`armnn.load_model`. It
                matters for inputs to which outputs append rows.
            keywords: See :func:`armnn.optimize`.

        Returns:
            Which layer runs where.

        Raises:
            InvalidArgumentError: Input shapes are not known, or a part of it cannot be stored.
            OSError: The file cannot be written.
        """
        from armnn.graph import Network  # late: a prepared load does without

        instance(network, Network, "the network", "; parse() makes one of a file")
        path = file_path(file, "the file")
        request = checked_request(
            backends, options, keywords, backend_options, None, self.compile_network, states
        )
        profiler = profiler_of(profiler, request.options)
        request = with_backends(request, network, self.registry, profiler)
        with self._gate:
            return write_artifact(network.clone(), path, request, self._backends, profiler, shapes)

    @measured
    def load_network(
        self,
        network: OptimizedNetwork,
        properties: NetworkProperties | None = None,
        *,
        states: States = None,
    ) -> LoadedNetwork:
        """Make the workloads of a prepared network, and plan its memory.

        Args:
            network: The network.
            properties: The properties to load it with; by default those it was optimized with.
            states: See :func:`armnn.load_model`.

        Raises:
            Exception: A backend raised that; a note names backend, method and layer.
            InvalidArgumentError: The network was not optimized for the properties.
        """
        instance(network, OptimizedNetwork, "the network", "; optimize() makes one of a Network")
        check_properties(network.name, properties, network.options)
        return self._load(network, properties=properties, states=states)

    @measured
    def load_model(
        self,
        model: str | PathLike[str] | ModelContent | Network,
        backends: Sequence[str] | None = None,
        *,
        options: OptimizerOptions | None = None,
        backend_options: BackendOptions | None = None,
        shapes: Sequence[InputShapes] = (),
        quantize: bool = False,
        profiler: ProfilingSink | None = None,
        cache_dir: str | PathLike[str] | None = None,
        format: str | None = None,
        folder: str | PathLike[str] | None = None,
        parser_options: ParserOptions | None = None,
        properties: NetworkProperties | None = None,
        states: States = None,
        **keywords: Unpack[OptimizerKeywords],
    ) -> LoadedNetwork:
        """Parse, optimize and load a model.

        See :func:`armnn.load_model`, which has the same arguments and errors.
        """
        request = checked_request(
            backends, options, keywords, backend_options, cache_dir, self.load_model, states
        )
        profiler = profiler_of(profiler, request.options)
        shapes = items(shapes, "the shapes", "a list of mappings such as [{'x': (1, 3)}]")
        quantize = flag(quantize, "quantize")
        parsing = with_format(checked_options(parser_options), format)
        title = model.name if _is_network(model) else _title(model)
        check_properties(title, properties, request.options)
        if _is_network(model):
            given = parsing if folder is None else {**parsing, "folder": str(folder)}
            if given:
                raise InvalidArgumentError(
                    f"the parser_options {given!r} were given with a Network, which needs no "
                    "parser: give them to parse()"
                )
            optimized = self._optimized(model, request, profiler)
            return self._load(
                optimized,
                None,
                shapes,
                profiler,
                quantize=quantize,
                properties=properties,
                owns_graph=True,
                states=states,
            )
        content = content_in(model)
        folder = checked_folder(folder, content)
        if content is None:
            source = ModelSource.of(checked_path(model))
        else:
            found = folder and realpath(folder)  # for another process in another folder
            source = ModelSource("", content=content, folder=found)
        origin = LoadRequest(source, request, shapes, quantize, self.options, parsing, properties)
        return self._load_source(origin, profiler)

    @staticmethod
    @measured
    def load_again(request: LoadRequest) -> LoadedNetwork:
        """Load a model as another process loaded it.

        The runtime is one that this process shares.

        Raises:
            ModelFileError: The file is gone or has changed.
        """
        source = request.source
        source.check()
        if source.content is None:
            request = replace(request, source=ModelSource.of(source.path))
        profiler = profiler_of(None, request.request.options)
        return shared_runtime(request.creation_options)._load_source(request, profiler)

    def unload_network(self, network: LoadedNetwork) -> None:
        """Refuse new runs, wait for running ones, drop the network.

        Unloading twice does nothing.

        Raises:
            ClosingError: Backends failed when they were told, or memory could not be given back;
                the network is unloaded nevertheless.
            InvalidArgumentError: Another runtime has loaded it.
        """
        if instance(network, LoadedNetwork, "the network").runtime is not self:
            raise InvalidArgumentError(
                f"{network!r} belongs to another runtime: its own unload() takes it out"
            )
        self._networks.pop(network.id, None)
        closing = Closing(network.title)
        closing.step(network.resources.unload)
        for other in network.replacements:
            closing.step(other.unload)
        closing.end()

    def trim(self) -> None:
        """Give back the memory that networks and backends keep for later runs.

        Running calls keep theirs, and networks their weights; the next run makes its working
        memory again. A run for which there is no memory does it by itself before it fails.

        Raises:
            ClosingError: Memory could not be given back, or a backend failed; others gave theirs.
        """
        closing = Closing("the memory kept for later", "is given back")
        for resources in self._networks.copy().values():
            closing.step(resources.trim)
        closing.step(self._backends.trim)
        closing.end()

    def close(self) -> None:
        """Wait for running calls, then unload networks and backends.

        New calls are refused.

        Closing twice does nothing.

        Raises:
            ClosingError: Closing something that it holds failed; the rest is closed.
        """
        if not self._gate.close():
            return
        closing = Closing("the runtime")
        # A copy, as the collector may drop a network while this goes through them.
        for resources in self._networks.copy().values():
            closing.step(resources.unload)
            resources.wait_for_drop()
        self._networks.clear()
        closing.step(self._backends.close)
        closing.end()

    # -- inside ---------------------------------------------------------------------------------

    def _optimized(
        self,
        network: Network,
        request: OptimizationRequest,
        profiler: ProfilingSink | None,
        again: Callable[[], Network] | None = None,
        *,
        may_change: bool = False,
    ) -> OptimizedNetwork:
        # late: a prepared load does without
        from armnn.optimizer import check_layer_names

        request = with_backends(request, network, self.registry, profiler)
        cache = cache_folder(request, profiler)
        with self._gate:
            options = request.options
            check_layer_names(network, options.layer_backends)
            if request.without:
                network = network if may_change else network.clone()
                # late: a prepared load does without
                from armnn.runtime.calls.failover import drop_hints

                drop_hints(network, request.without)
            participants = self._backends.participants(network, request, profiler, cache)
            made = OptimizedNetwork(
                network,
                participants,
                options,
                may_change=may_change,
                again=again,
                states=request.states,
            )
            if not may_change and participants.may_lose_one:
                self._sources[made] = network.clone(), request
            return made

    def _load_source(self, origin: LoadRequest, profiler: ProfilingSink | None) -> LoadedNetwork:
        optimized: OptimizedNetwork
        source = origin.source
        request = with_backends(origin.request, source, self.registry, profiler)
        origin = replace(origin, request=request)
        cache = cache_folder(request, profiler) if source.content is None else None
        if source.is_prepared:
            with self._gate:
                optimized = open_artifact(source.given, request, self._backends, profiler)
        elif cache is None:
            with phase(profiler, "parse"):
                network, again = parsed(source, request, origin.parser_options)
            source.read.update(network.external_files)
            optimized = self._optimized(network, request, profiler, again, may_change=True)
        else:
            with self._gate:
                backends = self._backends
                optimized = open_model(source.given, origin, cache, backends, profiler)
        return self._load(
            optimized,
            origin,
            origin.shapes,
            profiler,
            quantize=origin.quantize,
            properties=origin.properties,
            owns_graph=True,
            states=request.states,
        )

    def _load(
        self,
        network: OptimizedNetwork,
        origin: LoadRequest | None = None,
        shapes: Sequence[InputShapes] = (),
        profiler: ProfilingSink | None = None,
        *,
        quantize: bool = False,
        properties: NetworkProperties | None = None,
        owns_graph: bool = False,
        states: States = None,
    ) -> LoadedNetwork:
        if profiler is None and network.options.profiling_enabled:
            profiler = network.participants.profiler
        with phase(profiler, "load"), self._gate:
            with self._lock:
                self._last_id += 1
                network_id = self._last_id
            participants, options = network.participants, network.options
            sink = tensor_sink(options)
            idle_memory = IdleMemory(_trimming(self), participants.context_limit)
            load_plan = partial(
                LoadedPlan,
                participants=participants,
                allocators=self.options.custom_allocators,
                strategies=self._strategies,
                sink=sink,
                idle_memory=idle_memory,
            )
            plans = PlanCache(network, load_plan, self.options.plan_limit)
            events = BackendEvents(network_id, self._backends.contexts_of(participants))
            chosen = properties_for(network.options) if properties is None else properties
            again = partial(
                self._load,
                shapes=shapes,
                quantize=quantize,
                properties=properties,
                owns_graph=True,
                states=states,
            )
            failover = self._failover(network, origin, again)
            loaded = LoadedNetwork(
                self,
                network_id,
                plans,
                events,
                origin,
                quantize=quantize,
                properties=chosen,
                failover=failover,
                owns_graph=owns_graph,
                frees_by_call=bool(self.options.custom_allocators)
                or any(frees_by_call(each.backend) for each in participants.all),
                states=states,
                shapes=shapes,
                load_overriding=None
                if origin is None or origin.source.is_prepared
                else partial(self._load_overriding, origin),
            )
            finalize(loaded, self._drop, loaded.resources, network_id).atexit = False
            try:
                events.before_load()
                if not shapes:
                    network.check_backends()
                for each in (*([{}] if network.is_static else []), *shapes):
                    loaded.prepare(each)
                self._networks[network_id] = loaded.resources
                events.after_load()
            except BaseException as error:
                self._undo_load(loaded, error)
                moved: LoadedNetwork | None = failover.replacement(error) if failover else None
                if failover is None or moved is None:
                    raise
                moved.follow(failover)
                return moved
            return loaded

    def _load_overriding(self, origin: LoadRequest, names: str) -> LoadedNetwork:
        """Load a model with initializers as inputs.

        Raises:
            InvalidArgumentError: It has no such initializers, or its format has none.
        """
        already = origin.parser_options.get("overridable")
        both = f"{already},{names}" if isinstance(already, str) and already else names
        options = {**origin.parser_options, "overridable": both}
        return self._load_source(replace(origin, parser_options=options, shapes=()), None)

    def _failover(
        self,
        network: OptimizedNetwork,
        origin: LoadRequest | None,
        load_optimized: Callable[[OptimizedNetwork], LoadedNetwork],
    ) -> Failover | None:
        """Return the failover of a network, None if it can lose no backend."""
        if not network.participants.may_lose_one:
            return None
        from armnn.runtime.calls.failover import failover_for  # late: a prepared load does without

        source = self._sources.get(network)

        def load(lost: str, candidates: Sequence[str]) -> LoadedNetwork | None:
            given = source[1] if source else None if origin is None else origin.request
            request = None if given is None else given.avoiding(lost, candidates)
            if request is None:
                return None
            if source is not None:
                return load_optimized(self._optimized(source[0], request, None))
            if origin is None or origin.source.is_prepared:
                return None
            return self._load_source(replace(origin, request=request), None)

        return failover_for(network.participants, load)

    def _drop(self, resources: NetworkResources, network_id: int) -> None:
        """Unload a network that nothing refers to; takes no lock."""
        resources.drop(partial(self._networks.pop, network_id, None))

    def _undo_load(self, loaded: LoadedNetwork, error: BaseException) -> None:
        """Unload a network whose loading failed; note further failures."""
        try:
            self.unload_network(loaded)
        except ClosingError as group:
            error.add_note(str(group))


def shared_runtime(options: CreationOptions) -> Runtime:
    """Return the process's open runtime with these options."""
    with _lock:
        _shared[:] = [runtime for runtime in _shared if not runtime.is_closed]
        for runtime in _shared:
            if runtime.options == options:
                return runtime
        _shared.append(Runtime(options))
        return _shared[-1]


def _is_network(model: object) -> TypeGuard[Network]:
    if isinstance(model, (str, PathLike)):
        return False
    from armnn.graph import Network  # late: a prepared load does without

    return isinstance(model, Network)


def _title(model: object) -> str:
    return str(model) if isinstance(model, (str, PathLike)) else "given as bytes"


def default_runtime() -> Runtime:
    """Return the runtime of the module-level functions.

    It uses the backends of installed packages and the paths that the environment names.
    """
    return shared_runtime(CreationOptions())


def optimize(
    network: Network,
    backends: Sequence[str] | None = None,
    *,
    options: OptimizerOptions | None = None,
    backend_options: BackendOptions | None = None,
    profiler: ProfilingSink | None = None,
    cache_dir: str | PathLike[str] | None = None,
    **keywords: Unpack[OptimizerKeywords],
) -> OptimizedNetwork:
    """Prepare a network for its backends, in the default runtime.

    Args:
        network: Is not changed.
        backends: Ids in the order of preference, such as ``["CpuAcc", "CpuRef"]``. Without them
            every usable backend of an installed package takes part whose score is above 0, the
            highest score first, CpuRef last.
        options: How the network is prepared; ``help(armnn.OptimizerOptions)`` describes each.
        backend_options: Options by backend id, such as ``{"CpuAcc": {"NumberOfThreads": 2}}``; the
            option ``model_options`` by its earlier name.
        profiler: Gets one event per phase.
        cache_dir: A folder that keeps what backends compiled, for the next process; only its
            owner may be able to write to it.
        keywords: Fields of :class:`armnn.OptimizerOptions` by name, such as ``strict=True``, which
            take precedence over those of ``options``.

    Raises:
        UnknownBackendError: A backend that is named does not exist.
        BackendUnavailableError: A backend that is named cannot be used.
        OptimizationError: Some layers cannot run on the backends.
        InvalidArgumentError: An option or a name is wrong.
    """
    return default_runtime().optimize(
        network,
        backends,
        options=options,
        backend_options=backend_options,
        profiler=profiler,
        cache_dir=cache_dir,
        **keywords,
    )


def load_model(
    model: str | PathLike[str] | ModelContent | Network,
    backends: Sequence[str] | None = None,
    *,
    options: OptimizerOptions | None = None,
    backend_options: BackendOptions | None = None,
    shapes: Sequence[InputShapes] = (),
    quantize: bool = False,
    profiler: ProfilingSink | None = None,
    cache_dir: str | PathLike[str] | None = None,
    format: str | None = None,
    folder: str | PathLike[str] | None = None,
    parser_options: ParserOptions | None = None,
    properties: NetworkProperties | None = None,
    states: States = None,
    **keywords: Unpack[OptimizerKeywords],
) -> LoadedNetwork:
    """Parse, optimize and load a model, in the default runtime.

    The model is loaded until ``unload()``, the end of a ``with``, or until nothing refers to it::

        with armnn.load_model("model.onnx", backends=["CpuAcc", "CpuRef"]) as model:
            outputs = model.run({"x": array})

    Args:
        model: The path of a model file; or its content: bytes, a file that is open for reading
            them, or a message such as an ``onnx.ModelProto``; or a network. A model that was loaded
            from a path or from content can be pickled; the pickle of content has a copy of it.
        backends: Ids in the order of preference, such as ``["CpuAcc", "CpuRef"]``. Without them
            every usable backend of an installed package takes part whose score is above 0, the
            highest score first, CpuRef last. ``"auto"`` is the order that ``armnn tune`` measured.
        options: How the network is prepared; ``help(armnn.OptimizerOptions)`` describes each.
        backend_options: Options by backend id, such as ``{"CpuAcc": {"NumberOfThreads": 2}}``; the
            option ``model_options`` by its earlier name.
        shapes: Input shapes to prepare now, such as ``[{"x": (1, 3, 224, 224)}]``; others are
            prepared when they are first run. See :meth:`LoadedNetwork.prepare`.
        quantize: Let ``run`` take and return real values where inputs and outputs are quantized.
        profiler: Gets one event per phase.
        cache_dir: A folder that keeps what was prepared and compiled, for the next process; only
            its owner may be able to write to it. Of content it keeps only what backends compiled.
        format: The format of the model, such as "onnx"; see :func:`armnn.parse`.
        folder: The folder of the weight files of content; those of a path are beside it.
        parser_options: Options of the parser; see :func:`armnn.parse`.
        properties: The properties to load the network with; see :meth:`Runtime.load_network`.
        states: The outputs that are the next values of inputs, which the network keeps from run to
            run: a mapping from the name of each output to that of its input, such as
            ``{"h_out": "h"}``, or "auto" for those that usual names tell of, such as
            ``present.0.key`` and ``past_key_values.0.key``. Variables of a TensorFlow Lite file are
            states unasked. Caches to which a decoder appends rows (Concat) become states with room
            where all of them are declared and attention reads them. See
            :meth:`LoadedNetwork.stream`.
        keywords: Fields of :class:`armnn.OptimizerOptions` by name, such as ``strict=True``, which
            take precedence over those of ``options``.

    Returns:
        The loaded network: its ``run`` takes and returns arrays by name, its ``report`` says which
        layer runs on which backend.

    Raises:
        UnknownBackendError: A backend that is named does not exist.
        BackendUnavailableError: A backend that is named cannot be used.
        OptimizationError: Some layers cannot run on the backends.
        ModelFileError: The model cannot be read or understood, or was compiled elsewhere.
        InvalidArgumentError: An argument is of another kind, or an option or a name is wrong. Or a
            state has an unknown name, or its two tensors differ in type or shape.
    """
    return default_runtime().load_model(
        model,
        backends,
        options=options,
        backend_options=backend_options,
        shapes=shapes,
        quantize=quantize,
        profiler=profiler,
        cache_dir=cache_dir,
        format=format,
        folder=folder,
        parser_options=parser_options,
        properties=properties,
        states=states,
        **keywords,
    )
