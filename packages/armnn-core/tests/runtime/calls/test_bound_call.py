# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import SUPPORTED, Allocator, BackendContext, HostAllocator, Step, Workload
from armnn.errors import ClosedError, ExecutionError, InvalidArgumentError
from armnn.graph import Aliases
from fakes.backends import DeviceBackend

X = np.arange(6, dtype=np.float32).reshape(2, 3)
INFO = TensorInfo((2, 3))


def sums(batch: Any = 2) -> Network:
    """Return x + x and (x + x) + x over [batch, 3]."""
    network = Network("sums")
    x = network.add_input("x", TensorInfo((batch, 3)))
    double = network.add_addition(x, x, name="double")
    network.add_output("double", double)
    network.add_output("triple", network.add_addition(double, x, name="triple"))
    return network


def accumulator(output: str = "total") -> Network:
    """Return a network that adds up its inputs."""
    network = Network("accumulator")
    x, total = network.add_input("x", INFO), network.add_input("total", INFO)
    made = network.add_addition(x, total, name="add")
    network.add_output(output, made)
    network.add_output("y", network.add_addition(made, made, name="twice"))
    return network


class Counting(Allocator):
    def __init__(self) -> None:
        self.live = 0

    def allocate(self, size: int, alignment: int) -> Any:
        self.live += 1
        return HostAllocator().allocate(size, alignment)

    def free(self, memory: Any) -> None:
        self.live -= 1


@pytest.fixture
def load(make_backend, make_runtime) -> Any:
    """Return a function that loads a network on one backend."""

    def load(network: Network, backend: Any = None, **options: Any) -> Any:
        kind = make_backend("Fake") if backend is None else backend
        return make_runtime(kind, **options).load_model(network, [kind.id])

    return load


def test_a_call_reads_and_writes_the_same_arrays_each_time(load) -> None:
    x, double = X.copy(), np.empty((2, 3), np.float32)
    call = load(sums()).bind({"x": x}, {"double": double})
    assert call.copied == ()
    assert call.inputs["x"] is x
    made = call()
    assert made is call.outputs
    assert made["double"] is double
    for x[...] in (X, -X, X + 1):
        assert call() is made
        np.testing.assert_array_equal(double, 2 * x)
        np.testing.assert_array_equal(made["triple"], 3 * x)


def test_steps_stand_on_the_bound_arrays(load, make_backend) -> None:
    seen = []

    class Looking(Workload):
        def bind(self, inputs: Any, outputs: Any) -> Step:
            seen.append([handle.map() for handle in (*inputs, *outputs)])
            return lambda: None

    looking = make_backend("Looking", create_workload=lambda *_: Looking())
    network = Network("one")
    network.add_output("y", network.add_activation(network.add_input("x", INFO)))
    y = np.empty((2, 3), np.float32)
    load(network, looking).bind({"x": X}, {"y": y})
    assert [array.ctypes.data for array in seen[-1]] == [X.ctypes.data, y.ctypes.data]


def test_each_shape_has_its_calls(load) -> None:
    model = load(sums("N"))
    for batch in (1, 4, 2):
        x = np.full((batch, 3), batch, np.float32)
        np.testing.assert_array_equal(model.bind({"x": x})()["triple"], 3 * x)


def test_a_state_is_kept_between_calls(load) -> None:
    x = X.copy()
    call = load(accumulator()).bind({"x": x})
    assert list(call.outputs) == ["y"]
    assert call.copied == ()
    for count in (1, 2, 3):
        np.testing.assert_array_equal(call()["y"], 2 * count * X)
        np.testing.assert_array_equal(call.states["total"], count * X)
    call.states["total"][...] = 10
    np.testing.assert_array_equal(call()["y"], 2 * (X + 10))
    call.reset()
    np.testing.assert_array_equal(call()["y"], 2 * X)


def test_a_state_may_have_two_names_and_a_first_value(load) -> None:
    model = load(accumulator("next"))
    first = np.ones((2, 3), np.float32)
    call = model.bind({"x": X, "total": first}, states={"total": "next"})
    for count in (1, 2, 3):
        np.testing.assert_array_equal(call()["y"], 2 * (count * X + 1))
    np.testing.assert_array_equal(first, 1)


def test_a_state_begins_with_what_the_model_says(load) -> None:
    network = accumulator()
    network.metadata["initial total"] = "2.5"
    np.testing.assert_array_equal(load(network).bind({"x": X})()["y"], 2 * (X + 2.5))


def test_an_array_may_be_the_state_of_a_caller(load) -> None:
    total = np.zeros((2, 3), np.float32)
    call = load(accumulator()).bind({"x": X, "total": total}, {"total": total})
    assert call.states == {}
    assert call.copied == ("total",)  # the step that writes it reads it
    for count in (1, 2, 3):
        call()
        np.testing.assert_array_equal(total, count * X)


def test_a_state_that_was_read_before_is_written_in_place(load) -> None:
    network = Network("delay")
    x, state = network.add_input("x", INFO), network.add_input("state", INFO)
    both = network.add_addition(x, state, name="both")
    network.add_output("y", network.add_multiplication(both, both, name="square"))
    network.add_output("state", network.add_subtraction(both, x, name="next"))
    model = load(network)
    state_array = np.ones((2, 3), np.float32)
    call = model.bind({"x": X, "state": state_array}, {"state": state_array})
    assert call.copied == ()
    expected = model.run({"x": X, "state": np.ones((2, 3), np.float32)})
    for _ in range(2):
        np.testing.assert_array_equal(call()["y"], expected["y"])
        np.testing.assert_array_equal(state_array, 1)


def test_an_output_that_is_read_late_does_not_overwrite_its_input(load) -> None:
    network = Network("late")
    x = network.add_input("x", INFO)
    double = network.add_addition(x, x, name="double")
    network.add_output("double", double)
    network.add_output("y", network.add_multiplication(double, x, name="late"))
    x_array = X.copy()
    call = load(network).bind({"x": x_array}, {"double": x_array})
    np.testing.assert_array_equal(call()["y"], 2 * X * X)
    np.testing.assert_array_equal(x_array, 2 * X)


def test_outputs_that_no_step_makes_are_copied(load) -> None:
    network = Network("passed")
    x = network.add_input("x", INFO)
    for name in ("same", "again"):
        network.add_output(name, x)
    network.add_output("one", network.add_constant(np.ones(2, np.float32), name="c"))
    double = network.add_addition(x, x, name="double")
    for name in ("first", "second"):
        network.add_output(name, double)
    x_array = X.copy()
    call = load(network).bind({"x": x_array})
    assert call.copied == ("same", "again", "one", "second")
    for x_array[...] in (X, -X):
        made = call()
        for name in ("same", "again"):
            np.testing.assert_array_equal(made[name], x_array)
        for name in ("first", "second"):
            np.testing.assert_array_equal(made[name], 2 * x_array)
        np.testing.assert_array_equal(made["one"], [1, 1])
        made["one"][...] = 0


def test_device_memory_is_copied_each_time(load, make_backend) -> None:
    inner = make_backend("Inner")
    device = type("Device", (DeviceBackend,), {"__init__": lambda self: _init(self, inner())})
    x = X.copy()
    call = load(sums(), device).bind({"x": x})
    assert call.copied == ("x", "double", "triple")
    for x[...] in (X, -X):
        np.testing.assert_array_equal(call()["triple"], 3 * x)


def _init(backend: Any, inner: Any) -> None:
    DeviceBackend.__init__(backend, "Device", inner)


def test_two_backends_share_the_arrays(make_backend, make_runtime) -> None:
    first = make_backend("First", {"triple": "not this one"})
    runtime = make_runtime(first, make_backend("Second"))
    model = runtime.load_model(sums(), ["First", "Second"])
    assert {row.backend for row in model.report} == {"First", "Second"}
    call = model.bind({"x": X})
    assert call.copied == ()
    np.testing.assert_array_equal(call()["triple"], 3 * X)


def test_what_data_decides_is_decided_in_each_call(make_backend, make_runtime) -> None:
    network = Network("tiled")
    x = network.add_input("x", TensorInfo((1, 3)))
    target = network.add_input("target", TensorInfo((2,), "Signed64"))
    network.add_output("y", network.add_broadcast_to(x, target, name="spread"))
    fake = make_backend("Fake")
    model = make_runtime(fake).load_model(network, ["Fake"])
    shape = np.array([2, 3], np.int64)
    call = model.bind({"x": X[:1], "target": shape})
    assert set(call.copied) == {"x", "target", "y"}
    np.testing.assert_array_equal(call()["y"], np.tile(X[:1], (2, 1)))
    shape[0] = 4
    np.testing.assert_array_equal(call()["y"], np.tile(X[:1], (4, 1)))
    with pytest.raises(InvalidArgumentError, match=r"'y' has shape \[2,3\]: these inputs make"):
        model.bind({"x": X[:1], "target": shape}, {"y": np.empty((2, 3), np.float32)})()


def test_segments_that_wait_for_data_are_run_in_each_call(load, make_backend) -> None:
    class Places(Workload):
        def bind(self, inputs: Any, outputs: Any) -> Step:
            return lambda: outputs[0].assign(np.stack(np.nonzero(inputs[0].map())))

    network = Network("places")
    x = network.add_input("x", TensorInfo((4,)))
    places = network.add_non_zero(x, name="places")
    network.add_output("late", network.add_gather(x, places, axis=0, name="gathered"))
    network.add_output("early", network.add_addition(x, x, name="doubled"))

    class Gathers(Workload):
        def bind(self, inputs: Any, outputs: Any) -> Step:
            def step() -> None:
                outputs[0].map()[...] = inputs[0].map()[inputs[1].map()]

            return step

    kinds = {"NonZero": Places, "Gather": Gathers}
    fake = make_backend(
        "Fake",
        supports=lambda *_: SUPPORTED,
        create_workload=lambda _, layer, model: kinds.get(layer.type, lambda: Adding(layer))(),
    )
    x_array, early = np.array([0, 5, 0, 7], np.float32), np.empty(4, np.float32)
    call = load(network, fake).bind({"x": x_array}, {"early": early})
    assert set(call.copied) == {"x", "late", "early"}
    for x_array[...] in ([0, 5, 0, 7], [1, 2, 3, 0], [0, 0, 0, 0]):
        made = call()
        assert made["early"] is early
        np.testing.assert_array_equal(early, 2 * x_array)
        np.testing.assert_array_equal(made["late"], [[v for v in x_array if v]])


class Adding(Workload):
    """Adds the inputs of an Addition."""

    def __init__(self, layer: Any) -> None:
        assert layer.type == "Addition"

    def bind(self, inputs: Any, outputs: Any) -> Step:
        def step() -> None:
            outputs[0].map()[...] = inputs[0].map() + inputs[1].map()

        return step


def test_real_values_are_converted_in_each_call(make_backend, make_runtime) -> None:
    info = TensorInfo((3,), "QAsymmS8", scales=(0.5,), zero_points=(-2,))
    network = Network("kept")
    state, x = network.add_input("state", info), network.add_input("x", info)
    network.add_output("state", network.add_reshape(x, target_shape=(3,), name="next"))
    network.add_output("y", network.add_reshape(state, target_shape=(3,), name="before"))
    model = make_runtime(make_backend("Fake")).load_model(network, ["Fake"], quantize=True)
    x_array = np.array([1.0, -2.5, 7.5], np.float32)
    call = model.bind({"x": x_array})
    np.testing.assert_array_equal(call()["y"], [0, 0, 0])
    np.testing.assert_array_equal(call()["y"], x_array)
    call.reset()
    np.testing.assert_array_equal(call()["y"], [0, 0, 0])


def strided() -> Any:
    return np.zeros((3, 2), np.float32).T


def misaligned() -> Any:
    return np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)


BOTH = np.zeros((3, 3), np.float32)


@pytest.mark.parametrize(
    ("inputs", "outputs", "states", "message"),
    [
        ([X], None, None, "given as inputs is .*, expected a mapping"),
        ({}, None, None, "nothing was given for input 'x'"),
        ({"x": X, "z": X}, None, None, "there is no input 'z'"),
        ({"x": X.tolist()}, None, None, r"the input 'x' is \[\[.*, expected an array of float32"),
        ({"x": X.astype(np.int32)}, None, None, "the input 'x' is int32: expected float32"),
        ({"x": X[:1]}, None, None, r"the input 'x' has shape \[1,3\]: expected \[2,3\]"),
        ({"x": strided()}, None, None, "the input 'x' is not contiguous in C order"),
        ({"x": misaligned()}, None, None, "the input 'x' begins at an address"),
        ({"x": X}, {"z": X}, None, "there is no output 'z'"),
        ({"x": X}, {"y": strided()}, None, "the array for the output 'y' is not contiguous"),
        ({"x": X}, {"y": misaligned()}, None, "the array for the output 'y' begins at an"),
        ({"x": BOTH[:2]}, {"y": BOTH[1:]}, None, "'y' shares a part of the memory of the input"),
        ({"x": X}, {"total": X.copy()}, None, "nothing was given for input 'total'"),
        ({"x": X}, None, ["total"], r"states is \['total'\], expected a mapping from names of in"),
        ({"x": X}, None, {"totl": "total"}, "there is no input 'totl'"),
        ({"x": X}, None, {"total": "z"}, "there is no output 'z' for the state 'total'"),
        ({}, None, {"total": "total", "x": "total"}, "'total' is the next value of a state"),
        ({"x": X}, {"total": X.copy()}, {"total": "total"}, "'total' is the next value of a st"),
    ],
)
def test_arrays_that_cannot_be_bound_are_refused(
    load, inputs: Any, outputs: Any, states: Any, message: str
) -> None:
    model = load(accumulator())
    with pytest.raises(InvalidArgumentError, match=message):
        model.bind(inputs, outputs, states=states)


def test_a_state_of_an_open_shape_needs_a_first_value(load) -> None:
    network = Network("open")
    state = network.add_input("s", TensorInfo(("N",)))
    network.add_output("s", network.add_addition(state, state, name="double"))
    model = load(network)
    with pytest.raises(InvalidArgumentError, match=r"'s' needs a first value .* shape \[N\]"):
        model.bind({})
    call = model.bind({"s": np.ones(4, np.float32)}, states={"s": "s"})
    call()
    call()
    np.testing.assert_array_equal(call.states["s"], [4, 4, 4, 4])


def test_a_state_keeps_its_shape(load) -> None:
    network = Network("growing")
    state = network.add_input("s", TensorInfo((2,)))
    grown = network.add_pad(state, pad_list=((0, 1),), name="grow")
    network.add_output("s", grown)
    with pytest.raises(InvalidArgumentError, match=r"'s' .*shape \[3\]\) cannot be the next value"):
        load(network).bind({})


def test_a_call_belongs_to_one_thread_at_a_time(load, make_backend) -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Waits(Workload):
        def bind(self, inputs: Any, outputs: Any) -> Step:
            def step() -> None:
                inside.set()
                assert go_on.wait(30)
                outputs[0].map()[...] = 2 * inputs[0].map()

            return step

    network = Network("slow")
    network.add_output("y", network.add_activation(network.add_input("x", INFO)))
    model = load(network, make_backend("Waits", create_workload=lambda *_: Waits()))
    call = model.bind({"x": X})
    thread = threading.Thread(target=call)
    thread.start()
    assert inside.wait(30)
    with pytest.raises(ExecutionError, match="network 'slow' runs already: it belongs to one"):
        call()
    unloading = threading.Thread(target=model.unload)
    unloading.start()
    go_on.set()
    thread.join(30)
    unloading.join(30)
    np.testing.assert_array_equal(call.outputs["y"], 2 * X)
    with pytest.raises(ClosedError, match="bound call of the network 'slow' was closed"):
        call()


def test_threads_with_calls_of_their_own_get_their_own_results(load) -> None:
    model = load(accumulator())
    right = []

    def work(seed: int) -> None:
        call = model.bind({"x": np.full((2, 3), seed, np.float32)})
        right.extend((call()["y"] == 2 * count * seed).all() for count in range(1, 50))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4 * 49


def test_memory_goes_back_with_the_call_the_network_or_the_last_reference(load) -> None:
    allocator = Counting()
    model = load(accumulator(), custom_allocators={"Fake": allocator})
    call = model.bind({"x": X})
    live = allocator.live
    assert live >= 2
    with call:
        call()
    assert allocator.live < live
    call.close()
    with pytest.raises(ClosedError, match="was closed before this call"):
        call()
    held = model.bind({"x": X})
    x = X.copy()
    dropped = model.bind({"x": x})
    gone = weakref.ref(x)
    del dropped, x
    gc.collect()
    assert gone() is None
    assert allocator.live == live
    model.unload()
    assert allocator.live == 0
    with pytest.raises(ClosedError, match="accumulator"):
        held()
    with pytest.raises(ClosedError, match="accumulator"):
        model.bind({"x": X})


def test_bound_arrays_live_as_long_as_the_call(load) -> None:
    call = load(sums()).bind({"x": X.copy()}, {"double": np.empty((2, 3), np.float32)})
    gc.collect()
    np.testing.assert_array_equal(call()["double"], 2 * X)


def test_a_failed_call_leaves_the_states(load, make_backend, meanings) -> None:
    broken = threading.Event()

    class Adds(Workload):
        def bind(self, inputs: Any, outputs: Any) -> Step:
            def step() -> None:
                outputs[0].map()[...] = inputs[0].map() + inputs[1].map()
                if broken.is_set():
                    raise RuntimeError("out of order")

            return step

    call = load(accumulator(), make_backend("Adds", create_workload=lambda *_: Adds())).bind(
        {"x": X}
    )
    call()
    broken.set()
    with pytest.raises(ExecutionError, match=r"layer 'add' \(Addition\) failed on Adds: out of"):
        call()
    broken.clear()
    np.testing.assert_array_equal(call()["y"], 4 * X)


def test_backends_that_listen_hear_of_bound_calls(load, make_backend) -> None:
    heard = []

    class Listens(BackendContext):
        def after_enqueue_workload(self, network_id: int) -> None:
            heard.append(network_id)

    listening = make_backend("Fake", create_context=lambda *_: Listens())
    model = load(sums(), listening)
    call = model.bind({"x": X})
    call()
    call()
    assert heard == [model.id, model.id]
    assert repr(call) == "<BoundCall of the network 'sums'>"


def test_second_names_will_do(load) -> None:
    network = accumulator("next")
    network.aliases = Aliases({"x:0": "x", "h:0": "total"}, {"y:0": "y", "h:1": "next"})
    model = load(network)
    y, total = np.empty((2, 3), np.float32), np.ones((2, 3), np.float32)
    call = model.bind({"x:0": X, "h:0": total}, {"y:0": y}, states={"h:0": "h:1"})
    assert call()["y:0"] is y
    np.testing.assert_array_equal(call()["y"], 2 * (2 * X + 1))
    model.run({"x:0": X, "h:0": total}, {"h:1": total})
    np.testing.assert_array_equal(total, X + 1)
