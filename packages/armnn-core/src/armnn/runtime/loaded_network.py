# SPDX-License-Identifier: MIT
"""A loaded network, which any number of threads may run.

It is unloaded once: by ``unload()``, when its runtime closes, or when nothing refers to it. The
interpreter may drop the last reference or collect garbage in the middle of any call of any thread,
while any lock is held. So the finalizer takes no lock that other code may hold: where a backend or
an allocator has to be called, a thread of its own unloads the network.
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

    It does not refer to the network, so that its runtime can keep it.

    Attributes:
        events: The events that the backends are told.
        bound: The bound calls that exist.
        states: The states that bound calls and streams use.
        overriding: The networks of the same model in which some initializers of the file are
            inputs, by the names of these, joined by commas.
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
            plans: Its plans.
            events: The events that its backends are told.
            importing: Its runs on the caller's arrays, if it has any.
            owns_graph: Whether no other object has the optimized network.
            frees_by_call: Whether memory goes back by a call of an allocator.
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
        """Refuse new runs, wait for running ones, tell the backends.

        Only the first call does that.

        Raises:
            ClosingError: Backends failed when they were told, or memory could not be given back;
                the network is unloaded nevertheless.
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
            Whether this call closed it, rather than an earlier one.

        Raises:
            ClosingError: Closing something that it holds failed; the rest is closed.
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

        No run is going on: each refers to the network.

        Args:
            forget: Lets the runtime forget these resources; it takes no lock.
        """
        if not self._unloading or not self._calls_others:
            self._end_drop(forget)
            return
        self._ended = threading.Event()
        _being_dropped[self] = None
        atexit.unregister(_wait_for_drops)  # the last one registered is called first: before
        atexit.register(_wait_for_drops)  # native backends are shut down
        try:
            # threading.Thread takes locks, which this thread may hold.
            _thread.start_new_thread(self._end_drop, (forget,))
        except RuntimeError:  # the process ends, or has no thread left
            self._unloading.clear()
            self._end_drop(forget)

    def wait_for_drop(self) -> None:
        """Wait for the thread that unloads it, if one does."""
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
"""Networks that threads are unloading."""


def _wait_for_drops() -> None:
    """Wait until no thread is in a backend any more."""
    for resources in _being_dropped.copy():
        resources.wait_for_drop()


os.register_at_fork(after_in_child=_being_dropped.clear)  # no thread survives a fork


_LATER: Final = nullcontext()
"""Counts nothing."""


_EMPTY: tuple[
    int, ...
] = ()  # the default of `imported`; a run compares with "is", as it takes microseconds


class LoadedNetwork:
    """A loaded network; runtimes make it (``Runtime.load_network``, ``Runtime.load_model``).

    It is unloaded by :meth:`unload`, with its runtime, or when nothing refers to it any more. Bound
    calls and running tasks refer to it.

    Attributes:
        id: The NetworkId, unique in its runtime.
        runtime: The runtime that it belongs to.
        events: The events that its backends are told.
        resources: The plans and calls that unloading closes; the runtime refers to them.
        properties: The properties that it was loaded with.
        load_times: The seconds of each stage of the load (import, read, parse, infer, passes,
            assign, compile, pack, verify), of the rest, and in total, which is their sum. After the
            first run its time is there, too, as "first run" and in the stages that happened in it.
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
        """Its name in errors: its file if it has one, else its name."""
        return self._plans.optimized.title

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The inputs by name; open dimensions are None or named.

        Of a TensorFlow Lite file with signatures they are found by the names of their tensors, too.
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
        """The backend that ran each layer in the last call, with reasons.

        It covers all kept plans; before the first call it is :attr:`planned_report`. It says which
        bound or imported memory of the caller is copied, and why.
        """
        report = self.planned_report
        if self._failover is not None:
            report = self._failover.report(report)
        copied = tuple(f"{name}: {why}" for name, why in self._copies.items())
        return replace(report, copied=copied) if copied else report

    @property
    def planned_report(self) -> Report:
        """The backend that each layer was planned on, of all kept plans.

        It differs from :attr:`report` where an isolated backend was lost and others answered.
        """
        return self._plans.report

    @property
    def faults(self) -> tuple[str, ...]:
        """How processes of its isolated backends ended, in words."""
        own = () if self._failover is None else self._failover.faults
        return (*self._faults_before, *own)

    def follow(self, lost: Failover) -> None:
        """Take over the faults of a network that lost a backend and that this one replaces."""
        self._faults_before = (*lost.faults, *self._faults_before)

    def record(self) -> Record:
        """Return the record of execution: which backends ran the model, where and why.

        It has versions and sha256 of the model, the core and the backends, the devices, the
        options, the environment, the plan of all input shapes that were met, and the faults. Call
        it after a run; :func:`armnn.verify` says what differs from it later. It reads all of these
        files.

        Raises:
            ModelFileError: The model's file, or one beside it, is gone or has changed since.
            NativeLoadError: So is the library's file of a backend in C.
        """
        from armnn.runtime.record import record_of  # late: a prepared load does without

        return record_of(self.runtime, self._plans, self._origin, self.report, self.faults)

    @property
    def profiler(self) -> ProfilingSink | None:
        """Where its phases are recorded; see ``OptimizedNetwork.profiler``."""
        return self._plans.optimized.participants.profiler

    @property
    def arena_bytes(self) -> int:
        """The host's working memory of one run with the largest plan."""
        return max((plan.arena_bytes for plan in self._plans.plans), default=0)

    @property
    def memory(self) -> dict[str, dict[str, int]]:
        """The bytes of tensors, by kind of memory: "armnn.host", and those of backends.

        For each kind there are "working", the memory of one run with the largest plan, "constants",
        the constants outside of compiled programs, and "states", what streams keep between runs.
        The memory of compiled programs is in the report, if their backends tell it.
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
                device that the input's backend reaches. A second name of an input will do, such as
                the tensor's in a TensorFlow Lite file. A network that was loaded with
                ``quantize=True`` takes and returns real values, float32, where its inputs and
                outputs are quantized. An initializer that an ONNX file lists among its inputs is a
                constant, but may be given as well; the first run with it loads the model anew.
            outputs: Arrays, or objects with ``__dlpack__``, that outputs are written into; they may
                share memory with the inputs.
            names: The outputs that are returned, all by default. All layers run nevertheless.
            timeout: Seconds after which no further layer is started, and a wait for a device ends.
            cancel: Asked before each layer; a ``threading.Event`` will do.
            profiler: Gets one event for the run and one per layer.
            imported: The ids of imported inputs and outputs, whose names must not be in ``inputs``
                and ``outputs``; one thread at a time may run with them.

        Returns:
            One array per output: the caller's, one on the memory of the caller's object, or a new
            one.

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
        if type(inputs) is not dict:  # as nearly all are
            self._expected.check_mapping(inputs)
        other = self._with_initializers(inputs) if imported is _EMPTY else None
        if other is not None:
            return other.run(inputs, outputs, timeout=timeout, cancel=cancel, profiler=profiler)
        if self._states is not None and imported is _EMPTY and self._keeps(inputs):
            self._is_plain = False  # the next run is likely to be such a one, too
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
            InvalidArgumentError: They are not a list of names, or the run returns no such output.
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
        """Run the network on all of its inputs, states among them.

        Only :meth:`run` and streams call it; see there.
        """
        if self._has_aliases and inputs.keys() != self._names:
            inputs = first_names(inputs, self._aliases.inputs)
        imports = type(imported) is not tuple or bool(imported)  # () is the default
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
        targets = outputs if self._real is None else None  # else what is written is converted
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
            timeout: Seconds from now on after which no further layer is started; waiting for a
                thread counts.
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
        """Run the network for a coroutine, which awaits it.

        The event loop goes on while a thread of its default executor runs the network::

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
                read in each call; its shape is that of all calls. A tuple is taken as a shape: then
                ``call.inputs`` has a new array, which the backend reads without a copy, also if it
                runs in a process of its own.
            outputs: Arrays, or objects with ``__dlpack__``, that are written in each call. Arrays
                are made for the other outputs. An output may have the array of an input, which is
                written after it has been read.
            states: The inputs whose values the call keeps, each with the output that is its next
                value; nothing is copied. By default these are the inputs that have the name of an
                output and are in neither ``inputs`` nor ``outputs``, as the variables of a model.
                They begin with the value in the model's file, the array in ``inputs``, or zeros.

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
        """Return a new stream: runs with states of their own.

        Several streams of a network share its weights and programs; each belongs to one thread at a
        time. The states begin with what the model's file says, or zeros.

        Args:
            capacity: How many rows the states that fill up have room for before they grow, where
                the model leaves their number open; 256 by default.

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
        """Let the states of its own stream begin anew; see :meth:`Stream.reset`."""
        if self._states is not None:
            self._states.reset()

    def states(self) -> dict[str, NDArray[Any]]:
        """Return copies of the states of its own stream; see :meth:`Stream.states`."""
        return {} if self._states is None else self._states.values(self)

    def set_states(self, states: Mapping[str, ArrayLike]) -> None:
        """Let the states of its own stream have other values; see :meth:`Stream.set_states`.

        Raises:
            InvalidArgumentError: There is no such state, or a value has another type or shape.
        """
        if self._states is None:
            raise self._stateless()
        self._states.set_values(self, states)

    def rewind(self, length: int) -> None:
        """Let states that fill up end after their first rows; see :meth:`Stream.rewind`.

        Raises:
            InvalidArgumentError: There are fewer rows, or a state has no length.
        """
        if self._states is None:
            raise self._stateless()
        self._states.rewind(self, length)

    @property
    def caches(self) -> Mapping[str, Cache]:
        """The inputs of which an output is a copy with some rows replaced."""
        return self._plans.optimized.facts.caches

    @property
    def aliases(self) -> Aliases:
        """The second names of its inputs and outputs."""
        return self._aliases

    @property
    def make_arrays(self) -> MakeArrays | None:
        """The maker of arrays that processes of its backends use where they are, if any."""
        if self._failover is None or self._real is not None:  # real values are converted here
            return None
        return self._failover.make_arrays

    def dtype_of(self, name: str) -> np.dtype[Any]:
        """Return the type of the arrays of an input, as the caller sees it."""
        if self._real is not None and name in self._real.inputs:
            return np.dtype(np.float32)
        return self._plans.optimized.inputs[name].data_type.numpy_dtype

    def control(
        self, timeout: float | None, cancel: CancelToken | None, profiler: ProfilingSink | None
    ) -> RunControl | None:
        """Return the control of a stream's run, None if nothing limits or watches the run.

        Raises:
            InvalidArgumentError: An argument is of another kind.
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
            beside: The inputs that are not the caller's to give.

        Raises:
            InvalidArgumentError: One is missing, not known, or of a wrong type or shape.
        """
        given = self._ports.arrays("input", self.named_inputs(inputs))
        return self._ports.checked(given, [name for names in beside for name in names])

    def named_inputs(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return inputs by first names; only streams call it.

        Raises:
            InvalidArgumentError: They are not given by name.
        """
        self._expected.check_mapping(inputs)
        return first_names(inputs, self._aliases.inputs)

    def arrays_of(self, values: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
        """Return values of inputs by first names, as arrays; only streams call it."""
        return self._ports.arrays("input", first_names(values, self._aliases.inputs))

    def checked_state(self, name: str, given: ArrayLike, info: TensorInfo) -> NDArray[Any]:
        """Return a value of a state; only streams call it.

        Raises:
            InvalidArgumentError: It is not an array, or its type or shape is not the state's.
        """
        return checked_array(given, f"the value for the state {name!r}", info, self.dtype_of(name))

    def checked_targets(self, outputs: Targets) -> Targets:
        """Return arrays for outputs by first names; only streams call it."""
        return self._ports.targets(outputs)

    def bound_on(
        self,
        stream: StreamStates,
        inputs: Mapping[str, NDArray[Any] | tuple[int, ...]],
        outputs: Targets | None,
    ) -> BoundCall:
        """Return a call on the states of a stream; only streams call it."""
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
            source: Where the memory comes from; by default ``input_source`` of the properties that
                the network was loaded with. Memory of a device needs none.

        Returns:
            An id per input.

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
        """The networks that answered in its place where a backend's process was lost."""
        return () if self._failover is None else self._failover.replacements

    def prepare(self, shapes: InputShapes) -> None:
        """Prepare the network for input shapes before a first run.

        Args:
            shapes: The shape of each input; inputs with a fixed shape may be left out. For an input
                whose data decides about shapes or branches it has an array with such data.

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
        """Pickle the file with its sha256, or the content, and the options of loading."""
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
            Whether this call closed it, rather than an earlier one.

        Raises:
            ClosingError: Closing something that it holds failed; the rest is closed.
        """
        return self.resources.close()

    # -- inside ---------------------------------------------------------------------------------

    def _with_initializers(self, given: Iterable[str]) -> LoadedNetwork | None:
        """Return the network of the same model in which the given initializers are inputs.

        It is None where no initializer is given: all names are inputs, or not known to the model.
        A network with states takes no initializers, as the values of the states are in it alone.
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
        """Count the block as the first run, if it is."""
        return _LATER if self._has_run else self._first_run()

    @contextmanager
    def _first_run(self) -> Iterator[None]:
        """Count the block in the load times, if it succeeds."""
        self._has_run = True  # first: another thread's run is not the first one
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
            memory: The states; None for some of its own.
            is_kept: Whether this network keeps the call, which then must not refer to it.
            sources: Where the memory of arrays comes from.
        """
        from armnn.runtime.calls.binding import Binder  # late: plain runs do without

        is_noted = self.events.has_listeners or self._failover is not None
        run, note = self.run_stateless, self._note_run
        if is_kept:
            run, note = _weakly(run), _weakly(note)
        watch = _weakly(self._watch)  # every call has it, also those of imports
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
            InvalidArgumentError: A name is not known, or an output is taken already.
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
                f"the output {twice!r} is the next value of a state: it cannot be another state's "
                "too, nor be written into an array"
            )
        return pairs

    def _keeps(self, inputs: Mapping[str, object]) -> bool:
        """Return whether a run with these inputs reads and writes the states that are kept.

        It does not where the caller gives the values of all variables and has declared no states.
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
        """Record a run on its own backends, and notify them."""
        if self._failover is not None:
            self._failover.note_own_answer()
        self.events.after_run()

    def _check_async(self) -> None:
        """Raise InvalidArgumentError if only run() may run it."""
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
        """Return the runs that use memory of devices where it is.

        Raises:
            MemoryImportError: The network was loaded with ``quantize=True``, which converts.
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
        """Run a bound call while its caller limits or watches it."""
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
        self._plans.release()  # so that this run takes a context that there is
        with self._plans.gate:
            if importing is None:
                run = partial(plans.run, arrays, control, targets)
            else:
                limits = None if control == RunControl() else control
                run = partial(importing.run, arrays, targets or {}, limits)
            return watched_run(run, self.id, plans.optimized.participants, control)


def _are_on_devices(given: Mapping[str, Any]) -> bool:
    """Return whether some of it is memory that the host does not reach."""
    return any(type(each) is Buffer for each in given.values())


def _weakly(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a method of an object without keeping the object."""
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
    """Return the shapes that a caller of ``load_model`` gave states first.

    Raises:
        InvalidArgumentError: They are not shapes by input.
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
