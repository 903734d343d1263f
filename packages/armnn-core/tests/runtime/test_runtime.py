# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends import (
    Allocator,
    BackendContext,
    HostAllocator,
    ModelContext,
    ProfilingContext,
    ProfilingSink,
    Step,
    Support,
    Workload,
)
from armnn.errors import (
    BackendUnavailableError,
    ClosedError,
    InvalidArgumentError,
    UnknownBackendError,
)

X = np.arange(4, dtype=np.float32)


def chain(length: int = 3) -> Network:
    network = Network("chain")
    value = network.add_input("x", TensorInfo((4,)))
    for _ in range(length):
        value = network.add_addition(value, value)
    network.add_output("y", value)
    return network


class CountingAllocator(Allocator):
    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self.allocated: list[int] = []

    def allocate(self, size: int, alignment: int) -> Any:
        memory = HostAllocator().allocate(size, alignment)
        assert memory.ctypes.data % alignment == 0
        self.live[id(memory)] = size
        self.allocated.append(size)
        return memory

    def free(self, memory: Any) -> None:
        del self.live[id(memory)]


def test_working_memory_comes_from_the_custom_allocator_and_goes_back(
    make_backend, make_runtime
) -> None:
    allocator = CountingAllocator()
    runtime = make_runtime(make_backend("Fake"), custom_allocators={"Fake": allocator})
    model = runtime.load_model(chain(), ["Fake"])
    model.run({"x": X})
    model.run({"x": X})
    assert allocator.allocated == [model.arena_bytes]
    assert model.arena_bytes == 2 * 64  # two tensors of 16 bytes live at a time, a line each
    model.unload()
    assert allocator.live == {}


def test_the_memory_strategy_is_chosen_by_name(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Fake"), memory_strategy="ConstantMemoryStrategy")
    model = runtime.load_model(chain(3), ["Fake"])
    model.run({"x": X})
    assert model.arena_bytes == 4 * 64


def test_an_allocator_that_the_backend_refuses_is_told(make_backend, make_runtime) -> None:
    backend = make_backend("Fake", accepts_allocator=lambda *_: Support.no("only its own memory"))
    with pytest.raises(InvalidArgumentError, match=r"'Fake' cannot use the custom.*only its own"):
        make_runtime(backend, custom_allocators={"Fake": HostAllocator()})


class Events(BackendContext):
    def __init__(self) -> None:
        self.log: list[Any] = []

    def before_load_network(self, network_id: int) -> None:
        self.log.append(("before load", network_id))

    def after_load_network(self, network_id: int) -> None:
        self.log.append(("after load", network_id))

    def before_unload_network(self, network_id: int) -> None:
        self.log.append(("before unload", network_id))

    def after_unload_network(self, network_id: int) -> None:
        self.log.append(("after unload", network_id))

    def after_enqueue_workload(self, network_id: int) -> None:
        self.log.append(("ran", network_id))

    def close(self) -> None:
        self.log.append("close")


@pytest.mark.parametrize("option", ["backend_options", "custom_allocators", "memory_strategies"])
def test_what_the_options_name_must_exist(make_backend, make_runtime, option: str) -> None:
    values = {
        "backend_options": {},
        "custom_allocators": HostAllocator(),
        "memory_strategies": "StrategyValidator",
    }
    value = values[option]
    with pytest.raises(
        UnknownBackendError, match=r"no backend 'fake' \(known here: Fake\); did you mean 'Fake'\?"
    ):
        make_runtime(make_backend("Fake"), **{option: {"fake": value}})


def test_an_option_that_the_backend_does_not_know_is_refused_at_once(
    make_backend, make_runtime
) -> None:
    with pytest.raises(
        InvalidArgumentError,
        match=r"^backend 'Fake' has no options for a runtime: got Speed; those of a network are",
    ):
        make_runtime(make_backend("Fake"), backend_options={"Fake": {"Speed": 1}})


def test_what_the_options_name_is_opened_with_the_runtime(make_backend, make_runtime) -> None:
    log: list[Any] = []

    def opening(name: str) -> Any:
        return lambda *_: log.append(name)

    kinds = [make_backend(name, create_context=opening(name)) for name in ("A", "B", "C")]
    runtime = make_runtime(
        *kinds, backend_options={"B": {}}, custom_allocators={"A": HostAllocator()}
    )
    assert log == ["B", "A"]
    runtime.load_model(chain(), ["A", "B", "C"])
    assert log == ["B", "A", "C"]


def test_a_runtime_that_cannot_be_made_closes_what_it_opened(make_backend, make_runtime) -> None:
    opened = Events()
    first = make_backend("First", create_context=lambda *_: opened)
    with pytest.raises(InvalidArgumentError, match="'Second' has no options for a runtime"):
        make_runtime(
            first, make_backend("Second"), backend_options={"First": {}, "Second": {"Speed": 1}}
        )
    assert opened.log == ["close"]


def test_two_runtimes_have_their_own_backend_options_and_allocator(
    make_backend, make_runtime
) -> None:
    """Loaded from one import, at once."""
    seen: list[Any] = []

    def create_context(backend: Any, options: CreationOptions) -> None:
        seen.append((backend, dict(options.backend_options["Fake"])))

    kind = make_backend("Fake", create_context=create_context)
    allocators = [CountingAllocator(), CountingAllocator()]
    runtimes = [
        make_runtime(
            kind,
            backend_options={"Fake": {"Number": number}},
            custom_allocators={"Fake": allocator},
        )
        for number, allocator in enumerate(allocators)
    ]
    models = [runtime.load_model(chain(2 + 2 * i), ["Fake"]) for i, runtime in enumerate(runtimes)]
    assert [model.run({"x": X})["y"].tolist() for model in models] == [
        (X * 4).tolist(),
        (X * 16).tolist(),
    ]
    (one, first), (two, second) = seen
    assert one is not two
    assert (first, second) == ({"Number": 0}, {"Number": 1})
    assert [a.allocated for a in allocators] == [[model.arena_bytes] for model in models]


def test_backend_contexts_are_told_of_everything_in_order(make_backend, make_runtime) -> None:
    events = Events()
    runtime = make_runtime(make_backend("Fake", create_context=lambda *_: events))
    first = runtime.load_model(chain(), ["Fake"])
    second = runtime.load_model(chain(), ["Fake"])
    first.run({"x": X})
    runtime.unload_network(first)
    runtime.unload_network(first)
    runtime.close()
    runtime.close()
    assert (first.id, second.id) == (0, 1)
    assert events.log == [
        ("before load", 0),
        ("after load", 0),
        ("before load", 1),
        ("after load", 1),
        ("ran", 0),
        ("before unload", 0),
        ("after unload", 0),
        ("before unload", 1),
        ("after unload", 1),
        "close",
    ]


def no_hardware(*_: Any) -> BackendContext:
    raise BackendUnavailableError("no such device")


def test_a_backend_without_its_hardware_is_left_out_unless_named(
    make_backend, make_runtime, caplog
) -> None:
    gone = make_backend("Gone", create_context=no_hardware, score=lambda _: 9)
    runtime = make_runtime(gone, make_backend("Fake"))
    assert {row.backend for row in runtime.optimize(chain()).report} == {"Fake"}
    assert "Gone" in caplog.text
    with pytest.raises(BackendUnavailableError, match="no such device"):
        runtime.optimize(chain(), ["Gone", "Fake"])


def test_no_usable_backend_is_an_error_that_says_what_to_install(make_runtime) -> None:
    runtime = make_runtime()
    with pytest.raises(BackendUnavailableError, match=r'WHEELHOUSE "armnn-core\[cpu\]"'):
        runtime.optimize(chain())


def test_named_backends_must_exist_and_be_named(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Fake"))
    with pytest.raises(UnknownBackendError, match=r"'Fke'.*Fake"):
        runtime.optimize(chain(), ["Fke"])
    for wrong in ([], "Fake"):
        with pytest.raises(InvalidArgumentError, match="expected a list of ids"):
            runtime.optimize(chain(), wrong)


def test_options_reach_the_backend_and_unknown_ones_are_refused(make_backend, make_runtime) -> None:
    seen: list[Any] = []

    def create_model_context(self, options):
        seen.append(dict(options))
        return ModelContext(options)

    runtime = make_runtime(
        make_backend("Fake", create_model_context=create_model_context), make_backend("Plain")
    )
    runtime.optimize(chain(), ["Fake"], backend_options={"Fake": {"NumberOfThreads": 2}})
    assert {"NumberOfThreads": 2} in seen
    with pytest.raises(InvalidArgumentError, match=r"options for backend 'Plain'.*here: Fake"):
        runtime.optimize(chain(), ["Fake"], backend_options={"Plain": {}})
    with pytest.raises(InvalidArgumentError, match=r"here: Fake; did you mean 'Fake'\?$"):
        runtime.optimize(chain(), ["Fake"], backend_options={"fake": {}})
    with pytest.raises(InvalidArgumentError, match="'Plain' has no options: got Speed"):
        runtime.optimize(chain(), ["Plain"], backend_options={"Plain": {"Speed": 1}})


def test_a_layer_can_choose_a_backend_outside_of_the_preferences(
    make_backend, make_runtime
) -> None:
    runtime = make_runtime(make_backend("Fake"), make_backend("Other"))
    network = chain(1)
    name = network.layers[1].name
    model = runtime.load_model(network, ["Fake"], layer_backends={name: "Other"})
    assert {row.backend for row in model.report} == {"Other"}
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)


def test_a_hint_for_a_backend_that_is_not_there_is_only_a_wish(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Fake"), make_backend("Gone", create_context=no_hardware))
    network = chain(1)
    network.layers[1].backend_hint = "Gone"
    (row,) = runtime.optimize(network, ["Fake"]).report
    assert row.backend == "Fake"
    assert row.reason == "Gone: is not one of the backends of this runtime"


def test_a_workload_that_cannot_be_made_names_layer_and_backend(make_backend, make_runtime) -> None:
    def create_workload(self, layer, model):
        raise ZeroDivisionError("boom")

    runtime = make_runtime(make_backend("Fake", create_workload=create_workload))
    with pytest.raises(ZeroDivisionError, match=r"boom\nraised by create_workload .*'Fake'"):
        runtime.load_model(chain(), ["Fake"])


class Sink(ProfilingSink):
    def __init__(self) -> None:
        self.events: list[tuple[str, int, int, dict[str, Any]]] = []

    def event(self, name: str, start_ns: int, end_ns: int, **details: Any) -> None:
        assert start_ns <= end_ns
        self.events.append((name, start_ns, end_ns, details))

    def names(self, category: str) -> list[str]:
        return [name for name, *_, d in self.events if d["category"] == category]


def test_phases_layers_and_runs_are_recorded(make_backend, make_runtime) -> None:
    class Device(ProfilingContext):
        def __init__(self, sink: ProfilingSink) -> None:
            self.sink = sink

        def begin_run(self, network_id: int) -> None:
            self.start = time.perf_counter_ns()

        def end_run(self, network_id: int) -> None:
            self.sink.event("device", self.start, time.perf_counter_ns(), category="device")

    backend = make_backend("Fake", create_profiling_context=lambda _, sink: Device(sink))
    runtime = make_runtime(backend)
    sink = Sink()
    model = runtime.load_model(chain(2), ["Fake"], profiler=sink)
    model.run({"x": X}, profiler=sink)
    assert sink.names("phase") == [
        "validate",
        "infer shapes",
        "rewrite",
        "specialize",
        "rewrite",
        "assign backends",
        "optimize subgraphs",
        "place tensors",
        "load",
    ]
    assert sink.names("layer") == [row.layer for row in model.report]
    assert sink.names("run") == ["run"]
    assert sink.names("device") == ["device"]
    details = [d for _, _, _, d in sink.events if d["category"] == "layer"]
    assert details[0] == {"category": "layer", "type": "Addition", "backend": "Fake"}


class Slow(Workload):
    """A step that waits until it is let go."""

    def __init__(self, started: threading.Event, go: threading.Event) -> None:
        self.started, self.go = started, go

    def bind(self, inputs: Any, outputs: Any) -> Step:
        def step() -> None:
            self.started.set()
            assert self.go.wait(10)
            outputs[0].map()[...] = 7

        return step


def test_closing_waits_for_running_calls_and_refuses_later_ones(make_backend, make_runtime) -> None:
    started, go = threading.Event(), threading.Event()
    backend = make_backend("Fake", create_workload=lambda *_: Slow(started, go))
    runtime = make_runtime(backend)
    model = runtime.load_model(chain(1), ["Fake"])
    results: list[Any] = []
    worker = threading.Thread(target=lambda: results.append(model.run({"x": X})["y"].tolist()))
    worker.start()
    assert started.wait(10)
    closer = threading.Thread(target=runtime.close)
    closer.start()
    closer.join(0.05)
    assert closer.is_alive()
    with pytest.raises(ClosedError, match=r"the runtime was closed"):
        runtime.load_model(chain(), ["Fake"])
    go.set()
    closer.join(10)
    worker.join(10)
    assert results == [[7, 7, 7, 7]]
    with pytest.raises(ClosedError, match="closed before this call"):
        model.run({"x": X})


def test_eight_threads_run_while_a_ninth_closes(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Fake"))
    model = runtime.load_model(chain(), ["Fake"])
    wrong: list[Any] = []
    late = threading.Semaphore(0)

    def work() -> None:
        while True:
            try:
                if not (model.run({"x": X})["y"] == 8 * X).all():
                    wrong.append("value")
            except ClosedError:
                late.release()
                return
            except BaseException as error:
                wrong.append(error)
                late.release()
                return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    runtime.close()
    for thread in threads:
        thread.join(10)
    assert wrong == []
    assert all(late.acquire(blocking=False) for _ in range(8))


def test_two_runtimes_do_not_disturb_each_other(make_backend, make_runtime) -> None:
    kind = make_backend("Fake")
    first = make_runtime(kind)
    second = Runtime(CreationOptions())
    kept = second.load_model(chain(1), ["Fake"])
    first.close()
    np.testing.assert_array_equal(kept.run({"x": X})["y"], 2 * X)
    second.close()


def test_a_network_that_is_no_file_cannot_be_pickled(make_backend, make_runtime) -> None:
    model = make_runtime(make_backend("Fake")).load_model(chain(), ["Fake"])
    with pytest.raises(TypeError, match="'chain' cannot be pickled, as it was not loaded from a"):
        pickle.dumps(model)
