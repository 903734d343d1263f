# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends import Allocator, ArrayHandle, HostAllocator, ModelContext, Step, TensorHandle
from armnn.backends.cache import Footprint
from armnn.backends.capi.calls import compile_details, note_compiled
from armnn.backends.contract import RunControl, controlled, controlled_runs
from armnn.backends.memory import ComputedHandle
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.errors import (
    BackendError,
    CancelledError,
    DeadlineExceededError,
    ExecutionError,
    ResourceExhaustedError,
)
from armnn.profiling import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

INFO = TensorInfo((4,))
X = np.array([1.0, -2.0, 3.5, 0.0], np.float32)
Y = np.array([0.5, 4.0, -1.0, 2.0], np.float32)


def addition() -> Network:
    network = Network("sum")
    total = network.add_addition(
        network.add_input("x", INFO), network.add_input("y", INFO), name="add"
    )
    network.add_output("z", total)
    return network


class Bound:
    """One addition, bound by itself."""

    def __init__(self, library: NativeLibrary, behavior: str = "", **options: Any) -> None:
        model = ModelContext({"Behavior": behavior, **options})
        workload = NativeBackend(library).create_workload(addition().find("add"), model)
        self.total = np.zeros(4, np.float32)
        self.step: Step = workload.bind(
            [ArrayHandle(INFO, X), ArrayHandle(INFO, Y)], [ArrayHandle(INFO, self.total)]
        )


@pytest.fixture
def load(make_native_runtime: Callable[..., Runtime], mock: NativeLibrary) -> Any:
    def make(behavior: str, **options: Any) -> Any:
        runtime = make_native_runtime(mock, **options)
        model = {"Mock": {"Behavior": behavior}}
        return runtime.load_network(runtime.optimize(addition(), ["Mock"], backend_options=model))

    return make


def test_a_step_computes_into_its_tensors_each_time(mock: NativeLibrary) -> None:
    bound = Bound(mock)
    for _ in range(2):
        bound.total[:] = 0
        bound.step()
        np.testing.assert_array_equal(bound.total, X + Y)


@pytest.mark.parametrize(
    ("code", "word", "cause"),
    [
        (8, "ARMNN_RESOURCE_EXHAUSTED", ResourceExhaustedError),
        (13, "ARMNN_INTERNAL", BackendError),
        (77, "code 77", BackendError),
    ],
)
def test_execute_that_fails_names_backend_file_layer_and_code(
    mock: NativeLibrary, code: int, word: str, cause: type[Exception]
) -> None:
    bound = Bound(mock, FailExecute=code)
    for _ in range(2):  # the error struct is ready again
        with pytest.raises(ExecutionError) as caught:
            bound.step()
        assert str(caught.value) == (
            f"backend 'Mock' failed to execute 'add' layer 'add': cannot execute ({word}); its "
            f"file is '{mock.path}'"
        )
        assert type(caught.value.__cause__) is cause


def test_through_the_runtime_the_failed_layer_is_named(
    make_native_runtime: Callable[..., Runtime], mock: NativeLibrary
) -> None:
    runtime = make_native_runtime(mock)
    options = {"Mock": {"FailExecute": 13}}
    loaded = runtime.load_network(runtime.optimize(addition(), ["Mock"], backend_options=options))
    message = r"layer 'add' \(PreCompiled\) failed on Mock: backend 'Mock' .*: cannot execute"
    with pytest.raises(ExecutionError, match=message):
        loaded.run({"x": X, "y": Y})


@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        ("no context", r"an execution context for 'add': out of contexts"),
        ("null context", r"it returned neither a context nor an error"),
        ("align3", r"wants 0 bytes aligned to 3 for input 0 of 'add': expected a power of two"),
    ],
)
def test_a_program_that_cannot_be_bound_is_an_error(
    mock: NativeLibrary, behavior: str, message: str
) -> None:
    with pytest.raises(BackendError, match=message):
        Bound(mock, behavior)


@pytest.mark.parametrize("behavior", ["align", "pad"])
def test_tensors_are_copied_where_the_backend_needs_other_memory(
    mock: NativeLibrary, behavior: str
) -> None:
    bound = Bound(mock, behavior)
    bound.step()
    np.testing.assert_array_equal(bound.total, X + Y)


def test_memory_that_moves_between_runs_is_followed(mock: NativeLibrary) -> None:
    workload = NativeBackend(mock).create_workload(addition().find("add"), ModelContext({}))
    moving, total = ComputedHandle(INFO), np.zeros(4, np.float32)
    moving.assign(X)
    step = workload.bind([moving, ArrayHandle(INFO, Y)], [ArrayHandle(INFO, total)])
    step()
    np.testing.assert_array_equal(total, X + Y)
    moving.assign(10 * X)
    step()
    np.testing.assert_array_equal(total, 10 * X + Y)


def test_a_tensor_with_gaps_is_copied(mock: NativeLibrary) -> None:
    workload = NativeBackend(mock).create_workload(addition().find("add"), ModelContext({}))
    wide, total = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    handles: list[TensorHandle] = [ArrayHandle(INFO, array[::2]) for array in (wide, wide, total)]
    workload.bind(handles[:2], handles[2:])()
    np.testing.assert_array_equal(total, [0, 0, 4, 0, 8, 0, 12, 0])


def test_a_value_that_is_read_twice_is_passed_once(mock: NativeLibrary) -> None:
    network = Network("double")
    x = network.add_input("x", INFO)
    layer = network.add_addition(x, x).producer
    total = np.zeros(4, np.float32)
    workload = NativeBackend(mock).create_workload(layer, ModelContext({}))
    handle = ArrayHandle(INFO, X)
    workload.bind([handle, handle], [ArrayHandle(INFO, total)])()
    np.testing.assert_array_equal(total, 2 * X)


def test_log_lines_reach_logging(mock: NativeLibrary, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "armnn.backend.Mock")
    Bound(mock, "log").step()
    assert [(r.name, r.levelno, r.message) for r in caplog.records] == [
        ("armnn.backend.Mock", logging.WARNING, "kernel: naïve"),
        ("armnn.backend.Mock", logging.INFO, "at the level"),
    ]


def test_parallel_for_covers_the_range_once(mock: NativeLibrary) -> None:
    bound = Bound(mock, "parallel")
    bound.step()
    np.testing.assert_array_equal(bound.total, X + Y + np.arange(4))
    counted = Bound(mock, "threads")
    counted.step()
    assert 1 <= counted.total[0] <= 8


def test_an_unknown_extension_is_a_normal_answer(mock: NativeLibrary) -> None:
    Bound(mock, "extension").step()


def test_profiling_events_reach_the_profiler_of_the_run(load: Any) -> None:
    recorder = Recorder()
    loaded = load("event")
    loaded.run({"x": X, "y": Y})  # without a profiler
    loaded.run({"x": X, "y": Y}, profiler=recorder)
    own = {e.name: e for e in recorder.events if e.details.get("category") not in ("run", "layer")}
    assert (own["add"].start_ns, own["add"].end_ns) == (1000, 3000)
    assert own["add"].details == {
        "category": "kernel",
        "backend": "Mock",
        "type": "Addition",
        "tiles": 4,
        "list": "[1]",
    }
    assert own["odd"].details == {"category": "kind 77", "backend": "Mock", "args": "no JSON"}
    assert own["plain"].details == {"category": "wait", "backend": "Mock", "args": "[]"}


def test_what_a_compile_event_says_of_memory_is_in_the_report(load: Any) -> None:
    (row,) = load("event").report
    assert row.footprint == Footprint(arena_bytes=64, scratch_bytes=0, weight_bytes=8)
    (silent,) = load("log").report
    assert silent.footprint is None


def test_details_of_one_compilation_are_not_those_of_another_inside() -> None:
    with compile_details() as outer:
        note_compiled({"arena_bytes": 1})
        with compile_details() as inner:
            note_compiled({"arena_bytes": 2})
        note_compiled({"weight_bytes": 3})
    note_compiled({"arena_bytes": 4})  # not collected
    assert (outer, inner) == ({"arena_bytes": 1, "weight_bytes": 3}, {"arena_bytes": 2})


def test_a_run_that_is_cancelled_meanwhile_stops(load: Any) -> None:
    loaded, cancel = load("wait"), threading.Event()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(CancelledError, match=r"failed to execute 'add': stopped"):
        loaded.run({"x": X, "y": Y}, cancel=cancel)


def test_a_run_that_is_late_stops(load: Any) -> None:
    with pytest.raises(DeadlineExceededError, match=r"the time was up \(ARMNN_DEADLINE_EXCEEDED\)"):
        load("wait").run({"x": X, "y": Y}, timeout=0.05)


def test_ctrl_c_ends_a_long_execute(mock: NativeLibrary) -> None:
    script = f"""
import os, signal, threading
import numpy as np
from armnn import Network, TensorInfo
from armnn.backends import ArrayHandle, ModelContext
from armnn.backends.native import NativeBackend, NativeLibrary
signal.signal(signal.SIGINT, signal.default_int_handler)
info, network = TensorInfo((4,)), Network("n")
layer = network.add_addition(network.add_input("x", info), network.add_input("y", info)).producer
backend = NativeBackend(NativeLibrary.open({mock.path!r}))
workload = backend.create_workload(layer, ModelContext({{"Behavior": "wait"}}))
handles = [ArrayHandle(info, np.zeros(4, np.float32)) for _ in range(3)]
step = workload.bind(handles[:2], handles[2:])
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    step()
except KeyboardInterrupt:
    print("interrupted")
"""
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("interrupted\n", "")


class Failing(Allocator):
    def allocate(self, size: int, alignment: int) -> Any:
        raise OSError("the pool is dry")


def test_what_a_callback_raised_comes_out_of_the_call(
    mock: NativeLibrary,
) -> None:
    backend = NativeBackend(mock)
    backend.create_context(CreationOptions(custom_allocators={"Mock": Failing()}))
    workload = backend.create_workload(addition().find("add"), ModelContext({}))
    handles = [ArrayHandle(INFO, array) for array in (X, Y, np.zeros(4, np.float32))]
    with pytest.raises(OSError, match="the pool is dry"):
        workload.bind(handles[:2], handles[2:])


@pytest.mark.parametrize(
    ("behavior", "kind", "message"),
    [
        ("bad drop", LookupError, "no kept constant has reference"),
        ("bad align", ValueError, "memory aligned to 3: expected a power of two"),
    ],
)
def test_misuse_of_the_host_is_told_after_the_call(
    mock: NativeLibrary, behavior: str, kind: type[Exception], message: str
) -> None:
    bound = Bound(mock, behavior)
    with pytest.raises(kind, match=message):
        bound.step()


def test_memory_that_is_not_the_allocator_s_is_refused(mock: NativeLibrary) -> None:
    backend = NativeBackend(mock)
    backend.create_context(CreationOptions(custom_allocators={"Mock": HostAllocator()}))
    workload = backend.create_workload(
        addition().find("add"), ModelContext({"Behavior": "bad free"})
    )
    handles = [ArrayHandle(INFO, array) for array in (X, Y, np.zeros(4, np.float32))]
    step = workload.bind(handles[:2], handles[2:])
    with pytest.raises(LookupError, match="which this allocator did not allocate"):
        step()


def test_one_context_refuses_a_second_thread(mock: NativeLibrary) -> None:
    bound, ended = Bound(mock, "wait"), []
    context = bound.step.__self__.context  # type: ignore[attr-defined]  # a step is a method here
    thread = threading.Thread(target=lambda: ended.append(_outcome(bound.step)))
    context.is_running = True  # as if a thread were in
    thread.start()
    thread.join()
    context.is_running = False
    assert "runs already in this execution context" in str(ended[0])


def test_the_control_of_another_thread_s_run_does_not_count(mock: NativeLibrary) -> None:
    bound, cancelled = Bound(mock), threading.Event()
    cancelled.set()
    outcomes = []
    with controlled(RunControl(cancel=cancelled)):
        thread = threading.Thread(target=lambda: outcomes.append(_outcome(bound.step)))
        thread.start()
        thread.join()
    assert outcomes == [None]
    np.testing.assert_array_equal(bound.total, X + Y)
    assert not controlled_runs


def _outcome(step: Step) -> object:
    try:
        return step()
    except ExecutionError as error:
        return error


def test_a_thousand_cycles_leave_nothing(mock: NativeLibrary, counts: Any) -> None:
    Bound(mock).step()
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    before = _resident()
    for _ in range(1000):
        Bound(mock).step()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == (files, threads)
    assert counts().contexts == 0
    assert _resident() - before < 8 << 20


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def test_threads_share_a_program_with_a_context_each(mock: NativeLibrary) -> None:
    workload = NativeBackend(mock).create_workload(addition().find("add"), ModelContext({}))
    wrong: list[Any] = []

    def work(number: int) -> None:
        first, total = np.full(4, number, np.float32), np.zeros(4, np.float32)
        step = workload.bind(
            [ArrayHandle(INFO, first), ArrayHandle(INFO, Y)], [ArrayHandle(INFO, total)]
        )
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            step()
            if not np.array_equal(total, first + Y):
                wrong.append(total.copy())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
