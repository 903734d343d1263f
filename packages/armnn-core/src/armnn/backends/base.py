# SPDX-License-Identifier: MIT
"""The Backend API in Python: backends and their use.

The runtime calls it. A backend needs an id, the Backend API version that it needs, an answer to "do
you support this layer?" and workloads; everything else has a default that works. A method may be
added here in a minor version of the Backend API only with a default, so that older backends go on
working.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from armnn.backends.cache import CachedProgram, ProgramCache
from armnn.backends.control import ProfilingContext, ProfilingSink
from armnn.backends.memory import (
    HOST_SOURCES,
    Allocator,
    HostAllocator,
    MemoryManager,
    TensorHandle,
    TensorHandleFactories,
)
from armnn.backends.options import CreationOptions, OptionValue
from armnn.backends.support import Support
from armnn.errors import InvalidArgumentError
from armnn.tensor import TensorInfo
from armnn.types import QuantizedArithmetic
from armnn_backend_api import BackendVersion

if TYPE_CHECKING:
    from armnn.backends.views import OptimizationViews, SubgraphView
    from armnn.graph import Layer

    _T = TypeVar("_T")

Step: TypeAlias = Callable[[], object]
"""One layer, bound to its tensors, ready to be run; what it returns is ignored."""


class ModelContext:
    """What a backend knows about one network (Arm NN: ``IBackendModelContext``).

    One per backend and network, made from the model's options before anything else is asked. A
    backend may derive from it to parse its options once.

    Attributes:
        options: The options that the caller gave this backend for this network.
        quantized_arithmetic: How the network's quantised layers round; a backend may ignore it.
        cache: Where compiled programs may be kept from one process to the next, if the caller
            named a folder.
    """

    def __init__(self, options: Mapping[str, OptionValue]) -> None:
        self.options = dict(options)
        self.quantized_arithmetic = QuantizedArithmetic.REAL
        self.cache: ProgramCache | None = None
        self._shared: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._lock = threading.RLock()

    def shared(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return a key's value, made by ``make`` unless still held.

        Workloads hold values. Specialisations of a network for different shapes share its weights;
        a workload that packs them asks here, with the identity of the array in the key, so that
        they are packed once. It holds the value, and the array too, so that no other array gets its
        identity. The value is freed with the last workload that holds it: a network that meets ever
        new shapes does not grow.

        Raises:
            TypeError: ``make`` returned what takes no weak references, such as a tuple or a number.
        """
        with self._lock:
            value: _T | None = self._shared.get(key)
            if value is None:
                value = self._shared[key] = make()
            return value


class Workload(ABC):
    """One layer, prepared by a backend (Arm NN: ``IWorkload``).

    A workload does not change after it was made; any number of execution contexts share it.
    """

    @abstractmethod
    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that runs the layer on these tensors.

        Called once per execution context. One context is used by one thread at a time.

        Args:
            inputs: One handle per input of the layer, None where an optional input is absent.
            outputs: One handle per output.
        """

    @property
    def scratch_bytes(self) -> int:
        """The scratch memory of a step (Arm NN: ``GetMemoryRequirements``).

        The memory planner places it beside the tensors. Since Backend API 1.2.
        """
        return 0

    def bind_with_scratch(
        self,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        scratch: NDArray[np.uint8],
    ) -> Step:
        """Return the step that runs the layer, with scratch memory.

        A runtime calls it in the place of :meth:`bind` if ``scratch_bytes`` is not 0; constants and
        tests call :meth:`bind`, which allocates for itself. Since Backend API 1.2.

        Args:
            inputs: See :meth:`bind`.
            outputs: See :meth:`bind`.
            scratch: So many bytes, aligned as tensors are; other layers use them between two steps.
        """
        return self.bind(inputs, outputs)


class BackendContext:
    """What a backend keeps for one runtime (Arm NN: ``IBackendContext``).

    Each event is optional.
    """

    def before_load_network(self, network_id: int) -> None:
        """Accept or refuse a network before it is loaded.

        An exception refuses it. The events of unloading follow if the loading fails later.
        """

    def after_load_network(self, network_id: int) -> None:
        """Take note that a network was loaded."""

    def before_unload_network(self, network_id: int) -> None:
        """Take note that a network is being unloaded.

        No run is going on any more.
        """

    def after_unload_network(self, network_id: int) -> None:
        """Take note that a network was unloaded."""

    def after_enqueue_workload(self, network_id: int) -> None:
        """Take note of a run's end, from any thread.

        Several threads may call it at once.
        """

    def close(self) -> None:
        """Close the context, once, with the runtime."""


class Backend(ABC):
    """A backend (Arm NN: ``IBackendInternal``).

    Backends are cheap and stateless: what they create may outlive them.

    Attributes:
        id: Letters and digits, as in "CpuAcc".
        api_version: The Backend API version that the backend needs (not the newest it knows).
    """

    id: ClassVar[str]
    api_version: ClassVar[BackendVersion]

    @abstractmethod
    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether the backend runs a layer of known shape.

        (Arm NN: ``GetLayerSupport``.) A refusal names the offending input and what is supported.
        """

    @abstractmethod
    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer that is supported (Arm NN: ``IWorkloadFactory::CreateWorkload``).

        Raises:
            BackendError: It cannot be prepared.
        """

    def score(self) -> int:
        """Return the backend's default preference; 0 is never.

        It counts when the user names no backend.
        """
        return 1

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """What the backend can do (Arm NN: ``GetCapabilities``).

        By the names of :class:`armnn.backends.Capability`, true or false, and by a vendor's own.
        """
        return {}

    def has_capability(self, name: str, value: OptionValue = True) -> bool:
        """Return whether a capability has a value, by default true.

        Since Backend API 1.2. A name that the backend does not state is false, but for
        PropagatesNaN (Arm NN: ``HasCapability``).

        Raises:
            UnknownNameError: The name looks like a misspelt one.
        """
        from armnn.backends.capability import has_capability  # late, as what follows

        return has_capability(self.capabilities, name, value)

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """Return what the backend keeps for one runtime, if anything.

        Raises:
            BackendUnavailableError: The hardware or driver is not there; the backend is left out.
            InvalidArgumentError: The backend does not know one of its options in
                ``options.backend_options``; by default it knows none.
        """
        given = options.backend_options.get(self.id)
        if given:
            raise InvalidArgumentError(
                f"backend {self.id!r} has no options for a runtime: got "
                f"{', '.join(sorted(given))}; those of a network are the backend_options of "
                "optimize() and load_model()"
            )
        return None

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Return what the backend keeps for one network.

        Raises:
            InvalidArgumentError: The backend does not know an option; by default it knows none.
        """
        if options:
            raise InvalidArgumentError(
                f"backend {self.id!r} has no options: got {', '.join(sorted(options))}"
            )
        return ModelContext(options)

    def create_profiling_context(self, sink: ProfilingSink) -> ProfilingContext | None:
        """Return the backend's part of profiling, if it has one."""
        return None

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Return what becomes of layers assigned to the backend.

        By default they stay as they are.
        """
        from armnn.backends.views import OptimizationViews  # late: prepared loads do without it

        return OptimizationViews(untouched=[view])

    def create_memory_manager(self) -> MemoryManager | None:
        """Return the owner of a context's tensors, None without one.

        None is for tensors in host memory.
        """
        return None

    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        """The ids of usable tensor-handle factories; empty for host memory."""
        return ()

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        """Register the factories that the backend brings."""

    def accepts_allocator(self, allocator: Allocator) -> Support:
        """Return whether working memory may have a custom allocator.

        By default it may if the backend works in host memory, as the runtime allocates that, and
        the host can reach what the allocator gives.
        """
        if self.handle_factory_preferences:
            return Support.no(f"backend {self.id!r} does not support a custom allocator")
        if allocator.memory_source not in HOST_SOURCES:
            return Support.no(
                f"backend {self.id!r} computes in host memory, and the allocator's is "
                f"{allocator.memory_source.arm_name}: expected one of "
                f"{', '.join(source.arm_name for source in HOST_SOURCES)}"
            )
        return Support(True)

    def default_allocator(self) -> Allocator:
        """Return the allocator of working memory, by default.

        The user may name another one.
        """
        return HostAllocator()

    @property
    def cache_file_count(self) -> int:
        """The files that a compiled network takes in caches."""
        return 0

    def extension(self, name: str) -> object | None:
        """Return an optional feature, None if the backend lacks it.

        Since Backend API 1.1.

        Args:
            name: Name and version. armnn knows "armnn.async/1" (:class:`AsyncExecution`) and
                "armnn.memory/1" (:class:`SharedMemory`); a vendor's begin with its own name.
        """
        return None


class NetworkBackend(Backend):
    """A backend that answers for all layers of a network."""

    @abstractmethod
    def query(self, view: SubgraphView, model: ModelContext) -> Sequence[Support]:
        """Return one answer per layer of the view, in order.

        Raises:
            ArmnnError: The backend failed instead of answering.
        """


class CachingBackend(Backend):
    """A backend that finds compiled programs in the network's cache."""

    @abstractmethod
    def cached_program(self, key: Sequence[Any], model: ModelContext) -> CachedProgram:
        """Return the program of a :attr:`CachedProgram.cache_key`.

        Raises:
            StaleEntryError: It is not there, or does not fit any more.
        """

    @abstractmethod
    def program_workload(
        self,
        program: CachedProgram,
        inputs: Sequence[TensorInfo | None],
        outputs: Sequence[TensorInfo],
    ) -> Workload:
        """Return what runs a found program, without a layer.

        Args:
            program: The program.
            inputs: What the workload is bound to, as a layer with that program would be.
            outputs: What it makes.

        Raises:
            BackendError: It is no program of this backend.
        """
