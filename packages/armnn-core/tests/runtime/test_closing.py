# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, Runtime, TensorInfo
from armnn.backends import Allocator, BackendContext, HostAllocator, MemoryManager, ProfilingContext
from armnn.backends.calling import explained
from armnn.errors import (
    ArmnnError,
    BackendError,
    ClosedError,
    ClosingError,
    InvalidArgumentError,
)
from armnn.profiling import Recorder
from armnn.runtime.closing import Closing, Gate

if TYPE_CHECKING:
    from collections.abc import Callable

X = np.arange(4, dtype=np.float32)
LOADING = ["before_load_network", "after_load_network"]
UNLOADING = ["before_unload_network", "after_unload_network"]


def network() -> Network:
    network = Network("pair")
    x = network.add_input("x", TensorInfo((4,)))
    a = network.add_addition(x, x, name="a")
    network.add_output("y", network.add_addition(a, x, name="b"))
    return network


ON_BOTH = {"a": "First", "b": "Second"}


class Events(BackendContext):
    """Records its events, and raises at one of them."""

    def __init__(self, fails: str = "", error: BaseException | None = None) -> None:
        self.log: list[str] = []
        self._fails = fails
        self._error = ValueError("planted") if error is None else error

    def _told(self, event: str) -> None:
        self.log.append(event)
        if event == self._fails:
            raise self._error

    def before_load_network(self, network_id: int) -> None:
        self._told("before_load_network")

    def after_load_network(self, network_id: int) -> None:
        self._told("after_load_network")

    def before_unload_network(self, network_id: int) -> None:
        self._told("before_unload_network")

    def after_unload_network(self, network_id: int) -> None:
        self._told("after_unload_network")

    def after_enqueue_workload(self, network_id: int) -> None:
        self._told("after_enqueue_workload")

    def close(self) -> None:
        self._told("close")


@pytest.fixture
def runtime_with(make_backend, make_runtime) -> Callable[..., Runtime]:
    """Return a function that makes runtimes with these contexts.

    The backends are First and Second.
    """

    def make(first: Events, second: Events, **options: Any) -> Runtime:
        return make_runtime(
            make_backend("First", create_context=lambda *_: first),
            make_backend("Second", create_context=lambda *_: second),
            **options,
        )

    return make


def load(runtime: Runtime, **arguments: Any) -> Any:
    return runtime.load_model(network(), ["First", "Second"], layer_backends=ON_BOTH, **arguments)


class LeakyAllocator(Allocator):
    """Counts what it gave and took back; taking back fails."""

    def __init__(self) -> None:
        self.live = 0

    def allocate(self, size: int, alignment: int) -> Any:
        self.live += 1
        return HostAllocator().allocate(size, alignment)

    def free(self, memory: Any) -> None:
        self.live -= 1
        raise MemoryError("lost")


@pytest.mark.parametrize("event", [*UNLOADING, "close"])
def test_closing_goes_on_past_a_context_that_fails(runtime_with, event: str) -> None:
    first, second = Events(event), Events()
    runtime = runtime_with(first, second)
    _models = load(runtime), load(runtime)
    with pytest.raises(ClosingError, match=rf"planted .raised by {event}.*'First'") as caught:
        runtime.close()
    assert first.log == second.log == [*LOADING, *LOADING, *UNLOADING, *UNLOADING, "close"]
    times = 1 if event == "close" else 2
    assert [type(error) for error in caught.value.exceptions] == [ValueError] * times
    assert isinstance(caught.value, ArmnnError)
    runtime.close()  # the second time nothing is left to do
    assert second.log.count("close") == 1


def test_every_failure_is_in_the_group(runtime_with) -> None:
    runtime = runtime_with(Events("before_unload_network"), Events("close"))
    _model = load(runtime)
    with pytest.raises(ClosingError) as caught:
        runtime.close()
    first, second = map(explained, caught.value.exceptions)
    assert first == (
        "ValueError: planted (raised by before_unload_network of network 0 of backend 'First')"
    )
    assert second == "ValueError: planted (raised by close of backend 'Second')"
    assert "the runtime is closed, but" in str(caught.value)
    assert isinstance(caught.value.subgroup(ValueError), ClosingError)


def test_an_interruption_waits_until_all_is_closed(runtime_with) -> None:
    first, second = Events("before_unload_network", KeyboardInterrupt()), Events()
    runtime = runtime_with(first, second)
    _model = load(runtime)
    with pytest.raises(KeyboardInterrupt):
        runtime.close()
    assert first.log == second.log == [*LOADING, *UNLOADING, "close"]


def test_all_memory_is_given_back_although_an_allocator_fails(runtime_with) -> None:
    allocators = {"First": LeakyAllocator(), "Second": LeakyAllocator()}
    events = Events()
    runtime = runtime_with(events, Events(), custom_allocators=allocators)
    model = load(runtime)
    model.run({"x": X})
    assert [each.live for each in allocators.values()] == [1, 1]
    with pytest.raises(ClosingError, match="lost"):
        model.unload()
    assert [each.live for each in allocators.values()] == [0, 0]
    model.unload()
    assert events.log[-2:] == UNLOADING


def test_a_failing_allocator_does_not_keep_a_failed_run_inside(runtime_with, meanings) -> None:
    allocators = {"First": LeakyAllocator()}
    runtime = runtime_with(Events(), Events(), custom_allocators=allocators)
    model = load(runtime)
    model.run({"x": X})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(meanings, "Addition", lambda *_: 1 / 0)
        with pytest.raises(ClosingError, match="lost"):
            model.run({"x": X})
    np.testing.assert_array_equal(model.run({"x": X})["y"], 3 * X)
    with pytest.raises(ClosingError):
        runtime.close()  # returns: no run is counted as inside


def test_a_backend_that_fails_after_loading_leaves_no_network(runtime_with) -> None:
    first, second = Events(), Events("after_load_network")
    runtime = runtime_with(first, second)
    with pytest.raises(ValueError, match=r"planted\nraised by after_load_network .*'Second'"):
        load(runtime)
    assert first.log == second.log == [*LOADING, *UNLOADING]
    runtime.close()
    assert first.log == second.log == [*LOADING, *UNLOADING, "close"]


def test_a_backend_that_refuses_a_network_is_not_told_of_its_end(runtime_with) -> None:
    first, second = Events(), Events("before_load_network")
    runtime = runtime_with(first, second)
    with pytest.raises(ValueError, match=r"planted\nraised by before_load_network .*'Second'"):
        load(runtime)
    assert first.log == ["before_load_network", *UNLOADING]
    assert second.log == ["before_load_network"]


def test_what_fails_while_loading_is_undone_is_noted(runtime_with) -> None:
    runtime = runtime_with(Events("before_unload_network"), Events("after_load_network"))
    with pytest.raises(ValueError, match="after_load_network") as caught:
        load(runtime)
    _, note = caught.value.__notes__
    assert "planted (raised by before_unload_network of network 0 of backend 'First')" in note


def test_shapes_that_cannot_be_prepared_leave_no_network(runtime_with) -> None:
    first, second = Events(), Events()
    runtime = runtime_with(first, second)
    with pytest.raises(InvalidArgumentError, match="'x'"):
        load(runtime, shapes=[{"x": (5,)}])
    assert first.log == ["before_load_network", *UNLOADING]


def test_a_backend_that_fails_after_a_run_is_named(runtime_with) -> None:
    second = Events("after_enqueue_workload")
    model = load(runtime_with(Events(), second))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"raised by after_enqueue_workload .*'Second'"):
            model.run({"x": X})
    model.unload()


def test_profiling_ends_where_it_began(make_backend, make_runtime) -> None:
    ended: list[str] = []

    class Begins(ProfilingContext):
        def __init__(self, backend_id: str, *, fails: bool) -> None:
            self._id, self._fails = backend_id, fails

        def begin_run(self, network_id: int) -> None:
            if self._fails:
                raise ValueError("no counters")

        def end_run(self, network_id: int) -> None:
            ended.append(self._id)
            raise ValueError("no counters either")

    def profiled(backend_id: str, *, fails: bool) -> Any:
        begins = Begins(backend_id, fails=fails)
        return make_backend(backend_id, create_profiling_context=lambda *_: begins)

    runtime = make_runtime(profiled("First", fails=False), profiled("Second", fails=True))
    model = load(runtime)
    with pytest.raises(ValueError, match="no counters either"):
        model.run({"x": X}, profiler=Recorder())
    assert ended == ["First"]
    model.unload()  # the run is counted as over


def test_memory_that_was_acquired_is_released_if_another_cannot_be(
    make_backend, make_runtime
) -> None:
    log: list[str] = []

    class Manager(MemoryManager):
        def __init__(self, name: str) -> None:
            self._name = name

        def acquire(self) -> None:
            log.append(f"acquire {self._name}")
            if self._name == "Second":
                raise BackendError("the device is gone")

        def release(self) -> None:
            log.append(f"release {self._name}")

    kinds = [
        make_backend(name, create_memory_manager=lambda _, name=name: Manager(name))
        for name in ("First", "Second")
    ]
    model = load(make_runtime(*kinds))
    with pytest.raises(BackendError, match="the device is gone"):
        model.run({"x": X})
    assert log == ["acquire First", "acquire Second", "release First"]


def test_closing_that_goes_well_raises_nothing() -> None:
    closing = Closing("it")
    calls: list[int] = []
    closing.step(calls.append, 1)
    closing.end()
    assert calls == [1]


def test_a_closed_gate_lets_nobody_in() -> None:
    gate = Gate("the thing")
    with gate:
        assert not gate.is_closed
    assert gate.close()
    assert gate.is_closed
    with pytest.raises(ClosedError, match="the thing was closed before this call"):
        gate.enter()


def test_only_the_first_close_says_that_it_closed() -> None:
    gate = Gate("the thing")
    assert gate.close()
    assert not gate.close()


def test_close_waits_until_the_last_call_is_out() -> None:
    gate = Gate("the thing")
    gate.enter()
    closed = threading.Event()

    def close() -> None:
        gate.close()
        closed.set()

    thread = threading.Thread(target=close)
    thread.start()
    assert not closed.wait(0.05)
    gate.leave()
    assert closed.wait(5)
    thread.join()
