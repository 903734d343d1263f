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
    """A layer has no kernels here; the text says why."""


@dataclass(frozen=True, slots=True)
class In:
    """The tensor of an input, from an element on."""

    place: int
    start: int = 0


@dataclass(frozen=True, slots=True)
class Out:
    """The tensor of an output, from an element on."""

    place: int = 0
    start: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Constants in the order in which a kernel reads them.

    Attributes:
        sources: The arrays that they are made of.
        order: A name of the order; arrays that two layers use in one order are kept once.
        pack: Makes an array of the sources, float32 unless the kernel reads another type.
        info: The tensor, of a constant that a kernel reads as it reads computed ones.
    """

    sources: tuple[NDArray[Any], ...]
    order: Hashable
    pack: Callable[..., NDArray[Any]]
    info: TensorInfo | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a kernel's indices: two parameters, the buffer for faults, and its number.

    Attributes:
        message: What a wrong number in place of ``{}`` means.
    """

    message: str


Argument: TypeAlias = "In | Out | Weights | Check | int | float | Sequence[int]"
"""An argument of a kernel: a number is an ``int`` or ``float`` there, several are an ``int8``."""


@dataclass(frozen=True, slots=True)
class Tile:
    """How work items share a product of matrices; see ``kernels/tile.cl``.

    Attributes:
        rows: Rows that a work item makes.
        width: Columns that it makes.
        side: Panels of so many columns that a group makes beside each other.
        group: Work items of a group.
    """

    rows: int
    width: int
    side: int
    group: int = GROUP


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles that a launch may have, all of which make the same bits.

    Attributes:
        tile: The one that it has.
        panels: How many panels of its width there are.
        most_columns: The widest tile.
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
        source: The text of the program.
        kernel: The name of the kernel.
        arguments: In the order of its parameters; a tensor takes three, its buffer, its start and
            its steps.
        items: How many work items have something to do; none of an empty result.
        groups: Whether these are groups of items.
        copies_over: Whether it only copies the first input into the first output: it is left out
            where both are the same memory.
        tiling: Of a product of matrices its tile, and how it gets another one.
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
        """Work items of a group."""
        return GROUP if self.tiling is None else self.tiling.tile.group


class _Packed:
    """Packed weights on the device, and the arrays whose identity is their key."""

    def __init__(self, device: Device, weights: Weights) -> None:
        self.sources = weights.sources
        packed = np.ascontiguousarray(weights.pack(*weights.sources))
        packed = packed if packed.size else np.zeros(1, packed.dtype)
        self.buffer = allocate(device, packed.nbytes, content=packed)


class LaunchingWorkload(Workload):
    """A layer as launches.

    Args:
        device: The device.
        launches: In order.
        model: Packed weights are shared there, and it says where programs are kept.
        layer: The name and the type of the layer, or of the first of several, for profiles.
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
        """Return the step for the queue of its first output."""
        return self.bind_in(inputs, outputs, on_device(outputs[0]).queue)

    def bind_in(
        self,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        memory: MemoryManager | None,
    ) -> Step:
        """Return the step that enqueues the launches in a context's queue."""
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
        held = (self, read, made)  # a kernel does not keep its buffers

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
    """Return scale and zero point as kernels take them."""
    if info is None or not info.is_quantized or len(info.scales) != 1:
        return _NO_STEPS
    return _float2(info.scales[0], info.zero_points[0])


def _float2(*values: float) -> Any:
    return np.array(values, np.float32).view(_FLOAT2)[0]


_NO_STEPS: Final = _float2(1, 0)


def _shared(device: Device, weights: Weights, model: ModelContext) -> _Packed:
    """Return packed weights, once for all shapes of a network."""
    key = (weights.order, *map(id, weights.sources))
    return model.shared(key, lambda: _Packed(device, weights))
