# SPDX-License-Identifier: MIT
"""Networks that nothing refers to any more are unloaded."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import Allocator, BackendContext, HostAllocator, Step, Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from armnn import Runtime

X = np.arange(4, dtype=np.float32)
UNLOADED = ["before 0", "after 0"]


def doubling() -> Network:
    network = Network("doubling")
    x = network.add_input("x", TensorInfo((4,)))
    network.add_output("y", network.add_addition(x, x, name="a"))
    return network


class Doubling(Workload):
    """Doubles, once it is let go; it can be told from others by a weak reference."""

    def __init__(self) -> None:
        self.started, self.go = threading.Event(), threading.Event()
        self.go.set()

    def bind(self, inputs: Any, outputs: Any) -> Step:
        def step() -> None:
            self.started.set()
            assert self.go.wait(10)
            outputs[0].map()[...] = inputs[0].map() * 2

        return step


class Workloads:
    """Makes a backend's workloads and knows which of them still exist."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[Doubling]] = []

    def __call__(self, *_: Any) -> Doubling:
        made = Doubling()
        self._made.append(weakref.ref(made))
        return made

    @property
    def live(self) -> list[Doubling]:
        return [each for each in (ref() for ref in self._made) if each is not None]


class Told(BackendContext):
    """Records what it is told of unloading, and in which threads."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.lock = threading.Lock()  # no thread may take it twice
        self.threads: set[int] = set()

    def _note(self, event: str) -> None:
        with self.lock:
            self.threads.add(threading.get_ident())
            self.log.append(event)

    def before_unload_network(self, network_id: int) -> None:
        self._note(f"before {network_id}")

    def after_unload_network(self, network_id: int) -> None:
        self._note(f"after {network_id}")


@pytest.fixture
def workloads() -> Workloads:
    return Workloads()


@pytest.fixture
def runtime(make_backend, make_runtime, workloads: Workloads) -> Runtime:
    return make_runtime(make_backend("Fake", create_workload=workloads))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def telling(make_backend, make_runtime, told: Told, workloads: Workloads) -> Runtime:
    """Return a runtime whose backend wants to know of unloading."""
    members = {"create_context": lambda *_: told, "create_workload": workloads}
    return make_runtime(make_backend("Fake", **members))


@pytest.fixture(autouse=True)
def _without_collector() -> Any:
    """Let only what the tests call collect garbage."""
    gc.disable()
    yield
    gc.enable()


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while not holds() and time.monotonic() < until:
        time.sleep(0.001)
    return holds()


def test_a_dropped_network_is_freed_at_once(runtime: Runtime, workloads: Workloads) -> None:
    model = runtime.load_model(doubling(), ["Fake"])
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)
    assert len(workloads.live) == 1
    del model
    assert workloads.live == []


def test_an_optimized_network_that_is_kept_can_be_loaded_again(
    runtime: Runtime, workloads: Workloads
) -> None:
    optimized = runtime.optimize(doubling(), ["Fake"])
    for _ in range(2):
        model = runtime.load_network(optimized)
        np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)
        del model
        assert workloads.live == []
    assert [layer.name for layer in optimized.network.layers] == ["x", "a", "y"]


def test_a_network_of_the_callers_stays_whole(runtime: Runtime) -> None:
    network = doubling()
    runtime.load_model(network, ["Fake"])
    assert [layer.name for layer in network.layers] == ["x", "a", "y"]
    assert network.find("a").inputs


def test_an_unloaded_network_still_says_what_it_was(runtime: Runtime) -> None:
    model = runtime.load_model(doubling(), ["Fake"])
    model.unload()
    assert (list(model.inputs), list(model.outputs), model.name) == (["x"], ["y"], "doubling")


def test_a_bound_call_keeps_its_network(runtime: Runtime, workloads: Workloads) -> None:
    call = runtime.load_model(doubling(), ["Fake"]).bind({"x": X})
    for _ in range(2):
        np.testing.assert_array_equal(call()["y"], 2 * X)
    del call
    assert workloads.live == []


def test_a_closed_call_keeps_nothing(runtime: Runtime, workloads: Workloads) -> None:
    call = runtime.load_model(doubling(), ["Fake"]).bind({"x": X})
    call()
    call.close()
    assert workloads.live == []


def test_runs_on_imported_memory_keep_no_network(runtime: Runtime, workloads: Workloads) -> None:
    model = runtime.load_model(doubling(), ["Fake"])
    ids = model.import_inputs({"x": X}, source="Malloc")
    np.testing.assert_array_equal(model.run({}, imported=list(ids.values()))["y"], 2 * X)
    del model
    assert workloads.live == []


@pytest.mark.parametrize("way", ["submit", "thread"])
def test_a_run_goes_on_to_its_end(runtime: Runtime, workloads: Workloads, way: str) -> None:
    model = runtime.load_model(doubling(), ["Fake"])
    model.prepare({})
    (workload,) = workloads.live
    workload.go.clear()
    made: list[Any] = []
    if way == "submit":
        task = model.submit({"x": X})
    else:
        run = model.run
        thread = threading.Thread(target=lambda run: made.append(run({"x": X})), args=(run,))
        thread.start()
        del run
    assert workload.started.wait(10)
    del model
    assert len(workloads.live) == 1
    workload.go.set()
    if way == "submit":
        made.append(task.result(10))
    else:
        thread.join(10)
        del thread
    np.testing.assert_array_equal(made[0]["y"], 2 * X)
    del workload
    assert eventually(lambda: workloads.live == [])


def test_backends_are_told_in_order_by_a_thread(
    telling: Runtime, told: Told, workloads: Workloads
) -> None:
    model = telling.load_model(doubling(), ["Fake"])
    model.run({"x": X})
    with told.lock:  # as if the last reference were dropped inside of the backend
        del model
    assert eventually(lambda: told.log == UNLOADED)
    assert threading.get_ident() not in told.threads
    assert eventually(lambda: workloads.live == [])


def test_the_collector_waits_for_no_lock(telling: Runtime, told: Told) -> None:
    model = telling.load_model(doubling(), ["Fake"])
    circle: list[Any] = [model]
    circle.append(circle)
    del model, circle
    with told.lock:
        gc.collect()
    assert eventually(lambda: told.log == UNLOADED)


def test_a_runtime_waits_for_what_is_being_dropped(telling: Runtime, told: Told) -> None:
    closes: list[list[str]] = []
    told.close = lambda: closes.append(list(told.log))  # type: ignore[method-assign]
    model = telling.load_model(doubling(), ["Fake"])
    closer = threading.Thread(target=telling.close)
    with told.lock:
        del model
        closer.start()
        closer.join(0.05)
        assert closer.is_alive()
    closer.join(10)
    assert closes == [UNLOADED]


def test_an_unloaded_network_is_not_unloaded_again(telling: Runtime, told: Told) -> None:
    model = telling.load_model(doubling(), ["Fake"])
    model.unload()
    assert told.log == UNLOADED
    del model
    telling.close()
    assert told.log == UNLOADED


def test_what_fails_then_is_logged(
    telling: Runtime, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: int) -> None:
        raise ValueError("the device is gone")

    told.before_unload_network = fails  # type: ignore[method-assign]
    model = telling.load_model(doubling(), ["Fake"])
    del model
    assert eventually(lambda: told.log == ["after 0"])
    telling.close()
    assert "the device is gone (raised by fails of network 0 of backend 'Fake')" in caplog.text


def test_an_allocator_is_called_by_a_thread(
    make_backend, make_runtime, workloads: Workloads
) -> None:
    class Locked(Allocator):
        lock = threading.Lock()
        freed = threading.Event()

        def allocate(self, size: int, alignment: int) -> Any:
            return HostAllocator().allocate(size, alignment)

        def free(self, memory: Any) -> None:
            with self.lock:
                self.freed.set()

    allocator = Locked()
    kind = make_backend("Fake", create_workload=workloads)
    model = make_runtime(kind, custom_allocators={"Fake": allocator}).load_model(
        doubling(), ["Fake"]
    )
    model.run({"x": X})
    with allocator.lock:
        del model
    assert allocator.freed.wait(10)
