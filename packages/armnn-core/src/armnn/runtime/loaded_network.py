# SPDX-License-Identifier: MIT
"""A loaded network, which any number of threads may run.

It is unloaded once: by ``unload()``, when its runtime closes, or when nothing refers to it. In the
last case the interpreter may call the finalizer in the middle of any call of any thread, while any
lock is held. So the finalizer takes no lock that other code may hold: if a backend or an allocator
must be called, it starts a thread that unloads the network.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakMethod, WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn._load_times import FIRST_RUN, REST, more
from armnn.arguments import texts
from armnn.backends import ProfilingSink
from armnn.backends.contract import Backend, CancelToken, RunControl
from armnn.buffer import Buffer, SupportsDLPack
from armnn.errors import ClosingError, InvalidArgumentError, WorkerLostError
from armnn.graph.aliases import Aliased, Aliases, first_names
from armnn.optimizer.plan import Cache
from armnn.runtime.backends_in_use import BackendEvents
from armnn.runtime.calls.control import (
    NetworkProperties,
    checked_control,
    deadline_of,
    seconds_until,
    watched_run,
)
from armnn.runtime.calls.inputs import (
    ExpectedInputs,
    InputShapes,
    Ports,
    Written,
    checked_array,
    checked_shape,
)
from armnn.runtime.closing import Closing
from armnn.runtime.engine import memory_of
from armnn.runtime.plans import PlanCache, backends_beside, reached_devices, shared_memory_beside
from armnn.runtime.request import LoadRequest
from armnn.runtime.states import (
    MakeArrays,
    StateMemory,
    States,
    Stream,
    StreamStates,
    declared_states,
    variables,
)
from armnn.runtime.steps import Targets
from armnn.tensor import TensorInfo
from armnn.types import MemorySource

if TYPE_CHECKING:  # a prepared load imports no graph and no optimizer
    from armnn.optimizer import Report
    from armnn.runtime.calls.binding import BoundCall
    from armnn.runtime.calls.failover import Failover
    from armnn.runtime.calls.imports import FileMemory, ImportingRuns, Imports
    from armnn.runtime.calls.tasks import AwaitedRuns, RunTask
    from armnn.runtime.record import Record
    from armnn.runtime.runtime import Runtime


_log = logging.getLogger(__name__)


class NetworkResources:
    """The plans, working memory and bound calls of a loaded network.

    It does not refer to the network, so that the runtime can refer to it without keeping the
    network loaded.

    Attributes:
        events: Notifies the backends of loading, runs and unloading.
        bound: The bound calls of the network.
        states: The states that bound calls and streams use.
        overriding: Networks of the same model in which some initializers of the file are inputs,
            by the names of these initializers, joined by commas.
    """

    def __init__(
        self,
        plans: PlanCache,
        events: BackendEvents,
        importing: ImportingRuns | None,
        *,
        owns_graph: bool,
        frees_by_call: bool,
    ) -> None:
        """Hold the plans and settings of a network.

        Args:
            plans: The plans of the network.
            events: Notifies its backends of loading, runs and unloading.
            importing: Its runs in the memory of the caller, if it imports memory.
            owns_graph: Whether no other object refers to the optimized network.
            frees_by_call: Whether an allocator must be called to free working memory.
        """
        self.events = events
        self.bound: WeakSet[BoundCall] = WeakSet()
        self.states: WeakSet[StateMemory] = WeakSet()
        self.overriding: dict[str, LoadedNetwork] = {}
        self._plans = plans
        self._importing = importing
        self._owns_graph = owns_graph
        self._calls_others = frees_by_call or events.tell_of_unloading
        self._unloading = [True]  # popped by the call that unloads; pop is atomic, so needs no lock
        self._ended: threading.Event | None = None

    def unload(self) -> None:
        """Refuse new runs, wait for running ones, and notify the backends.

        Only the first call does so; later calls return at once.

        Raises:
            ClosingError: A backend failed when it was notified, or memory could not be freed; the
                network is unloaded nevertheless.
        """
        try:
            self._unloading.pop()
        except IndexError:
            return
        closing = Closing(self._plans.optimized.title)
        self.events.unload(self.close, closing)
        for each in self.overriding.values():
            closing.step(each.unload)
        closing.end()

    def close(self) -> bool:
        """Refuse new runs, wait for running ones, drop the plans.

        Returns:
            Whether this call closed the network; False if an earlier call did.

        Raises:
            ClosingError: A bound call, a state or a plan failed to close; the others are closed.
        """
        closing = Closing(self._plans.optimized.title)
        closing.step(self._plans.end)
        first = self._plans.gate.close()
        for call in tuple(self.bound):
            closing.step(call.close)
        for memory in tuple(self.states):
            closing.step(memory.close)
        if self._importing is not None:
            closing.step(self._importing.close)
        closing.step(self._plans.close, self._owns_graph)
        closing.end()
        return first

    def trim(self) -> None:
        """Free the working memory that no run uses; see :meth:`PlanCache.trim`."""
        self._plans.trim()

    def drop(self, forget: Callable[[], object]) -> None:
        """Unload a network that nothing refers to, without waiting.

        No run is going on, as each run refers to the network.

        Args:
            forget: Removes these resources from the runtime; it takes no lock.
        """
        if not self._unloading or not self._calls_others:
            self._end_drop(forget)
            return
        self._ended = threading.Event()
        _being_dropped[self] = None
        # The function that is registered last is called first: before native backends shut down.
        atexit.unregister(_wait_for_drops)
        atexit.register(_wait_for_drops)
        try:
            # threading.Thread takes locks, which this thread may hold.
            _thread.start_new_thread(self._end_drop, (forget,))
        except RuntimeError:  # the interpreter ends, or the system refuses another thread
            self._unloading.clear()
            self._end_drop(forget)

    def wait_for_drop(self) -> None:
        """Wait for the thread that unloads the network, if there is one."""
        if self in _being_dropped and self._ended is not None:
            self._ended.wait()

    def _end_drop(self, forget: Callable[[], object]) -> None:
        try:
            self.unload()
        except ClosingError as error:
            _log.warning("%s", error)
        finally:
            forget()
            if self._owns_graph:
                self._plans.optimized.clear()
            if self._ended is not None:
                _being_dropped.pop(self, None)
                self._ended.set()


def frees_by_call(backend: Backend) -> bool:
    """Return whether a backend's own allocator frees the memory of runs."""
    return type(backend).default_allocator is not Backend.default_allocator


_being_dropped: Final[dict[NetworkResources, None]] = {}
"""The resources of the networks that threads are unloading."""


def _wait_for_drops() -> None:
    """Wait until the threads that unload networks have ended."""
    for resources in _being_dropped.copy():
        resources.wait_for_drop()


os.register_at_fork(after_in_child=_being_dropped.clear)  # no thread survives a fork


_LATER: Final = nullcontext()
"""The context of runs after the first one, which are not counted in the load times."""


_EMPTY: tuple[int, ...] = ()
"""The default of ``imported``; a run compares with ``is``, as that is fastest."""


class LoadedNetwork:
    """A loaded network; runtimes make it (``Runtime.load_network``, ``Runtime.load_model``).

    It is unloaded by :meth:`unload`, when its runtime closes, or when nothing refers to it any
    more. Bound calls and running tasks refer to it.

    Attributes:
        id: The NetworkId, unique in its runtime.
        runtime: The runtime that it belongs to.
        events: Notifies its backends of loading, runs and unloading.
        resources: The plans and calls that unloading closes; the runtime refers to them.
        properties: The properties that it was loaded with.
        load_times: The seconds of each stage of the load (import, read, parse, infer, passes,
            assign, compile, pack, verify), of the rest, and in total, which is their sum. After the
            first run they include its time, as "first run" and in the stages that it went through.
    """

    def __init__(
        self,
        runtime: Runtime,
        network_id: int,
        plans: PlanCache,
        events: BackendEvents,
        origin: LoadRequest | None,
        *,
        quantize: bool,
        properties: NetworkProperties,
        failover: Failover | None = None,
        owns_graph: bool = False,
        frees_by_call: bool = False,
        states: States = None,
        shapes: Sequence[InputShapes] = (),
        load_overriding: Callable[[str], LoadedNetwork] | None = None,
    ) -> None:
        self.id = network_id
        self.load_times: Mapping[str, float] = {}
        self._plans = plans
        self._failover = failover
        self._faults_before: tuple[str, ...] = ()
        self._has_run = False
        self._copies: dict[str, str] = {}  # the reasons by input or output
        self.properties = properties
        self.runtime = runtime
        self.events = events
        self._origin = origin
        self._load_overriding = load_overriding
        self._overriding_lock = threading.Lock()
        self._ports = Ports(
            plans.optimized,
            quantize=quantize,
            beside=partial(backends_beside, plans),
            reached=partial(reached_devices, plans),
            copies=self._copies,
        )
        self._aliases = self._ports.aliases
        self._has_aliases = bool(self._aliases)
        self._names = frozenset(plans.optimized.inputs)
        self._expected = self._ports.inputs
        self._real = self._ports.real
        self._importing = None
        if self._real is None:
            self._importing = _importing_runs(plans, properties, self._copies)
        self.resources = NetworkResources(
            plans, events, self._importing, owns_graph=owns_graph, frees_by_call=frees_by_call
        )
        self._run_again = plans.run_again
        extras = (self._real, self._importing, properties.profiler, failover)
        self._is_plain = not events.has_listeners and all(each is None for each in extras)
        inputs, outputs = plans.optimized.inputs, plans.optimized.outputs
        declared = declared_states(states, inputs, outputs, self._aliases, self.caches)
        asked = variables(inputs, outputs, plans.optimized.metadata)
        taken = set(declared.values())
        unasked = {name: out for name, out in asked.items() if out not in taken}
        self._pairs = {**unasked, **declared}
        self._are_declared = bool(declared)
        self._first_shapes = _shapes_of(self._expected, self._pairs, shapes)
        self._states = StreamStates(self._pairs, self._first_shapes) if self._pairs else None
        if declared:
            self._is_plain = False

    @property
    def name(self) -> str:
        """The name of the network."""
        return self._plans.optimized.name

    @property
    def title(self) -> str:
        """The title of the network in errors: its file if it has one, else its name."""
        return self._plans.optimized.title

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The inputs by name; open dimensions are None or have a name.

        The mapping also has the aliases of inputs, such as the names of the tensors in a TensorFlow
        Lite file with signatures.
        """
        optimized = self._plans.optimized
        return Aliased(optimized.inputs, optimized.aliases.inputs)

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        """The outputs by name; see :attr:`inputs`."""
        optimized = self._plans.optimized
        return Aliased(optimized.outputs, optimized.aliases.outputs)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the model's file."""
        return self._plans.optimized.metadata

    @property
    def report(self) -> Report:
        """The backend that ran each layer in the last run, with reasons.

        It covers all plans in the cache; before the first run it is :attr:`planned_report`. It
        also says which bound or imported memory of the caller is copied, and why.
        """
        report = self.planned_report
        if self._failover is not None:
            report = self._failover.report(report)
        copied = tuple(f"{name}: {why}" for name, why in self._copies.items())
        return replace(report, copied=copied) if copied else report

    @property
    def planned_report(self) -> Report:
        """The backend that each layer is assigned to, in all plans in the cache.

        It differs from :attr:`report` if the process of an isolated backend was lost and other
        backends ran its layers.
        """
        return self._plans.report

    @property
    def faults(self) -> tuple[str, ...]:
        """For each lost process of an isolated backend, a sentence that says how it ended."""
        own = () if self._failover is None else self._failover.faults
        return (*self._faults_before, *own)

    def follow(self, lost: Failover) -> None:
        """Take over the faults of the network that this one replaces after it lost a backend."""
        self._faults_before = (*lost.faults, *self._faults_before)

    def record(self) -> Record:
        """Return the record of execution: which backends ran the model, where and why.

        The record has versions and sha256 of the model, the core and the backends, the devices, the
        options, the environment, the plans for all input shapes of runs so far, and the faults.
        Call it after a run; :func:`armnn.verify` later says what differs from the record. To hash
        them, it reads the files of the model, the core and the backends.

        Raises:
            ModelFileError: The model's file, or a data file beside it, is gone or has changed since
                the network was loaded.
            NativeLoadError: The library of a backend in C is gone or has changed since.
        """
        from armnn.runtime.record import record_of  # late: a prepared load does without

        return record_of(self.runtime, self._plans, self._origin, self.report, self.faults)

    @property
    def profiler(self) -> ProfilingSink | None:
        """The sink of events of its phases; see ``OptimizedNetwork.profiler``."""
        return self._plans.optimized.participants.profiler

    @property
    def arena_bytes(self) -> int:
        """The bytes of host memory that one run with the largest plan uses."""
        return max((plan.arena_bytes for plan in self._plans.plans), default=0)

    @property
    def memory(self) -> dict[str, dict[str, int]]:
        """The bytes of tensors, by kind of memory: "armnn.host", and the memory of backends.

        Each kind has "working", the memory of one run with the largest plan; "constants", the
        constants outside of compiled programs; and "states", the values that streams keep between
        runs. The report has the memory of compiled programs, if their backends report it.
        """
        states = (state for memory in tuple(self.resources.states) for state in memory.tensors)
        return memory_of(self._plans.plans, states)

    def run(
        self,
        inputs: Mapping[str, ArrayLike],
        outputs: Written | None = None,
        *,
        names: Sequence[str] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        profiler: ProfilingSink | None = None,
        imported: Collection[int] = (),
    ) -> dict[str, NDArray[Any]]:
        """Run the network once; several threads may call it.

        Args:
            inputs: One array per input, of the input's data type and shape; numbers or lists of
                them; or any object with ``__dlpack__``, such as a tensor of PyTorch, also on a
                device that the input's backend reaches. An alias of an input may be used, such as
                the name of its tensor in a TensorFlow Lite file. A network that was loaded with
                ``quantize=True`` takes and returns real values, float32, where its inputs and
                outputs are quantized. An initializer that an ONNX file lists among its inputs is a
                constant, but may be given as well; the first run with it loads the model anew.
            outputs: Arrays, or objects with ``__dlpack__``, that outputs are written into; they may
                share memory with the inputs.
            names: The outputs that are returned, all by default. All layers run nevertheless.
            timeout: Seconds after which no further layer is started, and a wait for a device ends.
            cancel: The token that is asked before each layer, such as a ``threading.Event``.
            profiler: Gets one event for the run and one per layer.
            imported: The ids of imported inputs and outputs, whose names must not be in ``inputs``
                and ``outputs``; one thread at a time may run with them.

        Returns:
            One array per output: the array of the caller, an array on the memory of the object that
            the caller gave, or a new array.

        Raises:
            MemoryImportError: An object is on a device that neither the host nor the backend of its
                input or output reaches.
            InvalidArgumentError: An input is missing, not known, or of a wrong type or shape; or an
                array for an output is; or there is no output of one of the names.
            ClosedError: The network was unloaded, or its runtime closed.
            ExecutionError: A layer failed, or the run was cancelled or ran out of time.
        """
        if names is not None:
            self._expected.check_mapping(inputs)
            is_kept = self._states is not None and imported is _EMPTY and self._keeps(inputs)
            wanted = self.checked_names(names, outputs, has_states=is_kept)
            every = self.run(
                inputs,
                outputs,
                timeout=timeout,
                cancel=cancel,
                profiler=profiler,
                imported=imported,
            )
            return {name: every[name] for name in wanted}
        if (
            self._is_plain
            and timeout is None
            and cancel is None
            and profiler is None
            and imported is _EMPTY
            and type(inputs) is dict
        ):
            if outputs is None:
                made = self._run_again(inputs)
            else:
                made = self._run_again(inputs, outputs, is_checked=False)
            if made is not None:
                return made
        if type(inputs) is not dict:  # a dict, the usual case, skips the check
            self._expected.check_mapping(inputs)
        other = self._with_initializers(inputs) if imported is _EMPTY else None
        if other is not None:
            return other.run(inputs, outputs, timeout=timeout, cancel=cancel, profiler=profiler)
        if self._states is not None and imported is _EMPTY and self._keeps(inputs):
            self._is_plain = False  # the next run is likely to use the states as well
            control = self.control(timeout, cancel, profiler)
            return self._states.run(self, inputs, outputs, control)
        return self.run_stateless(
            inputs, outputs, timeout=timeout, cancel=cancel, profiler=profiler, imported=imported
        )

    def checked_names(
        self, names: Sequence[str], outputs: Written | None, *, has_states: bool
    ) -> tuple[str, ...]:
        """Return the outputs that a run is to return, checked; :meth:`run` and streams call it.

        Args:
            names: The names that the caller gave.
            outputs: The arrays that the caller gave, by output.
            has_states: Whether the run is on states that the network keeps.

        Raises:
            InvalidArgumentError: The names are not a list of texts, or the run does not return an
                output of one of the names.
        """
        wanted = texts(names, "the names", "a list of outputs such as ['y']")
        if outputs is not None:
            self._ports.outputs.check_mapping(outputs)
        second = self._aliases.outputs
        first = {name: second.get(name, name) for name in wanted}
        self._ports.outputs.check_known(first.values())
        given = {second.get(name, name) for name in outputs or ()}
        for name, own in first.items():
            if has_states and own in self._pairs.values() and own not in given:
                raise InvalidArgumentError(
                    f"the output {name!r} is the next value of a state, which a run keeps: "
                    "states() has it after the run, and outputs={...} asks for a copy"
                )
        return wanted

    def run_stateless(
        self,
        inputs: Mapping[str, ArrayLike],
        outputs: Targets | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        profiler: ProfilingSink | None = None,
        imported: Collection[int] = (),
    ) -> dict[str, NDArray[Any]]:
        """Run the network with the caller's values of all inputs, also of those that are states.

        Only :meth:`run` and streams call it; see :meth:`run`.
        """
        if self._has_aliases and inputs.keys() != self._names:
            inputs = first_names(inputs, self._aliases.inputs)
        imports = type(imported) is not tuple or bool(imported)  # all but (), the default
        taken = self._ports.arrays("input", inputs, takes_devices=not imports)
        is_foreign, inputs = taken is not inputs, taken
        if outputs is not None:
            outputs = self._ports.targets(outputs, takes_devices=not imports)
        if imports:
            limits = timeout is not None or cancel is not None or profiler is not None
            with self._counted():
                written = self._imports.run(
                    imported, inputs, outputs, self._bind, is_watched=limits
                )
            return Aliased(written, self._aliases.outputs) if self._has_aliases else written
        importing = self._importing
        if (is_foreign and _are_on_devices(inputs)) or (outputs and _are_on_devices(outputs)):
            importing = self._device_runs(inputs, outputs or {})
        given = inputs if self._real is None else self._real.stored(inputs)
        targets = outputs if self._real is None else None  # else the outputs are converted first
        if profiler is None:
            profiler = self.properties.profiler
        watched = timeout is not None or cancel is not None or profiler is not None
        try:
            with self._counted():
                if not watched and importing is None:
                    made = self._run_again(given, targets)
                    if made is None:
                        made = self._plans.run_first(self._expected.checked(given), targets)
                else:
                    made = self._run_watched(given, targets, timeout, cancel, profiler, importing)
        except WorkerLostError as lost:
            if self._failover is None:
                raise
            controls: dict[str, Any] = {"timeout": timeout, "cancel": cancel, "profiler": profiler}
            return self._failover.rerun(
                lost,
                lambda other: other.run_stateless(inputs, outputs, **controls),
                lambda: self.run_stateless(inputs, outputs, **controls),
            )
        self._note_run()
        if self._real is not None:
            made = self._real.restored(made, outputs)
        return Aliased(made, self._aliases.outputs) if self._has_aliases else made

    def submit(
        self,
        inputs: Mapping[str, ArrayLike],
        outputs: Written | None = None,
        *,
        names: Sequence[str] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        profiler: ProfilingSink | None = None,
    ) -> RunTask:
        """Start a run in another thread and return at once.

        The arrays must stay as they are until the run has ended::

            task = model.submit({"x": frame})
            ...
            outputs = task.result()  # or: await task

        Args:
            inputs: See :meth:`run`.
            outputs: See :meth:`run`.
            names: See :meth:`run`.
            timeout: Seconds from this call on after which no further layer is started; the time
                until a thread is free counts.
            cancel: See :meth:`run`.
            profiler: See :meth:`run`.

        Raises:
            InvalidArgumentError: The network was loaded with ``async_enabled=False``, or the
                timeout is not a number of seconds.
        """
        limits = {"names": names, "cancel": cancel, "profiler": profiler}
        return self.submitted(self.run, inputs, outputs, timeout, limits)

    def submitted(
        self,
        run: Callable[..., dict[str, NDArray[Any]]],
        inputs: Mapping[str, ArrayLike],
        outputs: Targets | None,
        timeout: float | None,
        limits: Mapping[str, Any],
    ) -> RunTask:
        """Start a run of this network or of a stream; only :meth:`submit` and streams call it."""
        from armnn.runtime.calls.tasks import RunTask, ThreadRun  # late: plain runs do without

        self._check_async()
        deadline = deadline_of(timeout)

        def submitted() -> dict[str, NDArray[Any]]:
            return run(inputs, outputs, timeout=seconds_until(deadline), **limits)

        started = ThreadRun(submitted)
        return RunTask(started, started.outputs)

    async def run_async(
        self,
        inputs: Mapping[str, ArrayLike],
        *,
        names: Sequence[str] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run the network without blocking the event loop.

        A thread of the loop's default executor runs it::

            outputs = await model.run_async({"x": frame})

        If earlier runs with inputs of these shapes took less than 0.3 ms and no backend is
        isolated, the run is executed on the event loop itself, as handing it to a thread would
        take longer. When the awaiting task is cancelled, no further layer is started.

        Args:
            inputs: See :meth:`run`; they must stay as they are until the run has ended.
            names: See :meth:`run`.
            timeout: See :meth:`submit`.
            cancel: See :meth:`run`.

        Raises:
            InvalidArgumentError: See :meth:`submit` and :meth:`run`.
            ExecutionError: See :meth:`run`.
        """
        self._check_async()
        run = self.run if names is None else partial(self.run, names=names)
        return await self._awaited.run(run, inputs, timeout, cancel)

    def bind(
        self,
        inputs: Mapping[str, SupportsDLPack | tuple[int, ...]],
        outputs: Written | None = None,
        *,
        states: Mapping[str, str] | None = None,
    ) -> BoundCall:
        """Prepare a call that always uses the same arrays.

        Nothing is looked up, checked or copied in a call::

            call = model.bind({"x": frame})
            for frame[...] in frames:
                print(call()["y"])

        Args:
            inputs: One array per input, of its data type and contiguous, or an object with
                ``__dlpack__``, also on a device that the input's backend reaches. Its content is
                read in each call; all calls have its shape. A tuple is taken as a shape: then
                ``call.inputs`` has a new array, which the backend reads without a copy, also if it
                runs in a worker process.
            outputs: Arrays, or objects with ``__dlpack__``, that are written in each call. Arrays
                are made for the other outputs. An output may have the array of an input; the array
                is written after it has been read.
            states: The inputs whose values the call keeps, each with the output that is its next
                value; nothing is copied. By default these are the inputs that have the name of an
                output and are in neither ``inputs`` nor ``outputs``, such as the variables of a
                model. The first value of a state is the array in ``inputs``, the value in the
                model's file, or zeros.

        Raises:
            InvalidArgumentError: An array is missing, not known, of a wrong type or shape, not
                contiguous, not aligned, read-only, or shares memory that it must not share.
            MemoryImportError: An object is on a device that its backend does not reach.
            ClosedError: The network was unloaded, or its runtime closed.
        """
        self._expected.check_mapping(inputs)
        other = self._with_initializers(inputs)
        if other is not None:
            return other.bind(inputs, outputs, states=states)
        named = first_names(inputs, self._aliases.inputs)
        taken = self._ports.arrays("input", named, takes_devices=True)
        targets = {} if outputs is None else self._ports.targets(outputs, takes_devices=True)
        pairs = self._bound_states(taken, targets, states)
        call = self.bind_states(taken, targets, pairs, None)
        call.keep(self)
        return call

    # -- states ---------------------------------------------------------------------------------

    def stream(self, *, capacity: int | None = None) -> Stream:
        """Return a new stream: a sequence of runs with states of its own.

        Several streams of a network share its weights and programs; one thread at a time may use
        each. The first values of the states are those in the model's file, or zeros.

        Args:
            capacity: The number of rows for which states that fill up have room before they grow,
                if the model leaves it open; 256 by default.

        Raises:
            InvalidArgumentError: The network has no states, or none whose capacity is open.
        """
        if self._states is None:
            raise self._stateless()
        states = StreamStates(self._pairs, self._first_shapes)
        if capacity is not None:
            states.set_capacity(self, capacity)
        return Stream(self, states)

    def reset(self) -> None:
        """Set the states of the network's own stream to their first values.

        See :meth:`Stream.reset`.
        """
        if self._states is not None:
            self._states.reset()

    def states(self) -> dict[str, NDArray[Any]]:
        """Return copies of the states of the network's own stream; see :meth:`Stream.states`."""
        return {} if self._states is None else self._states.values(self)

    def set_states(self, states: Mapping[str, ArrayLike]) -> None:
        """Replace values of states of the network's own stream; see :meth:`Stream.set_states`.

        Raises:
            InvalidArgumentError: There is no such state, or a value has another type or shape.
        """
        if self._states is None:
            raise self._stateless()
        self._states.set_values(self, states)

    def rewind(self, length: int) -> None:
        """Keep only the first rows of the states that fill up; see :meth:`Stream.rewind`.

        Raises:
            InvalidArgumentError: There are fewer rows, or a state has no rows to keep.
        """
        if self._states is None:
            raise self._stateless()
        self._states.rewind(self, length)

    @property
    def caches(self) -> Mapping[str, Cache]:
        """The caches by input: an output is a copy of the input with some rows replaced."""
        return self._plans.optimized.facts.caches

    @property
    def aliases(self) -> Aliases:
        """The aliases of its inputs and outputs."""
        return self._aliases

    @property
    def make_arrays(self) -> MakeArrays | None:
        """Makes arrays in memory that is shared with worker processes; None without workers."""
        if self._failover is None or self._real is not None:  # real values are converted here
            return None
        return self._failover.make_arrays

    def dtype_of(self, name: str) -> np.dtype[Any]:
        """Return the type of the arrays that the caller gives for an input."""
        if self._real is not None and name in self._real.inputs:
            return np.dtype(np.float32)
        return self._plans.optimized.inputs[name].data_type.numpy_dtype

    def control(
        self, timeout: float | None, cancel: CancelToken | None, profiler: ProfilingSink | None
    ) -> RunControl | None:
        """Return the control of a stream's run, None if nothing limits or watches the run.

        Raises:
            InvalidArgumentError: An argument has the wrong type.
        """
        if profiler is None:
            profiler = self.properties.profiler
            if profiler is None and timeout is None and cancel is None:
                return None
        return checked_control(timeout, cancel, profiler)

    def checked_inputs(
        self, inputs: Mapping[str, ArrayLike], *beside: Collection[str]
    ) -> dict[str, NDArray[Any]]:
        """Return inputs as arrays of their types; only streams call it.

        Args:
            inputs: The inputs as a caller gave them.
            beside: The names of inputs that the caller must not give.

        Raises:
            InvalidArgumentError: An input is missing, not known, or of a wrong type or shape.
        """
        given = self._ports.arrays("input", self.named_inputs(inputs))
        return self._ports.checked(given, [name for names in beside for name in names])

    def named_inputs(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return inputs with aliases replaced by names; only streams call it.

        Raises:
            InvalidArgumentError: The inputs are not a mapping from names.
        """
        self._expected.check_mapping(inputs)
        return first_names(inputs, self._aliases.inputs)

    def arrays_of(self, values: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
        """Return values of inputs as arrays, with aliases replaced; only streams call it."""
        return self._ports.arrays("input", first_names(values, self._aliases.inputs))

    def checked_state(self, name: str, given: ArrayLike, info: TensorInfo) -> NDArray[Any]:
        """Return a checked value of a state; only streams call it.

        Raises:
            InvalidArgumentError: It is not an array, or has another type or shape than the state.
        """
        return checked_array(given, f"the value for the state {name!r}", info, self.dtype_of(name))

    def checked_targets(self, outputs: Targets) -> Targets:
        """Return arrays for outputs, with aliases replaced by names; only streams call it."""
        return self._ports.targets(outputs)

    def bound_on(
        self,
        stream: StreamStates,
        inputs: Mapping[str, NDArray[Any] | tuple[int, ...]],
        outputs: Targets | None,
    ) -> BoundCall:
        """Return a bound call on the states of a stream; only streams call it."""
        self._expected.check_mapping(inputs)
        targets = {} if outputs is None else self._ports.targets(outputs, takes_devices=True)
        named = first_names(inputs, self._aliases.inputs)
        given = self._ports.arrays("input", named, takes_devices=True)
        call = stream.bind(self, given, targets)
        call.keep(self)
        return call

    def import_inputs(
        self,
        inputs: Mapping[str, SupportsDLPack | FileMemory],
        *,
        source: MemorySource | str | int | None = None,
    ) -> dict[str, int]:
        """Import memory that runs read as inputs, without copies.

        (Arm NN: ``ImportInputs``.) The memory is read when ``run(imported=...)`` is called,
        not before.

        Args:
            inputs: An array, an object with ``__dlpack__``, or memory by file descriptor, per
                input.
            source: The kind of memory; by default ``input_source`` of the properties that the
                network was loaded with. Memory of a device needs no source.

        Returns:
            The id of each input, for ``run(imported=...)``.

        Raises:
            MemoryImportError: The source is not known, or the memory cannot be mapped.
            InvalidArgumentError: An input is not known, or its memory does not fit.
        """
        return self._imports.add("input", self._ports.imported_inputs(inputs), source)

    def import_outputs(
        self,
        outputs: Mapping[str, SupportsDLPack | FileMemory],
        *,
        source: MemorySource | str | int | None = None,
    ) -> dict[str, int]:
        """Import memory that runs write as outputs, without copies.

        (Arm NN: ``ImportOutputs``.) See :meth:`import_inputs`.
        """
        return self._imports.add("output", self._ports.imported_outputs(outputs), source)

    def forget_imports(self, ids: Collection[int]) -> None:
        """Drop imported memory (Arm NN: ``ClearImportedInputs``).

        Raises:
            InvalidArgumentError: An id is not known.
        """
        self._imports.forget(ids)

    @property
    def replacements(self) -> tuple[LoadedNetwork, ...]:
        """The networks that ran in place of this one after it lost the process of a backend."""
        return () if self._failover is None else self._failover.replacements

    def prepare(self, shapes: InputShapes) -> None:
        """Make the plan for input shapes before the first run with these shapes.

        Args:
            shapes: The shape of each input; inputs with a fixed shape may be left out. An input
                whose data decides about shapes or branches needs an array with such data instead.

        Raises:
            InvalidArgumentError: A shape or an array is missing or does not fit.
        """
        other = self._with_initializers(shapes) if isinstance(shapes, Mapping) else None
        if other is not None:
            other.prepare(shapes)
            return
        examples = self._ports.examples(shapes)
        self._plans.release()
        with self._plans.gate, more(self, REST):
            self._plans.prepare(examples)

    def unload(self) -> None:
        """Refuse new runs, wait for running ones, drop the network."""
        self.runtime.unload_network(self)

    def __str__(self) -> str:
        # late: a prepared load does without
        from armnn.optimizer.assignment.report import prepared_text

        title = repr(self).strip("<>")
        return prepared_text(title, self.inputs, self.report, self.outputs)

    def __repr__(self) -> str:
        return f"<LoadedNetwork {self.id} {self.name!r}>"

    def __enter__(self) -> LoadedNetwork:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and the sha256 of the model's file, or its content, and the options."""
        if self._origin is None:
            raise TypeError(
                f"{self.title} cannot be pickled, as it was not loaded from a file: "
                "use load_model() with a path or the content of one"
            )
        return self.runtime.load_again, (self._origin,)

    def close(self) -> bool:
        """Refuse new runs, wait for running ones, drop the plans.

        Only the runtime calls it.

        Returns:
            Whether this call closed the network; False if an earlier call did.

        Raises:
            ClosingError: A bound call, a state or a plan failed to close; the others are closed.
        """
        return self.resources.close()

    # -- inside ---------------------------------------------------------------------------------

    def _with_initializers(self, given: Iterable[str]) -> LoadedNetwork | None:
        """Return the network of the same model in which the given initializers are inputs.

        It is None if no initializer is given: all names are inputs, or not known to the model.
        A network with states takes no initializers, as the other network would not have the states.
        """
        others = [each for each in given if each not in self._names]
        if not others or self._load_overriding is None or self._states is not None:
            return None
        unknown = set(others).difference(self._aliases.inputs)
        if not unknown or not all(isinstance(each, str) for each in unknown):
            return None
        names = ",".join(sorted(unknown))
        known = self.resources.overriding
        with self._plans.gate, self._overriding_lock:
            if names not in known:
                try:
                    known[names] = self._load_overriding(names)
                except InvalidArgumentError:  # there are no such initializers
                    return None
            return known[names]

    def _counted(self) -> AbstractContextManager[None]:
        """Return the context of a run, which adds the time of the first run to the load times."""
        return _LATER if self._has_run else self._first_run()

    @contextmanager
    def _first_run(self) -> Iterator[None]:
        """Add the time of the block to the load times, if the block succeeds."""
        self._has_run = True  # before the block, as a run of another thread is not the first run
        try:
            with more(self, FIRST_RUN):
                yield
        except BaseException:
            self._has_run = False
            raise

    def bind_states(
        self,
        inputs: Mapping[str, NDArray[Any] | tuple[int, ...]],
        targets: Targets,
        pairs: Mapping[str, str],
        memory: StateMemory | None,
        *,
        is_kept: bool = False,
        sources: Mapping[str, MemorySource] = MappingProxyType({}),
    ) -> BoundCall:
        """Return a bound call; only :meth:`bind`, streams and imports call it.

        Args:
            inputs: The inputs that are not states.
            targets: The arrays of outputs.
            pairs: The output that is the next value of each state.
            memory: The states; None if the call is to have states of its own.
            is_kept: Whether this network keeps the call, which then must not refer to the network.
            sources: The kind of memory of arrays, by the names of inputs and outputs.
        """
        from armnn.runtime.calls.binding import Binder  # late: plain runs do without

        is_noted = self.events.has_listeners or self._failover is not None
        run, note = self.run_stateless, self._note_run
        if is_kept:
            run, note = _weakly(run), _weakly(note)
        watch = _weakly(self._watch)  # every call has it, also a call on imported memory
        after = note if is_noted else None
        real = None if self._real is None else self._real.inputs
        may_move = self._failover is not None
        binder = Binder(
            self._plans,
            self._expected,
            real,
            run,
            watch,
            after,
            sources,
            may_move,
            self.make_arrays,
        )
        with self._plans.gate, more(self, REST):
            call = binder.bind(inputs, targets, pairs, memory)
            self._copies.update(call.copies)
            self.resources.bound.add(call)
            self.resources.states.add(call.memory)
            if FIRST_RUN not in self.load_times:
                call.count_first(_weakly(self._counted) if is_kept else self._counted)
            return call

    def _bind(
        self,
        inputs: Mapping[str, NDArray[Any] | tuple[int, ...]],
        targets: Targets,
        states: Mapping[str, str] | None,
        sources: Mapping[str, MemorySource],
    ) -> BoundCall:
        pairs = self._bound_states(inputs, targets, states)
        return self.bind_states(inputs, targets, pairs, None, sources=sources)

    def _bound_states(
        self, inputs: Mapping[str, object], targets: Targets, states: Mapping[str, str] | None
    ) -> Mapping[str, str]:
        """Return the states of a bound call: which output follows which input.

        Raises:
            InvalidArgumentError: A name is not known, or an output is written elsewhere already.
        """
        infos, made = self._plans.optimized.inputs, self._plans.optimized.outputs
        if states is None:
            same = {name: name for name in infos if name in made}
            usual = {**same, **self._pairs} if self._are_declared else same
            return {
                name: output
                for name, output in usual.items()
                if name not in inputs and output not in targets
            }
        pairs = self._ports.states(states)
        self._expected.check_known(pairs)
        for name, output in pairs.items():
            if output not in made:
                raise InvalidArgumentError(
                    f"there is no output {output!r} for the state {name!r}: the network makes "
                    f"{', '.join(map(repr, made)) or 'none'}"
                )
        taken = [*targets, *pairs.values()]
        twice = next((name for name in pairs.values() if taken.count(name) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(
                f"the output {twice!r} is the next value of a state: it cannot be the next value "
                "of another state, nor be written into an array"
            )
        return pairs

    def _keeps(self, inputs: Mapping[str, object]) -> bool:
        """Return whether a run with these inputs uses the states of the network's own stream.

        It does not if the caller declared no states and gives the values of all variables.
        """
        if self._are_declared:
            return True
        names = first_names(inputs, self._aliases.inputs) if self._has_aliases else inputs
        return not all(name in names for name in self._pairs)

    def _stateless(self) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"{self.title} has no states: load_model(..., states=...) declares the "
            'output that is the next value of an input, such as {"h_out": "h"}'
        )

    def _note_run(self) -> None:
        """Record that the network's own backends completed a run, and notify them of its end."""
        if self._failover is not None:
            self._failover.note_own_answer()
        self.events.after_run()

    def _check_async(self) -> None:
        """Raise InvalidArgumentError if the network was loaded for :meth:`run` only."""
        if not self.properties.async_enabled:
            raise InvalidArgumentError(
                f"{self.title} was loaded with async_enabled=False: use run()"
            )

    @cached_property
    def _awaited(self) -> AwaitedRuns:
        from armnn.runtime.calls.tasks import AwaitedRuns  # late: plain runs do without

        return AwaitedRuns(may_wait=self._failover is not None)

    @cached_property
    def _imports(self) -> Imports:
        optimized, converts = self._plans.optimized, self._real is not None
        infos = {"input": optimized.inputs, "output": optimized.outputs}
        from armnn.runtime.calls.imports import Imports  # late: plain runs do without

        sharing = partial(shared_memory_beside, self._plans)
        return Imports(self.title, infos, self.properties, converts, sharing)

    def _device_runs(self, inputs: Mapping[str, Any], outputs: Targets) -> ImportingRuns:
        """Return the runs that use the caller's memory on devices without copies.

        Raises:
            MemoryImportError: The network was loaded with ``quantize=True``, so that the host
                converts its inputs and outputs.
        """
        from armnn.runtime.calls.binding import refuse_devices  # late: plain runs do without
        from armnn.runtime.calls.imports import ImportingRuns

        if self._real is not None:
            read, written = (
                {name: each for name, each in given.items() if type(each) is Buffer}
                for given in (inputs, outputs)
            )
            refuse_devices(read, written, "quantize=True converts")
        return self._importing or ImportingRuns(self._plans, self.properties, self._copies)

    def _watch(self, run: Callable[[RunControl], None], control: RunControl) -> None:
        """Run a bound call with a deadline, a cancel token or a profiler."""
        participants = self._plans.optimized.participants
        with self._counted():
            watched_run(partial(run, control), self.id, participants, control)

    def _run_watched(
        self,
        given: Mapping[str, ArrayLike],
        targets: Targets | None,
        timeout: float | None,
        cancel: CancelToken | None,
        profiler: ProfilingSink | None,
        importing: ImportingRuns | None,
    ) -> dict[str, NDArray[Any]]:
        control = checked_control(timeout, cancel, profiler)
        plans = self._plans
        if profiler is None and importing is None:
            made = self._run_again(given, targets, control)
            if made is None:
                made = self._plans.run_first(self._expected.checked(given), targets, control)
            return made
        arrays = self._expected.checked(given)
        self._plans.release()  # so that this run can take the context that waits
        with self._plans.gate:
            if importing is None:
                run = partial(plans.run, arrays, control, targets)
            else:
                limits = None if control == RunControl() else control
                run = partial(importing.run, arrays, targets or {}, limits)
            return watched_run(run, self.id, plans.optimized.participants, control)


def _are_on_devices(given: Mapping[str, Any]) -> bool:
    """Return whether some inputs or outputs are buffers on devices."""
    return any(type(each) is Buffer for each in given.values())


def _weakly(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a method of an object, with a weak reference to the object."""
    kept, name = WeakMethod(method), method.__name__
    del method

    def call(*arguments: Any, **named: Any) -> Any:
        found = kept()
        if found is None:
            raise ReferenceError(f"{name} of a network that was unloaded")
        return found(*arguments, **named)

    return call


def _shapes_of(
    expected: ExpectedInputs, names: Collection[str], shapes: Sequence[InputShapes]
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of states, by name, from the sets of input shapes of ``load_model``.

    If several sets have a shape for one state, the first one counts.

    Raises:
        InvalidArgumentError: A set is not a mapping from inputs to shapes.
    """
    found: dict[str, tuple[int, ...]] = {}
    for each in shapes if names else ():
        expected.check_mapping(each)
        for name, given in each.items():
            if name in names and name not in found:
                shape = getattr(given, "shape", given)
                found[name] = checked_shape(shape, name)
    return found


def _importing_runs(
    plans: PlanCache, properties: NetworkProperties, copies: dict[str, str]
) -> ImportingRuns | None:
    if properties.input_source is properties.output_source is MemorySource.UNDEFINED:
        return None
    from armnn.runtime.calls.imports import ImportingRuns  # late: plain runs do without

    runs = ImportingRuns(plans, properties, copies)
    return runs if runs.is_needed else None
