# SPDX-License-Identifier: MIT
from __future__ import annotations

import mmap
import os
import threading
from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import SHARED_MEMORY, SharedBuffer, SharedMemory, Step, Support, Workload
from armnn.errors import (
    ExecutionError,
    InvalidArgumentError,
    MemoryImportError,
    UnknownNameError,
)
from armnn.profiling import Recorder
from armnn.runtime import FileMemory, NetworkProperties
from armnn.types import MemorySource
from armnn_backend_ref.backend import RefBackend
from fakes.backends import DeviceBackend

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def sums(batch: Any = 2) -> Network:
    """Return x + z and (x + z) + x over [batch, 3]."""
    network = Network("sums")
    x, z = (network.add_input(name, TensorInfo((batch, 3))) for name in "xz")
    total = network.add_addition(x, z, name="add")
    network.add_output("total", total)
    network.add_output("y", network.add_addition(total, x, name="again"))
    return network


@pytest.fixture
def load(make_backend, make_runtime) -> Any:
    """Return a function that loads a network on one backend."""

    def load(network: Network, backend: Any = None, **options: Any) -> Any:
        kind = make_backend("Fake") if backend is None else backend
        return make_runtime(kind).load_model(network, [kind.id], **options)

    return load


def test_runs_read_and_write_imported_memory(load) -> None:
    model = load(sums())
    x, y = X.copy(), np.empty((2, 3), np.float32)
    ids = [
        model.import_inputs({"x": x}, source="Malloc")["x"],
        model.import_outputs({"y": y}, source=MemorySource.MALLOC)["y"],
    ]
    for x[...] in (X, -X):
        for z in (X, X + 1):
            made = model.run({"z": z}, imported=ids)
            assert made["y"] is y
            np.testing.assert_array_equal(y, 2 * x + z)
            np.testing.assert_array_equal(made["total"], x + z)
    total = np.empty((2, 3), np.float32)
    first = model.run({"z": X}, imported=ids)["total"]
    assert model.run({"z": X + 1}, {"total": total}, imported=ids)["total"] is total
    np.testing.assert_array_equal(first + 1, total)


def test_memory_of_a_file_descriptor_is_shared(load) -> None:
    model = load(sums("N"))
    fd = os.memfd_create("tensors")
    os.ftruncate(fd, 8192)
    pages = mmap.mmap(fd, 8192)
    x = np.frombuffer(pages, np.float32, 6, 64).reshape(2, 3)
    y = np.frombuffer(pages, np.float32, 6, 4096).reshape(2, 3)
    ids = [
        *model.import_inputs({"x": FileMemory(fd, (2, 3), 64)}, source="Memfd").values(),
        *model.import_outputs({"y": FileMemory(fd, (2, 3), 4096)}, source="Memfd").values(),
    ]
    os.close(fd)
    for x[...] in (X, -X):
        model.run({"z": X}, imported=ids)
        np.testing.assert_array_equal(y, 2 * x + X)


class Sharing(SharedMemory):
    """Notes what it maps."""

    def __init__(self, *, fails: bool) -> None:
        self.asked: list[tuple[int, int]] = []
        self._fails = fails

    def allocate(self, size: int) -> SharedBuffer:
        raise AssertionError("no run allocates shared memory")

    def import_fd(self, fd: int, size: int, *, offset: int = 0) -> SharedBuffer:
        self.asked.append((size, offset))
        if self._fails:
            raise InvalidArgumentError("this memory is too far away")
        real: Any = RefBackend().extension(SHARED_MEMORY)
        made: SharedBuffer = real.import_fd(fd, size, offset=offset)
        return made


@pytest.mark.parametrize("fails", [False, True])
def test_the_backend_maps_files_if_it_shares_memory(make_backend, make_runtime, fails) -> None:
    sharing, other = Sharing(fails=fails), Sharing(fails=True)
    kinds = [
        make_backend(
            "Other", supports=lambda *_: Support.no("nothing"), extension=lambda *_: other
        ),
        make_backend("Sharing", extension=lambda _, name: {SHARED_MEMORY: sharing}.get(name)),
    ]
    model = make_runtime(*kinds).load_model(sums(), ["Other", "Sharing"])
    fd = os.memfd_create("tensors")
    os.ftruncate(fd, 2 * mmap.PAGESIZE)
    os.pwrite(fd, X.tobytes(), mmap.PAGESIZE + 64)
    given = {"x": FileMemory(fd, offset=mmap.PAGESIZE + 64)}
    if fails:
        with pytest.raises(
            MemoryImportError, match=r"cannot be mapped: .*: this memory is too far"
        ):
            model.import_inputs(given, source="Memfd")
    else:
        ids = model.import_inputs(given, source="Memfd").values()
        np.testing.assert_array_equal(model.run({"z": X}, imported=ids)["y"], 3 * X)
    assert sharing.asked == [(64 + X.nbytes, mmap.PAGESIZE)]
    assert other.asked == []
    os.close(fd)


def test_what_is_forgotten_cannot_be_used(load) -> None:
    model = load(sums())
    ids = model.import_inputs({"x": X, "z": X}, source="Malloc")
    np.testing.assert_array_equal(model.run({}, imported=list(ids.values()))["y"], 3 * X)
    model.forget_imports([ids["x"]])
    with pytest.raises(InvalidArgumentError, match=r"no memory of the id 0: its ids are 1"):
        model.run({}, imported=list(ids.values()))
    with pytest.raises(InvalidArgumentError, match=r"no memory of the id 0"):
        model.forget_imports([ids["x"]])
    np.testing.assert_array_equal(model.run({"x": X}, imported=[ids["z"]])["y"], 3 * X)
    twice = model.import_inputs({"z": X}, source="Malloc")["z"]
    with pytest.raises(InvalidArgumentError, match="two imported memories are for the input 'z'"):
        model.run({"x": X}, imported=[ids["z"], twice])
    with pytest.raises(InvalidArgumentError, match="nothing was given for input 'x'"):
        model.run({}, imported=[twice])
    with pytest.raises(InvalidArgumentError, match="takes neither timeout nor cancel"):
        model.run({"x": X}, imported=[twice], timeout=1)


def test_memory_that_needs_a_copy_is_no_import(load, make_backend) -> None:
    inner = make_backend("Inner")
    device = type("Device", (DeviceBackend,), {"__init__": lambda self: _init(self, inner())})
    model = load(sums(), device)
    ids = model.import_inputs({"x": X}, source="Malloc")
    with pytest.raises(MemoryImportError, match="input 'x' of the network 'sums' cannot use M"):
        model.run({"z": X}, imported=ids.values())


def _init(backend: Any, inner: Any) -> None:
    DeviceBackend.__init__(backend, "Device", inner)


def test_real_values_cannot_be_imported(load) -> None:
    model = load(sums(), quantize=True)
    with pytest.raises(
        MemoryImportError, match="quantize=True, so its inputs are converted and cannot"
    ):
        model.import_inputs({"x": X}, source="Malloc")


READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("memory", "source", "message"),
    [
        (X, "Gralloc", "cannot be imported from Gralloc: expected one of Malloc, DmaBuf, Memfd"),
        (X, "DmaBufProtected", "cannot be imported from DmaBufProtected"),
        (X, "Undefined", "cannot be imported from Undefined"),
        (X, "Memfd", r"the input 'x' is an array of .*, expected a FileMemory"),
        (X, "mallocs", "expected a member of MemorySource|did you mean"),
        (FileMemory(0, (2, 3)), "Malloc", "is a file descriptor, and its source Malloc: expected"),
        (FileMemory(-1), "Memfd", "needs a shape: that of the tensor"),
        (FileMemory(10**6, (2, 3)), "Memfd", "cannot be mapped: 24 bytes at 0 of file descriptor"),
        (FileMemory("3", (2, 3)), "Memfd", "the fd of the memory .* expected a whole number"),
        (FileMemory(0, (2, 4)), "Memfd", "cannot be mapped|has shape"),
        (X[:, :2], "Malloc", r"has shape \[2,2\]: expected \[N,3\]"),
        (X.astype(np.int32), "Malloc", "is int32: expected float32"),
        ([1], "Malloc", "the memory of the input 'x' is"),
    ],
)
def test_memory_that_cannot_be_imported_is_refused(
    load, memory: Any, source: Any, message: str
) -> None:
    with pytest.raises((MemoryImportError, InvalidArgumentError), match=message):
        load(sums("N")).import_inputs({"x": memory}, source=source)


def test_names_and_targets_are_checked(load) -> None:
    model = load(sums())
    with pytest.raises(InvalidArgumentError, match="there is no input 'v'"):
        model.import_inputs({"v": X}, source="Malloc")
    with pytest.raises(InvalidArgumentError, match="there is no output 'v'"):
        model.import_outputs({"v": X}, source="Malloc")
    with pytest.raises(InvalidArgumentError, match="'y' is read-only"):
        model.import_outputs({"y": READ_ONLY}, source="Malloc")


def test_one_thread_at_a_time_runs_on_imported_memory(load, make_backend) -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Waits(Workload):
        def bind(self, inputs: Any, outputs: Any) -> Step:
            def step() -> None:
                inside.set()
                assert go_on.wait(30)

            return step

    model = load(sums(), make_backend("Waits", create_workload=lambda *_: Waits()))
    ids = list(model.import_inputs({"x": X, "z": X}, source="Malloc").values())
    thread = threading.Thread(target=model.run, args=({},), kwargs={"imported": ids})
    thread.start()
    assert inside.wait(30)
    with pytest.raises(ExecutionError, match="'sums' runs already on imported memory"):
        model.run({}, imported=ids)
    go_on.set()
    thread.join(30)


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("option", "source"), [("import_enabled", "input_source"), ("export_enabled", "output_source")]
)
def test_properties_must_fit_what_the_network_was_optimized_for(
    make_backend, make_runtime, option: str, source: str, enabled: bool
) -> None:
    runtime = make_runtime(make_backend("Fake"))
    optimized = runtime.optimize(sums(), ["Fake"], **{option: enabled})
    wrong, right = ("Undefined", "Malloc") if enabled else ("Malloc", "Undefined")
    message = f"optimized with {option}={enabled} and is loaded with {source}={wrong}: expected"
    with pytest.raises(InvalidArgumentError, match=message):
        runtime.load_network(optimized, NetworkProperties(**{source: wrong}))
    loaded = runtime.load_network(optimized, NetworkProperties(**{source: right}))
    imports = loaded.import_inputs if option == "import_enabled" else loaded.import_outputs
    name = "x" if option == "import_enabled" else "y"
    if enabled:
        assert imports({name: X.copy()}) == {name: 0}
        assert runtime.load_network(optimized).properties == loaded.properties
    else:
        with pytest.raises(MemoryImportError, match=rf"give source=.*\({source}=\.\.\.\)"):
            imports({name: X.copy()})


def test_properties_are_checked_and_name_a_profiler(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Fake"))
    optimized = runtime.optimize(sums(), ["Fake"])
    recorder = Recorder()
    loaded = runtime.load_network(optimized, NetworkProperties(profiler=recorder))
    loaded.run({"x": X, "z": X})
    assert {"run", "add", "again"} <= {event.name for event in recorder.events}
    with pytest.raises(InvalidArgumentError, match="the properties is 3, expected a NetworkProp"):
        runtime.load_network(optimized, 3)
    with pytest.raises(InvalidArgumentError, match="the property input_source"):
        NetworkProperties(input_source="Mallocs")
    with pytest.raises(InvalidArgumentError, match="the profiler is 3"):
        NetworkProperties(profiler=3)
    with pytest.raises(UnknownNameError, match=r"'input_sourc' of a .*did you mean 'input_source'"):
        NetworkProperties(input_sourc="Malloc")
    with pytest.raises(InvalidArgumentError, match="the property async_enabled is 3"):
        NetworkProperties(async_enabled=3)
