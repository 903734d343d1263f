# SPDX-License-Identifier: MIT
"""Launches: the kernel and arguments of a layer, and the steps that enqueue them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np
import pyopencl as cl

from armnn.backends import MemoryManager, ModelContext, Step, TensorHandle, Workload
from armnn_backend_cl.device import GROUP, Device, Queue
from armnn_backend_cl.memory import DeviceTensor, allocate, on_device
from armnn_backend_cl.profiling import Launched

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo
    from armnn_backend_cl.options import GpuAccModel

_INT8, _FLOAT2 = cl.cltypes.int8, cl.cltypes.float2


class Refused(Exception):  # noqa: N818  # an answer to a question, not an error
    """There is no kernel for a layer; the text says why."""


@dataclass(frozen=True, slots=True)
class In:
    """A kernel argument: an input of the layer, from an element on.

    Attributes:
        place: The index of the input.
        start: The index of the first element.
    """

    place: int
    start: int = 0


@dataclass(frozen=True, slots=True)
class Out:
    """A kernel argument: an output of the layer, from an element on.

    Attributes:
        place: The index of the output.
        start: The index of the first element.
    """

    place: int = 0
    start: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A kernel argument: constants, packed in the order in which the kernel reads them.

    Attributes:
        sources: The arrays of the constants.
        order: A name of the order; arrays that two layers use in the same order are packed once.
        pack: Returns the packed array of the sources, float32 unless the kernel reads another type.
        info: The description of the tensor, for a constant that the kernel reads like a computed
            tensor; else None.
    """

    sources: tuple[NDArray[Any], ...]
    order: Hashable
    pack: Callable[..., NDArray[Any]]
    info: TensorInfo | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Two kernel arguments for a check of values in the kernel: the buffer for faults, a number.

    Attributes:
        message: The text of the error, with ``{}`` in place of the bad value.
    """

    message: str


Argument: TypeAlias = "In | Out | Weights | Check | int | float | Sequence[int]"
"""An argument of a kernel: there numbers are ``int`` or ``float``, and a sequence is ``int8``."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a matrix product that a work item computes; see ``kernels/tile.cl``.

    Attributes:
        rows: The number of rows that a work item computes.
        width: The number of columns that a work item computes, which are a panel.
        side: The number of adjacent panels that a work group computes.
        group: The number of work items of a work group.
    """

    rows: int
    width: int
    side: int
    group: int = GROUP


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles that a launch may have; the results are the same to the bit with all of them.

    Attributes:
        tile: The tile of the launch.
        panels: The number of panels of its width in the result.
        most_columns: The width of the widest tile.
        retiled: Returns the launch with another tile.
    """

    tile: Tile
    panels: int
    most_columns: int
    retiled: Callable[[Tile], Launch]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with its arguments.

    Attributes:
        source: The source text of the program.
        kernel: The name of the kernel.
        arguments: The arguments, in the order of the kernel's parameters. A tensor is three
            parameters: its buffer, the index of its first element, and its scale and zero point.
        items: The number of work items that have work; 0 for an empty result.
        groups: Whether ``items`` counts work groups.
        copies_over: Whether the kernel only copies the first input into the first output; the
            launch is left out if both are the same memory.
        tiling: For a matrix product, its tile and the way to change it.
    """

    source: str
    kernel: str
    arguments: tuple[Argument, ...]
    items: int
    groups: bool = False
    copies_over: bool = False
    tiling: Tiling | None = None

    @property
    def group(self) -> int:
        """The number of work items of a work group."""
        return GROUP if self.tiling is None else self.tiling.tile.group


class _Packed:
    """Packed weights on the device, with the source arrays, whose ids are in their key."""

    def __init__(self, device: Device, weights: Weights) -> None:
        self.sources = weights.sources
        packed = np.ascontiguousarray(weights.pack(*weights.sources))
        packed = packed if packed.size else np.zeros(1, packed.dtype)
        self.buffer = allocate(device, packed.nbytes, content=packed)


class LaunchingWorkload(Workload):
    """A layer that runs by launches.

    Args:
        device: The device.
        launches: The launches, in the order in which they are enqueued.
        model: The context of the network, with its packed weights and the store of programs.
        layer: The name and the type of the layer, or of the first fused layer, for profiles.
    """

    def __init__(
        self,
        device: Device,
        launches: Sequence[Launch],
        model: ModelContext,
        layer: tuple[str, str],
    ) -> None:
        self._layer = layer
        self._model = cast("GpuAccModel", model)
        self._launches = [launch for launch in launches if launch.items]
        self._packed: dict[Weights, _Packed] = {}
        for launch in self._launches:
            for argument in launch.arguments:
                if isinstance(argument, Weights):
                    self._packed[argument] = _shared(device, argument, model)

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that enqueues the launches in the queue of the first output."""
        return self.bind_in(inputs, outputs, on_device(outputs[0]).queue)

    def bind_in(
        self,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        memory: MemoryManager | None,
    ) -> Step:
        """Return the step that enqueues the launches in the queue of an execution context."""
        read = [None if handle is None else on_device(handle) for handle in inputs]
        made = [on_device(handle) for handle in outputs]
        assert isinstance(memory, Queue), "only constants have no queue"
        queue = memory
        enqueue = cl.enqueue_nd_range_kernel
        bound = []
        for launch in self._launches:
            if launch.copies_over and _is_same(read[0], made[0]):
                continue
            kernel = queue.kernel(
                launch.source, launch.kernel, self._model.programs, self._model.has_fast_math
            )
            for place, value in enumerate(self._values(launch, read, made, queue)):
                kernel.set_arg(place, value)
            groups = launch.items if launch.groups else -(-launch.items // GROUP)
            local = launch.group
            bound.append((kernel, (groups * local,), (local,), launch.kernel))

        layer = self._layer
        held = (self, read, made)  # keeps the buffers, to which kernels do not refer

        def step() -> None:
            assert held
            commands, times = queue.commands, queue.times
            try:
                for kernel, size, local, name in bound:
                    begin = 0 if times is None else time.perf_counter_ns()
                    queue.last = enqueue(commands, kernel, size, local)
                    if times is not None:
                        times.launched.append(Launched(*layer, name, begin, queue.last))
            except cl.Error as error:
                raise queue.device.failure(error.code, str(error)) from error

        return step

    def _values(
        self,
        launch: Launch,
        inputs: Sequence[DeviceTensor | None],
        outputs: Sequence[DeviceTensor],
        queue: Queue,
    ) -> list[Any]:
        values: list[Any] = []
        for argument in launch.arguments:
            if isinstance(argument, (In, Out)):
                tensors = inputs if isinstance(argument, In) else outputs
                tensor = tensors[argument.place]
                assert tensor is not None
                itemsize = tensor.info.data_type.numpy_dtype.itemsize
                start = np.uint64(tensor.offset // itemsize + argument.start)
                values += [tensor.buffer, start, _steps(tensor.info)]
            elif isinstance(argument, Weights):
                values += [self._packed[argument].buffer, np.uint64(0), _steps(argument.info)]
            elif isinstance(argument, Check):
                values += [queue.faults, np.int32(queue.check(argument.message))]
            elif isinstance(argument, int):
                values.append(np.int32(argument))
            elif isinstance(argument, float):
                values.append(np.float32(argument))
            else:
                values.append(np.array(argument, np.int32).view(_INT8)[0])
        return values


def _is_same(one: DeviceTensor | None, other: DeviceTensor) -> bool:
    """Return whether two tensors begin at the same byte."""
    assert one is not None
    return one.buffer.int_ptr == other.buffer.int_ptr and one.offset == other.offset


def _steps(info: TensorInfo | None) -> Any:
    """Return scale and zero point of a tensor as a float2; (1, 0) if it has none or several."""
    if info is None or not info.is_quantized or len(info.scales) != 1:
        return _NO_STEPS
    return _float2(info.scales[0], info.zero_points[0])


def _float2(*values: float) -> Any:
    return np.array(values, np.float32).view(_FLOAT2)[0]


_NO_STEPS: Final = _float2(1, 0)


def _shared(device: Device, weights: Weights, model: ModelContext) -> _Packed:
    """Return packed weights, which are packed once for all plans of a network."""
    key = (weights.order, *map(id, weights.sources))
    return model.shared(key, lambda: _Packed(device, weights))
