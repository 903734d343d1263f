# SPDX-License-Identifier: MIT
"""The execution context of a run: working memory, callers' arrays, bound steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import shown
from armnn.backends import (
    Allocator,
    ArrayHandle,
    Backend,
    HostAllocator,
    MemoryManager,
    OptionValue,
    ProfilingSink,
    Step,
    Task,
    TensorHandle,
)
from armnn.backends.calling import call
from armnn.backends.contract import RunControl, controlled
from armnn.backends.memory import PlacedHandle
from armnn.errors import BackendError, InvalidArgumentError
from armnn.runtime.plans.closing import Closing
from armnn.runtime.plans.steps import (
    BoundSteps,
    Inputs,
    Repeat,
    RepeatInto,
    Targets,
    filling,
    repeating,
    repeating_into,
)
from armnn.tensor import format_shape
from armnn.types import MemorySource

if TYPE_CHECKING:  # a prepared load imports no graph and no optimizer
    from armnn.graph import Layer, Network, Value
    from armnn.optimizer import Participants, Prepared
    from armnn.optimizer.prepared import ProgramLayer, SingleProgram


StandOn = Callable[["Value", "NDArray[Any]", MemorySource], "TensorHandle | None"]
"""Returns the handle of a tensor on an array, None if its backend cannot use the array."""


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """A network's arrays for one execution context.

    Attributes:
        inputs: One array per input.
        outputs: One array per output.
        sources: Where the memory of an array comes from, if it is not plain memory, by the name of
            the input or output.
        free: The inputs and outputs that may have other arrays instead.
        chosen: The arrays that these have, if they are other ones, once the context is made.
    """

    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    sources: Mapping[str, MemorySource] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    chosen: dict[str, NDArray[Any]] = field(default_factory=dict)

    def source(self, name: str) -> MemorySource:
        """Return the memory source of an input or output."""
        return self.sources.get(name, MemorySource.MALLOC)


@dataclass(frozen=True, slots=True, eq=False)
class DirectTensors:
    """The tensors of a context that stand on arrays.

    Attributes:
        handles: Their handles.
        inputs: The names of the inputs that need no copy.
        outputs: The names of the outputs that need no copy.
    """

    handles: Mapping[Value, TensorHandle]
    inputs: frozenset[str]
    outputs: frozenset[str]

    def copied(self, network: Network) -> tuple[str, ...]:
        """Return the names of inputs and outputs without."""
        inputs = [layer.name for layer in network.inputs if layer.name not in self.inputs]
        outputs = [layer.name for layer in network.outputs if layer.name not in self.outputs]
        return tuple(dict.fromkeys((*inputs, *outputs)))


def direct_tensors(
    network: Network,
    binding: Binding,
    lifetimes: Mapping[Value, tuple[int, int]],
    stand_on: StandOn,
) -> DirectTensors:
    """Return the tensors that need no memory of their own.

    An output whose array is also the array of an input, as a state is, may be written in place if
    the last step that reads the input is before the step that writes the output.

    Args:
        network: The network of the plan.
        binding: The caller's arrays.
        lifetimes: The first and the last step of each tensor.
        stand_on: Makes a handle on an array.
    """
    handles: dict[Value, TensorHandle] = {}
    read: dict[Value, NDArray[Any]] = {}
    inputs, outputs = [], []
    for layer in network.inputs:
        array = binding.inputs[layer.name]
        handle = stand_on(layer.output, array, binding.source(layer.name))
        if handle is not None:
            handles[layer.output], read[layer.output] = handle, array
            inputs.append(layer.name)
    for layer in network.outputs:
        (value,) = layer.inputs
        if value is None or value.constant is not None or value in handles:
            continue
        if value.producer.type == "Input":
            continue
        array = binding.outputs[layer.name]
        ends = [lifetimes[each][1] for each, a in read.items() if np.may_share_memory(a, array)]
        if all(end < lifetimes[value][0] for end in ends):
            handle = stand_on(value, array, binding.source(layer.name))
            if handle is not None:
                handles[value] = handle
                outputs.append(layer.name)
    return DirectTensors(handles, frozenset(inputs), frozenset(outputs))


def steps_after(
    arrays: Mapping[str, NDArray[Any]],
    made: Mapping[Layer, TensorHandle | None],
    direct: frozenset[str],
    chosen: Collection[str],
) -> list[tuple[Layer, Step]]:
    """Return steps that bring outputs into a caller's arrays.

    Args:
        arrays: The arrays by output.
        made: The tensors of the outputs.
        direct: The outputs that stand on their arrays.
        chosen: The outputs whose arrays are those of their tensors.
    """
    steps: list[tuple[Layer, Step]] = []
    for layer, handle in made.items():
        if handle is None or layer.name in chosen:
            continue
        if layer.name not in direct:
            steps.append((layer, partial(handle.copy_to, arrays[layer.name])))
        elif not isinstance(handle, ArrayHandle):
            steps.append((layer, partial(_synchronise, handle)))
    return steps


def _synchronise(handle: TensorHandle) -> None:
    """Let a device's writes reach the memory that it imported."""
    try:
        handle.map()
    finally:
        handle.unmap()


_ON_ARRAYS = (PlacedHandle, ArrayHandle)
"""The most frequent one first: Python finds that one without the method of abstract classes."""


class ExecutionContext:
    """The tensors of a run with its bound steps.

    One thread at a time may use it.

    Attributes:
        is_repeatable: Whether :meth:`repeating` and :meth:`repeat_with` can run it.
        submit: Submits the only step to its backend, by a deadline, if both is so.
    """

    def __init__(
        self,
        inputs: Sequence[tuple[str, TensorHandle]],
        outputs: Sequence[tuple[str, TensorHandle | None]],
        steps: Sequence[tuple[Layer | ProgramLayer, Step]],
        managers: Mapping[str, MemoryManager],
        memory: Sequence[tuple[Allocator, NDArray[np.uint8]]],
        submit: Callable[[int | None], Task] | None = None,
        owners: Callable[[str], Collection[str]] | None = None,
    ) -> None:
        """Keep them.

        Args:
            inputs: The tensor of each input of the network.
            outputs: The tensor of each output; None for an output that nothing makes.
            steps: The steps, each with its layer.
            managers: The memory managers by backend.
            memory: The blocks of working memory, each with its allocator.
            submit: See the attribute.
            owners: Returns the backends beside an input or output, for messages. None if all
                tensors are in host memory.
        """
        self.submit = submit
        self._owners = owners
        self._inputs = tuple([handle for _, handle in inputs])
        self._input_names = tuple([name for name, _ in inputs])
        # The arrays of host memory stay the same; other memory is mapped anew for each run.
        self._arrays = [h.map() if isinstance(h, _ON_ARRAYS) else None for h in self._inputs]
        self._outputs = [
            (name, handle, handle.map() if isinstance(handle, _ON_ARRAYS) else None)
            for name, handle in outputs
            if handle is not None
        ]
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self._steps = BoundSteps(steps)
        self._managed = tuple(_ManagedMemory(*each) for each in managers.items())
        self._memory = list(memory)
        # The same once more, as it takes the least time.
        self._read = [
            (n, a) for (n, _), a in zip(inputs, self._arrays, strict=True) if a is not None
        ]
        self._made = [(name, array) for name, _, array in self._outputs if array is not None]
        self._fill = filling(self._read)
        ports = len(inputs) + len(self._outputs)
        self.is_repeatable = not managers and len(self._read) + len(self._made) == ports

    def run(
        self,
        inputs: Sequence[NDArray[Any]],
        control: RunControl | None,
        targets: Targets | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run all steps.

        Args:
            inputs: One array per input, of the right shape and type; they are copied.
            control: What the caller watches or limits.
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
        if not self._managed:
            return self._run_on(inputs, control, targets or {})
        with ExitStack() as stack:
            for memory in self._managed:
                stack.enter_context(memory)
            return self._run_on(inputs, control, targets or {})

    def _run_on(
        self, inputs: Sequence[NDArray[Any]], control: RunControl | None, targets: Targets
    ) -> dict[str, NDArray[Any]]:
        for array, handle, source in zip(self._arrays, self._inputs, inputs, strict=True):
            if array is None:
                try:
                    handle.copy_from(source)
                except Exception as error:
                    name = self._input_names[self._inputs.index(handle)]
                    self._note(error, "copy_from", name)
                    raise
            else:
                array[...] = source
        self._run_with(control)
        return self._collected(targets)

    def run_bound(self, control: RunControl | None) -> None:
        """Run all steps on bound arrays.

        Raises:
            ExecutionError: See :meth:`run`.
        """
        with ExitStack() as stack:
            for memory in self._managed:
                stack.enter_context(memory)
            self._run_with(control)

    def repeating(self, second_names: Mapping[str, str]) -> Repeat:
        """Return what runs it on unchecked inputs; see :func:`steps.repeating`.

        Args:
            second_names: Of outputs; what is returned knows them.
        """
        return repeating(self._read, self._made, self._steps.run, second_names)

    def repeating_into(self, second_names: Mapping[str, str]) -> RepeatInto:
        """Return the same with arrays for outputs; see :func:`steps.repeating_into`."""
        return repeating_into(self._fill, self._made, self._steps.run, second_names)

    def repeat_with(
        self, inputs: Inputs, targets: Targets | None, control: RunControl | None
    ) -> dict[str, NDArray[Any]] | None:
        """Run on unchecked inputs if their types and shapes repeat.

        Args:
            inputs: By name; they are copied.
            targets: Arrays of the caller's for some outputs.
            control: What the caller limits.

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
        if self._managed:
            return partial(self.run_bound, None)
        return self._steps.run

    def close(self) -> None:
        """Give the working memory back."""
        self.submit = None
        self._inputs, self._input_names, self._owners = (), (), None
        self._arrays, self._outputs, self._read, self._made = [], [], [], []
        self._steps, self._fill = _NO_STEPS, _FILL_NOTHING
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
                made[name] = (
                    _copy_out(handle) if target is None else _copy_into(target, name, handle)
                )
            except Exception as error:
                self._note(error, "map" if target is None else "copy_to", name)
                raise
        return made

    def _note(self, error: Exception, method: str, name: str) -> None:
        """Name the tensor and its backend in the error of a tensor handle."""
        beside = "" if self._owners is None else ", ".join(sorted(map(repr, self._owners(name))))
        error.add_note(f"raised by {method} of tensor {name!r} of backend {beside or 'the host'}")

    def _run_with(self, control: RunControl | None) -> None:
        if control is None:
            self._steps.run()
            return
        with controlled(control):
            self._steps.run_watched(control)


class _ManagedMemory:
    """The memory of a backend, acquired for a run; errors name the backend."""

    __slots__ = ("_backend_id", "_manager")

    def __init__(self, backend_id: str, manager: MemoryManager) -> None:
        self._backend_id, self._manager = backend_id, manager

    def __enter__(self) -> None:
        try:
            self._manager.acquire()
        except Exception as error:
            error.add_note(f"raised by acquire of backend {self._backend_id!r}")
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._manager.release()
        except Exception as error:
            error.add_note(f"raised by release of backend {self._backend_id!r}")
            raise


_NO_STEPS: Final = BoundSteps([])
_FILL_NOTHING: Final = filling([])


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


def memory_managers(participants: Participants) -> dict[str, MemoryManager]:
    """Return the memory managers of one context, by backend id."""
    managers: dict[str, MemoryManager] = {}
    for candidate in (*participants.candidates, *participants.named):
        backend = candidate.backend
        if type(backend).create_memory_manager is not Backend.create_memory_manager:
            manager = call(backend.id, backend, "create_memory_manager")
            if manager is not None:
                managers[backend.id] = manager
    return managers


def with_layer_types(
    control: RunControl | None, prepared: Prepared | SingleProgram
) -> RunControl | None:
    """Return a control whose profiler learns the types of layers.

    A backend names the layer that it ran inside a part that it compiled, but may not know what
    type the network gave it; the report does.
    """
    if control is None or control.profiler is None:
        return control
    types = {(row.backend, row.layer): row.type for row in prepared.report}
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
