# SPDX-License-Identifier: MIT
"""The backends of one runtime, their contexts and their events."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from armnn.arguments import closest
from armnn.backends import Allocator, Backend, CreationOptions, ProfilingSink
from armnn.backends.cache import ProgramCache
from armnn.backends.calling import blame, call
from armnn.backends.contract import BackendContext, Support
from armnn.backends.loading import none_usable, unknown_backend
from armnn.backends.memory import HOST_FACTORY_ID, TensorHandleFactories
from armnn.backends.options import ANY_BACKEND
from armnn.backends.python_operators import OperatorBackend
from armnn.backends.registry import BackendRegistry, first_entry
from armnn.backends.selection import SkippedBackend, is_placed, own_id, preferences
from armnn.errors import (
    ArmnnError,
    BackendError,
    BackendUnavailableError,
    ClosingError,
    InvalidArgumentError,
)
from armnn.graph.python_operators import registered_names
from armnn.installing import CPU_REF
from armnn.optimizer.participants import Candidate, Participants
from armnn.runtime.closing import Closing
from armnn.runtime.request import OptimizationRequest
from armnn.storage.blobs import Blobs
from armnn.types import MemorySource

if TYPE_CHECKING:
    from armnn.graph import Network

_log = logging.getLogger(__name__)

PROTECTED_CONTENT = "ProtectedContentAllocation"
"""The capability of a backend that computes in memory which the host cannot read."""

EVALUATOR = CPU_REF
"""The backend that computes constant layers, if it is there: it is the definition of right."""


class BackendsInUse:
    """Chooses backends for networks and keeps their contexts.

    Attributes:
        registry: Which backends are there, and why others are not.
    """

    def __init__(self, options: CreationOptions) -> None:
        """Find the backends; open those that the options name.

        Raises:
            UnknownBackendError: The options name a backend that does not exist.
            BackendUnavailableError: One that is named cannot be used.
            InvalidArgumentError: One does not take its options or its allocator.
        """
        self.registry = BackendRegistry(options)
        self._options = options
        self._lock = threading.RLock()
        self._opened: list[tuple[Backend, BackendContext | None]] = []
        try:
            self._open_named(options)
        except BaseException as error:
            self._undo(error)
            raise

    def participants(
        self,
        network: Network | None,
        request: OptimizationRequest,
        profiler: ProfilingSink | None,
        cache: ProgramCache | None,
    ) -> Participants:
        """Return the backends that take part in preparing a network.

        Args:
            network: The network; None if it is not parsed yet, then its hints are not heard.
            request: How the caller wants it prepared.
            profiler: Where the phases are recorded, if anywhere.
            cache: Where programs are kept, if anywhere.

        Raises:
            UnknownBackendError: A backend that is named does not exist.
            BackendUnavailableError: A backend that is named cannot be used, or none can.
            InvalidArgumentError: No backend is named, or there are options for one that takes no
                part.
        """
        backends = self._options.backends if request.backends is None else request.backends
        chosen, skipped = self._chosen(backends)
        ids = dict.fromkeys(backend.id for backend in chosen)
        named = [
            self._named(wish)
            for wish in dict.fromkeys(request.options.layer_backends.values())
            if wish not in ids
        ]
        held = () if network is None else network.layers
        if registered_names() or any(layer.compiled is not None for layer in held):
            named.append(OperatorBackend())  # an operator may become one in Python later
        ids.update(dict.fromkeys(backend.id for backend in named))
        layers = () if network is None else network.layers
        hints = dict.fromkeys(layer.backend_hint for layer in layers)
        wishes = [self._hinted(hint) for hint in hints if hint is not None and hint not in ids]
        named += [backend for backend in wishes if backend is not None]
        participants = self._join(chosen, named, skipped, request, profiler)
        for candidate in participants.all:
            candidate.model.cache = cache
            candidate.model.context = self._context_of(candidate.backend)
            candidate.model.blobs = Blobs(candidate.id, request.cache_dir)
        if network is not None:
            participants.compute_as(network.quantized_arithmetic)
        return participants

    def described(self, participants: Participants) -> list[str]:
        """Return the participating backends: versions, origins, options."""
        known = [first_entry(self.registry, candidate.id) for candidate in participants.all]
        described = [
            f"{entry.id} {entry.distribution} {entry.version} {entry.origin} {entry.api_version} "
            f"{dict(self._options.backend_options.get(entry.id, {}))}"
            for entry in known
            if entry is not None
        ]
        # Not asked for more than its version: it is not loaded, as a rule.
        evaluator = first_entry(self.registry, EVALUATOR)
        version = "none" if evaluator is None else evaluator.version
        return [*described, f"{EVALUATOR} {version}"]

    def contexts_of(self, participants: Participants) -> dict[str, BackendContext]:
        """Return the contexts of the participating backends by id."""
        contexts = {each.id: self._context_of(each.backend) for each in participants.all}
        return {each: context for each, context in contexts.items() if context is not None}

    def trim(self) -> None:
        """Tell the contexts that memory is short.

        Raises:
            ClosingError: Contexts failed; all were told nevertheless.
        """
        with self._lock:
            opened = tuple(self._opened)
        closing = Closing("the memory of backends", "is given back")
        for backend, context in opened:
            if context is not None:
                closing.step(call, backend.id, context, "trim")
        closing.end()

    def close(self) -> None:
        """Close the contexts and drop the backends.

        Raises:
            ClosingError: Contexts failed; all are closed nevertheless.
        """
        with self._lock:
            opened = tuple(self._opened)
            self._opened.clear()
        closing = Closing("the runtime")
        for backend, context in opened:
            if context is not None:
                closing.step(call, backend.id, context, "close")
        closing.step(self.registry.close)
        closing.end()

    def _open_named(self, options: CreationOptions) -> None:
        """Open the backends that a runtime's options name."""
        optional: dict[str, bool] = {}
        if options.backends is not None:
            self.registry.preferred(options.backends, self._open)
            optional = preferences(options.backends)
        named = (
            *options.backend_options,
            *options.custom_allocators,
            *(each for each in options.memory_strategies if each != ANY_BACKEND),
        )
        for backend_id in dict.fromkeys(named):
            if not optional.get(backend_id, False):
                self._named(backend_id)
        allowed = preferences(options.allowed_backends or ())
        isolated = () if isinstance(options.isolate, str) else options.isolate
        if isolated or not all(allowed.values()):
            entries = self.registry.entries()
            known = {entry.id for entry in entries}
            for backend_id, may_be_missing in (*allowed.items(), *((i, False) for i in isolated)):
                is_elsewhere = is_placed(backend_id) and backend_id not in isolated
                if own_id(backend_id) not in known and not (may_be_missing or is_elsewhere):
                    raise unknown_backend(backend_id, entries)

    def _chosen(
        self, backends: Sequence[str] | None
    ) -> tuple[Sequence[Backend], tuple[SkippedBackend, ...]]:
        """Return usable and skipped backends of a list, if any."""
        if backends is not None:
            return self.registry.preferred(backends, self._open)
        usable = []
        for backend in self.registry.find_usable():
            try:
                usable.append(self._open(backend))
            except BackendUnavailableError as error:
                _log.warning("Backend %s is left out: %s", backend.id, error)
        if not usable:
            raise none_usable(self.registry.entries())
        return usable, ()

    def _named(self, backend_id: str) -> Backend:
        return self._open(self.registry.get(backend_id))

    def _hinted(self, backend_id: str) -> Backend | None:
        """Return a hinted backend, None if it is unusable."""
        try:
            return self._named(backend_id)
        except ArmnnError as error:
            _log.debug("The hinted backend %s is left out: %s", backend_id, error)
            return None

    def _open(self, backend: Backend) -> Backend:
        """Make the backend's context once, and return the backend."""
        with self._lock:
            if any(backend is opened for opened, _ in self._opened):
                return backend
            options, given = self._options, self._options.backend_options.get(backend.id)
            allocator = options.custom_allocators.get(backend.id)
            if options.protected_mode and (reason := _unprotected(backend, allocator)):
                self.registry.leave_out(backend.id, BackendUnavailableError(reason))
                return self.registry.get(backend.id)  # raises with the reason that was noted
            if allocator is not None and not (answer := _accepts(backend, allocator)):
                raise InvalidArgumentError(
                    f"backend {backend.id!r} cannot use the custom allocator: {answer.reason}"
                )
            try:
                context = call(backend.id, backend, "create_context", options)
            except Exception as error:
                if isinstance(error, InvalidArgumentError) and (given or allocator is not None):
                    raise  # the fault of the options, which another runtime may correct
                self.registry.leave_out(backend.id, error)
                return self.registry.get(backend.id)  # raises with the reason that was noted
            self._opened.append((backend, context))
        return backend

    def _context_of(self, backend: Backend) -> BackendContext | None:
        """Return a backend's context; of a foreign one, its namesake's."""
        for opened, context in reversed(self._opened):
            if opened is backend:
                return context
        return next((context for opened, context in self._opened if opened.id == backend.id), None)

    def _undo(self, error: BaseException) -> None:
        """Close the objects that were opened before an error; note further errors."""
        try:
            self.close()
        except ClosingError as group:
            error.add_note(str(group))

    def _join(
        self,
        chosen: Sequence[Backend],
        named: Sequence[Backend],
        skipped: tuple[SkippedBackend, ...],
        request: OptimizationRequest,
        profiler: ProfilingSink | None,
    ) -> Participants:
        backend_options = request.options.model_options
        known = [backend.id for backend in (*chosen, *named)]
        unused = [each.id for each in skipped]
        for backend_id in backend_options:
            if backend_id not in known and backend_id not in unused:
                meant = closest(backend_id, known)
                hint = f"; did you mean {meant!r}?" if meant else ""
                raise InvalidArgumentError(
                    f"there are options for backend {backend_id!r}, which is not one of the "
                    f"backends used here: {', '.join(known)}{hint}"
                )
        factories = TensorHandleFactories()
        candidates = {}
        for backend in (*chosen, *named):
            _register_factories(backend, factories)
            candidates[backend.id] = Candidate.of(backend, backend_options.get(backend.id, {}))
        return Participants(
            tuple(candidates[backend.id] for backend in chosen),
            tuple(candidates[backend.id] for backend in named),
            lambda: (*self._evaluator(), *candidates.values()),
            factories,
            profiler,
            skipped=skipped,
            choice=request.choice,
            host_sources={
                backend_id: allocator.memory_source
                for backend_id, allocator in self._options.custom_allocators.items()
            },
        )

    def _evaluator(self) -> tuple[Candidate, ...]:
        try:
            backend = self.registry.get(EVALUATOR)
        except ArmnnError:
            return ()  # the backends of the network compute what they can
        return (Candidate.of(backend, {}),)


def _unprotected(backend: Backend, allocator: Allocator | None) -> str:
    """Return why a backend does not keep content protected, or ""."""
    if call(backend.id, backend, "capabilities").get(PROTECTED_CONTENT) is not True:
        return f"protected_mode: it lacks the capability {PROTECTED_CONTENT}"
    if allocator is None:
        return "protected_mode: it has no allocator of protected memory in custom_allocators"
    if allocator.memory_source is not MemorySource.DMA_BUF_PROTECTED:
        return (
            f"protected_mode: its allocator gives {allocator.memory_source.arm_name} memory, "
            f"expected {MemorySource.DMA_BUF_PROTECTED.arm_name}"
        )
    answer = _accepts(backend, allocator)
    return "" if answer else f"protected_mode: it refuses its allocator: {answer.reason}"


def _accepts(backend: Backend, allocator: Allocator) -> Support:
    answer: Support = call(backend.id, backend, "accepts_allocator", allocator)
    return answer


def _register_factories(backend: Backend, factories: TensorHandleFactories) -> None:
    """Register a backend's tensor-handle factories.

    Raises:
        BackendError: The backend prefers one that it does not register.
    """
    call(backend.id, backend, "register_tensor_handle_factories", factories)
    for factory_id in call(backend.id, backend, "handle_factory_preferences"):
        if factory_id != HOST_FACTORY_ID and factory_id not in factories:
            known = ", ".join(map(repr, (HOST_FACTORY_ID, *factories)))
            raise BackendError(
                f"backend {backend.id!r} returned {factory_id!r} in handle_factory_preferences, "
                f"which no backend registered: expected some of {known}"
            )


class BackendEvents:
    """Tells backend contexts that their network is loaded, run, unloaded.

    Args:
        network_id: The network.
        contexts: By backend id.
    """

    def __init__(self, network_id: int, contexts: Mapping[str, BackendContext]) -> None:
        self._network_id = network_id
        self._contexts = contexts
        self._loaded: list[str] = []
        # A call per run and context counts where a model takes microseconds.
        self._listening = tuple(
            (backend_id, context.after_enqueue_workload)
            for backend_id, context in contexts.items()
            if type(context).after_enqueue_workload is not BackendContext.after_enqueue_workload
        )

    @property
    def has_listeners(self) -> bool:
        """Whether any backend wants to know of runs."""
        return bool(self._listening)

    @property
    def tell_of_unloading(self) -> bool:
        """Whether any backend wants to know that a network is unloaded."""
        plain = BackendContext
        return any(
            type(each).before_unload_network is not plain.before_unload_network
            or type(each).after_unload_network is not plain.after_unload_network
            for each in self._contexts.values()
        )

    def before_load(self) -> None:
        """Tell each backend before the network is loaded.

        Raises:
            Exception: A backend raised that; those after it were not told.
        """
        for backend_id, context in self._contexts.items():
            self._tell(backend_id, context.before_load_network)
            self._loaded.append(backend_id)

    def after_load(self) -> None:
        """Tell each backend after the network was loaded.

        Raises:
            Exception: A backend raised that.
        """
        for backend_id, context in self._contexts.items():
            self._tell(backend_id, context.after_load_network)

    def after_run(self) -> None:
        """Tell each backend that listens after a run.

        Raises:
            Exception: A backend raised that.
        """
        for backend_id, listener in self._listening:
            self._tell(backend_id, listener)

    def unload(self, close: Callable[[], object], closing: Closing) -> None:
        """Close the network, and tell each backend before and after.

        Only backends that were told of the loading are told.

        Args:
            close: Closes the network.
            closing: Keeps what fails.
        """
        contexts = [(each, self._contexts[each]) for each in self._loaded]
        self._loaded = []
        for backend_id, context in contexts:
            closing.step(self._tell, backend_id, context.before_unload_network)
        closing.step(close)
        for backend_id, context in contexts:
            closing.step(self._tell, backend_id, context.after_unload_network)

    def _tell(self, backend_id: str, listener: Callable[[int], None]) -> None:
        try:
            listener(self._network_id)
        except Exception as error:
            blame(error, backend_id, listener.__name__, f"network {self._network_id}")
            raise
