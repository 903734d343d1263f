# SPDX-License-Identifier: MIT
"""The cache of a network's plans, one for each set of input shapes, and the runs on these plans.

A run enters the gate of the network, looks up the plan for its input shapes and takes a context of
that plan. For a model that runs in microseconds, these steps would take most of the time. So a
context stays out of the pool after a run and waits for a run with the same input shapes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from armnn._forks import ForkedLock
from armnn._load_times import REST, stage
from armnn._process_memory import trim_memory
from armnn.backends import SHARED_MEMORY, SharedMemory
from armnn.backends.calling import call
from armnn.backends.contract import RunControl
from armnn.errors import CancelledError, DeadlineExceededError, ExecutionError, GraphError
from armnn.optimizer import OptimizedNetwork
from armnn.optimizer.plan import Plan
from armnn.runtime.closing import Closing, Gate
from armnn.runtime.context import Context, with_layer_types
from armnn.runtime.engine import POOL_LIMIT, LoadedPlan
from armnn.runtime.steps import Inputs, Targets

if TYPE_CHECKING:  # a prepared load imports no graph and no optimizer
    from armnn.optimizer import Report


TRIMMED_BYTES = 1 << 20
"""By how many bytes the arena of a derived plan must exceed all earlier arenas, so that free memory
is returned to the operating system."""

MOST_SEGMENTS = 200
"""The most segments of a network that wait for data of the segment before; the runs are nested."""

Prepared: TypeAlias = tuple[Mapping[str, tuple[int, ...]], Mapping[str, NDArray[Any]], bool]
"""The shapes of the inputs of a plan, the values of those inputs that decide about shapes, and
whether a later segment is planned from data of the run."""

LoadPlan: TypeAlias = Callable[[Plan], LoadedPlan]
"""Makes the workloads of a plan, and lays out its memory."""


class PlanCache:
    """The plans of one network and their runs, for any number of threads.

    The key of a plan is the shapes of all inputs and the values of those small integer or Boolean
    inputs that decide about shapes. If two threads meet a new key, only one makes the plan. If
    there are too many plans, the least recently used plan that no run uses is dropped.

    A context that waits for the next run counts as inside of the gate, and its plan as in use. It
    returns to the pool of its plan when a run has other shapes, and when the network is unloaded.

    Attributes:
        optimized: The network.
        gate: The gate that each run enters and leaves, so that unloading waits for runs.
    """

    def __init__(
        self,
        optimized: OptimizedNetwork,
        load_plan: LoadPlan,
        limit: int,
        segment: int = 0,
        whole: str | None = None,
    ) -> None:
        """Begin without plans.

        Args:
            optimized: The network, or one of its later segments.
            load_plan: Loads a plan of the network.
            limit: How many plans are kept.
            segment: The number of segments before this one.
            whole: The title of the whole network, if this is a segment of it.
        """
        self._whole = optimized.title if whole is None else whole
        if segment == MOST_SEGMENTS:
            raise GraphError(
                f"{self._whole} is cut into more than "
                f"{MOST_SEGMENTS} segments that wait for each other: a loop whose condition it "
                "computes itself has too many iterations"
            )
        self._segment = segment
        self.optimized = optimized
        self._load_plan = load_plan
        self._limit = limit
        self._names = tuple(optimized.inputs)
        self._is_static = optimized.is_static  # kept, as each query walks over all layers
        # The position of each input whose value is in the key if it has at most so many elements.
        self._value_limits = tuple(
            (index, optimized.value_inputs[name])
            for index, name in enumerate(self._names)
            if name in optimized.value_inputs
        )
        self._lock = ForkedLock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._only: _Entry | None = None
        self._most_bytes = 0
        self.gate = Gate(optimized.title)
        # The deque of contexts that wait needs no lock, as its methods are atomic.
        self._waiting: deque[tuple[Context, LoadedPlan, _Entry]] = deque()
        self._take, self._wait = self._waiting.pop, self._waiting.append
        # One None for each further context that may wait: popping takes a place, atomically too.
        self._places = deque((None,) * POOL_LIMIT)
        self._has_ended = False

    @property
    def plans(self) -> tuple[LoadedPlan, ...]:
        """All plans in the cache, with those of later segments."""
        with self._lock:
            entries = tuple(self._entries.values())
        found: list[LoadedPlan] = []
        for entry in entries:
            if entry.plan is not None:
                found.append(entry.plan)
            if entry.rest is not None:
                found.extend(entry.rest.plans)
        return tuple(found)

    @property
    def prepared(self) -> tuple[Prepared, ...]:
        """The keys of the plans in the cache."""
        with self._lock:
            entries = tuple(self._entries.values())
        return tuple(
            (each.shapes, each.values, each.rest is not None)
            for each in entries
            if each.plan is not None
        )

    @property
    def report(self) -> Report:
        """The backend of each layer in all plans in the cache."""
        from armnn.optimizer import Report  # late: a prepared load does without

        participants = self.optimized.participants
        empty = Report(skipped=participants.skipped, choice=participants.choice)
        return sum((each.plan.report for each in self.plans), empty)

    def prepare(self, inputs: Sequence[NDArray[Any]]) -> None:
        """Make the plan for inputs of these shapes, unless it is in the cache."""
        self._leave(self._enter(inputs))

    def run(
        self,
        inputs: Sequence[NDArray[Any]],
        control: RunControl | None,
        targets: Targets | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run the network; see :meth:`armnn.runtime.context.Context.run`."""
        entry = self._enter(inputs)
        try:
            loaded = entry.loaded
            context, outputs = self._run_in(entry, loaded, inputs, control, targets)
            if context is not None:
                loaded.release(context)
            return outputs
        finally:
            self._leave(entry)

    def run_again(
        self,
        inputs: Inputs,
        targets: Targets | None = None,
        control: RunControl | None = None,
        *,
        is_checked: bool = True,
    ) -> dict[str, NDArray[Any]] | None:
        """Run in a context that waits; return None if no context waits for these shapes.

        Without control, and with targets that are not checked, the returned mapping also has the
        aliases of the outputs.

        Args:
            inputs: The inputs by name, not checked yet.
            targets: Arrays of the caller for some outputs.
            control: The deadline and the cancel token of the caller.
            is_checked: Whether the targets are checked; if not, None is also returned for targets
                that need a check.
        """
        try:
            waiting = self._take()  # used last: its memory is still in the CPU's cache
        except IndexError:
            return None
        context = waiting[0]
        try:
            if targets is None and control is None:
                outputs = context.repeat(inputs)
            elif targets is not None and not is_checked:
                outputs = context.repeat_into(inputs, targets)
            else:
                outputs = context.repeat_with(inputs, targets, control)
        except BaseException:
            try:
                context.close()  # its tensors have undefined content
            finally:
                self._give_up(waiting[2])
            raise
        self._wait(waiting)
        if self._has_ended:
            self.release()
        return outputs

    def run_first(
        self,
        inputs: Sequence[NDArray[Any]],
        targets: Targets | None,
        control: RunControl | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run with checked inputs, and let the context wait for the next run if possible.

        Raises:
            ClosedError: The gate is closed.
        """
        self.release()
        self.gate.enter()
        is_kept = False
        try:
            entry = self._enter(inputs)
            try:
                loaded = entry.loaded
                context, outputs = self._run_in(entry, loaded, inputs, control, targets)
                if context is not None:
                    is_kept = self._keeps(context, loaded, entry)
            finally:
                if not is_kept:
                    self._leave(entry)
        finally:
            if not is_kept:
                self.gate.leave()
        if is_kept and self._has_ended:
            self.release()
        return outputs

    def release(self) -> None:
        """Return all contexts that wait for a next run to the pools of their plans."""
        while True:
            try:
                context, loaded, entry = self._take()
            except IndexError:
                return
            try:
                loaded.release(context)
            finally:
                self._give_up(entry)

    def trim(self) -> None:
        """Free the working memory of all idle contexts.

        Raises:
            ClosingError: An allocator failed to free memory, which is not used any more.
        """
        self.release()
        closing = Closing(f"the memory of {self.optimized.title}", "is given back")
        for plan in self.plans:
            closing.step(plan.drop_contexts)
        closing.end()

    def end(self) -> None:
        """Let no context wait from now on."""
        self._has_ended = True  # first: a context that waits again after the release sees it
        self.release()

    def lone_plan(self, inputs: Sequence[NDArray[Any]]) -> LoadedPlan | None:
        """Return the plan for inputs of these shapes.

        It is None if the plan also depends on the data of inputs or of a run.
        """
        if self._value_limits:
            return None
        entry = self._enter(inputs)
        try:
            return entry.loaded if entry.rest is None else None
        finally:
            self._leave(entry)

    def close(self, owns_graphs: bool = False) -> None:  # of one caller
        """Drop every plan.

        Args:
            owns_graphs: Whether no other object refers to the networks of the plans. Their layers
                are then removed, as layers refer to each other and would hold weights until the
                garbage is collected.

        Raises:
            ClosingError: An allocator failed to free memory; the plans are dropped nevertheless.
        """
        with self._lock:
            entries = tuple(self._entries.values())
            self._entries.clear()
            self._only = None
        closing = Closing(self.optimized.title)
        for entry in entries:
            loaded = entry.plan
            closing.step(entry.close, owns_graphs)
            if owns_graphs and not self._is_static and loaded is not None:
                loaded.plan.clear()
        closing.end()

    # -- inside ---------------------------------------------------------------------------------

    def _run_in(
        self,
        entry: _Entry,
        loaded: LoadedPlan,
        inputs: Sequence[NDArray[Any]],
        control: RunControl | None,
        targets: Targets | None,
    ) -> tuple[Context | None, dict[str, NDArray[Any]]]:
        """Run in a new context, or in a context of the pool.

        Returns:
            The context, or None if a later segment ran as well and the context is released; and
            the outputs.
        """
        context = loaded.acquire(control)
        try:
            watched = control and with_layer_types(control, loaded.plan)
            outputs = context.run(inputs, watched, targets)
        except (CancelledError, DeadlineExceededError):
            if context.has_queues:
                # Enqueued work still uses the tensors of this context. Its next run is enqueued
                # after that work. Freeing the tensors now might wait for the work.
                loaded.release(context)
            else:
                loaded.drop(context)
            raise
        except BaseException:
            loaded.drop(context)
            raise
        rest = entry.rest
        if rest is None:
            return context, outputs
        loaded.release(context)
        crossing = [outputs.pop(name) for name in loaded.plan.crossing]
        outputs.update(rest.run(crossing, control, targets))
        return None, {name: outputs[name] for name in self.optimized.outputs}

    def _keeps(self, context: Context, loaded: LoadedPlan, entry: _Entry) -> bool:
        """Let a context wait for a next run, or release it; return whether it waits."""
        is_kept = context.is_repeatable and not self._value_limits and not loaded.is_limited
        if is_kept:
            try:
                self._places.pop()
            except IndexError:
                is_kept = False
        if is_kept:
            context.begin_repeats(self.optimized.aliases.outputs)
            self._wait((context, loaded, entry))
        else:
            loaded.release(context)
        return is_kept

    def _give_up(self, entry: _Entry) -> None:
        """Leave the plan and the gate for a context that waits no longer."""
        try:
            self._leave(entry)
        finally:
            self._places.append(None)
            self.gate.leave()

    def _leave(self, entry: _Entry) -> None:
        """Count one user of a plan less."""
        if entry is not self._only:
            with self._lock:
                entry.users -= 1

    def _key(self, inputs: Sequence[NDArray[Any]]) -> tuple[Hashable, dict[str, NDArray[Any]]]:
        shapes = tuple([array.shape for array in inputs])
        if not self._value_limits:
            return shapes, {}
        values = {
            self._names[index]: inputs[index]
            for index, most in self._value_limits
            if inputs[index].size <= most
        }
        return (shapes, *(value.tobytes() for value in values.values())), values

    def _enter(self, inputs: Sequence[NDArray[Any]]) -> _Entry:
        """Return the entry for these inputs, with its plan made, and count a user of it."""
        if self._only is not None:
            return self._only
        key, values = self._key(inputs)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
                self._evict()
            self._entries.move_to_end(key)
            entry.users += 1
        try:
            with entry.lock:
                if entry.plan is None:
                    with stage(REST):
                        self._fill(entry, inputs, values)
        except BaseException:
            with self._lock:
                entry.users -= 1
                if entry.users == 0 and self._entries.get(key) is entry:
                    del self._entries[key]
            raise
        return entry

    def _evict(self) -> None:
        """Drop plans until the limit holds; needs the lock."""
        while len(self._entries) > self._limit:
            idle = (k for k, each in self._entries.items() if not each.users and each.plan)
            key = next(idle, None)  # in most cases the first entry
            if key is None:
                return
            self._entries.pop(key).close()

    def _fill(
        self, entry: _Entry, inputs: Sequence[NDArray[Any]], values: Mapping[str, NDArray[Any]]
    ) -> None:
        shapes = {name: array.shape for name, array in zip(self._names, inputs, strict=True)}
        plan = self.optimized.specialize(shapes, values)
        rest = plan.rest
        if rest is not None:
            optimized = OptimizedNetwork(
                rest,
                self.optimized.participants,
                self.optimized.options,
                self.optimized.constants,
            )
            entry.rest = PlanCache(
                optimized, self._load_plan, self._limit, self._segment + 1, self._whole
            )
        # The values are copied, as the caller may change the arrays later.
        entry.shapes, entry.values = shapes, {name: each.copy() for name, each in values.items()}
        entry.plan = self._load_plan(plan)
        arena_bytes = entry.plan.arena_bytes
        if not plan.is_derived or arena_bytes > self._most_bytes + TRIMMED_BYTES:
            self._most_bytes = max(self._most_bytes, arena_bytes)
            trim_memory()
        if self._is_static:
            self._only = entry


class _Entry:
    """A plan in the cache, with the shapes and values of its key.

    ``lock`` is held while the plan is made, and ``rest`` has the plans of the later segments.
    """

    __slots__ = ("lock", "plan", "rest", "shapes", "users", "values")

    def __init__(self) -> None:
        self.lock = ForkedLock()
        self.plan: LoadedPlan | None = None
        self.rest: PlanCache | None = None
        self.shapes: Mapping[str, tuple[int, ...]] = {}
        self.values: Mapping[str, NDArray[Any]] = {}
        self.users = 0

    @property
    def loaded(self) -> LoadedPlan:
        """The plan.

        Raises:
            ExecutionError: The network was unloaded, and the plan dropped.
        """
        if self.plan is None:
            raise ExecutionError("the network was unloaded while it was being prepared")
        return self.plan

    def close(self, owns_graphs: bool = False) -> None:  # see PlanCache
        """Drop the plan and those of later segments."""
        plan, self.plan = self.plan, None
        try:
            if plan is not None:
                plan.close()
        finally:
            if self.rest is not None:
                self.rest.close(owns_graphs)
                if owns_graphs:
                    self.rest.optimized.clear()


def backends_beside(plans: PlanCache, name: str) -> list[str]:
    """Return the ids of the backends that read or write an input or output.

    Before the first plan is made, these are all backends of the network.

    Args:
        plans: The plans of the network.
        name: The name of the input or output.
    """
    beside = {owner for plan in plans.plans for owner in plan.owners(name)}
    ids = [candidate.id for candidate in plans.optimized.participants.all]
    return [each for each in ids if not beside or each in beside]


def reached_devices(plans: PlanCache) -> set[tuple[int, int]]:
    """Return the devices other than the host whose memory a backend of a network imports."""
    factories = plans.optimized.participants.factories.values()
    return {device for factory in factories for device in factory.import_devices}


def shared_memory_beside(plans: PlanCache, name: str) -> SharedMemory | None:
    """Return the SharedMemory extension of a backend that reads or writes an input or output.

    Before the first plan is made, it is that of the most preferred backend that has one.

    Args:
        plans: The plans of the network.
        name: The name of the input or output.
    """
    beside = backends_beside(plans, name)
    for candidate in plans.optimized.participants.all:
        if candidate.id in beside:
            extension: SharedMemory | None = call(
                candidate.id, candidate.backend, "extension", SHARED_MEMORY
            )
            if extension is not None:
                return extension
    return None
