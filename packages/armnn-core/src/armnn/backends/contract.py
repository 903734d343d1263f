# SPDX-License-Identifier: MIT
"""The contract of backends in Python: the classes that a backend subclasses, makes or receives.

The runtime calls a backend. A backend must define its id, the Backend API version that it needs, an
answer to "do you support this layer?" and workloads; everything else has a default that works. A
minor version of the Backend API may add a method only with a default, so that older backends go on
working.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import closest, shown, text
from armnn.backends.cache import BlobStore, Program, ProgramCache
from armnn.backends.memory import (
    HOST_SOURCES,
    Allocator,
    HostAllocator,
    MemoryManager,
    TensorHandle,
    TensorHandleFactories,
)
from armnn.backends.options import CreationOptions, OptionValue
from armnn.errors import (
    CancelledError,
    DeadlineExceededError,
    ExecutionError,
    GraphError,
    IncompatibleBlobError,
    InvalidArgumentError,
    UnknownNameError,
)
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, QuantizedArithmetic
from armnn_backend_api import BackendVersion
from armnn_backend_api.memory import printable

if TYPE_CHECKING:
    from armnn.graph import Layer, Network, Value

_T = TypeVar("_T")


class Capability(StrEnum):
    """The known capabilities; the first nine are Arm NN's.

    ``Backend.capabilities`` states them by these names. The value is true or false, but Disturbs is
    a text and CopyLatencyBytes a number. The conformance kit runs the backend to check each
    capability that it states as true. A vendor may add names of its own.
    """

    NON_CONST_WEIGHTS = "NonConstWeights"
    """Layers take weights and biases that are computed or fed, not only constants."""
    ASYNC_EXECUTION = "AsyncExecution"
    """Steps can run while their caller goes on, by the extension ``armnn.async/1``."""
    PROTECTED_CONTENT_ALLOCATION = "ProtectedContentAllocation"
    """Working memory may come from an allocator of protected memory (``DmaBufProtected``)."""
    CONSTANT_TENSORS_AS_INPUTS = "ConstantTensorsAsInputs"
    """Constants, such as weights, are inputs of a layer."""
    PRE_IMPORT_IO_TENSORS = "PreImportIOTensors"
    """A step that was bound to a caller's memory reads and writes it there, run after run."""
    EXTERNALLY_MANAGED_MEMORY = "ExternallyManagedMemory"
    """The runtime allocates working memory, so that the user can name another allocator."""
    MULTI_AXIS_PACKING = "MultiAxisPacking"
    """Tensors that live at the same time may share a block of memory, side by side."""
    SINGLE_AXIS_PACKING = "SingleAxisPacking"
    """Tensors that live one after the other may use the same block of memory."""
    HAS_FP16 = "HasFp16"
    """Layers compute on Float16."""
    PROPAGATES_NAN = "PropagatesNaN"
    """Where the definition of a layer gives NaN, the backend gives NaN, never a number; true unless
    it is stated to be false."""
    KEEPS_EXTREMES = "KeepsExtremes"
    """Infinity is read and written as such, and intermediate sums and squares do not overflow where
    the result is in the range of the type; true unless it is stated to be false."""
    RELEASES_CONSTANTS = "ReleasesConstants"
    """Once ``compile`` of a C backend has dropped a constant that it kept, it neither reads the
    constant again nor refuses a node: the host may then free the data."""
    DISTURBS = "Disturbs"
    """A text: what the backend's driver changes in the process or leaves there, such as "signals,
    environment, threads". The words are those that the conformance kit uses for such changes, which
    it does not count as failures then. Since Backend API 1.3."""
    COPY_LATENCY_BYTES = "CopyLatencyBytes"
    """A whole number: the latency of a copy to or from the backend's memory, as the number of bytes
    that are copied in that time. Parts of a network that are less work than their copies then run
    on the host; without this capability all parts stay on the backend. Since Backend API 1.3."""


NOT_FORWARDED: Final = (
    Capability.ASYNC_EXECUTION,
    Capability.EXTERNALLY_MANAGED_MEMORY,
    Capability.PRE_IMPORT_IO_TENSORS,
    Capability.PROTECTED_CONTENT_ALLOCATION,
    Capability.RELEASES_CONSTANTS,
)
"""The capabilities that are lost if a backend runs in a worker process or behind a file."""


def has_capability(
    capabilities: Mapping[str, OptionValue], name: str, value: OptionValue = True
) -> bool:
    """Return whether a capability has a value, by default true.

    Counterpart of Arm NN's ``HasMatchingCapability``. A name that is not stated is false, except
    PropagatesNaN and KeepsExtremes, which are true.

    Args:
        capabilities: The capabilities that a backend states.
        name: A name of :class:`Capability`, or of a vendor's capability.
        value: The value that the capability must have.

    Raises:
        UnknownNameError: The name is not stated and looks like a misspelling of a known name.
    """
    name = text(name, "the name of a capability")
    if name in capabilities:
        stated = capabilities[name]
        return stated == value and isinstance(stated, bool) == isinstance(value, bool)
    known = {*capabilities, *(each.value for each in Capability)}
    meant = None if name in known else closest(name, sorted(known))
    if meant is not None:
        raise UnknownNameError(f"there is no capability {name!r}; did you mean {meant!r}?")
    return value is (name in (Capability.PROPAGATES_NAN, Capability.KEEPS_EXTREMES))


LONGEST_REASON: Final = 4096
"""The most characters of a reason that are kept."""


@dataclass(frozen=True, slots=True)
class Support:
    """A backend's answer whether it supports a layer; true in a condition if it does.

    Attributes:
        supported: Whether the backend runs the layer.
        reason: Why not, for people: what is not supported, on which input, and what is supported.
            Empty if the layer is supported. Control characters, line ends and bidirectional marks
            are replaced by escapes, as the reason is shown on terminals and in logs; of a longer
            reason the first 4096 characters are kept.
        layout: The data layout in which the backend would run a layer that it refuses, or in which
            it runs the layer faster; None if it has no preference. The optimizer adds transposes
            where that pays. Since Backend API 1.2.
    """

    supported: bool
    reason: str = ""
    layout: DataLayout | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", printable(self.reason, LONGEST_REASON))

    def __bool__(self) -> bool:
        return self.supported

    @classmethod
    def no(cls, reason: str, layout: DataLayout | None = None) -> Support:
        """Return a refusal.

        Args:
            reason: The reason, not empty; see the attribute.
            layout: The layout in which the backend would run the layer, if there is one.

        Raises:
            ValueError: The reason is empty.
        """
        if not reason:
            raise ValueError("a refusal needs a reason")
        return cls(False, reason, layout)


SUPPORTED = Support(True)
"""The answer of a backend that supports a layer."""


class CancelToken(Protocol):
    """Anything that can cancel a run; ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Return whether to stop the run."""
        ...


class ProfilingSink(ABC):
    """Receives profiling events."""

    @abstractmethod
    def event(self, name: str, start_ns: int, end_ns: int, **details: OptionValue) -> None:
        """Record an event that took from ``start_ns`` to ``end_ns`` (``time.perf_counter_ns``).

        Args:
            name: The name of a layer, or of an action of a backend.
            start_ns: The time at which it began.
            end_ns: The time at which it ended.
            details: Details that readers of the profile understand, all of them texts: ``category``
                ("layer"; "kernel" for a kernel that ran inside of a layer on the host; "device" for
                a kernel in a queue, whose ``name`` is the name of its layer), ``type`` (the layer
                type), ``backend``, and ``kernel`` (the name of the kernel, if ``name`` is another).
                Other details are kept and shown.
        """


class ProfilingContext:
    """A backend's own events and counters (Arm NN: ``IBackendProfilingContext``)."""

    def begin_run(self, network_id: int) -> None:
        """Take note that a profiled run begins."""

    def end_run(self, network_id: int) -> None:
        """Take note that a profiled run ended, with or without an error, on its thread.

        The backend reports the kernels of a device now, with the category "device". A kernel
        belongs to the run of this thread during which it began, by the clock of the host.
        """


@dataclass(frozen=True, slots=True)
class RunControl:
    """A caller's controls of one run.

    Runs without any of these have no control, and skip its checks.

    Attributes:
        deadline_ns: The deadline of the run (``time.perf_counter_ns``), if it has one.
        cancel: The token that is asked before each layer.
        profiler: Gets one event per layer.
    """

    deadline_ns: int | None = None
    cancel: CancelToken | None = None
    profiler: ProfilingSink | None = None

    def reason_to_stop(self) -> ExecutionError | None:
        """Return the error of a run that must end, None if it may go on."""
        if self.cancel is not None and self.cancel.is_set():
            return CancelledError("the run was cancelled")
        if self.deadline_ns is not None and time.perf_counter_ns() > self.deadline_ns:
            return DeadlineExceededError("the time was up")
        return None


current_control: Final[ContextVar[RunControl | None]] = ContextVar("armnn_run", default=None)
"""The control of this thread's run, None without one; a long step checks it now and then."""

controlled_runs: Final[list[RunControl]] = []
"""The controls of all threads' runs.

Nearly always the list is empty. Steps of microseconds look at it first, which takes 0.06 us less of
a small model's run than a look at ``current_control``.
"""


@contextmanager
def controlled(control: RunControl) -> Iterator[None]:
    """Use a control for the run of this thread, within the block."""
    controlled_runs.append(control)
    token = current_control.set(control)
    try:
        yield
    finally:
        current_control.reset(token)
        controlled_runs.pop()  # any of them: only whether the list is empty is used


def raise_if_stopped() -> bool:
    """Raise if the run that this thread is in must end: it was cancelled, or its time is up.

    A step, or a method of a tensor handle, that waits for a device calls it every few milliseconds
    and lets the exception pass. Work that the device has already begun may go on; the next use of
    the same tensors waits for it. Counterpart of C's ``armnn_host.cancelled``. Since Backend API
    1.3.

    Returns:
        Whether to call it again; False if nothing can stop this run, so that it may wait in its
        driver for any time.

    Raises:
        CancelledError: The caller cancelled the run.
        DeadlineExceededError: The time of the run is up.
    """
    control = current_control.get() if controlled_runs else None
    if control is None:
        return False
    reason = control.reason_to_stop()
    if reason is not None:
        raise reason
    return control.cancel is not None or control.deadline_ns is not None


_POLL_SECONDS: Final = 0.0005


class Event(ABC):
    """A point in a queue of a device: done when all work enqueued before it has ended.

    :meth:`TensorHandle.written` returns the event of the last write to a tensor, for which a queue
    waits before it uses a tensor of another queue. Since Backend API 1.3.
    """

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether the work has ended; the property does not wait for that.

        Raises:
            Exception: The work failed, or work before it in its queue did.
        """

    def wait(self) -> None:
        """Wait on the host until the work has ended, or until the run of this thread must end.

        By default it asks :attr:`is_done` every half millisecond. An override that waits in its
        driver does so only where :func:`raise_if_stopped` returns False.

        Raises:
            CancelledError: The caller cancelled the run.
            DeadlineExceededError: The time of the run is up.
            Exception: The work failed.
        """
        while not self.is_done:
            raise_if_stopped()
            time.sleep(_POLL_SECONDS)


@dataclass(frozen=True, slots=True, eq=False)
class SubgraphView:
    """Some layers of a network (Arm NN: ``SubgraphView``).

    Attributes:
        network: The network; it is read, never changed through a view.
        layers: In topological order.
        inputs: The values that the layers read and that layers outside of the view make, such as
            those of Constant layers, in the order of first use.
        outputs: The values that the layers make and that layers outside of the view read, in the
            order of the layers.
    """

    network: Network
    layers: tuple[Layer, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @classmethod
    def of(cls, network: Network, layers: Iterable[Layer]) -> SubgraphView:
        """Return the view of some layers of a network.

        Raises:
            GraphError: A layer is not in the network.
        """
        wanted = dict.fromkeys(layers)
        for layer in wanted:
            if layer not in network:
                raise GraphError(f"layer {layer.name!r} is not in the network {network.name!r}")
        ordered = tuple(sorted(wanted, key=_positions(network).__getitem__))
        inputs = dict.fromkeys(
            value
            for layer in ordered
            for value in layer.inputs
            if value is not None and value.producer not in wanted
        )
        outputs = tuple(
            value
            for layer in ordered
            for value in layer.outputs
            if any(reader not in wanted for reader, _ in value.uses)
        )
        return cls(network, ordered, tuple(inputs), outputs)

    def part(self, *layers: Layer) -> SubgraphView:
        """Return the view of some of these layers."""
        return SubgraphView.of(self.network, layers)

    def replacement(self) -> Network:
        """Return a new network that has only the inputs of the view.

        A backend adds its own layers, and then one Output layer per output of the view, in the same
        order. The network is then the ``replacement`` of a :class:`Substitution`.
        """
        from armnn.graph import Network  # late: a prepared load does without

        fragment = Network(f"replacement in {self.network.name}")
        fragment.is_temporary = True
        for value in self.inputs:
            fragment.add_input(value.name, value.info)
        return fragment


def _positions(network: Network) -> dict[Layer, int]:
    return {layer: index for index, layer in enumerate(network.topological_order())}


@dataclass(frozen=True, slots=True, eq=False)
class Substitution:
    """A part of a subgraph and its replacement.

    Attributes:
        pattern: The layers that are replaced.
        replacement: A network with one Input layer per input of the pattern and one Output layer
            per output, in the same order; the layers between them replace the pattern.
    """

    pattern: SubgraphView
    replacement: Network


@dataclass(slots=True, eq=False)
class OptimizationViews:
    """A backend's replacements of a subgraph (Arm NN: ``OptimizationViews``).

    Each layer of the subgraph is in at most one of the lists; layers in none are untouched.

    Attributes:
        substitutions: Parts to replace.
        failed: Parts that the backend cannot run after all; they go to the next backend.
        untouched: Parts that stay as they are.
        deleted: Parts to remove: the readers of each output read the input of the same position
            instead. An output that nothing reads needs no such input.
        reasons: The reasons, for people, why parts failed, by the name of one layer of each part.
    """

    substitutions: list[Substitution] = field(default_factory=list)
    failed: list[SubgraphView] = field(default_factory=list)
    untouched: list[SubgraphView] = field(default_factory=list)
    deleted: list[SubgraphView] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def wrong_views(views: Any) -> str | None:
    """Return a text that says what is wrong with an answer of ``optimize_subgraph``, or None."""
    from armnn.graph import Network  # late: a prepared load does without

    if not isinstance(views, OptimizationViews):
        return shown(views)
    kinds = {
        "substitutions": Substitution,
        "failed": SubgraphView,
        "untouched": SubgraphView,
        "deleted": SubgraphView,
    }
    for name, kind in kinds.items():
        rows: Any = getattr(views, name)
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            return f"OptimizationViews with {shown(rows)} as {name}"
        for row in rows:
            if not isinstance(row, kind):
                return f"OptimizationViews with {shown(row)} in {name}"
    for each in views.substitutions:
        pattern: Any = each.pattern
        replacement: Any = each.replacement
        if not isinstance(pattern, SubgraphView):
            return f"a Substitution with {shown(pattern)} as pattern"
        if not isinstance(replacement, Network):
            return f"a Substitution with {shown(replacement)} as replacement"
    reasons: Any = views.reasons
    if not isinstance(reasons, Mapping):
        return f"OptimizationViews with {shown(reasons)} as reasons"
    return None


Step: TypeAlias = Callable[[], object]
"""A function that runs one layer on the tensors that it is bound to; its result is ignored.

If all outputs are on a device, a step may return as soon as its work is in the queue of the
context. Reads by the host (``map``, ``copy_to``, ``written().wait``) then wait for the work, at
most until the deadline of the run. A step reads and writes tensors in host memory before it
returns.
"""


class ModelContext:
    """A backend's context of one network (Arm NN: ``IBackendModelContext``).

    There is one model context per backend and network. It is made from the options that the caller
    gave for the network, before the backend is asked about a layer. A backend may subclass it to
    parse its options once.

    Attributes:
        options: The options that the caller gave this backend for this network.
        quantized_arithmetic: How the network's quantized layers round; a backend may ignore it.
        cache: The cache of compiled programs, which later processes may read; None if the caller
            named no folder.
        context: The context that the backend made for the runtime, None if it made none. Since
            Backend API 1.3.
        blobs: The store of kernel binaries and the like, which later processes may read. It is in
            the folder ``cache_dir``, or in the user's cache folder; None if nothing is stored, as
            in the conformance kit. Since Backend API 1.3.
        handle_factory_preferences: The ids of the tensor-handle factories for this network in place
            of those of the backend, such as the factory of a device that an option selects; None
            for those of the backend. Since Backend API 1.3.
        context_limit: How many runs of the network may have an execution context at a time; a
            further run waits for one, until its deadline. None for any number. Bound calls and
            streams have contexts of their own. Since Backend API 1.3.
    """

    context: BackendContext | None = None
    blobs: BlobStore | None = None
    handle_factory_preferences: Sequence[str] | None = None
    context_limit: int | None = None

    def __init__(self, options: Mapping[str, OptionValue]) -> None:
        self.options = dict(options)
        self.quantized_arithmetic = QuantizedArithmetic.REAL
        self.cache: ProgramCache | None = None
        self._shared: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._lock = threading.RLock()

    def shared(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the value of a key; ``make`` makes it if no workload holds it.

        Plans of a network for different shapes share its weights: a workload that packs weights
        calls this with the ``id()`` of their array in the key, so that they are packed once. The
        context keeps a weak reference only. The workload must keep the value, and the array too, so
        that no other array gets its ``id()``. The value is freed with the last workload that keeps
        it, so that the memory of a network does not grow with each new shape.

        Raises:
            TypeError: ``make`` returned an object that supports no weak references, such as a tuple
                or a number.
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

    def bind_in(
        self,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        memory: MemoryManager | None,
    ) -> Step:
        """Return the step that runs the layer on these tensors in one execution context.

        The runtime calls it; by default it calls :meth:`bind`. A backend that has a queue per
        execution context finds here the queue for the step. Since Backend API 1.3.

        Args:
            inputs: See :meth:`bind`.
            outputs: See :meth:`bind`.
            memory: The memory manager of the backend for this execution context, if it has one.
        """
        return self.bind(inputs, outputs)

    @property
    def scratch_bytes(self) -> int:
        """The bytes of scratch memory that a step needs (Arm NN: ``GetMemoryRequirements``).

        The memory planner places the scratch memory beside the tensors. Since Backend API 1.2.
        """
        return 0

    def bind_with_scratch(
        self,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        scratch: NDArray[np.uint8],
    ) -> Step:
        """Return the step that runs the layer, with scratch memory.

        A runtime calls it in place of :meth:`bind` if ``scratch_bytes`` is not 0. Constant folding
        and tests call :meth:`bind`, which must allocate scratch memory. Since Backend API 1.2.

        Args:
            inputs: See :meth:`bind`.
            outputs: See :meth:`bind`.
            scratch: An array of ``scratch_bytes`` bytes, aligned as tensors are. Other layers write
                to it between two steps.
        """
        return self.bind(inputs, outputs)


class BackendContext:
    """A backend's context of one runtime (Arm NN: ``IBackendContext``).

    The runtime calls its methods to notify the backend; by default they do nothing.
    """

    def before_load_network(self, network_id: int) -> None:
        """Accept or refuse a network before it is loaded.

        An exception refuses the network. If the loading fails later, the methods about unloading
        are called.
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
        """Take note that a run has ended.

        Any thread may call it, and several threads at once.
        """

    def trim(self) -> None:
        """Free memory that is kept for later, such as pools of buffers.

        The runtime calls it, from any thread, when a run gets no memory, and in
        :meth:`armnn.Runtime.trim`. Since Backend API 1.3.
        """

    def close(self) -> None:
        """Close the context; the runtime calls it once, when it closes."""


class Backend(ABC):
    """A backend (Arm NN: ``IBackendInternal``).

    A backend object is cheap to make and holds no state of a network, as workloads and contexts
    that it creates may outlive it.

    Attributes:
        id: The id of the backend, letters and digits, such as "CpuAcc".
        api_version: The Backend API version that the backend needs (not the newest it knows).
    """

    id: ClassVar[str]
    api_version: ClassVar[BackendVersion]

    @abstractmethod
    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether the backend runs a layer whose shapes are known.

        (Arm NN: ``GetLayerSupport``.) A refusal names the offending input and what is supported.
        """

    @abstractmethod
    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload of a supported layer (Arm NN: ``IWorkloadFactory::CreateWorkload``).

        Raises:
            BackendError: The layer cannot be prepared.
        """

    def score(self) -> int:
        """Return the rank of the backend if the user names no backends; the highest comes first.

        A backend of rank 0 is used only if the user names it.
        """
        return 1

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The capabilities of the backend (Arm NN: ``GetCapabilities``).

        They are stated by the names in :class:`armnn.backends.Capability`, and by a vendor's own.
        """
        return {}

    def has_capability(self, name: str, value: OptionValue = True) -> bool:
        """Return whether a capability has a value, by default true.

        Since Backend API 1.2. A name that the backend does not state is false,
        except PropagatesNaN and KeepsExtremes, which are true (Arm NN: ``HasCapability``).

        Raises:
            UnknownNameError: The name is not stated and looks like a misspelling of a known name.
        """
        return has_capability(self.capabilities, name, value)

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """Return the backend's context for one runtime, if it keeps one.

        Raises:
            BackendUnavailableError: The hardware or driver is missing; the backend is left out.
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
        """Return the backend's context for one network.

        Raises:
            InvalidArgumentError: The backend does not know an option; by default it knows none.
        """
        if options:
            raise InvalidArgumentError(
                f"backend {self.id!r} has no options: got {', '.join(sorted(options))}"
            )
        return ModelContext(options)

    def create_profiling_context(self, sink: ProfilingSink) -> ProfilingContext | None:
        """Return the object that reports the backend's own events, if it reports any."""
        return None

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Return the substitutions for layers that were assigned to the backend.

        By default all layers stay as they are.
        """
        return OptimizationViews(untouched=[view])

    def create_memory_manager(self) -> MemoryManager | None:
        """Return the memory manager of one execution context, None for tensors in host memory."""
        return None

    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        """The ids of usable tensor-handle factories; empty for host memory."""
        return ()

    def host_inputs(self, layer: Layer, model: ModelContext) -> Collection[int]:
        """Return the indices of the inputs that a layer's workload reads in host memory.

        They are lengths, positions and the like, which a backend with memory of its own reads when
        its step is called. If another layer computes such an input on a device, the runtime copies
        it to the host. Since Backend API 1.3.
        """
        return ()

    def host_outputs(self, layer: Layer, model: ModelContext) -> Collection[int]:
        """Return the indices of the outputs that a layer's workload writes in host memory.

        The step writes them before it returns. Since Backend API 1.3.
        """
        return ()

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        """Register the tensor-handle factories of the backend."""

    def accepts_allocator(self, allocator: Allocator) -> Support:
        """Return whether working memory may come from a custom allocator.

        By default it may if the backend computes in host memory, which the runtime allocates, and
        the allocator's memory is one that the host can reach.
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
        """Return the allocator of working memory for users who name no other one."""
        return HostAllocator()

    def serialize(self, compiled: object, model: ModelContext) -> bytes | None:
        """Return a compiled part as bytes, from which :meth:`deserialize` restores it.

        The host stores the bytes with the prepared network, in the user's ``cache_dir`` or in a
        file that may go to another machine. By default the result is None, and a network with such
        a part is not stored. Only backends that declare Backend API 1.3 are asked.

        Args:
            compiled: The ``compiled`` of a PreCompiled layer of this backend, if it is not a
                :class:`Program`.
            model: The network's context.

        Returns:
            The bytes, which include a description of all that they depend on: device, driver,
            format and the backend's own version. None if this part cannot be stored.
        """
        return None

    def deserialize(self, blob: bytes, model: ModelContext) -> object:
        """Return the compiled part from which :meth:`serialize` made some bytes.

        Since Backend API 1.3.

        Args:
            blob: The bytes. They are complete, but may come from another machine, another version
                of the backend, or someone else's file: nothing in them may be run unchecked.
            model: The network's context.

        Raises:
            IncompatibleBlobError: The bytes cannot be used here. A network from ``cache_dir`` is
                prepared again, a network from a file is refused with this reason.
        """
        raise IncompatibleBlobError(f"backend {self.id!r} restores no compiled parts")

    @property
    def cache_file_count(self) -> int:
        """The number of files that one compiled network has in the backend's caches."""
        return 0

    def extension(self, name: str) -> object | None:
        """Return an optional feature, None if the backend lacks it.

        Since Backend API 1.1.

        Args:
            name: The name of the feature, with its version. armnn knows "armnn.async/1"
                (:class:`AsyncExecution`) and "armnn.memory/1" (:class:`SharedMemory`); the names of
                a vendor's features begin with the name of the vendor.
        """
        return None


class NetworkBackend(Backend):
    """A backend that is asked about all layers of a network at once."""

    @abstractmethod
    def query(self, view: SubgraphView, model: ModelContext) -> Sequence[Support]:
        """Return one answer per layer of the view, in order.

        Raises:
            ArmnnError: The backend failed and gave no answer.
        """


class CachingBackend(Backend):
    """A backend that stores its compiled programs in the network's cache, and finds them there."""

    @abstractmethod
    def cached_program(self, key: Sequence[Any], model: ModelContext) -> Program:
        """Return the program that the cache has for a :attr:`Program.cache_key`.

        Raises:
            StaleEntryError: The cache has no such program, or it no longer fits the backend.
        """

    @abstractmethod
    def program_workload(
        self,
        program: Program,
        inputs: Sequence[TensorInfo | None],
        outputs: Sequence[TensorInfo],
    ) -> Workload:
        """Return a workload that runs a program from the cache, without a layer.

        Args:
            program: The program, as :meth:`cached_program` returned it.
            inputs: The infos of the tensors that the workload reads; None for an absent tensor.
            outputs: The infos of the tensors that it writes.

        Raises:
            BackendError: The program is not one of this backend.
        """
