# SPDX-License-Identifier: MIT
"""The plans of one network, by its input shapes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from armnn._load_times import REST, stage
from armnn._process_memory import trim_memory
from armnn.backends import SHARED_MEMORY, SharedMemory
from armnn.backends.calling import call
from armnn.backends.contract import RunControl
from armnn.errors import ExecutionError, GraphError
from armnn.runtime.plans.closing import Closing
from armnn.runtime.plans.context import with_layer_types
from armnn.runtime.plans.plan import Plan
from armnn.runtime.plans.steps import Targets
from armnn.storage.model import StoredNetwork

if TYPE_CHECKING:  # a prepared load imports no graph and no optimizer
    from armnn.optimizer import OptimizedNetwork, Prepared, Report
    from armnn.optimizer.prepared import SingleProgram


TRIMMED_BYTES = 1 << 20
"""Working memory of a plan beyond that of all others, whose memory is then worth returning."""

MOST_SEGMENTS = 200
"""How many parts of a network may wait for data of the part before; each runs inside that one."""

MakePlan = Callable[["Prepared | SingleProgram"], Plan]


class NetworkPlans:
    """A bounded cache of plans for any number of threads.

    A plan is keyed by the shapes of all inputs and by the values of those small integer or Boolean
    inputs that decide about shapes. Two threads that meet a new key prepare it once. When there
    are too many plans, the least recently used one that is not running goes.

    Attributes:
        optimized: The network.
    """

    def __init__(
        self,
        optimized: OptimizedNetwork | StoredNetwork,
        make_plan: MakePlan,
        limit: int,
        segment: int = 0,
        whole: str | None = None,
    ) -> None:
        """Begin without plans.

        Args:
            optimized: The network, or one of its later segments.
            make_plan: Makes a plan of a prepared network.
            limit: How many plans are kept.
            segment: How many segments are before it.
            whole: The name of the network that it is a segment of.
        """
        self._whole = optimized.name if whole is None else whole
        if segment == MOST_SEGMENTS:
            raise GraphError(
                f"the network {self._whole!r} is cut into more than "
                f"{MOST_SEGMENTS} segments that wait for each other: a loop whose condition it "
                "computes itself has too many iterations"
            )
        self._segment = segment
        self.optimized = optimized
        self._make_plan = make_plan
        self._limit = limit
        self._names = tuple(optimized.inputs)
        self._is_static = optimized.is_static  # kept: it is found by a walk over all layers
        # By position of the input: how many elements it may have for its value to be in the key.
        self._value_limits = tuple(
            (index, optimized.value_inputs[name])
            for index, name in enumerate(self._names)
            if name in optimized.value_inputs
        )
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._only: _Entry | None = None
        self._most_bytes = 0

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Every plan that is kept, those of later segments included."""
        with self._lock:
            entries = tuple(self._entries.values())
        found: list[Plan] = []
        for entry in entries:
            if entry.plan is not None:
                found.append(entry.plan)
            if entry.rest is not None:
                found.extend(entry.rest.plans)
        return tuple(found)

    @property
    def report(self) -> Report:
        """Which layer runs where in every plan that is kept."""
        from armnn.optimizer import Report  # late: it is asked for seldom

        participants = self.optimized.participants
        empty = Report(skipped=participants.skipped, choice=participants.choice)
        return sum((plan.prepared.report for plan in self.plans), empty)

    def prepare(self, inputs: Sequence[NDArray[Any]]) -> None:
        """Make the plan for inputs of these shapes, once."""
        self.leave(self._enter(inputs))

    def run(
        self,
        inputs: Sequence[NDArray[Any]],
        control: RunControl | None,
        targets: Targets | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run the network; see :meth:`armnn.runtime.plans.context.ExecutionContext.run`."""
        reservation = self.reserve(inputs)
        try:
            return reservation.run(inputs, control, targets)
        finally:
            reservation.release()

    def reserve(self, inputs: Sequence[NDArray[Any]]) -> Reservation:
        """Take plan and context for inputs of these shapes."""
        entry = self._only if self._only is not None else self._enter(inputs)
        try:
            return Reservation(self, entry, looks_at_values=bool(self._value_limits))
        except BaseException:
            self.leave(entry)
            raise

    def lone_plan(self, inputs: Sequence[NDArray[Any]]) -> Plan | None:
        """Return the one plan for inputs of these shapes.

        None if data decides how the network is run, as it may be other data in the next run.
        """
        if self._value_limits:
            return None
        entry = self._enter(inputs)
        try:
            return entry.plan if entry.rest is None else None
        finally:
            self.leave(entry)

    def leave(self, entry: _Entry) -> None:
        """Count a plan as in use once less."""
        if entry is not self._only:
            with self._lock:
                entry.users -= 1

    def close(self, owns_graphs: bool = False) -> None:  # of one caller
        """Drop every plan.

        Args:
            owns_graphs: Whether no other object has their networks, whose layers are taken out
                then: they refer to each other, and hold weights until they are collected.

        Raises:
            ClosingError: Memory could not be given back; the plans are dropped nevertheless.
        """
        with self._lock:
            entries = tuple(self._entries.values())
            self._entries.clear()
            self._only = None
        closing = Closing(f"the network {self.optimized.name!r}")
        for entry in entries:
            plan = entry.plan
            closing.step(entry.close, owns_graphs)
            if owns_graphs and not self._is_static and plan is not None:
                plan.prepared.clear()
        closing.end()

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
        """Return the entry of these inputs, planned and in use."""
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
            key = next(idle, None)  # the first one, nearly always
            if key is None:
                return
            self._entries.pop(key).close()

    def _fill(
        self, entry: _Entry, inputs: Sequence[NDArray[Any]], values: Mapping[str, NDArray[Any]]
    ) -> None:
        shapes = {name: array.shape for name, array in zip(self._names, inputs, strict=True)}
        prepared = self.optimized.specialise(shapes, values)
        rest = prepared.rest
        if rest is not None:
            from armnn.optimizer import OptimizedNetwork  # late: few networks have segments

            optimized = OptimizedNetwork(
                rest,
                self.optimized.participants,
                self.optimized.options,
                self.optimized.constants,
            )
            entry.rest = NetworkPlans(
                optimized, self._make_plan, self._limit, self._segment + 1, self._whole
            )
        entry.plan = self._make_plan(prepared)
        arena_bytes = entry.plan.arena_bytes
        if not prepared.is_derived or arena_bytes > self._most_bytes + TRIMMED_BYTES:
            self._most_bytes = max(self._most_bytes, arena_bytes)
            trim_memory()
        if self._is_static:
            self._only = entry


class Reservation:
    """A plan in use and a context, for successive runs.

    Attributes:
        is_repeatable: Whether only the shapes of the inputs decide what is run, and the context
            alone can run it.
        repeat: If so, runs it again; see :func:`armnn.runtime.plans.steps.repeating`.
        repeat_into: Likewise, into given arrays; see
            :func:`armnn.runtime.plans.steps.repeating_into`.
        repeat_with: Likewise; see :class:`armnn.runtime.plans.context.ExecutionContext`.
    """

    __slots__ = (
        "_context",
        "_entry",
        "_is_held",
        "_plan",
        "_plans",
        "is_repeatable",
        "repeat",
        "repeat_into",
        "repeat_with",
    )

    def __init__(self, plans: NetworkPlans, entry: _Entry, *, looks_at_values: bool) -> None:
        """Take a context.

        Raises:
            ExecutionError: The plan is gone.
        """
        if entry.plan is None:
            raise ExecutionError("the network was unloaded while it was being prepared")
        self._plans, self._entry, self._plan = plans, entry, entry.plan
        self._context = entry.plan.acquire()
        self._is_held = True
        second_names = plans.optimized.aliases.outputs
        self.repeat = self._context.repeating(second_names)
        self.repeat_into = self._context.repeating_into(second_names)
        self.repeat_with = self._context.repeat_with
        self.is_repeatable = (
            entry.rest is None and not looks_at_values and self._context.is_repeatable
        )

    def run(
        self,
        inputs: Sequence[NDArray[Any]],
        control: RunControl | None,
        targets: Targets | None,
    ) -> dict[str, NDArray[Any]]:
        """Run the network once, for the first time; see ExecutionContext.run."""
        try:
            watched = control and with_layer_types(control, self._plan.prepared)
            outputs = self._context.run(inputs, watched, targets)
        except BaseException:
            self.spoil()
            raise
        rest = self._entry.rest
        if rest is None:
            return outputs
        self._give_back()
        crossing = self._plan.prepared.crossing
        outputs.update(rest.run([outputs.pop(name) for name in crossing], control, targets))
        return {name: outputs[name] for name in self._plans.optimized.outputs}

    def spoil(self) -> None:
        """Drop the context, whose content is undefined after a failure."""
        self._is_held = False
        self._context.close()

    def release(self) -> None:
        """Give back context and plan; no other call may follow."""
        try:
            self._give_back()
        finally:
            self._plans.leave(self._entry)

    def _give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._plan.release(self._context)


class _Entry:
    """A plan; ``lock`` is held while it is made."""

    __slots__ = ("lock", "plan", "rest", "users")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.plan: Plan | None = None
        self.rest: NetworkPlans | None = None
        self.users = 0

    def close(self, owns_graphs: bool = False) -> None:  # see NetworkPlans
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


def backends_beside(plans: NetworkPlans, name: str) -> list[str]:
    """Return the ids of the backends beside a tensor.

    Before there is a plan, these are all that take part.

    Args:
        plans: The plans of the network.
        name: An input or output of it.
    """
    beside = {owner for plan in plans.plans for owner in plan.owners(name)}
    ids = [candidate.id for candidate in plans.optimized.participants.all]
    return [each for each in ids if not beside or each in beside]


def shared_memory_beside(plans: NetworkPlans, name: str) -> SharedMemory | None:
    """Return the extension of the backend beside a tensor.

    Before there is a plan, the most preferred backend that has the extension is meant.

    Args:
        plans: The plans of the network.
        name: An input or output of it.
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
