# SPDX-License-Identifier: MIT
"""The execution context of a run: working memory, callers' arrays, bound steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import shown
from armnn.backends import (
    Allocator,
    ArrayHandle,
    Event,
    HostAllocator,
    MemoryManager,
    OptionValue,
    ProfilingSink,
    Step,
    Task,
    TensorHandle,
    raise_if_stopped,
)
from armnn.backends.calling import call
from armnn.backends.contract import RunControl, controlled
from armnn.backends.memory import ForeignHandle, PlacedHandle
from armnn.buffer import Buffer
from armnn.errors import BackendError, ClosedError, InvalidArgumentError
from armnn.optimizer.plan import Plan, PlannedLayer
from armnn.runtime.closing import Closing
from armnn.runtime.steps import (
    Inputs,
    Repeat,
    RepeatInto,
    Targets,
    filling,
    repeating,
    repeating_into,
    run_watched,
    running,
)
from armnn.tensor import format_shape


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """A caller's tensors for one execution context.

    Attributes:
        inputs: The memory that each input is read from.
        outputs: The memory that each output is written to.
        free: The inputs and outputs that may have other arrays instead.
        chosen: The other arrays that some of these have, once the context is made.
        managers: The memory managers, by backend id, that the context shares with other contexts on
            the same states, of which one runs at a time; None if it has managers of its own.
    """

    inputs: Mapping[str, TensorHandle]
    outputs: Mapping[str, TensorHandle]
    free: frozenset[str] = frozenset()
    chosen: dict[str, NDArray[Any]] = field(default_factory=dict)
    managers: Mapping[str, MemoryManager] | None = None


_Kept: TypeAlias = (
    "tuple[TensorHandle, TensorHandle, Callable[[ForeignHandle], TensorHandle | None]]"
)
"""The tensor of a state, its handle in the owner's queue, and a function for handles on slices."""


class KeptHandle(TensorHandle):
    """A state in the memory of the backend that reads and writes it.

    Attributes:
        factory: The id of the factory that made it.
        owner: The backend in whose queue it is written and copied.
    """

    def __init__(
        self,
        factory: str,
        tensor: TensorHandle,
        owner: str,
        ordered: TensorHandle,
        on_memory: Callable[[ForeignHandle], TensorHandle | None],
    ) -> None:
        """Keep a tensor.

        Args:
            factory: See the attribute.
            tensor: See the property.
            owner: See the attribute.
            ordered: The handle on it in the owner's queue.
            on_memory: Returns such a handle on a slice of the tensor, None if its backend has none.
        """
        self.info = tensor.info
        self.factory = factory
        self.owner = owner
        self._handles: _Kept | None = (tensor, ordered, on_memory)

    def close(self) -> None:
        """Free the memory with its content."""
        self._handles = None

    @property
    def tensor(self) -> TensorHandle:
        """The tensor, which belongs to no context; each context has a handle of its own on it.

        Raises:
            ClosedError: It was given back.
        """
        return self._open()[0]

    @property
    def _ordered(self) -> TensorHandle:
        return self._open()[1]

    def _open(self) -> _Kept:
        if self._handles is None:
            raise ClosedError(
                f"the state was in memory of the backend {self.owner!r}, which was given back when "
                "the network was unloaded: call states() before that"
            )
        return self._handles

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape, as an array has one."""
        return self.info.static_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of its elements."""
        return self.info.data_type.numpy_dtype

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.info.size_bytes

    def map(self) -> NDArray[Any]:
        """Return a copy, or the memory where the host reaches it."""
        return self._ordered.map()

    def unmap(self) -> None:
        """End a :meth:`map`."""
        self._ordered.unmap()

    def copy_from(self, array: NDArray[Any]) -> None:
        """Copy an array into the state, after the commands that were enqueued."""
        self._ordered.copy_from(array)

    def copy_to(self, array: NDArray[Any]) -> None:
        """Copy the state into an array, after the commands that were enqueued."""
        self._ordered.copy_to(array)

    def slices(self, axis: int, count: int) -> list[TensorHandle]:
        """Return the first rows along an axis as tensors, one for each index of the axes before.

        The list is empty if the backend has no tensors at such offsets.
        """
        shape = (count, *self.shape[axis + 1 :])
        info, buffer = self.info.with_shape(shape), self.as_buffer()
        _, _, on_memory = self._open()
        step = self.shape[axis] * math.prod(self.shape[axis + 1 :]) * self.dtype.itemsize
        found: list[TensorHandle] = []
        for index in range(math.prod(self.shape[:axis])):
            each = on_memory(ForeignHandle(info, buffer.tensor(info, index * step)))
            if each is None:
                return []
            found.append(each)
        return found

    def written(self) -> Event | None:
        """Return the event of the work on it that its owner has enqueued."""
        return self._ordered.written()

    def as_buffer(self) -> Buffer:
        """Return its memory."""
        buffer = self.tensor.as_buffer()
        assert buffer is not None, "no other tensor is kept"
        return buffer


_ON_ARRAYS = (PlacedHandle, ArrayHandle)
"""The most frequent one first: Python finds that one without the check of abstract classes."""


def _array_of(handle: TensorHandle) -> NDArray[Any] | None:
    """Return the array of a tensor in host memory, None of another."""
    return handle.map() if isinstance(handle, _ON_ARRAYS) else None


class Context:
    """The memory of one thread's run: tensors in blocks of memory, and the steps bound to them.

    One thread at a time may use it.

    Attributes:
        is_repeatable: Whether :attr:`repeat`, :attr:`repeat_into` and :meth:`repeat_with` can run
            it.
        repeat: Runs it on unchecked inputs; see :func:`armnn.runtime.steps.repeating`. It
            exists once :meth:`begin_repeats` was called, as does ``repeat_into``.
        repeat_into: A repeated run into given arrays; see
            :func:`armnn.runtime.steps.repeating_into`.
        submit: Submits the step to its backend, by a deadline; None if there are several steps, or
            the backend cannot take it so.
    """

    repeat: Repeat
    repeat_into: RepeatInto

    def __init__(
        self,
        inputs: Sequence[tuple[str, TensorHandle]],
        outputs: Sequence[tuple[str, TensorHandle | None]],
        steps: Sequence[tuple[PlannedLayer, Step]],
        managers: Mapping[str, MemoryManager],
        memory: Sequence[tuple[Allocator, NDArray[np.uint8]]],
        owners: Mapping[str, Collection[str]],
        submit: Callable[[int | None], Task] | None = None,
    ) -> None:
        """Keep the steps, the arrays and the memory of a run.

        Args:
            inputs: The tensor of each input of the network.
            outputs: The tensor of each output; None for an output that nothing makes.
            steps: The steps, each with its layer.
            managers: The memory managers by backend.
            memory: The blocks of working memory, each with its allocator.
            owners: The backends beside each input and output, for messages.
            submit: See the attribute.
        """
        self.submit = submit
        self._owners = owners
        # The arrays of host memory stay the same; other memory is mapped anew for each run.
        self._inputs = [(name, handle, _array_of(handle)) for name, handle in inputs]
        self._outputs = [(n, each, _array_of(each)) for n, each in outputs if each is not None]
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self._steps = steps
        self._run = running(steps)
        self._managers = managers
        self._memory = list(memory)
        # Prepared for repeated calls, which take the least time so.
        self._read = [(name, array) for name, _, array in self._inputs if array is not None]
        self._made = [(name, array) for name, _, array in self._outputs if array is not None]
        self._fill = filling(self._read)
        ports = len(self._inputs) + len(self._outputs)
        self.is_repeatable = not managers and len(self._read) + len(self._made) == ports

    @property
    def has_queues(self) -> bool:
        """Whether backends may still work on its tensors when a run has ended early."""
        return bool(self._managers)

    def begin_repeats(self, second_names: Mapping[str, str]) -> None:
        """Make the functions that repeat a run.

        Args:
            second_names: Further names of outputs, which the returned outputs know.
        """
        self.repeat = repeating(self._read, self._made, self._run, second_names)
        self.repeat_into = repeating_into(self._fill, self._made, self._run, second_names)

    def run(
        self,
        inputs: Sequence[NDArray[Any]],
        control: RunControl | None,
        targets: Targets | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run all steps.

        Args:
            inputs: One array per input, of the right shape and type; they are copied.
            control: The caller's deadline, token, profiler or observer.
            targets: Arrays of the caller's for some outputs.

        Returns:
            An array per output: the caller's, or a new one.

        Raises:
            ExecutionError: A layer failed; the message names it.
            CancelledError: The caller cancelled the run.
            DeadlineExceededError: The time was up before the last layer.
            InvalidArgumentError: An array of the caller's has another shape than the output.
        """
        if targets:
            check_shapes(targets, self._output_shapes())
        given = iter(inputs)
        with self._acquired(), _NOTHING if control is None else controlled(control):
            for name, handle, array in self._inputs:
                source = next(given)
                if array is not None:
                    array[...] = source
                    continue
                try:
                    handle.copy_from(source)
                except Exception as error:
                    self._note(error, "copy_from", name)
                    raise
            self._run_with(control)
            return self._collected(targets or {})

    def run_bound(self, control: RunControl | None) -> None:
        """Run all steps on bound arrays.

        Raises:
            ExecutionError: See :meth:`run`.
        """
        with self._acquired():
            self._run_with(control)

    def repeat_with(
        self, inputs: Inputs, targets: Targets | None, control: RunControl | None
    ) -> dict[str, NDArray[Any]] | None:
        """Run on unchecked inputs if their types and shapes repeat.

        Args:
            inputs: By name; they are copied.
            targets: Arrays of the caller's for some outputs.
            control: The caller's deadline and token.

        Returns:
            An array per output; None if the inputs are others, or of other types or shapes.

        Raises:
            ExecutionError: A layer failed; the message names it.
        """
        if not self._fill(inputs):
            return None
        if targets:
            check_shapes(targets, self._output_shapes())
        self._run_with(control)
        return self._collected(targets or {})

    @property
    def bound_run(self) -> Callable[[], None]:
        """The function that runs all steps on bound arrays.

        It raises ExecutionError if a layer failed; the message names it.
        """
        return partial(self.run_bound, None) if self._managers else self._run

    def close(self) -> None:
        """Give the working memory back.

        Raises:
            ClosingError: It could not be given back; nothing of it is used any more.
        """
        self.submit = None
        self._inputs, self._outputs, self._read, self._made = [], [], [], []
        self._managers = {}
        self._steps, self._run, self._fill = (), running(()), filling(())
        vars(self).pop("repeat", None)
        vars(self).pop("repeat_into", None)
        memory, self._memory = self._memory, []
        if all(type(allocator) is HostAllocator for allocator, _ in memory):
            return  # the blocks go with the last array on them
        closing = Closing("an execution context")
        while memory:
            allocator, block = memory.pop()
            closing.step(allocator.free, block)
        closing.end()

    def _output_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the outputs that are known."""
        if self._shapes is None:
            self._shapes = {
                name: handle.info.static_shape
                for name, handle, _ in self._outputs
                if handle.info.is_static
            }
        return self._shapes

    def _collected(self, targets: Targets) -> dict[str, NDArray[Any]]:
        """Return each output, in the caller's array if any."""
        made = {}
        for name, handle, array in self._outputs:
            target = targets.get(name)
            if target is None and array is not None:
                made[name] = array.copy()
                continue
            try:
                raise_if_stopped()
                made[name] = (
                    _copy_out(handle) if target is None else _copy_into(target, name, handle)
                )
            except Exception as error:
                self._note(error, "map" if target is None else "copy_to", name)
                raise
        return made

    def _note(self, error: Exception, method: str, name: str) -> None:
        """Name the tensor and its backend in the error of a tensor handle."""
        beside = ", ".join(sorted(map(repr, filter(None, self._owners[name]))))
        error.add_note(f"raised by {method} of tensor {name!r} of backend {beside or 'the host'}")

    def _run_with(self, control: RunControl | None) -> None:
        if control is None:
            self._run()
            return
        with controlled(control):
            run_watched(self._steps, control)

    def _acquired(self) -> AbstractContextManager[object]:
        """Return the memory of all backends, acquired for a run."""
        return acquired(self._managers) if self._managers else _NOTHING


_NOTHING: Final = nullcontext()


@contextmanager
def acquired(managers: Mapping[str, MemoryManager]) -> Iterator[None]:
    """Acquire the memory of backends for a run or a copy; errors name the backend."""
    with ExitStack() as stack:
        for backend_id, manager in managers.items():
            call(backend_id, manager, "acquire")
            stack.callback(call, backend_id, manager, "release")
        yield


def check_shapes(targets: Targets, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check arrays against the shapes that this run's outputs have.

    Raises:
        InvalidArgumentError: One has another shape.
    """
    for name, array in targets.items():
        made = shapes.get(name)
        if made is not None and array.shape != made:
            raise InvalidArgumentError(
                f"the array for the output {name!r} has shape {format_shape(array.shape)}: these "
                f"inputs make {format_shape(made)}"
            )


def _copy_out(handle: TensorHandle) -> NDArray[Any]:
    info = handle.info
    if info.is_static:  # map and unmap would write the tensor back
        made: NDArray[Any] = np.empty(info.static_shape, info.data_type.numpy_dtype)
        handle.copy_to(made)
        return made
    try:
        array = handle.map()
        if not isinstance(array, np.ndarray):
            raise BackendError(f"map() returned {shown(array)}: expected an array {handle.info}")
        return array.copy()
    finally:
        handle.unmap()


def _copy_into(target: NDArray[Any], name: str, handle: TensorHandle) -> NDArray[Any]:
    if not handle.info.is_static:
        check_shapes({name: target}, {name: handle.map().shape})
    handle.copy_to(target)
    return target


def with_layer_types(control: RunControl | None, plan: Plan) -> RunControl | None:
    """Return a control whose profiler learns the types of layers.

    A backend names the layer that it ran inside a part that it compiled, but may not know what
    type the network gave it; the report does.
    """
    if control is None or control.profiler is None:
        return control
    types = {(row.backend, row.layer): row.type for row in plan.report}
    return replace(control, profiler=_LayerTypes(control.profiler, types))


class _LayerTypes(ProfilingSink):
    """Adds "type" to the events that bear a layer's name."""

    def __init__(self, sink: ProfilingSink, types: Mapping[tuple[str, str], str]) -> None:
        self._sink = sink
        self._types = types

    def event(self, name: str, start_ns: int, end_ns: int, **details: OptionValue) -> None:
        known = self._types.get((str(details.get("backend", "")), name))
        if known is not None:
            details.setdefault("type", known)
        self._sink.event(name, start_ns, end_ns, **details)
