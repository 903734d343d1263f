# SPDX-License-Identifier: MIT
"""Imported inputs and outputs: memory that runs use without copies, and these runs."""

from __future__ import annotations

import mmap
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.arguments import integer, items, refused
from armnn.backends import SharedMemory
from armnn.backends.contract import RunControl
from armnn.backends.memory import FILE_SOURCES, HOST_SOURCES, MappedFile
from armnn.buffer import Buffer
from armnn.errors import ArmnnError, ExecutionError, InvalidArgumentError, MemoryImportError
from armnn.runtime.calls.binding import (
    BoundCall,
    check_buffer,
    check_usable,
    handles_on,
    refuse_devices,
    stand_in,
)
from armnn.runtime.calls.control import NetworkProperties
from armnn.runtime.calls.inputs import Side, checked_array, checked_shape
from armnn.runtime.closing import Closing
from armnn.runtime.context import Binding, Context, check_shapes, with_layer_types
from armnn.runtime.engine import LoadedPlan
from armnn.runtime.plans import PlanCache
from armnn.runtime.states import aligned
from armnn.runtime.steps import Targets
from armnn.tensor import TensorInfo, format_shape
from armnn.types import MemorySource


@dataclass(frozen=True, slots=True)
class FileMemory:
    """Memory by file descriptor, such as that of ``os.memfd_create``.

    Attributes:
        fd: The file; it may be closed once it was imported.
        shape: The shape of the tensor in it; None for that of the input or output.
        offset: Where the tensor begins in the file, in bytes.
    """

    fd: int
    shape: Sequence[int] | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """Memory that was imported for an input or output.

    Attributes:
        side: Whether for an input or an output.
        name: The name of the input or output.
        array: The memory; a buffer where only a backend reaches it.
        source: Where it comes from; undefined where only a backend reaches it.
    """

    side: Side
    name: str
    array: NDArray[Any] | Buffer
    source: MemorySource


Bind = Callable[
    [
        "Mapping[str, NDArray[Any] | tuple[int, ...]]",
        "Targets",
        "Mapping[str, str] | None",
        "Mapping[str, MemorySource]",
    ],
    "BoundCall",
]


class Imports:
    """The imported memory of one network."""

    def __init__(
        self,
        title: str,
        infos: Mapping[str, Mapping[str, TensorInfo]],
        properties: NetworkProperties,
        converts: bool,
        sharing: Callable[[str], SharedMemory | None],
    ) -> None:
        """Begin without any.

        Args:
            title: The network's name in errors.
            infos: Its tensors by side and name.
            properties: The properties that it was loaded with.
            converts: Whether runs take and return real values.
            sharing: Returns the extension ``armnn.memory/1`` of the backend beside an input or
                output, if it has that.
        """
        self._title = title
        self._infos = infos
        self._usual = {"input": properties.input_source, "output": properties.output_source}
        self._converts = converts
        self._sharing = sharing
        self._lock = threading.Lock()
        self._imported: dict[int, Imported] = {}
        self._last = -1
        self._calls: dict[tuple[Any, ...], BoundCall] = {}

    def add(self, side: Side, given: Mapping[str, object], source: object) -> dict[str, int]:
        """Import memory; return an id per input or output.

        Raises:
            InvalidArgumentError: It does not fit its tensor, or it or its source is none.
            MemoryImportError: Its source is not known or another, or it cannot be mapped.
        """
        usual = self._usual[side]
        is_told = bool(given) and all(type(each) is Buffer for each in given.values())
        if source is None and usual is MemorySource.UNDEFINED and not is_told:
            raise MemoryImportError(
                f"{self._title} was not loaded for imported {side}s: give source=..., or load it "
                f"with NetworkProperties({side}_source=...)"
            )
        if self._converts:
            raise MemoryImportError(
                f"{self._title} was loaded with quantize=True, so its {side}s are converted and "
                "cannot be imported: use run() or bind(), or load it without quantize=True"
            )
        chosen = usual if source is None else source
        infos = self._infos[side]
        rows = [
            _imported(side, name, infos[name], each, chosen, self._sharing)
            for name, each in given.items()
        ]
        with self._lock:
            made = {row.name: self._last + 1 + index for index, row in enumerate(rows)}
            self._last += len(rows)
            self._imported.update(zip(made.values(), rows, strict=True))
        return made

    def forget(self, imported: object) -> None:
        """Drop imported memory, and calls that use it.

        Raises:
            InvalidArgumentError: An id is not known.
        """
        ids = _ids(imported)
        with self._lock:
            self._rows(ids)
            for each in ids:
                del self._imported[each]
            for key in [key for key in self._calls if not set(ids).isdisjoint(key[0])]:
                self._calls.pop(key).close()

    def run(
        self,
        imported: object,
        inputs: Mapping[str, ArrayLike],
        targets: Targets | None,
        bind: Bind,
        *,
        is_watched: bool,
    ) -> dict[str, NDArray[Any]]:
        """Run the network on imported memory, and copy the rest.

        Args:
            imported: The ids of the memory.
            inputs: The other inputs.
            targets: The caller's arrays for other outputs.
            bind: Binds arrays, without states, with the sources of imported ones.
            is_watched: Whether the caller limits or profiles the run, which is refused.

        Raises:
            InvalidArgumentError: An id is not known, or two are for the same tensor.
            MemoryImportError: A backend cannot use the memory without a copy.
            ExecutionError: A layer failed, or another thread is in such a run.
        """
        ids = _ids(imported)
        if is_watched:
            raise InvalidArgumentError(
                f"a run of {self._title} on imported memory takes neither timeout nor cancel nor "
                "profiler"
            )
        if not self._lock.acquire(blocking=False):
            raise ExecutionError(
                f"{self._title} runs already on imported memory: such runs are for one thread at a "
                "time"
            )
        try:
            rows = self._rows(ids)
            given = {name: np.asarray(array) for name, array in inputs.items()}
            shapes = tuple((name, array.shape) for name, array in given.items())
            call = self._calls.get((ids, shapes))
            if call is None:
                call = self._calls[ids, shapes] = self._call(rows, given, bind)
            for name, array in given.items():
                np.copyto(call.inputs[name], array)
            made = dict(call())
        finally:
            self._lock.release()
        kept = {row.name for row in rows if row.side == "output"}
        for name, array in made.items():
            if name in kept:
                continue
            if targets is None or name not in targets:
                made[name] = array.copy()
            else:
                np.copyto(targets[name], array)
                made[name] = targets[name]
        return made

    def _rows(self, ids: Collection[int]) -> list[Imported]:
        """Return imported memory by id; needs the lock."""
        unknown = [each for each in ids if each not in self._imported]
        if unknown:
            raise InvalidArgumentError(
                f"{self._title} has imported no memory of the id {unknown[0]!r}: "
                f"its ids are {', '.join(map(str, self._imported)) or 'none'}"
            )
        rows = [self._imported[each] for each in ids]
        names = [(row.side, row.name) for row in rows]
        twice = next((pair for pair in names if names.count(pair) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(f"two imported memories are for the {twice[0]} {twice[1]!r}")
        return rows

    def _call(
        self, rows: Sequence[Imported], given: Mapping[str, NDArray[Any]], bind: Bind
    ) -> BoundCall:
        inputs: dict[str, Any] = {row.name: row.array for row in rows if row.side == "input"}
        outputs: dict[str, Any] = {row.name: row.array for row in rows if row.side == "output"}
        own = {name: np.array(array, order="C") for name, array in given.items()}
        call = bind({**own, **inputs}, outputs, {}, {row.name: row.source for row in rows})
        for row in rows:
            if row.name in call.copied:
                call.close()
                raise MemoryImportError(
                    f"the backend of the {row.side} {row.name!r} of {self._title} cannot use "
                    f"{row.source.arm_name} memory without a copy: bind() copies"
                )
        return call


def _ids(imported: object) -> tuple[int, ...]:
    given = items(imported, "the ids of imported memory", "a list of ids")
    return tuple(integer(each, "an id of imported memory") for each in given)


def _imported(
    side: Side,
    name: str,
    info: TensorInfo,
    given: object,
    source: object,
    sharing: Callable[[str], SharedMemory | None],
) -> Imported:
    """Return memory that fits a tensor."""
    what = f"the memory of the {side} {name!r}"
    known = MemorySource.of(source, f"the source of {what}")
    if isinstance(given, Buffer):  # its device says where it is
        check_buffer(given, what, info)
        return Imported(side, name, given, MemorySource.UNDEFINED)
    if known not in HOST_SOURCES:
        raise MemoryImportError(
            f"{what} cannot be imported from {known.arm_name}: expected one of "
            f"{', '.join(each.arm_name for each in HOST_SOURCES)}"
        )
    if isinstance(given, FileMemory):
        if known not in FILE_SOURCES:
            raise MemoryImportError(
                f"{what} is a file descriptor, and its source {known.arm_name}: expected "
                f"{' or '.join(each.arm_name for each in FILE_SOURCES)}"
            )
        return Imported(side, name, _mapped(given, what, info, sharing(name)), known)
    if known is MemorySource.MEMFD:
        raise refused(what, given, "a FileMemory, as its source is Memfd")
    return Imported(side, name, checked_array(given, what, info, info.data_type.numpy_dtype), known)


def _mapped(
    memory: FileMemory, what: str, info: TensorInfo, sharing: SharedMemory | None
) -> NDArray[Any]:
    """Return an array on a file's bytes, which others share."""
    if memory.shape is None and not info.is_static:
        raise InvalidArgumentError(
            f"{what} needs a shape: that of the tensor {format_shape(info.shape)} is not known in "
            "full"
        )
    shape = info.static_shape if memory.shape is None else checked_shape(memory.shape, what)
    dtype = info.data_type.numpy_dtype
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    offset = integer(memory.offset, f"the offset of {what}")
    fd = integer(memory.fd, f"the fd of {what}")
    begin = offset // mmap.PAGESIZE * mmap.PAGESIZE
    try:
        pages = _pages(fd, begin, offset - begin + size, sharing)
    except (OSError, ValueError, OverflowError, ArmnnError) as error:
        raise MemoryImportError(
            f"{what} cannot be mapped: {size} bytes at {offset} of file descriptor {memory.fd}: "
            f"{error}"
        ) from error
    flat = pages[offset - begin : offset - begin + size]
    return checked_array(flat.view(dtype).reshape(shape), what, info, dtype)


def _pages(fd: int, begin: int, size: int, sharing: SharedMemory | None) -> NDArray[np.uint8]:
    """Return bytes of a file that live with the array."""
    if sharing is None:
        return np.frombuffer(MappedFile.of(fd, begin, size), np.uint8)
    with sharing.import_fd(fd, size, offset=begin) as buffer:
        return buffer.array


MOST_KEPT: Final = 4
"""Sets of arrays that stay bound for later runs, as a ring of buffers has."""


class ImportingRuns:
    """Runs that use the caller's arrays where they are.

    (Arm NN: ``EnqueueWorkload`` with ``m_InputSource`` or ``m_OutputSource``.) Arrays of the last
    runs stay bound, so that runs on the same ones prepare nothing. Buffers of devices are used
    where they are in any case, and bound for one run: device memory is too scarce to keep.
    """

    def __init__(
        self, plans: PlanCache, properties: NetworkProperties, copies: dict[str, str]
    ) -> None:
        """Begin without bound arrays.

        Args:
            plans: The plans of the network.
            properties: Whether its inputs are imported, and its outputs exported.
            copies: Gets the reasons of copies, by input or output.
        """
        self._copies = copies
        self._plans = plans
        self._title = plans.optimized.title
        self._imports = properties.input_source is MemorySource.MALLOC
        self._exports = properties.output_source is MemorySource.MALLOC
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _BoundArrays] = OrderedDict()

    @property
    def is_needed(self) -> bool:
        """Whether the network imports or exports arrays."""
        return self._imports or self._exports

    def run(
        self, arrays: Sequence[NDArray[Any]], targets: Targets, control: RunControl | None
    ) -> dict[str, NDArray[Any]]:
        """Run the network once.

        Data that decides how it is run is copied, as without imports.

        Args:
            arrays: An array, or a buffer of a device, per input.
            targets: Memory for some outputs.
            control: The caller's deadline, token, profiler or observer.

        Raises:
            MemoryImportError: An array or a buffer cannot be used without a copy.
            ExecutionError: See :meth:`armnn.runtime.context.Context.run`.
        """
        plan = self._plans.lone_plan([stand_in(each) for each in arrays])
        shapes = {} if plan is None else plan.output_shapes
        known = {name: shape for name, shape in shapes.items() if shape is not None}
        given = dict(zip(self._plans.optimized.inputs, arrays, strict=True))
        read, written = _buffers(given), _buffers(targets)
        if plan is None or len(known) != len(shapes):
            why = "data decides how the network is run"
            refuse_devices(read, written, why)
            names = [*(self._plans.optimized.inputs if self._imports else ())]
            names += [*(targets if self._exports else ())]
            self._copies.update(dict.fromkeys(names, why))
            return self._plans.run(arrays, control, targets)
        check_shapes(targets, known)
        if read or written:
            once = self._bound(plan, given, targets, known)
            try:
                return once.run(given, targets, with_layer_types(control, plan.plan))
            finally:
                once.context.close()
        key = self._key(given, targets)
        with self._lock:
            bound = self._kept.pop(key, None)
        if bound is None:
            bound = self._bound(plan, given, targets, known)
        try:
            made = bound.run(given, targets, with_layer_types(control, plan.plan))
        except BaseException:
            bound.context.close()
            raise
        self._keep(key, bound)
        return made

    def close(self) -> None:
        """Forget all arrays.

        Raises:
            ClosingError: Working memory could not be given back.
        """
        closing = Closing(self._title)
        while self._kept:
            closing.step(self._kept.popitem()[1].context.close)
        closing.end()

    def _key(self, given: Mapping[str, NDArray[Any]], targets: Targets) -> Hashable:
        """Return the key of a binding: its shapes and addresses."""
        read = ((each.shape, _address(each) if self._imports else 0) for each in given.values())
        written = targets.items() if self._exports else ()
        return (*read, *((name, _address(each)) for name, each in written))

    def _bound(
        self,
        plan: LoadedPlan,
        given: Mapping[str, NDArray[Any]],
        targets: Targets,
        shapes: Mapping[str, tuple[int, ...]],
    ) -> _BoundArrays:
        """Bind a plan to arrays."""
        infos, made = self._plans.optimized.inputs, self._plans.optimized.outputs
        imported = given if self._imports else _buffers(given)
        exported = _apart(targets if self._exports else _buffers(targets), imported)
        for name, array in imported.items():
            self._check(array, f"the input {name!r}", infos[name])
        for name, array in exported.items():
            self._check(array, f"the array for the output {name!r}", made[name])
        inputs = {
            name: imported[name] if name in imported else aligned(infos[name], given[name].shape)
            for name in given
        }
        outputs = {
            name: exported[name] if name in exported else aligned(made[name], shape)
            for name, shape in shapes.items()
        }
        binding = Binding(handles_on(inputs, infos), handles_on(outputs, made))
        context, copied = plan.bound(binding)
        for name, why in copied.items():
            is_used = name in imported or name in exported
            if is_used:
                self._copies[name] = why
            if is_used and plan.imports(name, MemorySource.MALLOC):
                context.close()
                raise MemoryImportError(
                    f"the backend of {name!r} of {self._title} imports "
                    f"{MemorySource.MALLOC.arm_name} memory, but not this array: load the network "
                    "without import_enabled and export_enabled, which copies"
                )
        return _BoundArrays(context, inputs, outputs, imported, exported)

    def _check(self, array: NDArray[Any] | Buffer, what: str, info: TensorInfo) -> None:
        if isinstance(array, Buffer):
            check_buffer(array, what, info)
            return
        try:
            check_usable(array, what)
        except InvalidArgumentError as error:
            raise MemoryImportError(
                f"{error}; {self._title} was loaded to use arrays without copies"
            ) from None

    def _keep(self, key: Hashable, bound: _BoundArrays) -> None:
        """Keep arrays for a later run; forget the oldest."""
        with self._lock:
            twin = self._kept.pop(key, None)
            self._kept[key] = bound
            spare = twin
            if spare is None and len(self._kept) > MOST_KEPT:
                _, spare = self._kept.popitem(last=False)
        if spare is not None:
            spare.context.close()


@dataclass(frozen=True, slots=True, eq=False)
class _BoundArrays:
    """A context that stands on arrays.

    Attributes:
        context: The context.
        inputs: The memory that it reads, by input.
        outputs: The memory that it writes, by output.
        imported: The inputs that are the caller's arrays.
        exported: The outputs that are the caller's arrays.
    """

    context: Context
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    imported: Collection[str]
    exported: Collection[str]

    def run(
        self, given: Mapping[str, NDArray[Any]], targets: Targets, control: RunControl | None
    ) -> dict[str, NDArray[Any]]:
        """Run once; copy tensors that are neither imported nor exported."""
        for name, array in given.items():
            if name not in self.imported:
                np.copyto(self.inputs[name], array)
        self.context.run_bound(control)
        made = {}
        for name, array in self.outputs.items():
            target = targets.get(name)
            if target is None:
                made[name] = array.copy()
                continue
            if name not in self.exported:
                np.copyto(target, array)
            made[name] = target
        return made


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _buffers(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values that are buffers, by name."""
    return {name: each for name, each in given.items() if type(each) is Buffer}


def _apart(targets: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that share no part of an input, and all buffers."""
    read = [each for each in inputs.values() if type(each) is not Buffer]

    def is_apart(array: Any) -> bool:
        return type(array) is Buffer or all(
            (_address(array) == _address(given) and array.nbytes == given.nbytes)
            or not np.may_share_memory(array, given)
            for given in read
        )

    return {name: array for name, array in targets.items() if is_apart(array)}
