# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import CreationOptions, DataType, Network, Runtime, TensorInfo
from armnn.backends import (
    Allocator,
    ArrayHandle,
    HostAllocator,
    ModelContext,
    SubgraphView,
)
from armnn.backends.native import NativeBackend, NativeDevice, NativeLibrary, NativeLoadError
from armnn.errors import (
    BackendError,
    BackendUnavailableError,
    InvalidArgumentError,
    NotFoundError,
)

Make = Callable[..., Runtime]
Build = Callable[..., Path]

CYCLES = int(os.environ.get("ARMNN_TEST_CYCLES", "100"))
"""How often a runtime is made and closed; tools/native_sanitized.py asks for 1,000."""

X = np.array([1.0, -2.0, 3.5, 0.0], np.float32)
Y = np.array([0.5, 4.0, -1.0, 2.0], np.float32)
INFO = TensorInfo((4,))


def chain() -> Network:
    """Return (x + y) * y - x, with a name per layer."""
    network = Network("chain")
    x, y = network.add_input("x", INFO), network.add_input("y", INFO)
    total = network.add_addition(x, y, name="add")
    product = network.add_multiplication(total, y, name="mul")
    network.add_output("z", network.add_subtraction(product, x, name="sub"))
    return network


def expected() -> np.ndarray:
    return (X + Y) * Y - X


@pytest.fixture
def run_chain(make_native_runtime: Make, mock: NativeLibrary, make_backend: Any) -> Any:
    """Return a function that runs the chain under options.

    The backends are Mock, then Other.
    """

    def run(**options: Any) -> tuple[np.ndarray, dict[str, str], Any]:
        runtime = make_native_runtime(mock, make_backend("Other"))
        optimized = runtime.optimize(
            chain(), ["Mock", "Other"], backend_options={"Mock": options} if options else None
        )
        loaded = runtime.load_network(optimized)
        result = loaded.run({"x": X, "y": Y})["z"]
        return result, {row.layer: row.backend for row in loaded.report.rows}, loaded

    return run


def test_a_whole_subgraph_becomes_one_pre_compiled_layer(run_chain: Any, counts: Any) -> None:
    result, rows, _loaded = run_chain()  # the network keeps its programs
    np.testing.assert_array_equal(result, expected())
    assert counts().programs == 1
    assert set(rows.values()) == {"Mock"}


def test_a_subgraph_may_have_several_outputs_and_read_one_of_them(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    network = Network("two")
    x, y = network.add_input("x", INFO), network.add_input("y", INFO)
    total = network.add_addition(x, y)
    network.add_output("sum", total)
    network.add_output("product", network.add_multiplication(total, y))
    runtime = make_native_runtime(mock)
    loaded = runtime.load_network(runtime.optimize(network, ["Mock"]))
    results = loaded.run({"x": X, "y": Y})
    assert counts().programs == 1
    np.testing.assert_array_equal(results["sum"], X + Y)
    np.testing.assert_array_equal(results["product"], (X + Y) * Y)


def test_a_refused_node_goes_to_the_next_backend_and_the_rest_stays(
    run_chain: Any, counts: Any
) -> None:
    result, rows, loaded = run_chain(Refuse="mul")
    np.testing.assert_array_equal(result, expected())
    assert counts().programs == 2  # before and after the refused one
    assert rows["mul"] == "Other"
    assert "too hard" in str(loaded.report)


def test_compile_that_names_no_node_refuses_all(run_chain: Any, counts: Any) -> None:
    result, rows, loaded = run_chain(Refuse="*")
    np.testing.assert_array_equal(result, expected())
    assert counts().programs == 0
    assert set(rows.values()) == {"Other"}
    assert "all too hard" in str(loaded.report)


def test_a_node_that_is_refused_among_others_goes_too(
    make_native_runtime: Make, mock: NativeLibrary, make_backend: Any, counts: Any
) -> None:
    runtime = make_native_runtime(
        mock, make_backend("Other"), backend_options={"Mock": {"FailQuery": "2"}}
    )
    loaded = runtime.load_network(runtime.optimize(chain(), ["Mock", "Other"]))
    np.testing.assert_array_equal(loaded.run({"x": X, "y": Y})["z"], expected())
    rows = {row.layer: row.backend for row in loaded.report.rows}
    assert rows["mul"] == "Other"
    assert "not among others" in str(loaded.report)
    del loaded
    runtime.close()


def test_support_gives_the_reason_and_the_offending_input(
    mock: NativeLibrary, no_options: ModelContext, counts: Any
) -> None:
    backend = NativeBackend(mock)
    network = Network("n")
    a = network.add_input("a", INFO)
    b = network.add_input("b", TensorInfo((1,)))
    integers = network.add_input("i", TensorInfo((4,), DataType.SIGNED32))
    good = network.add_addition(a, a).producer
    small = network.add_addition(a, b).producer
    wrong = network.add_addition(integers, integers).producer
    other = network.add_floor(a).producer
    assert backend.supports(good, no_options)
    answer = backend.supports(small, no_options)
    assert not answer
    assert answer.reason == "Float32 of the output's shape expected (input 1, 'other': Float32[1])"
    assert "(input 0, 'input': Signed32[4])" in backend.supports(wrong, no_options).reason
    assert backend.supports(other, no_options).reason == "Mock has no Floor"


def test_a_layer_of_computed_shape_is_refused_by_the_host(
    mock: NativeLibrary, no_options: ModelContext, counts: Any
) -> None:
    network = Network("n")
    (indices,) = network.add("NonZero", [network.add_input("a", INFO)]).outputs
    answer = NativeBackend(mock).supports(indices.producer, no_options)
    assert "is known only when it is computed" in answer.reason


def test_a_pre_compiled_layer_is_supported_by_its_own_backend_only(
    mock: NativeLibrary, no_options: ModelContext, counts: Any
) -> None:
    backend, network = NativeBackend(mock), chain()
    view = SubgraphView.of(network, [network.find("add")])
    (substitution,) = backend.optimize_subgraph(view, no_options).substitutions
    (layer,) = (la for la in substitution.replacement.layers if la.type == "PreCompiled")
    assert layer.name == "add"
    assert backend.supports(layer, no_options)
    layer.compiled = "something else"
    assert "which is not a program of 'Mock'" in backend.supports(layer, no_options).reason
    with pytest.raises(BackendError, match="holds 'something else', expected a program of backend"):
        backend.create_workload(layer, no_options)


def test_constants_go_into_the_program_by_reference(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    runtime, weights = make_native_runtime(mock), np.array([2, 2, 4, 8], np.float32)
    network = Network("scaled")
    scaled = network.add_multiplication(network.add_input("x", INFO), weights, name="scale")
    network.add_output("y", scaled)
    loaded = runtime.load_network(runtime.optimize(network, ["Mock"]))
    assert counts().kept == 1
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], X * weights)
    loaded.unload()
    del loaded
    gc.collect()
    assert counts().kept == 0


def test_two_runtimes_have_a_backend_each_and_closing_one_leaves_the_other(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    first, second = NativeBackend(mock), NativeBackend(mock)
    assert first.start().pointer != second.start().pointer
    assert counts().backends == 2
    del first
    assert counts().backends == 1
    assert second.start(None) is second.start({})


def test_what_a_backend_made_may_outlive_it(
    mock: NativeLibrary, no_options: ModelContext, counts: Any
) -> None:
    network = chain()
    workload = NativeBackend(mock).create_workload(network.find("add"), no_options)
    assert counts().backends == 1
    total = np.zeros(4, np.float32)
    handles = [ArrayHandle(INFO, array) for array in (X, Y, total)]
    step = workload.bind(handles[:2], handles[2:])
    del workload
    step()
    np.testing.assert_array_equal(total, X + Y)


def test_capabilities_devices_and_score_are_copied_out(mock: NativeLibrary) -> None:
    backend = NativeBackend(mock)
    assert backend.capabilities == {"AsyncExecution": False, "Ratio": 0.5, "Word": "nan"}
    (device,) = backend.devices()
    assert device == NativeDevice(
        id="0",
        name="Mock One",
        kind="npu",
        memory_bytes=1024,
        fingerprint="mock-1",
        info={"cores": 4, "fast": True},
        address=device.address,
    )
    assert (backend.score(), backend.cache_file_count) == (5, 1)
    assert repr(backend) == f"<NativeBackend 'Mock' {mock.path!r}>"


def test_a_minimal_backend_has_defaults(build: Build) -> None:
    backend = NativeBackend(NativeLibrary.open(build("mock.c", "-DMOCK_MINIMAL")))
    assert (backend.capabilities, backend.devices(), backend.cache_file_count) == ({}, (), 0)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-DMOCK_DEVICES=5000", "lists 5000 devices: at most 1024 expected"),
        ("-DMOCK_DEVICE_ID=7", "lists a device with struct_id 0x7 and struct_size 112: expected"),
    ],
)
def test_a_device_list_that_makes_no_sense_is_refused(
    build: Build, flag: str, message: str
) -> None:
    with pytest.raises(BackendError, match=message):
        NativeBackend(NativeLibrary.open(build("mock.c", flag))).devices()


def test_the_option_device_selects_one(mock: NativeLibrary) -> None:
    backend = NativeBackend(mock)
    model = backend.create_model_context({"Device": "0", "Other": 1})
    assert model.options == {"Other": 1}
    assert backend.supports(chain().find("add"), model)
    with pytest.raises(NotFoundError, match="has no device '3': expected one of '0'"):
        backend.create_model_context({"Device": 3})


def test_create_that_fails_leaves_the_backend_out(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    with pytest.raises(BackendUnavailableError, match="no such hardware"):
        make_native_runtime(mock, backend_options={"Mock": {"FailCreate": 14}})


def test_options_that_create_refuses_are_the_callers_fault(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    with pytest.raises(InvalidArgumentError, match=r"be created: .*\(ARMNN_INVALID_ARGUMENT\)"):
        make_native_runtime(mock, backend_options={"Mock": {"FailCreate": 3}})


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("14", r"failed to be created: no such hardware \(ARMNN_UNAVAILABLE\)"),
        ("null", "it returned neither a backend nor an error"),
    ],
)
def test_create_that_fails_is_a_load_error_at_its_stage(
    mock: NativeLibrary, counts: Any, code: str, message: str
) -> None:
    with pytest.raises(NativeLoadError, match=message) as caught:
        NativeBackend(mock, source="/opt/x.so").start({"FailCreate": code})
    assert (caught.value.stage, caught.value.path) == ("create", "/opt/x.so")


def test_options_are_given_once(mock: NativeLibrary) -> None:
    backend = NativeBackend(mock)
    backend.start({"Tiles": 4})
    with pytest.raises(InvalidArgumentError, match=r"with the options {'Tiles': 4}: another"):
        backend.create_context(CreationOptions(backend_options={"Mock": {"Tiles": 5}}))


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("c13", r"say which layers it takes layer 'add': asked too much \(ARMNN_INTERNAL\)"),
        ("level", r"about layer 'add' with level 7 for node 0: expected one of the levels"),
        ("node", r"about layer 'add' with level 2 for node 99: expected one of the levels"),
        ("Wish", r"in the layout 99: expected one of \[0, 1, 2, 3, 4\] \(0: no wish\)"),
    ],
)
def test_a_query_that_fails_or_lies_is_an_error(
    mock: NativeLibrary, counts: Any, no_options: ModelContext, defect: str, message: str
) -> None:
    backend = NativeBackend(mock)
    backend.start({"FailQuery": defect})
    with pytest.raises(BackendError, match=message):
        backend.supports(chain().find("add"), no_options)


def test_a_refusal_without_a_reason_is_a_refusal(
    mock: NativeLibrary, counts: Any, no_options: ModelContext
) -> None:
    backend = NativeBackend(mock)
    backend.start({"FailQuery": "gone"})
    assert backend.supports(chain().find("add"), no_options).reason == "gave no reason"


@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        (2, "BackendError", "ARMNN_UNKNOWN"),
        (3, "InvalidArgumentError", "ARMNN_INVALID_ARGUMENT"),
        (5, "NotFoundError", "ARMNN_NOT_FOUND"),
        (8, "ResourceExhaustedError", "ARMNN_RESOURCE_EXHAUSTED"),
        (9, "BackendError", "ARMNN_FAILED_PRECONDITION"),
        (12, "UnimplementedError", "ARMNN_UNIMPLEMENTED"),
        (13, "BackendError", "ARMNN_INTERNAL"),
        (14, "BackendUnavailableError", "ARMNN_UNAVAILABLE"),
        (64, "IncompatibleBlobError", "ARMNN_INCOMPATIBLE_BLOB"),
        (1, "CancelledError", "ARMNN_CANCELLED"),
        (4, "DeadlineExceededError", "ARMNN_DEADLINE_EXCEEDED"),
        (1234, "BackendError", "code 1234"),
    ],
)
def test_each_code_is_the_matching_exception(
    mock: NativeLibrary, counts: Any, code: int, kind: str, word: str
) -> None:
    backend, layer = NativeBackend(mock), chain().find("add")
    with pytest.raises(armnn.errors.ArmnnError) as caught:
        backend.create_workload(layer, ModelContext({"FailCompile": code}))
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == (
        f"backend 'Mock' failed to compile 'add' layer 'add': cannot compile ({word}); its file is "
        f"'{mock.path}'"
    )


def test_a_single_layer_that_compile_refuses_is_an_error(mock: NativeLibrary) -> None:
    with pytest.raises(BackendError, match=r"too hard \(ARMNN_UNSUPPORTED_NODE\)"):
        NativeBackend(mock).create_workload(chain().find("add"), ModelContext({"Refuse": "add"}))


def test_compile_that_returns_nothing_is_an_error(mock: NativeLibrary) -> None:
    with pytest.raises(BackendError, match="returned no program and no error for layer 'add'"):
        NativeBackend(mock).create_workload(
            chain().find("add"), ModelContext({"FailCompile": "null"})
        )


def test_an_error_of_compile_stops_the_optimizer(run_chain: Any) -> None:
    with pytest.raises(BackendError, match="failed to compile 'add' to 'sub' layer 'add'"):
        run_chain(FailCompile=13)


def test_network_events_reach_the_backend_and_it_can_refuse(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    runtime = make_native_runtime(mock)
    optimized = runtime.optimize(chain(), ["Mock"])
    runtime.load_network(optimized).unload()
    assert counts().events == 1234
    for _ in range(6):
        runtime.load_network(optimized).unload()
    with pytest.raises(BackendError, match=r"failed to load network 7: seven is refused"):
        runtime.load_network(optimized)


class Recorded(Allocator):
    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self.sizes: list[int] = []

    def allocate(self, size: int, alignment: int) -> Any:
        block = HostAllocator().allocate(size, alignment)
        assert block.ctypes.data % alignment == 0
        self.live[block.ctypes.data] = size
        self.sizes.append(size)
        return block

    def free(self, memory: Any) -> None:
        del self.live[memory.ctypes.data]


def test_a_custom_allocator_serves_the_backend(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    allocator = Recorded()
    runtime = make_native_runtime(mock, custom_allocators={"Mock": allocator})
    loaded = runtime.load_network(runtime.optimize(chain(), ["Mock"]))
    np.testing.assert_array_equal(loaded.run({"x": X, "y": Y})["z"], expected())
    assert allocator.sizes.count(16) >= 3  # one intermediate per layer, by the backend
    del loaded
    runtime.close()
    gc.collect()
    assert allocator.live == {}


def test_a_second_allocator_is_refused(mock: NativeLibrary) -> None:
    backend, first = NativeBackend(mock), Recorded()
    backend.create_context(CreationOptions(custom_allocators={"Mock": first}))
    backend.create_context(CreationOptions(custom_allocators={"Mock": first}))
    with pytest.raises(InvalidArgumentError, match="uses the custom allocator of another runtime"):
        backend.create_context(CreationOptions(custom_allocators={"Mock": Recorded()}))


def test_an_allocator_goes_with_its_last_runtime(mock: NativeLibrary) -> None:
    backend, first, second = NativeBackend(mock), Recorded(), Recorded()
    options = CreationOptions(custom_allocators={"Mock": first})
    contexts = [backend.create_context(options) for _ in range(2)]
    contexts[0].close()
    with pytest.raises(InvalidArgumentError, match="got a second one"):
        backend.create_context(CreationOptions(custom_allocators={"Mock": second}))
    contexts[1].close()
    backend.create_context(CreationOptions(custom_allocators={"Mock": second})).close()


def test_an_allocator_serves_what_is_compiled_after_it_came(mock: NativeLibrary) -> None:
    """Earlier programs keep their memory."""
    backend, allocator = NativeBackend(mock), Recorded()
    before = backend.start()
    backend.create_context(CreationOptions(custom_allocators={"Mock": allocator}))
    assert backend.start() is not before


def test_eight_threads_execute_while_another_closes(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    runtime = make_native_runtime(mock)
    loaded = runtime.load_network(runtime.optimize(chain(), ["Mock"]))
    started, wrong, closed = threading.Barrier(9), [], []

    def work() -> None:
        started.wait()
        for _ in range(100_000):
            try:
                result = loaded.run({"x": X, "y": Y})["z"]
            except armnn.errors.ClosedError:
                closed.append(True)
                return
            if not np.array_equal(result, expected()):
                wrong.append(result)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.wait()
    runtime.close()
    for thread in threads:
        thread.join()
    assert (wrong, len(closed)) == ([], 8)


def test_runtimes_that_come_and_go_leave_nothing(
    make_native_runtime: Make, mock: NativeLibrary, counts: Any
) -> None:
    options = make_native_runtime(mock).options

    def cycle() -> None:
        with Runtime(options) as runtime:
            runtime.load_model(chain(), ["Mock"]).run({"x": X, "y": Y})

    for _ in range(10):
        cycle()
    before = _in_use()
    for _ in range(CYCLES):
        cycle()
    gc.collect()
    memory, *others = (now - then for now, then in zip(_in_use(), before, strict=True))
    assert others == [0, 0]
    assert memory < 4 << 20
    assert (counts().backends, counts().programs, counts().contexts) == (0, 0, 0)


def _in_use() -> tuple[int, int, int]:
    """Return this process's bytes, file descriptors and threads."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    descriptors = len(os.listdir("/proc/self/fd"))
    return pages * os.sysconf("SC_PAGESIZE"), descriptors, threading.active_count()
