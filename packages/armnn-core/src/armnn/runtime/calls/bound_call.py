# SPDX-License-Identifier: MIT
"""A prepared call of a network on fixed arrays."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import Task
from armnn.errors import ClosedError, ExecutionError, WorkerLostError
from armnn.runtime.calls.deadlines import deadline_of
from armnn.runtime.calls.tasks import BackendRun, RunTask, ThreadRun
from armnn.runtime.plans.closing import Closable, Closing
from armnn.runtime.plans.context import ExecutionContext


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One way to run a call; states alternate two.

    Attributes:
        run: Runs the network once.
        states: The states that it reads, by input.
        context: What it runs in, if it has a context of its own.
        submit: Submits the run to its backend, by a deadline, if that runs all of it.
    """

    run: Callable[[], None]
    states: Mapping[str, NDArray[Any]]
    context: ExecutionContext | None
    submit: Callable[[int | None], Task] | None = None


class BoundCall(Closable):
    """A prepared call, made by :meth:`LoadedNetwork.bind`.

    Calling it runs the network: it reads the bound inputs, writes the bound outputs and returns
    ``outputs``. A call belongs to one thread at a time; each thread binds its own.

    Attributes:
        inputs: The arrays that each call reads, by input.
        outputs: The arrays that each call writes, by output.
        copied: The inputs and outputs that each call copies, as their backends cannot use the
            arrays themselves.
    """

    def __init__(
        self,
        title: str,
        inputs: Mapping[str, NDArray[Any]],
        outputs: dict[str, NDArray[Any]],
        copied: tuple[str, ...],
        turns: Sequence[Turn],
        initial: Mapping[str, NDArray[Any]],
        after: Callable[[], None] | None,
    ) -> None:
        """Take over contexts; closing the call closes them.

        Args:
            title: What is called, for messages.
            inputs: See the attribute.
            outputs: See the attribute.
            copied: See the attribute.
            turns: The turns, which follow each other round and round.
            initial: What the states begin with.
            after: Called after each run, if there is anything to call.
        """
        self.inputs = dict(inputs)
        self.outputs = outputs
        self.copied = copied
        self._title = title
        self._initial = initial
        self._after = after
        self._lock = threading.Lock()
        self._take, self._give = self._lock.acquire, self._lock.release
        self._turns = tuple(turns)
        self._run, self._next = turns[0].run, turns[-1].run
        contexts = [turn.context for turn in turns if turn.context is not None]
        self._is_closed = False
        self._task: Callable[[], RunTask | None] = _no_task
        self._kept: object = None
        self._finalizer = weakref.finalize(self, _close, title, contexts)
        self._finalizer.atexit = False
        self.reset()

    def keep(self, network: object) -> None:
        """Keep the network loaded until the call is closed or collected."""
        self._kept = network

    def count_first(self, counted: Callable[[], AbstractContextManager[None]]) -> None:
        """Count the first call; only ``bind`` asks for it."""
        self._run = partial(_run_first, weakref.ref(self), self._turns[0].run, counted)

    def __call__(self) -> dict[str, NDArray[Any]]:
        """Run the network once.

        After a failure the states are those of before, and the outputs are undefined.

        Returns:
            The bound outputs, the same dictionary each time.

        Raises:
            ExecutionError: A layer failed, or another thread is in this call.
            ClosedError: The call was closed, or the network unloaded.
        """
        if not self._take(False):  # by position: it is called each time
            raise self._busy()
        try:
            self._run()
            self._run, self._next = self._next, self._run
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
        submit = self._this_turn.submit
        try:
            deadline = deadline_of(timeout)
            if self._is_closed:
                _refuse(self._title)
            if submit is None:
                run = ThreadRun(self._run_taken, self._give)
                task = RunTask(run, run.outputs)
            else:
                self._run = self._this_turn.run  # nothing is counted in another thread
                task = RunTask(BackendRun(submit(deadline), self._end_submitted), self._bound)
        except BaseException:
            self._give()
            raise
        self._task = weakref.ref(task)
        return task

    @property
    def states(self) -> dict[str, NDArray[Any]]:
        """The arrays that the next call reads as states.

        They are by input. Others follow after each call; what is written into these counts for
        the next one.
        """
        return dict(self._this_turn.states)

    def reset(self) -> None:
        """Let the states begin anew."""
        for name, array in self._this_turn.states.items():
            array[...] = self._initial[name]

    def close(self) -> None:
        """Give the working memory back; wait for a running call.

        Closing twice does nothing. Unloading the network closes its bound calls, too.

        Raises:
            ClosingError: Memory could not be given back.
        """
        task = self._task()
        if task is not None:
            task.close()
        with self._lock:
            self._is_closed = True
            # Neither turns nor a method of its own: what is closed keeps nothing.
            self._run = self._next = refuse = partial(_refuse, self._title)
            self._turns = tuple([Turn(refuse, turn.states, None) for turn in self._turns])
        close = self._finalizer.detach()
        self._kept = None
        if close is not None:
            _, function, arguments, _ = close
            function(*arguments)

    def __repr__(self) -> str:
        return f"<BoundCall of {self._title}>"

    @property
    def _this_turn(self) -> Turn:
        """The turn of the next call, else the first."""
        return next((turn for turn in self._turns if turn.run is self._run), self._turns[0])

    def _busy(self) -> ExecutionError:
        return ExecutionError(
            f"the bound call of {self._title} runs already: it belongs to one thread at a time; "
            "bind one for each thread"
        )

    def _run_taken(self) -> dict[str, NDArray[Any]]:
        """Run once in another thread, which takes the call."""
        try:
            self._run()
            self._run, self._next = self._next, self._run
            if self._after is not None:
                self._after()
        finally:
            self._give()
        return self.outputs

    def _end_submitted(self, success: bool) -> None:
        """Take note that the backend has ended a run."""
        try:
            if success:
                self._run, self._next = self._next, self._run
                if self._after is not None:
                    self._after()
        finally:
            self._give()

    def _bound(self) -> dict[str, NDArray[Any]]:
        return self.outputs


def _run_first(
    call: weakref.ref[BoundCall],
    run: Callable[[], None],
    counted: Callable[[], AbstractContextManager[None]],
) -> None:
    """Run the first turn, which is not counted again."""
    this = call()
    if this is not None:  # as it is while it runs
        this._run = run
    with counted():
        run()


def _refuse(title: str) -> None:
    raise ClosedError(f"the bound call of {title} was closed before this call")


def _no_task() -> None:
    """Return None: nothing was submitted."""


def _close(title: str, contexts: Sequence[ExecutionContext]) -> None:
    closing = Closing(f"the bound call of {title}")
    for context in contexts:
        closing.step(context.close)
    closing.end()


class Replay:
    """Runs a network that data decides about, and copies.

    Args:
        run: Runs the network on inputs, into outputs of the caller's.
        inputs: What it reads.
        outputs: What the caller wants written; new arrays of others are added in each run.
        states: The states by input.
        pairs: Which output is the next value of each state.
    """

    def __init__(
        self,
        run: Callable[..., dict[str, NDArray[Any]]],
        inputs: Mapping[str, NDArray[Any]],
        outputs: dict[str, NDArray[Any]],
        states: Mapping[str, NDArray[Any]],
        pairs: Mapping[str, str],
    ) -> None:
        self._run = run
        self._given = {**inputs, **states}
        self._targets = dict(outputs)
        self._outputs = outputs
        self._states = states
        self._pairs = pairs

    def __call__(self) -> None:
        """Run the network once."""
        made = self._run(self._given, self._targets)
        for name, source in self._pairs.items():
            np.copyto(self._states[name], made.pop(source))
        self._outputs.update(made)


class Survivor:
    """Runs a call, on other backends if one is lost.

    Args:
        run: Runs the network once, on the call's arrays.
        instead: Computes the same from the same arrays, wherever it can be.
        after: Called after each run of ``run``, if there is anything to call.
    """

    def __init__(
        self,
        run: Callable[[], None],
        instead: Callable[[], None],
        after: Callable[[], None] | None,
    ) -> None:
        self._run = run
        self._instead = instead
        self._after = after

    def __call__(self) -> None:
        """Run the network once."""
        try:
            self._run()
        except WorkerLostError:
            self._instead()
        else:
            if self._after is not None:
                self._after()
