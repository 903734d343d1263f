# SPDX-License-Identifier: MIT
"""The runtime: owns backends' contexts and loaded networks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn._arguments import flag, instance, items
from armnn._process_memory import collection_waits
from armnn.backends import CreationOptions
from armnn.errors import ClosingError, InvalidArgumentError
from armnn.graph import Network
from armnn.optimizer import OptimizedNetwork, OptimizerOptions, Prepared, check_layer_names, phase
from armnn.parsing import checked_file, parse
from armnn.runtime.backend_events import BackendEvents
from armnn.runtime.backends_in_use import BackendsInUse
from armnn.runtime.closing import Closing
from armnn.runtime.gate import Gate
from armnn.runtime.loaded_network import LoadedNetwork
from armnn.runtime.plan import Plan
from armnn.runtime.plans import NetworkPlans
from armnn.runtime.request import checked_wishes
from armnn.storage.source import ModelSource

if TYPE_CHECKING:
    from armnn.backends import ProfilingContext, ProfilingSink
    from armnn.backends.registry import BackendRegistry
    from armnn.runtime.backends_in_use import Asked, BackendOptions
    from armnn.runtime.cached_model import StoredNetwork
    from armnn.runtime.loaded_network import InputShapes
    from armnn.storage.folder import CacheFolder


class Runtime:
    """Loads networks and runs them on the backends that are there (Arm NN: ``IRuntime``).

    Use it as a context manager, or call :meth:`close`.

    Attributes:
        options: What it was made with.
    """

    def __init__(self, options: CreationOptions | None = None) -> None:
        self.options = (
            CreationOptions() if options is None else instance(options, CreationOptions, "options")
        )
        self._backends = BackendsInUse(self.options)
        self._gate = Gate("the runtime")
        self._lock = threading.RLock()
        self._networks: dict[int, LoadedNetwork] = {}
        self._last_id = -1

    @property
    def registry(self) -> BackendRegistry:
        """Which backends are there, and why others are not."""
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
        backend_options: BackendOptions | None = None,
        layer_backends: Mapping[str, str] | None = None,
        strict: bool = False,
        profiler: ProfilingSink | None = None,
        cache_dir: str | PathLike[str] | None = None,
    ) -> OptimizedNetwork:
        """Prepare a network for its backends.

        Args:
            network: Is not changed.
            backends: Ids in the order of preference. Without them every usable backend of an
                installed package takes part, by score then id, CpuRef last.
            backend_options: Options for this network, by backend id.
            layer_backends: The backend that a layer shall run on, by the layer's name.
            strict: Raise instead of letting a layer fall back.
            profiler: Gets one event per phase.
            cache_dir: A folder that keeps what backends compiled, for the next process; only its
                owner may be able to write to it.

        Raises:
            UnknownBackendError: A backend that is named does not exist.
            BackendUnavailableError: A backend that is named cannot be used.
            OptimizationError: Some layers cannot run on the backends.
            InvalidArgumentError: An option or a name is wrong.
        """
        instance(network, Network, "the network", "; parse() makes one of a file")
        wishes = checked_wishes(
            backends, backend_options, layer_backends, strict, profiler, cache_dir
        )
        cache = None if cache_dir is None else _cache(wishes["cache_dir"], profiler)
        return self._optimized(network, _asked(wishes, profiler, cache), may_change=False)

    def load_network(self, network: OptimizedNetwork) -> LoadedNetwork:
        """Load a prepared network: make its workloads and plan its memory.

        Raises:
            BackendError: A backend failed to prepare a layer.
        """
        instance(network, OptimizedNetwork, "the network", "; optimize() makes one of a Network")
        return self._load(network)

    @collection_waits()
    def load_model(
        self,
        model: str | PathLike[str] | Network,
        backends: Sequence[str] | None = None,
        *,
        backend_options: BackendOptions | None = None,
        layer_backends: Mapping[str, str] | None = None,
        strict: bool = False,
        shapes: Sequence[InputShapes] = (),
        quantize: bool = False,
        profiler: ProfilingSink | None = None,
        cache_dir: str | PathLike[str] | None = None,
    ) -> LoadedNetwork:
        """Parse, optimise and load a model.

        Args:
            model: The path of a model file, or a network.
            backends: See :meth:`optimize`.
            backend_options: See :meth:`optimize`.
            layer_backends: See :meth:`optimize`.
            strict: See :meth:`optimize`.
            shapes: Input shapes to prepare now; others are prepared when they are first run. See
                :meth:`LoadedNetwork.prepare`.
            quantize: Let ``run`` take and return real values where inputs and outputs are
                quantised.
            profiler: Gets one event per phase.
            cache_dir: See :meth:`optimize`.

        Raises:
            ModelFileError: The file cannot be read or understood.
            InvalidArgumentError: An argument is of another kind; see also :meth:`optimize`.
        """
        optimized: OptimizedNetwork | StoredNetwork
        wishes = checked_wishes(
            backends, backend_options, layer_backends, strict, profiler, cache_dir
        )
        shapes = items(shapes, "the shapes", "a list of mappings such as [{'x': (1, 3)}]")
        quantize = flag(quantize, "quantize")
        source = None
        if isinstance(model, Network):
            optimized = self.optimize(model, profiler=profiler, **wishes)
        else:
            file = checked_file(model)
            arguments = {**wishes, "shapes": shapes, "quantize": quantize}
            source = ModelSource.of(file, arguments, self.options)
            if cache_dir is None:
                with phase(profiler, "parse"):
                    network = parse(file)
                asked = _asked(wishes, profiler, None)
                optimized = self._optimized(network, asked, may_change=True)
            else:
                optimized = self._stored(file, source, profiler)
        with phase(profiler, "load"):
            return self._load(optimized, source, shapes, quantize=quantize)

    def unload_network(self, network: LoadedNetwork) -> None:
        """Take a network out: refuse new runs, wait for running ones.

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
        with self._lock:
            if self._networks.pop(network.id, None) is None:
                return
        closing = Closing(f"the network {network.name!r}")
        network.events.unload(network.close, closing)
        closing.end()

    def close(self) -> None:
        """Refuse new calls, wait for running ones, unload every network, drop the backends.

        Closing twice does nothing.

        Raises:
            ClosingError: Parts failed; everything is closed nevertheless.
        """
        if not self._gate.close():
            return
        closing = Closing("the runtime")
        for network in tuple(self._networks.values()):
            closing.step(self.unload_network, network)
        closing.step(self._backends.close)
        closing.end()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def profiling_contexts(
        self, network: OptimizedNetwork | StoredNetwork, sink: ProfilingSink
    ) -> list[ProfilingContext]:
        """Return the backends' parts of profiling for one run of a network."""
        found = (c.backend.create_profiling_context(sink) for c in network.participants.all)
        return [context for context in found if context is not None]

    # -- inside ---------------------------------------------------------------------------------

    def _optimized(self, network: Network, asked: Asked, *, may_change: bool) -> OptimizedNetwork:
        with self._gate:
            _, _, options, _, _ = asked
            check_layer_names(network, options.layer_backends)
            participants = self._backends.participants(network, *asked)
            return OptimizedNetwork(network, participants, options, may_change=may_change)

    def _stored(
        self, file: Path, source: ModelSource, profiler: ProfilingSink | None
    ) -> OptimizedNetwork | StoredNetwork:
        """Return a model from the cache that its source names; what is not there is made."""
        from armnn.runtime.cached_model import (
            open_model,
        )  # imported late: few networks have a cache

        wishes = source.arguments
        with self._gate:
            options = OptimizerOptions(
                strict=wishes["strict"], layer_backends=wishes["layer_backends"]
            )
            return open_model(file, source, options, self._backends, profiler)

    def _load(
        self,
        network: OptimizedNetwork | StoredNetwork,
        source: ModelSource | None = None,
        shapes: Sequence[InputShapes] = (),
        *,
        quantize: bool = False,
    ) -> LoadedNetwork:
        with self._gate:
            with self._lock:
                self._last_id += 1
                network_id = self._last_id
            participants = network.participants

            def make_plan(prepared: Prepared) -> Plan:
                return Plan(
                    prepared,
                    participants,
                    self.options.custom_allocators,
                    self.options.memory_strategy,
                )

            plans = NetworkPlans(network, make_plan, self.options.plan_limit)
            events = BackendEvents(network_id, self._backends.contexts_of(participants))
            loaded = LoadedNetwork(self, network_id, plans, events, source, quantize=quantize)
            try:
                events.before_load()
                for each in (*([{}] if network.is_static else []), *shapes):
                    loaded.prepare(each)
                with self._lock:
                    self._networks[network_id] = loaded
                events.after_load()
            except BaseException as error:
                self._undo_load(loaded, error)
                raise
            return loaded

    def _undo_load(self, loaded: LoadedNetwork, error: BaseException) -> None:
        """Unload a network that could not be loaded; what fails then is noted on the error."""
        with self._lock:
            self._networks[loaded.id] = loaded
        try:
            self.unload_network(loaded)
        except ClosingError as group:
            error.add_note(str(group))


def _asked(
    wishes: Mapping[str, Any], profiler: ProfilingSink | None, cache: CacheFolder | None
) -> Asked:
    options = OptimizerOptions(strict=wishes["strict"], layer_backends=wishes["layer_backends"])
    return wishes["backends"], wishes["backend_options"], options, profiler, cache


def _cache(folder: str | PathLike[str], profiler: ProfilingSink | None) -> CacheFolder:
    from armnn.storage.folder import CacheFolder  # imported late: few networks have one

    return CacheFolder(folder, profiler)
