# SPDX-License-Identifier: MIT
"""Prepared calls of a network on fixed arrays, and the checks of these arrays."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import refused
from armnn.backends import Task
from armnn.backends.contract import RunControl
from armnn.backends.memory import (
    ArrayHandle,
    ForeignHandle,
    TensorHandle,
)
from armnn.buffer import Buffer, unreachable
from armnn.errors import (
    ClosedError,
    ExecutionError,
    InvalidArgumentError,
    MemoryImportError,
    WorkerLostError,
)
from armnn.graph.aliases import Aliased
from armnn.runtime.calls.control import deadline_of, seconds_until
from armnn.runtime.calls.inputs import ExpectedInputs, checked_array, checked_shape
from armnn.runtime.calls.tasks import BackendRun, RunTask, ThreadRun
from armnn.runtime.closing import Closable, Closing
from armnn.runtime.context import Binding, Context, KeptHandle, check_shapes, with_layer_types
from armnn.runtime.engine import LoadedPlan
from armnn.runtime.plans import PlanCache
from armnn.runtime.states import (
    MakeArrays,
    State,
    StateMemory,
    check_next_values,
    first_value,
    made_here,
)
from armnn.runtime.steps import Targets
from armnn.tensor import TensorInfo, format_shape
from armnn.types import MemorySource


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """How a call is run on one of the sides of its states.

    Attributes:
        run: Runs the network once.
        context: The context that it runs in, if it has one of its own.
        submit: Submits the run to a backend, by a deadline, if that backend runs all of it.
        limited: Runs it while its caller limits or watches it.
    """

    run: Callable[[], None]
    context: Context | None
    submit: Callable[[int | None], Task] | None = None
    limited: Callable[[RunControl], None] | None = None


class BoundCall(Closable):
    """A prepared call, made by :meth:`LoadedNetwork.bind`.

    Calling it runs the network: it reads the bound inputs, writes the bound outputs and returns
    ``outputs``. A call belongs to one thread at a time; each thread binds its own.

    Attributes:
        inputs: The arrays that each call reads, by input.
        outputs: The arrays that each call writes, by output.
        copied: The inputs and outputs that each call copies, as their backends cannot use the
            memory itself.
        copies: Why it copies each of them.
        memory: The states, which other calls may share.
    """

    def __init__(
        self,
        title: str,
        inputs: Mapping[str, NDArray[Any]],
        outputs: dict[str, NDArray[Any]],
        copies: Mapping[str, str],
        turns: Sequence[Turn],
        memory: StateMemory,
        rows: int,
        after: Callable[[], None] | None,
    ) -> None:
        """Take over contexts; closing the call closes them.

        Args:
            title: The name of the called network, for messages.
            inputs: See the attribute.
            outputs: See the attribute.
            copies: See the attribute.
            turns: A turn for each side of the states.
            memory: The states; further calls of the same stream may share them.
            rows: How many rows it adds to the states that fill up.
            after: Called after each run, if there is anything to call.
        """
        self.inputs = dict(inputs)
        self.outputs = outputs
        self.copied = tuple(copies)
        self.copies = dict(copies)
        self._title = title
        self.rows = rows
        self.memory = memory
        self._copied_bytes = memory.bytes_of(rows, copies)
        self._after = after
        self._take, self._give = memory.lock.acquire, memory.lock.release
        self._turns = tuple(turns)
        self._runs = [turn.run for turn in turns]
        self._contexts = [turn.context for turn in turns if turn.context is not None]
        self._is_closed = False
        self._task: Callable[[], RunTask | None] = _no_task
        self._kept: object = None
        self._renew: Callable[[BoundCall], BoundCall | None] | None = None
        self._finalizer = weakref.finalize(self, _close, title, self._contexts)
        self._finalizer.atexit = False

    def keep(self, network: object) -> None:
        """Keep the network loaded until the call is closed or collected."""
        self._kept = network

    def renew(self, renewed: Callable[[BoundCall], BoundCall | None]) -> None:
        """Go on in larger states where those of the call have no room or were replaced.

        Args:
            renewed: Returns a call on the same arrays and on states with room, if there can be one;
                it is called with the lock of the states taken.
        """
        self._renew = renewed

    def count_first(self, counted: Callable[[], AbstractContextManager[None]]) -> None:
        """Count the first call; only ``bind`` asks for it."""
        runs = self._runs
        self._runs = [partial(_run_first, weakref.ref(self), run, runs, counted) for run in runs]

    def __call__(self) -> dict[str, NDArray[Any]]:
        """Run the network once.

        After a failure the states are those from before it, and the outputs are undefined.

        Returns:
            The bound outputs, the same dictionary each time.

        Raises:
            ExecutionError: A layer failed, or another thread is in this call.
            ClosedError: The call was closed, or the network unloaded.
        """
        if not self._take(False):  # by position: it is called each time
            raise self._busy()
        try:
            memory = self._begun() if self.rows else self.memory
            self._runs[memory.side]()
            memory.side = memory.other[memory.side]
            if self._copied_bytes:
                memory.end(self.rows, self._copied_bytes)
            if self._after is not None:
                self._after()
        finally:
            self._give()
        return self.outputs

    def submit(self, *, timeout: float | None = None) -> RunTask:
        """Start a call and return at once.

        A backend with the extension ``armnn.async/1`` that runs the whole network runs it itself;
        else a thread does. The call is taken until the task has ended, was closed or collected.

        Args:
            timeout: Seconds after which a backend that runs it itself stops it.

        Raises:
            ExecutionError: The call runs already, or cannot be started.
            ClosedError: The call was closed, or the network unloaded.
        """
        if not self._take(False):
            raise self._busy()
        submit = self._turns[self.memory.side].submit
        try:
            deadline = deadline_of(timeout)
            if self._is_closed:
                _refuse(self._title)
            if submit is not None and self.rows:
                submit = self._turns[self._begun().side].submit
            if submit is None:
                run = ThreadRun(self._run_taken, self._give)
                task = RunTask(run, run.outputs)
            else:
                self._runs = [turn.run for turn in self._turns]  # nothing is counted elsewhere
                task = RunTask(BackendRun(submit(deadline), self._end_submitted), self._bound)
        except BaseException:
            self._give()
            raise
        self._task = weakref.ref(task)
        return task

    @property
    def states(self) -> dict[str, NDArray[Any] | Buffer]:
        """The arrays that the next call reads as states; buffers of those on a device.

        They are by input. After each call they may be other arrays; what is written into them
        counts for the next call.
        """
        return self.memory.shown()

    def reset(self) -> None:
        """Let the states begin anew."""
        self.memory.reset()

    def close(self) -> None:
        """Give the working memory back; wait for a running call.

        Closing twice does nothing. Unloading the network closes its bound calls, too.

        Raises:
            ClosingError: Memory could not be given back.
        """
        task = self._task()
        if task is not None:
            task.close()
        with self.memory.lock:
            self._refuse_runs()
        self._give_back()

    def close_taken(self) -> None:
        """Close a call that does not run; the caller has taken the lock of the states."""
        self._refuse_runs()
        self._give_back()

    def _refuse_runs(self) -> None:
        self._is_closed = True
        # A closed call keeps nothing: neither turns nor a method of its own.
        refuse = partial(_refuse, self._title)
        self._runs = [refuse for _ in self._turns]
        self._turns = tuple([Turn(refuse, None) for _ in self._turns])

    def _give_back(self) -> None:
        """Free the contexts, and the network, which may close further calls."""
        close = self._finalizer.detach()
        self._kept = self._renew = None
        if close is not None:
            _, function, arguments, _ = close
            function(*arguments)

    def __repr__(self) -> str:
        return f"<BoundCall of {self._title}>"

    def _busy(self) -> ExecutionError:
        return ExecutionError(
            f"the bound call of {self._title} runs already: it belongs to one thread at a time; "
            "bind one for each thread"
        )

    def _run_taken(self) -> dict[str, NDArray[Any]]:
        """Run once in another thread, which takes the call."""
        try:
            self.run_taken()
        finally:
            self._give()
        return self.outputs

    def run_taken(self, control: RunControl | None = None) -> None:
        """Run once; the caller has taken the lock of the states.

        Args:
            control: The caller's deadline, token, profiler or observer.
        """
        memory = self._begun() if self.rows else self.memory
        limited = None if control is None else self._turns[memory.side].limited
        if control is None or limited is None:
            self._runs[memory.side]()
        else:
            limited(control)
        memory.side = memory.other[memory.side]
        if self._copied_bytes:
            memory.end(self.rows, self._copied_bytes)
        if self._after is not None:
            self._after()

    def _begun(self) -> StateMemory:
        """Return the states, ready for the rows of this call."""
        if self._renew is not None and not self._is_closed and not self.memory.has_room(self.rows):
            fresh = self._renew(self)
            if fresh is not None:
                self._take_over(fresh)
        self.memory.begin(self.rows)
        return self.memory

    def _take_over(self, fresh: BoundCall) -> None:
        """Take over the states and contexts of another call on the same arrays."""
        for context in self._contexts:
            context.close()
        fresh._finalizer.detach()
        self._contexts[:] = fresh._contexts  # which the finalizer closes
        self.memory, self._turns, self._runs = fresh.memory, fresh._turns, fresh._runs
        self.outputs = fresh.outputs

    def _end_submitted(self, success: bool) -> None:
        """Take note that the backend has ended a run."""
        try:
            if success:
                self.memory.side = self.memory.other[self.memory.side]
                if self._copied_bytes:
                    self.memory.end(self.rows, self._copied_bytes)
                if self._after is not None:
                    self._after()
        finally:
            self._give()

    def _bound(self) -> dict[str, NDArray[Any]]:
        return self.outputs


def _run_first(
    call: weakref.ref[BoundCall],
    run: Callable[[], None],
    runs: list[Callable[[], None]],
    counted: Callable[[], AbstractContextManager[None]],
) -> None:
    """Run the first turn, counted; further ones are not."""
    this = call()
    if this is not None:  # as it is while it runs
        this._runs = runs
    with counted():
        run()


def _refuse(title: str) -> None:
    raise ClosedError(f"the bound call of {title} was closed before this call")


def _no_task() -> None:
    """Return None: nothing was submitted."""


def _close(title: str, contexts: Sequence[Context]) -> None:
    closing = Closing(f"the bound call of {title}")
    for context in contexts:
        closing.step(context.close)
    closing.end()


class Replay:
    """Runs a call as a run of the network, which copies its inputs and outputs.

    Args:
        run: Runs the network on inputs, into outputs of the caller's.
        inputs: The values that it reads.
        outputs: The outputs that the caller wants; new arrays of others are added in each run.
        memory: The states.
    """

    def __init__(
        self,
        run: Callable[..., dict[str, NDArray[Any]]],
        inputs: Mapping[str, NDArray[Any]],
        outputs: dict[str, NDArray[Any]],
        memory: StateMemory,
    ) -> None:
        self._run = run
        self._inputs = inputs
        self._targets = dict(outputs)
        self._outputs = outputs
        self._memory = memory

    def __call__(self, control: RunControl | None = None) -> None:
        """Run the network once, while its caller limits or watches it."""
        limits: dict[str, Any] = {}
        if control is not None:
            limits = {"cancel": control.cancel, "profiler": control.profiler}
            limits["timeout"] = seconds_until(control.deadline_ns)
        memory = self._memory
        read = {name: memory.fetch(name) for name in memory.pairs}
        with memory.next_values() as next_values:
            made = self._run({**self._inputs, **read}, {**self._targets, **next_values}, **limits)
        for name in next_values:
            del made[name]
        self._outputs.update(made)


class Survivor:
    """Runs a call, on other backends if one is lost.

    Args:
        run: Runs the network once, on the call's arrays.
        limited: The run while its caller limits or watches it.
        instead: Computes the same from the same arrays, wherever that is possible; copies states.
        after: Called after each run that is not ``instead``, if there is anything to call.
        memory: The states.
    """

    def __init__(
        self,
        run: Callable[[], None],
        limited: Callable[[RunControl], None],
        instead: Replay,
        after: Callable[[], None] | None,
        memory: StateMemory,
    ) -> None:
        self._run = run
        self._limited = limited
        self._instead = instead
        self._after = after
        self._memory = memory

    def __call__(self, control: RunControl | None = None) -> None:
        """Run the network once, while its caller limits or watches it."""
        try:
            if control is None:
                self._run()
            else:
                self._limited(control)
        except WorkerLostError:
            memory = self._memory
            memory.check_owner()
            self._instead(control)
            memory.end(0, memory.bytes_of(0, [*memory.pairs, *memory.pairs.values()]))
        else:
            if self._after is not None:
                self._after()


@dataclass(frozen=True, slots=True, eq=False)
class Binder:
    """Binds arrays to one network.

    Attributes:
        plans: The plans of the network.
        expected: Its inputs.
        real: Which inputs and outputs are real values, which each run converts; None if the
            network takes what it stores.
        run: Runs the network on inputs, into outputs.
        watch: Runs a function with a control, and tells profilers.
        after: Called after a run that ``run`` does not make, if there is anything to call.
        sources: Where the memory of arrays comes from, if it is not plain memory.
        may_move: Whether other backends may answer some of the calls.
        make_arrays: Makes arrays that backends in processes of their own use where they are, if
            there are such backends.
    """

    plans: PlanCache
    expected: ExpectedInputs
    real: Mapping[str, TensorInfo] | None
    run: Callable[..., dict[str, NDArray[Any]]]
    watch: Callable[[Callable[[RunControl], None], RunControl], None]
    after: Callable[[], None] | None
    sources: Mapping[str, MemorySource]
    may_move: bool = False
    make_arrays: MakeArrays | None = None

    def bind(
        self,
        inputs: Mapping[str, NDArray[Any] | tuple[int, ...]],
        targets: Targets,
        states: Mapping[str, str],
        memory: StateMemory | None = None,
    ) -> BoundCall:
        """Return a call; see :meth:`LoadedNetwork.bind`.

        Args:
            inputs: See there.
            targets: Arrays of outputs.
            states: Which output is the next value of which input.
            memory: The states, if another call has made them; otherwise the call makes its own.
        """
        self.expected.check_known(inputs)
        arrays, free = self._arrays(inputs)
        targets = dict(targets)
        given = {name: arrays.pop(name) for name in states if name in arrays}
        read, written = _taken_out(arrays), _taken_out(targets)  # on devices
        for name, buffer in read.items():
            check_buffer(buffer, f"the input {name!r}", self.plans.optimized.inputs[name])
        for name, buffer in written.items():
            check_buffer(buffer, f"the output {name!r}", self.plans.optimized.outputs[name])
        for name, array in arrays.items():
            check_usable(self._checked(name, array), f"the input {name!r}")
        for name, array in targets.items():
            check_usable(array, f"the array for the output {name!r}")
        _check_overlaps(arrays, targets)
        if memory is None:
            first = {name: self._initial(name, given.get(name)) for name in states}
            optimized = self.plans.optimized
            caches = {
                name: cache
                for name, cache in optimized.facts.caches.items()
                if not {counter.input for counter in cache.counters} & {*arrays, *read}
            }
            memory = StateMemory(
                states, first, caches, optimized.inputs, make_arrays=self.make_arrays
            )
        every = {name: stand_in(each) for name, each in {**arrays, **memory.read, **read}.items()}
        rows = memory.rows_of({name: array.shape for name, array in every.items()})
        counters = memory.counters(rows)
        arrays |= counters
        every |= counters
        self.expected.check_names(every)
        if rows > memory.capacity:  # here, not in a layer: TensorScatter knows of no states
            memory.check_room(rows)
        plan, why = None, ""
        if self.real is not None:
            why = "quantize=True converts"
        elif self.may_move and (
            (states and (self.make_arrays is None or not memory.is_shared))
            or _overlap(arrays, targets)
        ):
            why = "another backend may take over from an isolated one, and needs the inputs"
        else:
            plan = self.plans.lone_plan(self.expected.checked(every))
        shapes = {} if plan is None else plan.output_shapes
        if plan is None or None in shapes.values():
            why = why or "data decides how the network is run"
            refuse_devices(read, written, why)
            return self._replayed(arrays, targets, memory, why)
        known = {name: shape for name, shape in shapes.items() if shape is not None}
        reached: dict[str, Any] = {**arrays, **read}
        written_to: dict[str, Any] = {**targets, **written}
        check_shapes(written_to, known)
        try:
            return self._made(plan, reached, written_to, memory, known, free)
        except WorkerLostError as lost:
            if not self.may_move:
                raise
            refuse_devices(read, written, str(lost))
            return self._replayed(arrays, targets, memory, str(lost))

    def _made(
        self,
        plan: LoadedPlan,
        inputs: Mapping[str, NDArray[Any]],
        targets: Mapping[str, NDArray[Any]],
        memory: StateMemory,
        shapes: Mapping[str, tuple[int, ...]],
        free: Iterable[str],
    ) -> BoundCall:
        """Return a call whose plan is bound to the arrays.

        Where no states alternate, arrays that are made here are in the memory of the backend.
        """
        infos, pairs = self.plans.optimized.outputs, memory.pairs
        check_next_values(pairs, memory.read, self.plans.optimized.inputs, infos, shapes)
        kept = set(pairs.values())
        new = [name for name in infos if name not in kept and name not in targets]
        kinds = [(infos[name].data_type.numpy_dtype, shapes[name]) for name in new]
        arrays = dict(zip(new, self._new(kinds), strict=True))
        made = {name: {**targets, **arrays}[name] for name in infos if name not in kept}
        outputs = Aliased(made, self.plans.optimized.aliases.outputs)
        if not self.may_move:
            memory.place(plan)
        turns = []
        copies: dict[str, str] = {}
        own = {*free, *(name for name in made if name not in targets)} if not pairs else set()
        own -= {name for name in inputs if name in made}
        for read, written in memory.turns:
            after = {pairs[name]: array for name, array in written.items()}
            binding = Binding(
                self._handles({**inputs, **read}, self.plans.optimized.inputs),
                self._handles({**outputs, **after}, infos),
                frozenset(own),
                managers=memory.managers,
            )
            context, why = plan.bound(binding)
            inputs = {name: binding.chosen.get(name, array) for name, array in inputs.items()}
            outputs.update({name: a for name, a in binding.chosen.items() if name in made})
            copies.update(why)
            limited = partial(self.watch, partial(_run_limited, context, plan))
            turn = Turn(context.bound_run, context, context.submit, limited)
            if self.may_move:
                instead = Replay(self.run, inputs, outputs, memory)
                survivor = Survivor(turn.run, limited, instead, self.after, memory)
                turn = Turn(survivor, context, limited=survivor)
            turns.append(turn)
        title = self.plans.optimized.title
        shown = {name: array for name, array in inputs.items() if name not in memory.counts}
        rows = memory.rows_of({name: array.shape for name, array in shown.items()})
        noted = None if self.may_move else self.after  # a survivor notes runs itself
        return BoundCall(title, shown, outputs, copies, turns, memory, rows, noted)

    def _replayed(
        self,
        inputs: Mapping[str, NDArray[Any]],
        targets: Targets,
        memory: StateMemory,
        why: str,
    ) -> BoundCall:
        """Return a call that runs the network and copies."""
        optimized = self.plans.optimized
        outputs = Aliased(targets, optimized.aliases.outputs)
        replay = Replay(self.run, inputs, outputs, memory)
        turns = [Turn(replay, None, limited=replay)] * len(memory.sides)
        copies = dict.fromkeys((*optimized.inputs, *optimized.outputs), why)
        title = optimized.title
        shown = {name: array for name, array in inputs.items() if name not in memory.counts}
        rows = memory.rows_of({name: array.shape for name, array in shown.items()})
        return BoundCall(title, shown, outputs, copies, turns, memory, rows, None)

    def _arrays(self, inputs: Mapping[str, Any]) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return the inputs, and the names of those made here."""
        infos = self.plans.optimized.inputs
        free = [name for name, each in inputs.items() if isinstance(each, tuple) and name in infos]
        kinds = [(self._dtype(name), checked_shape(inputs[name], name)) for name in free]
        made = zip(free, self._new(kinds, is_written_there=False), strict=True)
        return {**inputs, **dict(made)}, free

    def _new(
        self,
        kinds: Sequence[tuple[np.dtype[Any], Sequence[int]]],
        *,
        is_written_there: bool = True,
    ) -> list[NDArray[Any]]:
        """Return new arrays for a call, where all of its backends use them."""
        if not kinds:
            return []
        return (self.make_arrays or made_here)(kinds, is_written_there=is_written_there)

    def _handles(
        self, given: Mapping[str, State | Buffer], infos: Mapping[str, TensorInfo]
    ) -> dict[str, TensorHandle]:
        """Return tensors on memory; backends in other processes are told which they map."""
        sources = self.sources
        if self.make_arrays is not None:
            # late: only networks with an isolated backend
            from armnn.backends.worker.memory import place_of

            shared = {
                name: MemorySource.MEMFD
                for name, each in given.items()
                if isinstance(each, np.ndarray) and place_of(each) is not None
            }
            sources = {**shared, **sources}
        return handles_on(given, infos, sources)

    def _initial(self, name: str, given: object) -> NDArray[Any]:
        """Return the first value of a state."""
        if given is not None:
            return self._checked(name, given)
        optimized = self.plans.optimized
        info = optimized.inputs[name]
        if not info.is_static:
            raise InvalidArgumentError(
                f"the state {name!r} needs a first value among the inputs: its shape "
                f"{format_shape(info.shape)} is not known in full"
            )
        real = self._dtype(name) != info.data_type.numpy_dtype
        return first_value(name, info, info.static_shape, optimized.metadata, is_real=real)

    def _checked(self, name: str, array: object) -> NDArray[Any]:
        info = self.plans.optimized.inputs[name]
        return checked_array(array, f"the input {name!r}", info, self._dtype(name))

    def _dtype(self, name: str) -> np.dtype[Any]:
        if self.real is not None and name in self.real:
            return np.dtype(np.float32)
        return self.plans.optimized.inputs[name].data_type.numpy_dtype


def _run_limited(context: Context, plan: LoadedPlan, control: RunControl) -> None:
    context.run_bound(with_layer_types(control, plan.plan))


def handles_on(
    given: Mapping[str, State | Buffer],
    infos: Mapping[str, TensorInfo],
    sources: Mapping[str, MemorySource] = MappingProxyType({}),
) -> dict[str, TensorHandle]:
    """Return tensors on a caller's memory, and the kept states.

    Args:
        given: The memory by input or output.
        infos: Their descriptions; dimensions may be unknown.
        sources: Where memory comes from, if it is not plain memory.
    """
    made: dict[str, TensorHandle] = {}
    for name, each in given.items():
        info = infos[name].with_shape(each.shape)
        if isinstance(each, KeptHandle):
            made[name] = each
        elif isinstance(each, Buffer):
            made[name] = ForeignHandle(info, each)
        else:
            made[name] = ArrayHandle(info, each, sources.get(name, MemorySource.MALLOC))
    return made


def check_usable(array: NDArray[Any], what: str) -> None:
    """Check that a backend can use an array's memory.

    Raises:
        InvalidArgumentError: It cannot.
    """
    if not array.flags.c_contiguous:
        raise InvalidArgumentError(
            f"{what} is not contiguous in C order: np.ascontiguousarray() makes one that is"
        )
    if not array.flags.aligned:
        raise InvalidArgumentError(
            f"{what} begins at an address that is not a multiple of its elements' {array.itemsize} "
            "bytes: a copy() begins at one"
        )


def _taken_out(given: dict[str, Any]) -> dict[str, Buffer]:
    """Remove the buffers, which are memory of devices, from the caller's arrays; return them."""
    names = [name for name, each in given.items() if type(each) is Buffer]
    return {name: given.pop(name) for name in names}


def check_buffer(buffer: Buffer, what: str, info: TensorInfo) -> None:
    """Check that memory of a device has a tensor's type and shape.

    Raises:
        InvalidArgumentError: It does not, or is not contiguous.
    """
    dtype = info.data_type.numpy_dtype
    if buffer.dtype != dtype or not info.accepts(buffer.shape):
        raise refused(what, buffer, f"{dtype}{format_shape(info.shape)}")
    if not buffer.is_contiguous:
        raise InvalidArgumentError(f"{what}, {buffer}, is not contiguous in C order")


def stand_in(given: State | Buffer) -> NDArray[Any]:
    """Return an array of a buffer's type and shape, which the choice of a plan looks at."""
    if isinstance(given, np.ndarray):
        return given
    return np.broadcast_to(np.zeros((), given.dtype), given.shape)


def refuse_devices(read: Mapping[str, Buffer], written: Mapping[str, Buffer], why: str) -> None:
    """Refuse memory of devices in a call that copies all inputs and outputs.

    Raises:
        MemoryImportError: There is some.
    """
    for side, given in (("input", read), ("output", written)):
        for name, each in given.items():
            raise MemoryImportError(
                f"{unreachable(f'the {side} {name!r}', each.device, ())}; {why}"
            )


def _overlap(inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether a call overwrites its inputs."""
    return any(np.may_share_memory(a, b) for a in inputs.values() for b in outputs.values())


def _check_overlaps(
    inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]
) -> None:
    """Check that outputs share whole inputs or nothing.

    Raises:
        InvalidArgumentError: One shares a part.
    """
    for name, array in outputs.items():
        for other, given in inputs.items():
            same = array.ctypes.data == given.ctypes.data and array.nbytes == given.nbytes
            if not same and np.may_share_memory(array, given):
                raise InvalidArgumentError(
                    f"the array for the output {name!r} shares a part of the memory of the input "
                    f"{other!r}: expected the same array for both, or none that is shared"
                )
