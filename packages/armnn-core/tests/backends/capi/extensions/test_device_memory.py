# SPDX-License-Identifier: MIT
"""armnn.device, armnn.stream, ``optimize`` and the event after a run, in C."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from armnn import CreationOptions, Network, TensorInfo
from armnn.backends import (
    HOST_FACTORY_ID,
    ArrayHandle,
    MapAccess,
    ModelContext,
    TensorHandleFactories,
)
from armnn.backends.contract import RunControl, controlled
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.buffer import Buffer
from armnn.errors import (
    BackendError,
    CancelledError,
    ClosedError,
    DeadlineExceededError,
    DeviceLostError,
    ExecutionError,
    InvalidArgumentError,
    MemoryImportError,
    ResourceExhaustedError,
)
from armnn.profiling import Recorder, timed_runs
from armnn.runtime import FileMemory
from armnn_backend_api.structs import Arena
from fakes import DEVICE_SOURCE

if TYPE_CHECKING:
    from pathlib import Path

    from armnn.optimizer import OptimizedNetwork

INFO = TensorInfo((4,))
X = np.float32([1, -2, 0.5, 3e38])
Make = Callable[..., NativeLibrary]


class Counts(NamedTuple):
    """Events since the device was opened, and its living objects."""

    buffers: int
    copied_in: int
    copied_out: int
    imported: int
    programs: int
    runs: int
    on_host: int
    on_device: int
    allocated: int
    streams: int
    events: int
    copied_between: int
    backends: int
    blobs: int
    trims: int


@pytest.fixture
def device(build: Callable[..., Path]) -> Iterator[Make]:
    """Return a function that opens the device compiled with flags."""
    opened: list[NativeLibrary] = []

    def make(*flags: str) -> NativeLibrary:
        opened.append(NativeLibrary.open(build(DEVICE_SOURCE, *flags)))
        return opened[-1]

    yield make
    gc.collect()
    for library in opened:
        left = counts(library)
        assert (left.buffers, left.programs, left.streams, left.events) == (0, 0, 0, 0)


def counts(library: NativeLibrary) -> Counts:
    address = NativeBackend(library).extension("test.device/1")
    assert isinstance(address, int)
    return Counts(*(ctypes.c_longlong * len(Counts._fields)).from_address(address))


def since(library: NativeLibrary, before: Counts) -> Counts:
    return Counts(*(now - then for now, then in zip(counts(library), before, strict=True)))


def types_in(optimized: OptimizedNetwork) -> list[str]:
    return [layer.type for layer in optimized.network.layers]


def chain(*, host_between: bool = False, info: TensorInfo = INFO) -> Network:
    """Return three additions, with a multiplication between on request."""
    network = Network("chain")
    x = network.add_input("x", info)
    value = network.add_addition(x, x, name="first")
    if host_between:
        value = network.add_multiplication(value, value, name="between")
    value = network.add_addition(value, x, name="alone")
    network.add_output("y", network.add_addition(value, x, name="last"))
    return network


def expected(x: np.ndarray[Any, Any], *, host_between: bool = False) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        value = x + x
        return (value * value if host_between else value) + x + x


def test_tensors_between_programs_stay_in_the_devices_memory(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    library = device()
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    loaded.run({"x": X})
    before = counts(library)
    for x in (X, -X):
        np.testing.assert_array_equal(loaded.run({"x": x})["y"], expected(x))
    found = since(library, before)
    # x goes in and y comes out.
    assert (found.copied_out, found.on_host, found.on_device) == (2, 0, 2 * (2 + 3 + 3))
    assert found.copied_in <= 4


def test_borders_to_other_backends_are_copies(
    device: Make, make_native_runtime: Callable[..., Any], make_backend: Callable[..., Any]
) -> None:
    runtime = make_native_runtime(device(), make_backend("Host"))
    optimized = runtime.optimize(chain(host_between=True), ["AcmeDevice", "Host"])
    loaded = runtime.load_network(optimized)
    x = np.float32([1, -2, 0.5, 3])
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], expected(x, host_between=True))
    assert types_in(optimized).count("MemCopy") == 2


@pytest.mark.parametrize(("length", "imports"), [(4, 1), (3, 0)])
def test_host_memory_is_imported_where_the_device_reaches_it(
    device: Make,
    make_native_runtime: Callable[..., Any],
    make_backend: Callable[..., Any],
    length: int,
    imports: int,
) -> None:
    library = device("-DIMPORTS")
    runtime = make_native_runtime(library, make_backend("Host"))
    network = chain(host_between=True, info=TensorInfo((length,)))
    before = counts(library)
    loaded = runtime.load_network(runtime.optimize(network, ["AcmeDevice", "Host"]))
    for x in (X[:length] / 1e20, -X[:length] / 1e20):
        np.testing.assert_array_equal(loaded.run({"x": x})["y"], expected(x, host_between=True))
    # One that the device refuses, of three floats, is copied; only that gets a buffer of its own.
    found = since(library, before)
    assert found.imported == imports
    tensors = 4 if length == 4 else 5
    assert found.allocated == tensors * 4 * length


def test_a_device_that_takes_host_memory_gets_it_without_copies(
    device: Make, make_native_runtime: Callable[..., Any], make_backend: Callable[..., Any]
) -> None:
    library = device("-DTAKES_HOST_MEMORY=1")
    runtime = make_native_runtime(library, make_backend("Host"))
    optimized = runtime.optimize(chain(host_between=True), ["AcmeDevice", "Host"])
    loaded = runtime.load_network(optimized)
    before = counts(library)
    np.testing.assert_array_equal(
        loaded.run({"x": np.ones(4, np.float32)})["y"], np.full(4, 6, np.float32)
    )
    found = since(library, before)
    assert found.on_host > 0
    assert found.on_device > 0
    assert "MemCopy" not in types_in(optimized)
    assert NativeBackend(library).handle_factory_preferences == (
        "AcmeDevice.device",
        HOST_FACTORY_ID,
    )


def test_a_workload_bound_to_host_memory_copies_what_its_device_cannot_reach(
    device: Make, no_options: ModelContext
) -> None:
    network = chain()
    backend = NativeBackend(device())
    workload = backend.create_workload(network.find("first"), no_options)
    x, y = np.float32([1, 2, 3, 4]), np.zeros(4, np.float32)
    handle = ArrayHandle(INFO, x)
    step = workload.bind([handle, handle], [ArrayHandle(INFO, y)])
    for factor in (1, -3):
        x *= factor
        step()
        np.testing.assert_array_equal(y, x + x)


def test_a_tensor_of_the_device_is_read_and_written_by_copies(device: Make) -> None:
    backend = NativeBackend(device())
    factories = TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    handle = factories["AcmeDevice.device"].create(INFO, None)
    handle.copy_from(X[::-1])
    array = np.zeros(4, np.float32)
    handle.copy_to(array)
    assert array.tolist() == X[::-1].tolist()
    handle.map()[0] = 7
    handle.unmap()
    wide = np.zeros((4, 2), np.float32)
    handle.copy_to(wide[:, 1])
    assert wide.tolist() == [[0, value] for value in (7, *X[::-1].tolist()[1:])]
    empty = factories["AcmeDevice.device"].create(TensorInfo((0, 3)), None)
    assert empty.map().shape == (0, 3)
    empty.unmap()


def test_a_tensor_of_the_device_is_handed_over_by_dlpack(device: Make) -> None:
    library = device()
    factories = TensorHandleFactories()
    NativeBackend(library).register_tensor_handle_factories(factories)
    (factory,) = factories.values()
    info = TensorInfo((2, 3), "Float16")
    block = factory.create_block(256, None)
    handle = factory.create_in(info, block, 64)
    executed = handle.describe(Arena())
    buffer = handle.as_buffer()
    assert buffer is not None
    assert (buffer.shape, buffer.dtype, buffer.offset, buffer.nbytes) == ((2, 3), "float16", 64, 12)
    assert (buffer.data, buffer.offset) == (executed.data, executed.byte_offset)
    assert buffer.device == (executed.device_type, executed.device_id) == (12, 0)
    taken = Buffer.from_dlpack(buffer)
    assert (taken.data, taken.offset) == (buffer.data, 64)
    del handle, buffer, block, executed
    gc.collect()
    assert counts(library).buffers == 1
    del taken
    assert counts(library).buffers == 0


def test_a_full_device_is_named(device: Make) -> None:
    factories = TensorHandleFactories()
    NativeBackend(device()).register_tensor_handle_factories(factories)
    with pytest.raises(
        ResourceExhaustedError, match="allocate 4194304 bytes of device memory: the device has"
    ):
        factories["AcmeDevice.device"].create(TensorInfo((1 << 20,)), None)


def test_host_memory_is_no_devices_memory(device: Make) -> None:
    backend = NativeBackend(device("-DDEVICE_TYPE=1"))
    with pytest.raises(BackendError, match=r"'armnn\.device/1' with the device type 1 of host mem"):
        backend.handle_factory_preferences  # noqa: B018  # reading it is the test


def test_a_backend_that_declares_less_is_not_asked(device: Make) -> None:
    backend = NativeBackend(device("-DARMNN_BACKEND_TARGET_MINOR=1"))
    assert backend.handle_factory_preferences == ()


def with_activations() -> Network:
    """Return two additions with three neutral activations between them."""
    network = Network("activations")
    x = network.add_input("x", INFO)
    value = network.add_addition(x, x, name="first")
    for _ in range(3):
        value = network.add_activation(value, function="Linear", a=1.0, b=0.0)
    network.add_output("y", network.add_addition(value, x, name="last"))
    return network


def test_what_the_backend_deletes_is_passed_by(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    runtime = make_native_runtime(device())
    optimized = runtime.optimize(with_activations(), ["AcmeDevice"])
    loaded, types = runtime.load_network(optimized), types_in(optimized)
    assert (types.count("Activation"), types.count("PreCompiled")) == (0, 2)
    x = np.float32([1, -2, 0.5, 3])
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], 3 * x)


def test_what_the_backend_leaves_untouched_stays_a_layer(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    runtime = make_native_runtime(device())
    optimized = runtime.optimize(chain(), ["AcmeDevice"])
    kept = [layer.name for layer in optimized.network.layers if layer.type == "Addition"]
    assert kept == ["alone"]
    np.testing.assert_array_equal(runtime.load_network(optimized).run({"x": X})["y"], expected(X))


@pytest.mark.parametrize(
    ("flag", "name", "message"),
    [
        ("-DWORST_DISPOSITION=7", "first", r"answered optimize with 7 for layer .*expected one of"),
        ("-DX", "refused", "failed to optimize .*: no plan for it"),
    ],
)
def test_a_plan_that_makes_no_sense_is_an_error(
    device: Make, make_native_runtime: Callable[..., Any], flag: str, name: str, message: str
) -> None:
    network = with_activations()
    network.rename(network.find("first"), name)
    with pytest.raises(BackendError, match=message):
        make_native_runtime(device(flag)).optimize(network, ["AcmeDevice"])


@pytest.mark.parametrize(("minor", "told"), [(2, 3), (1, 0)])
def test_the_end_of_each_run_is_told_to_who_knows_the_event(
    build: Callable[..., Path], make_native_runtime: Callable[..., Any], minor: int, told: int
) -> None:
    library = NativeLibrary.open(
        build(DEVICE_SOURCE, f"-DARMNN_BACKEND_TARGET_MINOR={minor}", "-DTAKES_HOST_MEMORY=1")
    )
    runtime = make_native_runtime(library)
    network = Network("sum")
    x = network.add_input("x", INFO)
    network.add_output("y", network.add_addition(x, x))
    before = counts(library)
    loaded = runtime.load_model(network, ["AcmeDevice"])
    for _ in range(3):
        loaded.run({"x": X})
    assert since(library, before).runs == told


def test_the_tensors_of_a_context_are_in_one_buffer(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    network = Network("long")
    value = x = network.add_input("x", TensorInfo((100,)))
    for number in range(6):
        value = network.add_addition(value, x, name=f"sum {number}")
    network.add_output("y", value)
    library = device("-DPLACED", "-DALL_ALONE")
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(network, ["AcmeDevice"]))
    given = np.linspace(-1, 1, 100, dtype=np.float32)
    before = counts(library)
    np.testing.assert_allclose(loaded.run({"x": given})["y"], 7 * given, rtol=1e-6)
    made = since(library, before)
    # x is read to the end, two sums live at a time; each is 400 bytes at a multiple of 128.
    assert (made.buffers, made.allocated) == (1, 3 * 512)
    assert loaded.memory["AcmeDevice.device"] == {
        "working": 3 * 512,
        "constants": 0,
        "states": 0,
    }
    before = counts(library)
    for _ in range(3):
        loaded.run({"x": given})
    steady = since(library, before)
    assert (steady.buffers, steady.allocated, steady.copied_in) == (0, 0, 3)


def test_a_deadline_reaches_a_copy_that_waits_for_the_device(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    library = device("-DPLACED", "-DQUEUE_MS=400")
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], expected(X))
    begin = time.monotonic()
    with pytest.raises(DeadlineExceededError):
        loaded.run({"x": X}, timeout=0.05)
    assert time.monotonic() - begin < 0.35
    token = threading.Event()
    threading.Timer(0.05, token.set).start()
    begin = time.monotonic()
    with pytest.raises(CancelledError):
        loaded.run({"x": X}, cancel=token)
    assert time.monotonic() - begin < 0.35
    np.testing.assert_array_equal(loaded.run({"x": -X})["y"], expected(-X))


@pytest.mark.parametrize("alignment", [3, 1 << 21])
def test_an_alignment_that_is_no_power_of_two_is_refused(device: Make, alignment: int) -> None:
    backend = NativeBackend(device("-DPLACED", f"-DALIGNMENT={alignment} + 0"))
    with pytest.raises(BackendError, match=f"aligns tensors of its device to {alignment} bytes"):
        backend.register_tensor_handle_factories(TensorHandleFactories())


def test_a_context_is_free_again_after_a_copy_that_had_to_end(
    device: Make, no_options: ModelContext
) -> None:
    backend = NativeBackend(device("-DPLACED", "-DQUEUE_MS=100"))
    workload = backend.create_workload(chain().find("first"), no_options)
    x, y = ArrayHandle(INFO, X / 2), ArrayHandle(INFO, np.zeros(4, np.float32))
    step = workload.bind([x, x], [y])
    for _ in range(2):  # the end of the first run is awaited behind it, then in front of the next
        with (
            pytest.raises(DeadlineExceededError),
            controlled(RunControl(deadline_ns=time.perf_counter_ns() + 10_000_000)),
        ):
            step()
    step()
    np.testing.assert_array_equal(y.map(), X)


STREAMS = ("-DPLACED", "-DSTREAMS")


def test_steps_are_enqueued_and_their_reader_waits(
    device: Make, make_native_runtime: Callable[..., Any], make_backend: Callable[..., Any]
) -> None:
    library = device(*STREAMS, "-DALL_ALONE", "-DQUEUE_MS=30")
    runtime = make_native_runtime(library, make_backend("Host"))
    network = chain(host_between=True)
    loaded = runtime.load_network(runtime.optimize(network, ["AcmeDevice", "Host"]))
    x = np.float32([1, -2, 0.5, 3])
    for factor in (1, -3):  # the second run writes where the first one read
        given = {"x": factor * x}
        result = expected(factor * x, host_between=True)
        np.testing.assert_array_equal(loaded.run(given)["y"], result)
    begin = time.monotonic()
    loaded.run({"x": x})
    assert time.monotonic() - begin > 0.085  # three executions of 30 ms, none of which is skipped


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_a_wait_for_a_stream_ends_when_the_run_must(
    device: Make, make_native_runtime: Callable[..., Any], how: str
) -> None:
    runtime = make_native_runtime(device(*STREAMS, "-DALL_ALONE", "-DQUEUE_MS=150"))
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], expected(X))
    token = threading.Event()
    begin = time.monotonic()
    if how == "deadline":
        with pytest.raises(DeadlineExceededError):
            loaded.run({"x": X}, timeout=0.05)
    else:
        threading.Timer(0.05, token.set).start()
        with pytest.raises(CancelledError):
            loaded.run({"x": X}, cancel=token)
    assert time.monotonic() - begin < 0.2
    np.testing.assert_array_equal(loaded.run({"x": -X})["y"], expected(-X))


def placed(library: NativeLibrary) -> tuple[NativeBackend, Any]:
    """Return a backend and the factory of its first device."""
    backend, factories = NativeBackend(library), TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    return backend, factories["AcmeDevice.device"]


def test_a_tensor_of_another_stream_is_awaited_by_the_device(device: Make) -> None:
    backend, factory = placed(device(*STREAMS, "-DQUEUE_MS=60"))
    one, other = (backend.create_memory_manager() for _ in range(2))
    assert one is not None
    assert other is not None
    first, second, third = (factory.create(INFO, queue) for queue in (one, one, other))
    first.copy_from(X)
    begin = time.monotonic()
    assert second.copy_on_device(first)
    assert third.copy_on_device(second)  # waits in its own stream
    event = third.written()
    assert event is not None
    assert time.monotonic() - begin < 0.05
    assert not event.is_done
    event.wait()
    assert event.is_done
    array = np.zeros(4, np.float32)
    third.copy_to(array)
    np.testing.assert_array_equal(array, X)


def test_a_copy_on_the_device_goes_not_through_the_host(device: Make) -> None:
    library = device("-DPLACED")
    _, factory = placed(library)
    block = factory.create_block(512, None)
    one, other = (factory.create_in(INFO, block, offset) for offset in (0, 128))
    one.copy_from(X)
    before = counts(library)
    assert other.copy_on_device(one)
    found = since(library, before)
    assert (found.copied_between, found.copied_in, found.copied_out) == (1, 0, 0)
    np.testing.assert_array_equal(other.map(), X)
    with pytest.raises(InvalidArgumentError, match="the ranges overlap"):
        one.copy_on_device(factory.create_in(INFO, block, 8))
    host = ArrayHandle(INFO, X.copy())
    assert not one.copy_on_device(host)
    _, without = placed(device("-DPLACED", "-DCOPY_BETWEEN=NULL"))
    assert not without.create(INFO, None).copy_on_device(without.create(INFO, None))


@pytest.mark.parametrize("flags", [("-DPLACED",), STREAMS])
def test_memory_of_another_library_is_read_where_it_is(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...]
) -> None:
    library = device(*flags, "-DIMPORTS")
    producer = placed(library)[1].create(INFO, None)  # of a backend of its own
    producer.copy_from(X)
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    before = counts(library)
    given = producer.as_buffer()
    np.testing.assert_array_equal(loaded.run({"x": given})["y"], expected(X))
    found = since(library, before)
    # The output stands on memory of the host, which this device imports, too.
    assert (found.imported, found.copied_in, found.copied_out) == (2, 0, 0)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("-DPLACED",), "its table has no import_data"),
        (("-DPLACED", "-DIMPORTS"), "it begins at byte 8: expected a multiple of 128"),
    ],
)
def test_memory_that_the_device_does_not_take_is_refused_by_name(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...], reason: str
) -> None:
    library = device(*flags)
    _, factory = placed(library)
    producer = factory.create_in(INFO, factory.create_block(64, None), 8)
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    with pytest.raises(MemoryImportError, match=reason):
        loaded.run({"x": producer.as_buffer()})


def test_a_tensor_of_a_device_that_maps_is_written_in_place(device: Make) -> None:
    library = device("-DPLACED", "-DMAPS")
    _, factory = placed(library)
    handle = factory.create(INFO, None)
    handle.map()[...] = X
    handle.unmap()
    handle.unmap()  # of nothing
    mapped = handle.map()
    mapped[0] = 7
    handle.unmap()
    array = np.zeros(4, np.float32)
    handle.copy_to(array)
    assert array.tolist() == [7, *X.tolist()[1:]]


@pytest.mark.parametrize("flags", [("-DPLACED",), STREAMS])
def test_the_memory_is_on_the_device_that_an_option_selects(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...]
) -> None:
    library = device(*flags, "-DDEVICES=2", "-DALL_ALONE")
    runtime = make_native_runtime(library)
    for wanted, factory in (("0", "AcmeDevice.device"), ("1", "AcmeDevice.device:1")):
        loaded = runtime.load_model(
            chain(), ["AcmeDevice"], backend_options={"AcmeDevice": {"Device": wanted}}
        )
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], expected(X))
        assert factory in loaded.memory


@pytest.mark.parametrize("flags", [("-DPLACED",), STREAMS])
def test_what_the_device_cannot_copy_goes_through_the_host(
    device: Make, flags: tuple[str, ...]
) -> None:
    backend, factory = placed(device(*flags, "-DDEVICES=2"))
    factories = TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    one = factory.create(INFO, None)
    other = factories["AcmeDevice.device:1"].create(INFO, backend.create_memory_manager())
    one.copy_from(X)
    assert not other.copy_on_device(one)


def test_no_more_runs_have_a_context_than_the_device_says(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    library = device(*STREAMS, "-DALL_ALONE", "-DQUEUE_MS=20", "-DMAX_CONTEXTS=2")
    loaded = make_native_runtime(library).load_model(chain(), ["AcmeDevice"])
    found: list[np.ndarray[Any, Any]] = []
    threads = [
        threading.Thread(target=lambda: found.append(loaded.run({"x": X})["y"])) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.tolist() for each in found] == [expected(X).tolist()] * 5
    assert counts(library).streams == 2
    with pytest.raises(DeadlineExceededError):
        loaded.run({"x": X}, timeout=0.01)
    np.testing.assert_array_equal(loaded.run({"x": -X})["y"], expected(-X))  # it has its turn


@pytest.mark.parametrize(("flags", "told"), [((), 0), (("-DPLACED",), 1)])
def test_memory_kept_for_later_is_asked_for(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...], told: int
) -> None:
    library = device(*flags)
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    before = counts(library)
    runtime.trim()
    assert since(library, before).trims == told
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], expected(X))


def test_what_a_device_compiled_is_kept_by_the_host(
    device: Make, make_native_runtime: Callable[..., Any], tmp_path: Path
) -> None:
    library = device(*STREAMS, "-DALL_ALONE", "-DBLOBS")
    network = Network("sum")
    x = network.add_input("x", INFO)
    network.add_output("y", network.add_addition(x, x))
    for taken in (0, 1):
        before = counts(library)
        runtime = make_native_runtime(library)
        runtime.load_model(network, ["AcmeDevice"], cache_dir=tmp_path)
        assert since(library, before).blobs == taken
    backend = NativeBackend(library)
    before = counts(library)
    backend.create_workload(network.layers[1], ModelContext({}))  # without a store
    assert since(library, before).blobs == 0


def test_kernels_of_a_queue_are_in_the_profile_of_their_run(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    library = device(*STREAMS, "-DALL_ALONE", "-DQUEUE_MS=1")
    loaded = make_native_runtime(library).load_model(chain(), ["AcmeDevice"])
    recorder = Recorder()
    loaded.run({"x": X})
    for _ in range(2):
        loaded.run({"x": X}, profiler=recorder)
    for run in timed_runs(recorder.events):
        told = {
            layer.event.name: [each.details["kernel"] for each in layer.on_device]
            for layer in run.layers
        }
        assert told == {"first": ["add"], "alone": ["add"], "last": ["add"]}


@pytest.mark.parametrize("flags", [("-DPLACED",), STREAMS])
def test_an_input_that_is_wanted_in_host_memory_is_there(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...]
) -> None:
    library = device(*flags, "-DHOST_INPUTS=1")
    runtime = make_native_runtime(library)
    network = Network("sum")
    x, y = (network.add_input(name, INFO) for name in "xy")
    network.add_output("z", network.add_addition(network.add_addition(x, x), y))
    loaded = runtime.load_model(network, ["AcmeDevice"])
    before = counts(library)
    given = np.float32([1, -2, 0.5, 3])
    for factor in (1, 2):
        z = loaded.run({"x": factor * given, "y": given})["z"]
        np.testing.assert_array_equal(z, (2 * factor + 1) * given)
    found = since(library, before)
    assert (found.on_host, found.copied_in) == (2, 2)  # x only is copied to the device


def test_more_than_the_device_allows_is_refused_before_it_is_asked(device: Make) -> None:
    library = device("-DPLACED")
    _, factory = placed(library)
    before = counts(library)
    with pytest.raises(ResourceExhaustedError, match="allows buffers of 4194304 bytes"):
        factory.create(TensorInfo((1 << 21,)), None)
    assert since(library, before).allocated == 0


@pytest.mark.parametrize("flags", [(), ("-DPLACED",), STREAMS])
def test_a_lost_device_has_an_error_of_its_own(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...]
) -> None:
    lost = ("-DARMNN_BACKEND_TARGET_MINOR=3", "-DLOSES=2")
    runtime = make_native_runtime(device(*flags, *lost))
    network = Network("sum")
    x = network.add_input("x", INFO)
    network.add_output("y", network.add_addition(x, x))
    loaded = runtime.load_model(network, ["AcmeDevice"])
    loaded.run({"x": X / 2})
    with pytest.raises(DeviceLostError, match=r"it fell off the bus \(ARMNN_DEVICE_LOST\)"):
        loaded.run({"x": X / 2})


@pytest.mark.parametrize("flags", [(), ("-DPLACED",), (*STREAMS, "-DQUEUE_MS=5")])
def test_states_stay_in_the_devices_memory(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...]
) -> None:
    library = device(*flags)
    network = Network("sum")
    x = network.add_input("x", INFO)
    total = network.add_addition(network.add_input("total", INFO), x)
    network.add_output("total", total)
    network.add_output("y", network.add_addition(total, x))
    runtime = make_native_runtime(library)
    loaded = runtime.load_model(network, ["AcmeDevice"], states={"total": "total"})
    x = np.float32([1, -2, 0.5, 3])
    for stream in (loaded.stream(), loaded.stream()):
        stream.set_states({"total": 2 * x})
        stream.run({"x": x})
        before = counts(library)
        for number in range(4, 14):
            np.testing.assert_array_equal(stream.run({"x": x})["y"], (number + 1) * x)
        found = since(library, before)
        assert (found.copied_in, found.copied_out, found.buffers) == (10, 10, 0)
        np.testing.assert_array_equal(stream.states()["total"], 13 * x)


@pytest.mark.parametrize("flags", [(), ("-DPLACED",), STREAMS])
def test_a_closed_runtime_leaves_nothing_of_a_backend(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...]
) -> None:
    library = device(*flags)
    runtime = make_native_runtime(library)
    optimized = runtime.optimize(chain(), ["AcmeDevice"])
    loaded = runtime.load_network(optimized)
    loaded.run({"x": X})
    assert counts(library).backends == 1
    gc.disable()  # nothing waits for the collector
    try:
        runtime.close()
        left = counts(library)
    finally:
        gc.enable()
    assert (left.backends, left.programs, left.buffers) == (0, 0, 0)
    assert (left.streams, left.events) == (0, 0)
    with make_native_runtime(library) as other:
        with pytest.raises(ClosedError, match="was closed with the last runtime that used it"):
            other.load_network(optimized).run({"x": X})
        assert counts(library).backends == 1


def test_memory_that_is_still_held_outlives_the_runtime(device: Make) -> None:
    library = device("-DPLACED")
    backend, factory = placed(library)
    context = backend.create_context(CreationOptions())
    assert context is not None
    handle = factory.create(INFO, None)
    handle.copy_from(X)
    buffer = handle.as_buffer()
    del handle, factory
    context.close()
    assert (counts(library).buffers, counts(library).backends) == (1, 1)
    taken = Buffer.from_dlpack(buffer)
    del buffer, backend, context
    gc.collect()
    assert (counts(library).buffers, counts(library).backends) == (1, 1)
    del taken
    gc.collect()
    assert (counts(library).buffers, counts(library).backends) == (0, 0)


@pytest.mark.parametrize(("flags", "survives"), [((), True), (STREAMS, False)])
def test_a_forked_child_is_refused_where_the_backend_does_not_survive_it(
    device: Make,
    make_native_runtime: Callable[..., Any],
    flags: tuple[str, ...],
    survives: bool,
) -> None:
    library = device(*flags)
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], expected(X))
    before = counts(library)
    child = os.fork()
    if child == 0:
        outcome = 3
        try:
            loaded.run({"x": X})
            outcome = 1
        except ExecutionError as error:
            is_told = "does not survive that, as its table lacks ARMNN_BACKEND_FORK" in str(error)
            was_called = counts(library) != before  # not even for an event: drivers hang
            outcome = 2 if is_told and not was_called else 3
        finally:
            os._exit(outcome)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (1 if survives else 2)
    np.testing.assert_array_equal(loaded.run({"x": -X})["y"], expected(-X))


@pytest.mark.parametrize("flags", [("-DPLACED",), STREAMS])
def test_memory_behind_a_descriptor_is_used_where_it_is(
    device: Make, make_native_runtime: Callable[..., Any], flags: tuple[str, ...]
) -> None:
    library = device(*flags, "-DIMPORTS")
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    fd = os.memfd_create("tensors")
    os.ftruncate(fd, 4096)
    os.pwrite(fd, X.tobytes(), 128)
    before = counts(library)
    ids = [
        *loaded.import_inputs({"x": FileMemory(fd, offset=128)}, source="DmaBuf").values(),
        *loaded.import_outputs({"y": FileMemory(fd, offset=256)}, source="DmaBuf").values(),
    ]
    loaded.run({}, imported=ids)
    assert os.pread(fd, 16, 256) == expected(X).tobytes()
    found = since(library, before)
    assert (found.imported, found.copied_in, found.copied_out) == (2, 0, 0)
    os.close(fd)


def test_a_driver_without_the_extension_is_named(
    device: Make, make_native_runtime: Callable[..., Any]
) -> None:
    runtime = make_native_runtime(device("-DPLACED", "-DIMPORTS", "-DNO_DMA_BUF"))
    loaded = runtime.load_network(runtime.optimize(chain(), ["AcmeDevice"]))
    fd = os.memfd_create("tensors")
    os.ftruncate(fd, 4096)
    ids = loaded.import_inputs({"x": FileMemory(fd)}, source="DmaBuf")
    with pytest.raises(MemoryImportError, match="lacks cl_khr_external_memory_dma_buf"):
        loaded.run({}, imported=[*ids.values()])
    os.close(fd)


@pytest.mark.parametrize("flags", [(), ("-DPLACED", "-DMAPS")])
def test_a_map_says_what_is_copied(device: Make, flags: tuple[str, ...]) -> None:
    library = device(*flags)
    _, factory = placed(library)
    handle = factory.create(INFO, None)
    handle.copy_from(X)
    before = counts(library)
    np.testing.assert_array_equal(handle.map_for(MapAccess.READ), X)
    handle.unmap()
    found = since(library, before)
    assert (found.copied_in, found.copied_out) == (0, 1)
    before = counts(library)
    handle.map_for(MapAccess.DISCARD)[...] = -X
    handle.unmap()
    found = since(library, before)
    assert (found.copied_in, found.copied_out) == (1, 0)
    np.testing.assert_array_equal(handle.map(), -X)
