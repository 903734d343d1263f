# SPDX-License-Identifier: MIT
"""OpenCL devices, the programs built for them, and the queues that run kernels on them."""

from __future__ import annotations

import functools
import logging
import os
import threading
import warnings
from contextlib import contextmanager
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

import numpy as np
import pyopencl as cl

from armnn.backends import BlobStore, Event, MemoryManager, raise_if_stopped
from armnn.errors import (
    BackendUnavailableError,
    DeviceLostError,
    ExecutionError,
    InvalidArgumentError,
)
from armnn_backend_cl.cached_file import CachedFile
from armnn_backend_cl.profiling import times_of_thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from armnn_backend_cl.profiling import DeviceTimes

_log = logging.getLogger(__name__)

_LOST: Final = frozenset({-2, -34, -36, -9999})
"""OpenCL's error codes of a lost device: CL_DEVICE_NOT_AVAILABLE, CL_INVALID_CONTEXT,
CL_INVALID_COMMAND_QUEUE, and NVIDIA's code after a kernel that accessed memory out of bounds."""

GROUP: Final = 64
"""The usual number of work items of a work group.

It is the same on all devices, so that a group adds numbers in the same order everywhere, and a
driver that compiles a kernel for each group size compiles it once.
"""

MOST_PROGRAMS: Final = 256
"""The most programs that a process keeps for later networks, about a megabyte each. The program
that was not requested for longest is dropped first; steps that run its kernels keep it alive."""

HOW_TO_GET_A_DRIVER: Final = (
    'install the OpenCL driver of the GPU, or, to try it on the CPU, pip install "pyopencl[pocl]"'
)


class Device:
    """A device that this process has opened, with the programs built for it.

    All runtimes use one object per device, so that they share programs and can share memory.

    Attributes:
        index: The index among all OpenCL devices of this machine, from 0, also used in DLPack.
        device: The object of pyopencl.
        context: The OpenCL context of its buffers and programs.
        alignment: The alignment of a tensor in a block, in bytes.
    """

    def __init__(self, index: int, device: cl.Device) -> None:
        """Open the device.

        Raises:
            BackendUnavailableError: The driver does not open the device, or its work groups are
                too small.
        """
        self.index = index
        self.device = device
        if device.max_work_group_size < GROUP:
            raise BackendUnavailableError(
                f"{self.name} has groups of at most {device.max_work_group_size} work items, "
                f"expected {GROUP}"
            )
        try:
            self.context = cl.Context([device])
        except cl.Error as error:
            raise BackendUnavailableError(
                f"the OpenCL driver of {self.name} cannot open it: {error}; the option Device "
                "chooses another one"
            ) from error
        self.alignment = max(int(device.mem_base_addr_align) // 8, 64)
        self._programs: dict[tuple[str, bool], Program] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def name(self) -> str:
        """The names of the platform and the device, as the driver gives them."""
        return f"{self.device.platform.name.strip()}: {self.device.name.strip()}"

    @property
    def driver(self) -> str:
        """The version of the driver, and the OpenCL version of the device."""
        return f"{self.device.driver_version.strip()}, {self.device.version.strip()}"

    @property
    def facts(self) -> dict[str, str]:
        """The facts that `armnn doctor` and records of execution show."""
        platform = self.device.platform
        return {
            "Platform": f"{platform.name.strip()}, {platform.version.strip()}",
            "Device": self.name,
            "Driver": self.driver,
            "Extensions": self.device.extensions.strip(),
        }

    def program(
        self, source: str, blobs: BlobStore | None = None, has_fast_math: bool = False
    ) -> Program:
        """Return the program for a source text.

        It is built once per process, unless an earlier process stored its binary.

        Args:
            source: The source text in OpenCL C.
            blobs: The store of binaries; None to store none.
            has_fast_math: Whether the compiler may deviate from IEEE 754.

        Raises:
            ExecutionError: The driver does not build the program, or the process was forked.
        """
        self.check_process()
        with self._lock:
            key = source, has_fast_math
            program = self._programs.pop(key, None)
            if program is None:
                program = Program(self, source, blobs, has_fast_math)
            elif blobs is not None:
                program.keep_in(blobs)
            self._programs[key] = program  # at the end, as it was requested last
            if len(self._programs) > MOST_PROGRAMS:
                del self._programs[next(iter(self._programs))]
        return program

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Convert errors of the driver in the block with :meth:`failure`."""
        try:
            yield
        except cl.Error as error:
            raise self.failure(error.code, str(error)) from error

    def failure(self, code: int, text: str) -> ExecutionError:
        """Return the exception to raise for an error of the driver.

        Args:
            code: The error code of OpenCL, or a code of the driver.
            text: The text of the driver.
        """
        if code in _LOST:
            return DeviceLostError(
                f"{self.name} is lost ({text}, error {code}): start a new process; with "
                "CreationOptions(isolate=...) the backend does that by itself"
            )
        return ExecutionError(f"{self.name} failed: {text}, error {code}")

    def check_process(self) -> None:
        """Raise an error in a forked child process, in which drivers would hang or crash.

        Raises:
            ExecutionError: The device was opened before the process was forked.
        """
        if os.getpid() != self._process:
            raise ExecutionError(
                f"the OpenCL device {self.name} was opened before this process was forked, and no "
                "driver survives a fork: start processes by multiprocessing's 'spawn', or load the "
                "model in the child only"
            )


class Program:
    """A program of a device.

    Some drivers finish the compilation of a kernel when it runs for the first time. So the binary
    is stored after that run.
    """

    def __init__(
        self, device: Device, source: str, blobs: BlobStore | None, has_fast_math: bool
    ) -> None:
        self._device = device
        self._stores: WeakSet[BlobStore] = WeakSet([] if blobs is None else [blobs])
        self._places: set[str] = set()  # the folders or files of stores that have the binary
        is_exact = device.device.single_fp_config & _EXACT_DIVISION and not has_fast_math
        exact = ("-cl-fp32-correctly-rounded-divide-sqrt",) if is_exact else ()
        self._options = (*_OPTIONS, *(_FAST_MATH if has_fast_math else exact))
        self._warm: set[str] = set()
        self._lock = threading.Lock()
        digest = sha256(source.encode()).hexdigest()
        self._key = (
            f"{_FORMAT} of {device.name}, {device.driver}: {' '.join(self._options)}, {digest}"
        )
        kept = None if blobs is None else blobs.get(self._key)
        if kept is not None and kept.startswith(_FAILED):
            reason = kept.removeprefix(_FAILED).decode(errors="replace")
            raise ExecutionError(
                f"{reason} (kept from an earlier process in {blobs}: empty that folder to let the "
                "driver try again)"
            )
        restored = self._restored(kept)
        if restored is not None:
            self._places.add(str(blobs))
        self._built = restored or self._from_source(source)

    def kernel(self, name: str) -> cl.Kernel:
        """Return a new kernel object; as it holds its arguments, each bound step needs one.

        Raises:
            ExecutionError: The driver fails to make it; some drivers compile the kernel now.
        """
        with self._device.failures():
            return cl.Kernel(self._built, name)

    def is_warm(self, name: str) -> bool:
        """Return whether a kernel ran before the binary was stored, or since in this process."""
        return name in self._warm

    def keep(self, names: Iterable[str]) -> None:
        """Store the binary after the first run of some kernels.

        Args:
            names: The names of these kernels.
        """
        with self._lock:
            if self._warm.issuperset(names):
                return
            self._warm.update(names)
            self._put(self._stores)

    def keep_in(self, store: BlobStore) -> None:
        """Store the binary in the store of another network that uses the program as well."""
        with self._lock:
            self._stores.add(store)
            # Each network that writes a cached file replaces its content.
            if self._warm and (isinstance(store, CachedFile) or str(store) not in self._places):
                self._put([store])

    def _put(self, stores: Iterable[BlobStore]) -> None:
        places = {str(store): store for store in stores}
        if places:
            binary: bytes = self._built.get_info(cl.program_info.BINARIES)[0]  # type: ignore[index]  # typed as object
            head = ",".join(sorted(self._warm)).encode()
            for store in places.values():
                store.put(self._key, _BUILT + head + b"\0" + binary)
            self._places.update(places)

    def _restored(self, kept: bytes | None) -> cl.Program | None:
        """Return the program of a stored binary, None if the driver refuses the binary."""
        if kept is None or not kept.startswith(_BUILT):
            return None
        names, _, binary = kept.removeprefix(_BUILT).partition(b"\0")
        device = self._device
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                made = cl.Program(device.context, [device.device], [binary])
                made.build(self._options)
        except cl.Error as error:
            _log.warning("%s does not take a kept program: %s", device.name, error)
            return None
        self._warm.update(names.decode(errors="replace").split(","))
        return made

    def _from_source(self, source: str) -> cl.Program:
        device = self._device
        try:
            with warnings.catch_warnings():  # some drivers warn that they compiled a program
                warnings.simplefilter("ignore")
                made = cl.Program(device.context, source)
                made.get_info(cl.program_info.NUM_DEVICES)  # so pyopencl skips its own cache
                made.build(self._options)
        except cl.Error as error:
            reason = f"the OpenCL driver of {device.name} does not build a program: {error}"
            if error.code == cl.status_code.BUILD_PROGRAM_FAILURE:
                for store in self._stores:
                    store.put(self._key, _FAILED + reason.encode())
            raise ExecutionError(reason) from error
        return made


_OPTIONS: Final = ("-cl-std=CL1.2", "-w")  # -w: no warnings, which drivers would print
_EXACT_DIVISION: Final = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
_FAST_MATH: Final = ("-cl-unsafe-math-optimizations",)
_FORMAT: Final = "program 1"
_BUILT: Final = b"built\0"
_FAILED: Final = b"failed\0"


class QueueEvent(Event):
    """The event of a command; queues are in order, so all commands before it have ended with it.

    Attributes:
        queue: The queue of the command.
        device: The device of the queue.
        command: The event of the driver.
    """

    def __init__(self, queue: Queue, command: cl.Event) -> None:
        self.queue, self.device = queue, queue.device
        self.command = command

    @property
    def is_done(self) -> bool:
        """Whether the command has ended.

        Raises:
            ExecutionError: The command or one before it in the queue failed.
        """
        with self.device.failures():
            status = self.command.command_execution_status
        if status < 0:
            raise self.device.failure(status, "a command failed")
        return bool(status == cl.command_execution_status.COMPLETE)

    def wait(self) -> None:
        """Wait until the command has ended, or until the run of this thread must end.

        Raises:
            ExecutionError: The command failed, or a kernel reported invalid data.
        """
        self.wait_for_end()
        self.queue.raise_faults()

    def wait_for_end(self) -> None:
        """Wait as :meth:`wait` does, but leave the faults that kernels reported to a later wait."""
        if raise_if_stopped():
            super().wait()
        elif not self.is_done:
            with self.device.failures():
                self.command.wait()


class Queue(MemoryManager):
    """The queue of one execution context: commands run in the order of enqueuing.

    The host waits only when it reads a tensor.

    Attributes:
        device: The device.
        commands: The queue of the driver; in a profiled run a queue with profiling enabled.
        last: The event of the last command, None before the first command.
        times: Receives the times of kernels in a profiled run, else None.
    """

    def __init__(self, device: Device) -> None:
        device.check_process()
        self.device = device
        with device.failures():
            self.commands = self._plain = cl.CommandQueue(device.context, device.device)
        self._timed: cl.CommandQueue | None = None
        self.last: cl.Event | None = None
        self.times: DeviceTimes | None = None
        self._cold: dict[Program, set[str]] = {}
        self._checks: list[str] = []
        self._told = np.zeros(2, np.int32)
        self._before: set[Queue] = set()  # the queues for which this queue waited in the run

    @functools.cached_property
    def faults(self) -> cl.Buffer:
        """The buffer of two int32 for kernels: the number of a failed check, and the bad value."""
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        with self.device.failures():
            return cl.Buffer(self.device.context, flags, hostbuf=np.zeros(2, np.int32))

    @property
    def has_checks(self) -> bool:
        """Whether kernels of this queue, or of queues that it waited for, have checks."""
        return bool(self._checks or self._before)

    def check(self, message: str) -> int:
        """Return the number of a check, from 1.

        Args:
            message: The text of its error, with ``{}`` in place of the bad value.
        """
        if message not in self._checks:
            self._checks.append(message)
        return self._checks.index(message) + 1

    def raise_faults(self) -> None:
        """Wait for the kernels, at most until the deadline, and raise the faults they reported.

        It includes the faults in queues for which this queue waited, as the host may read no tensor
        of those queues and would not see the faults.

        Raises:
            ExecutionError: A check failed.
        """
        asked: set[Queue] = set()
        left = [self]
        while left:
            queue = left.pop()
            if queue not in asked:
                asked.add(queue)
                left += queue._before
                queue._raise_own_faults()

    def _raise_own_faults(self) -> None:
        if not self._checks:
            return
        # The queue may have more commands than the caller waited for, so this waits until the
        # deadline, too.
        with self.device.failures():
            told = cl.enqueue_copy(self.commands, self._told, self.faults, is_blocking=False)
        QueueEvent(self, told).wait_for_end()
        number, value = self._told.tolist()
        if number:
            self._forget_faults()
            raise ExecutionError(self._checks[number - 1].format(value))

    def _forget_faults(self) -> None:
        """Enqueue a command that clears the faults that kernels reported."""
        if self._checks:
            with self.device.failures():
                cl.enqueue_fill_buffer(self.commands, self.faults, np.zeros(1, np.int32), 0, 8)

    def acquire(self) -> None:
        """Switch to a queue with profiling enabled if the run is profiled.

        Memory is not allocated here: blocks stay allocated between runs.

        Raises:
            ExecutionError: The process was forked.
        """
        self.device.check_process()
        self.times = times_of_thread()
        if self.times is not None:
            if self._timed is None:
                properties = cl.command_queue_properties.PROFILING_ENABLE
                with self.device.failures():
                    self._timed = cl.CommandQueue(
                        self.device.context, self.device.device, properties
                    )
            self._go_on_with(self._timed)
        self._forget_faults()  # a run that was stopped may have left some

    def release(self) -> None:
        """Leave the queue with profiling, and store programs whose kernels ran the first time."""
        self._before.clear()
        if self.times is not None:
            self.times = None
            self._go_on_with(self._plain)
        if self._cold and self.last is not None and QueueEvent(self, self.last).is_done:
            while self._cold:
                program, names = self._cold.popitem()
                program.keep(names)

    def _go_on_with(self, commands: cl.CommandQueue) -> None:
        """Switch to another queue of the driver, which waits for the commands of this one."""
        last = self.event()
        self.commands = commands
        if last is not None:
            with self.device.failures():
                self.last = cl.enqueue_barrier(commands, [last.command])

    def kernel(
        self, source: str, name: str, blobs: BlobStore | None, has_fast_math: bool
    ) -> cl.Kernel:
        """Return a new kernel object for a step that enqueues it in this queue.

        Raises:
            ExecutionError: See :meth:`Device.program`.
        """
        program = self.device.program(source, blobs, has_fast_math)
        if not program.is_warm(name):
            self._cold.setdefault(program, set()).add(name)
        return program.kernel(name)

    def event(self) -> QueueEvent | None:
        """Return the event of the commands enqueued so far, None before the first one."""
        if self.last is None:
            return None
        with self.device.failures():
            self.commands.flush()  # a driver may keep commands back until somebody waits
        return QueueEvent(self, self.last)

    def wait_for(self, event: Event) -> None:
        """Let this queue wait for an event of the same device; the host waits for any other."""
        if isinstance(event, QueueEvent) and event.device is self.device:
            with self.device.failures():
                self.last = cl.enqueue_barrier(self.commands, [event.command])
            if event.queue is not self:
                self._before.add(event.queue)
        else:
            event.wait()

    def finish(self) -> None:
        """Wait for the commands that were enqueued.

        Raises:
            CancelledError: The run was cancelled meanwhile.
            DeadlineExceededError: The time of the run is up.
            ExecutionError: The driver failed, or a check of a kernel found an invalid value.
        """
        event = self.event()
        if event is not None:
            event.wait()


@functools.cache
def all_devices() -> Sequence[cl.Device]:
    """Return the devices of all platforms: GPUs first, then accelerators, then CPUs.

    If two ICD loaders list the platform of one driver, the second entry is left out. So is a
    driver that fails.

    Raises:
        BackendUnavailableError: There is no device.
    """
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise BackendUnavailableError(
            f"there is no OpenCL driver: {error}; {HOW_TO_GET_A_DRIVER}"
        ) from error
    found: list[cl.Device] = []
    listed: set[tuple[str, ...]] = set()
    without: list[str] = []
    for platform in platforms:
        try:
            devices = platform.get_devices()
            known = platform.name, platform.version, *(each.name for each in devices)
        except cl.Error as error:
            _log.warning("an OpenCL driver is left out: %s", error)
            without.append(str(error))
            continue
        if not devices:
            without.append(platform.name.strip())
        elif known not in listed:
            listed.add(known)
            found += devices
    if not found:
        raise BackendUnavailableError(
            f"no OpenCL platform has a device: got {', '.join(without) or 'no platform'}; "
            f"{HOW_TO_GET_A_DRIVER}"
        )
    return sorted(
        found,
        key=lambda each: (
            not each.type & cl.device_type.GPU,
            not each.type & cl.device_type.ACCELERATOR,
        ),
    )


@functools.cache
def _opened(index: int) -> Device:
    return Device(index, all_devices()[index])


def open_device(wanted: str | int = "") -> Device:
    """Return a device, opened once per process.

    Args:
        wanted: The index of the device; or "gpu", "cpu" or "accelerator"; or a part of the names of
            its platform and the device, in upper or lower case; "" takes the first device.

    Raises:
        BackendUnavailableError: There is no device.
        InvalidArgumentError: There is no such device; the message lists all devices.
    """
    devices = all_devices()
    if isinstance(wanted, int) and 0 <= wanted < len(devices):
        return _opened(wanted)
    types = {
        "gpu": cl.device_type.GPU,
        "cpu": cl.device_type.CPU,
        "accelerator": cl.device_type.ACCELERATOR,
    }
    for index, device in enumerate(devices):
        if isinstance(wanted, int):
            break
        sought = wanted.lower()
        if sought in types:
            if device.type & types[sought]:
                return _opened(index)
        elif sought in f"{device.platform.name}: {device.name}".lower():
            return _opened(index)
    listed = "; ".join(
        f"{index} is {device.platform.name.strip()}: {device.name.strip()}"
        for index, device in enumerate(devices)
    )
    raise InvalidArgumentError(
        f"there is no OpenCL device {wanted!r}: expected an index, gpu, cpu, accelerator or a part "
        f"of a name of these: {listed}"
    )


@functools.cache
def source_of(name: str) -> str:
    """Return the text of a file in ``kernels/``."""
    return (resources.files(__package__) / "kernels" / f"{name}.cl").read_text(encoding="utf-8")
