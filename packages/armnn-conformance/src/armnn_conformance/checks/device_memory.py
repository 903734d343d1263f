# SPDX-License-Identifier: MIT
"""Checks of tensors in the memory of a device, and of the queues that order their use.

Each check is a function that raises :class:`~armnn_conformance.running.NonconformityError`, or
:class:`~armnn_conformance.checks.capabilities.NothingToCheckError` where the backend claims
nothing of the kind.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    HOST_FACTORY_ID,
    ArrayHandle,
    Event,
    MapAccess,
    MemoryManager,
    TensorHandle,
    TensorHandleFactory,
)
from armnn.errors import (
    ArmnnError,
    DeadlineExceededError,
    MemoryImportError,
    ResourceExhaustedError,
)
from armnn.single_layer import ending_after, handle_on_buffer, handle_on_file
from armnn.tensor import TensorInfo
from armnn.types import DataType, MemorySource
from armnn_conformance.checks.capabilities import NothingToCheckError
from armnn_conformance.running import GARBAGE, NonconformityError, contents
from armnn_conformance.subject import Subject

SIZES: Final = (1, 127, 128, 129)
"""Bytes of tensors: around the alignments that devices have."""

CYCLES: Final = 1000
"""How often memory and queues are made and destroyed."""

_CYCLE_BYTES: Final = 1 << 16
_MOST_GROWTH: Final = _CYCLE_BYTES * CYCLES // 4
_NO_DEVICE_HAS: Final = 1 << 60

DEADLINE_SECONDS: Final = 0.05
"""After which a wait for a busy queue has to end."""

_BUSY_SECONDS: Final = 0.5
_LONGEST_SECONDS: Final = 5.0
_MOST_COPIES: Final = 1 << 13
_IMPORTED_BYTES: Final = 8192
_OWN: Final = "of its own device"
_DROPPED_COPIES: Final = 32
_COPIED_BYTES: Final = (1 << 26, 1 << 20)
"""Bytes of a tensor that is copied many times: on a large device, and on a small one."""

_Check: TypeAlias = "Callable[[TensorHandleFactory, Subject], None]"


def check_device_memory(subject: Subject, name: str) -> None:
    """Run one of :data:`CHECKS`.

    Raises:
        NonconformityError: The backend does not pass it.
        NothingToCheckError: Its tensors are in host memory, or it lacks what is checked.
    """
    preferences = subject.backend.handle_factory_preferences
    if not preferences or preferences[0] == HOST_FACTORY_ID:
        raise NothingToCheckError("the backend's tensors are in host memory")
    CHECKS[name](subject.own_factory, subject)


def _check_copies(factory: TensorHandleFactory, subject: Subject) -> None:
    """Copy tensors of few bytes at offsets, the last one at the end of its block."""
    step = factory.block_alignment
    if not step:
        raise NothingToCheckError("its factory makes no blocks")
    manager = _manager(subject)
    room = -(-max(SIZES) // step) * step
    block = factory.create_block(room * (len(SIZES) - 1) + SIZES[-1], manager)
    handles = [factory.create_in(_bytes(n), block, i * room) for i, n in enumerate(SIZES)]
    patterns = [_pattern(n, seed) for seed, n in enumerate(SIZES)]
    for handle, pattern in zip(handles, patterns, strict=True):
        handle.copy_from(pattern)
    handles[1].copy_from(patterns[1][::-1])  # and no byte beside it
    patterns[1] = patterns[1][::-1]
    for size, handle, pattern in zip(SIZES, handles, patterns, strict=True):
        _compare(handle, pattern, f"of {size} bytes in a block")
    mapped = handles[2].map()
    mapped[...] = patterns[3][: SIZES[2]]
    handles[2].unmap()
    _compare(handles[2], patterns[3][: SIZES[2]], "that was mapped and written")
    _compare(handles[3], patterns[3], "beside one that was mapped and written")


def _check_maps(factory: TensorHandleFactory, subject: Subject) -> None:
    """Read a tensor where it is, then change a byte of it, then all."""
    handle, pattern = factory.create(_bytes(300), _manager(subject)), _pattern(300, 7)
    handle.copy_from(pattern)
    with _mapped(handle, MapAccess.READ) as array:
        if not np.array_equal(array, pattern):
            raise NonconformityError("map_for(READ) shows other bytes than were written")
    with _mapped(handle, MapAccess.WRITE) as array:
        array[150] ^= 0xFF
    pattern[150] ^= 0xFF
    _compare(handle, pattern, "of which map_for(WRITE) changed one byte")
    with _mapped(handle, MapAccess.DISCARD) as array:
        array[...] = pattern[::-1]
    _compare(handle, pattern[::-1], "that map_for(DISCARD) wrote as a whole")


@contextmanager
def _mapped(handle: TensorHandle, access: MapAccess) -> Iterator[NDArray[Any]]:
    try:
        yield handle.map_for(access)
    finally:
        handle.unmap()


def _check_imports(factory: TensorHandleFactory, subject: Subject) -> None:
    """Use memory of others where it is: the host's, of a file, of the device."""
    manager, info = _manager(subject), _bytes(_IMPORTED_BYTES)
    own = factory.create(info, manager)
    given: dict[str, TensorHandle] = {}
    pages = np.frombuffer(mmap.mmap(-1, _IMPORTED_BYTES), np.uint8)
    if MemorySource.MALLOC in factory.import_sources:
        given["of the host"] = ArrayHandle(info, pages)
    if MemorySource.MEMFD in factory.import_sources:
        fd = os.memfd_create("kit")
        os.ftruncate(fd, _IMPORTED_BYTES)
        given["behind a descriptor"] = handle_on_file(info, fd)
        os.close(fd)
    buffer = own.as_buffer()
    if buffer is not None and buffer.device in factory.import_devices:
        given[_OWN] = handle_on_buffer(info, buffer)
    taken = 0
    for which, memory in given.items():
        try:
            handle = factory.import_in(info, memory, manager)
        except MemoryImportError as error:
            if not str(error).strip():
                raise NonconformityError(f"memory {which} is refused without a reason") from error
            continue
        if handle is None:
            continue
        taken += 1
        seen = own if which == _OWN else memory
        pattern = _pattern(_IMPORTED_BYTES, 8 + taken)
        handle.copy_from(pattern)
        _wait(handle)
        _compare(seen, pattern, f"on memory {which} that the device wrote")
        seen.copy_from(pattern[::-1])
        _compare(handle, pattern[::-1], f"on memory {which} that others wrote")
    if not taken:
        raise NothingToCheckError("it imports no memory")


def _check_copies_on_device(factory: TensorHandleFactory, subject: Subject) -> None:
    """Copy from tensor to tensor on the device; ranges that overlap are refused."""
    manager = _manager(subject)
    size = 2 * max(factory.block_alignment, 64)
    one, other = (factory.create(_bytes(size), manager) for _ in range(2))
    pattern = _pattern(size, 1)
    one.copy_from(pattern)
    other.copy_from(np.zeros_like(pattern))
    if not other.copy_on_device(one):
        raise NothingToCheckError("its tensors are not copied on the device")
    one.copy_from(pattern[::-1])  # comes after the copy
    _compare(other, pattern, "that was copied on the device")
    if not factory.block_alignment:
        return
    block = factory.create_block(2 * size, manager)
    low, high = (factory.create_in(_bytes(size), block, offset) for offset in (0, size // 2))
    low.copy_from(pattern)
    try:
        was_copied = high.copy_on_device(low)
    except ArmnnError:
        return
    if was_copied:
        raise NonconformityError("a copy between ranges of one block that overlap is not refused")


def _check_full(factory: TensorHandleFactory, subject: Subject) -> None:
    """Ask for more memory than any device has, then for some."""
    manager = _manager(subject)
    try:
        if factory.block_alignment:
            factory.create_block(_NO_DEVICE_HAS, manager)
        else:
            factory.create(_bytes(_NO_DEVICE_HAS), manager)
    except ResourceExhaustedError:
        pass
    except ArmnnError as error:
        raise NonconformityError(
            f"a buffer that no device has memory for raises {type(error).__name__}: expected "
            f"ResourceExhaustedError; it says: {error}"
        ) from error
    else:
        raise NonconformityError("a buffer of 2**60 bytes is made")
    handle = factory.create(_bytes(64), manager)
    pattern = _pattern(64, 2)
    handle.copy_from(pattern)
    _compare(handle, pattern, "that was made after a device had no memory left")


def _check_events(factory: TensorHandleFactory, subject: Subject) -> None:
    """Let one queue wait for the event of another one."""
    one, other = _manager(subject), _manager(subject)
    if one is None or other is None:
        raise NothingToCheckError("it has no queues")
    size = 1 << 20
    first, second, third = (factory.create(_bytes(size), each) for each in (one, one, other))
    for seed in range(4):
        pattern = _pattern(size, seed)
        first.copy_from(pattern)
        if not second.copy_on_device(first):
            second.copy_from(pattern)
        event = second.written()
        if event is not None:
            if not isinstance(event, Event):
                raise NonconformityError(f"written() returned {event!r}: expected an Event")
            other.wait_for(event)
        if not third.copy_on_device(second):
            raise NothingToCheckError("its tensors are not copied on the device")
        _compare(third, pattern, "that another queue copied after an event")
        if event is not None:
            event.wait()
            if event.is_done is not True:
                raise NonconformityError("an event that was waited for is not done")


class _BusyQueue:
    """Two tensors whose queue is kept busy by copies from one to the other.

    Attributes:
        count: How many copies are behind the calls that enqueue them for :data:`_BUSY_SECONDS`.
        to: The tensors that they are copied to.
        pattern: The bytes that they copy.
        seconds: How long the host waits for them.
    """

    def __init__(self, factory: TensorHandleFactory, subject: Subject) -> None:
        """Find out how many copies it takes.

        Raises:
            NothingToCheckError: The host never waits for copies.
        """
        self._source, self.to = _two_tensors(factory, subject)
        self.pattern = _pattern(self.to.info.size_bytes, 5)
        self._source.copy_from(self.pattern)
        self.count, self.seconds, total = 1, 0.0, 0.0
        while self.seconds < _BUSY_SECONDS:
            if total > _LONGEST_SECONDS or self.count > _MOST_COPIES:
                raise NothingToCheckError("the host never waits long for copies on its device")
            self.count *= 2
            begin = time.monotonic()
            self.enqueue()
            enqueued = time.monotonic()
            _wait(self.to)
            total, self.seconds = time.monotonic() - begin, time.monotonic() - enqueued

    def enqueue(self) -> None:
        """Enqueue the copies.

        Raises:
            NothingToCheckError: Nothing is copied on the device.
        """
        for _ in range(self.count):
            if not self.to.copy_on_device(self._source):
                raise NothingToCheckError("its tensors are not copied on the device")


def _two_tensors(
    factory: TensorHandleFactory, subject: Subject
) -> tuple[TensorHandle, TensorHandle]:
    manager = _manager(subject)
    for size in _COPIED_BYTES:
        try:
            return factory.create(_bytes(size), manager), factory.create(_bytes(size), manager)
        except ResourceExhaustedError:
            continue
    raise NothingToCheckError(f"it has no memory for two tensors of {_COPIED_BYTES[-1]} bytes")


def _wait(handle: TensorHandle) -> None:
    event = handle.written()
    if event is not None:
        event.wait()


def _read_mapped(handle: TensorHandle) -> None:
    with _mapped(handle, MapAccess.READ):
        pass


def _check_deadlines(factory: TensorHandleFactory, subject: Subject) -> None:
    """Let the deadline of a run come while the host waits for a queue, in each way."""
    busy = _BusyQueue(factory, subject)
    copied = np.empty_like(busy.pattern)
    ways: dict[str, Callable[[TensorHandle], object]] = {
        "written().wait()": _wait,
        "copy_to()": lambda handle: handle.copy_to(copied),
        "map_for()": _read_mapped,
    }
    for name, wait in ways.items():
        busy.enqueue()
        begin = time.perf_counter_ns()
        has_ended_early = False
        with ending_after(DEADLINE_SECONDS):
            try:
                wait(busy.to)
            except DeadlineExceededError:
                has_ended_early = True
        seconds = (time.perf_counter_ns() - begin) / 1e9
        if seconds > DEADLINE_SECONDS + busy.seconds / 2:
            raise NonconformityError(
                f"{name} ended {seconds:.2f} s after it began, {_how(has_ended_early)}: expected "
                f"DeadlineExceededError after {DEADLINE_SECONDS:g} s, when the run's time was up "
                "(raise_if_stopped; in C until_ns, and the host's cancelled about call_id)"
            )
        _compare(busy.to, busy.pattern, f"behind {name} that ended at a deadline")


def _how(has_ended_early: bool) -> str:
    return "with DeadlineExceededError" if has_ended_early else "without an error"


def _check_dropped(factory: TensorHandleFactory, subject: Subject) -> None:
    """Drop tensors while their queue works on them, and use the memory again."""
    for _ in range(3):
        source, to = _two_tensors(factory, subject)
        for _ in range(_DROPPED_COPIES):
            if not to.copy_on_device(source):
                raise NothingToCheckError("its tensors are not copied on the device")
        del source, to
        handle = factory.create(_bytes(_CYCLE_BYTES), _manager(subject))
        pattern = _pattern(_CYCLE_BYTES, 6)
        handle.copy_from(pattern)
        _compare(handle, pattern, "that was made when others were dropped with their work")


def _check_leaks(factory: TensorHandleFactory, subject: Subject) -> None:
    """Make and destroy memory and queues many times."""

    def cycle() -> None:
        handle = factory.create(_bytes(_CYCLE_BYTES), _manager(subject))
        handle.copy_from(pattern)
        handle.written()

    pattern = _pattern(_CYCLE_BYTES, 4)
    for _ in range(CYCLES // 10):
        cycle()
    before = _resident_bytes()
    for _ in range(CYCLES):
        cycle()
    growth = _resident_bytes() - before
    if growth > _MOST_GROWTH:
        raise NonconformityError(
            f"{CYCLES} buffers of {_CYCLE_BYTES} bytes, each with a queue, left {growth} bytes "
            "that were not freed"
        )


CHECKS: Final[Mapping[str, _Check]] = {
    "copies": _check_copies,
    "maps": _check_maps,
    "imports": _check_imports,
    "copies on the device": _check_copies_on_device,
    "no memory left": _check_full,
    "events": _check_events,
    "deadlines": _check_deadlines,
    "dropped while in use": _check_dropped,
    "leaks": _check_leaks,
}
"""The checks by name."""


def _manager(subject: Subject) -> MemoryManager | None:
    manager = subject.backend.create_memory_manager()
    if manager is not None:
        manager.acquire()
    return manager


def _bytes(size: int) -> TensorInfo:
    return TensorInfo((size,), DataType.UNSIGNED8)


def _pattern(size: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def _compare(handle: TensorHandle, expected: NDArray[Any], which: str) -> None:
    """Check the elements of a tensor; they are read into memory that holds other bytes."""
    found = np.full(expected.shape, GARBAGE, np.uint8)
    handle.copy_to(found)
    if not np.array_equal(found, expected) or not np.array_equal(contents(handle), expected):
        wrong = int(np.argmax(found != expected))
        raise NonconformityError(
            f"a tensor {which} holds other bytes than were written, the first at {wrong}"
        )


def _resident_bytes() -> int:
    """Return the memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096
