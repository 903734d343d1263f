# SPDX-License-Identifier: MIT
"""States that a loaded network keeps, against loops that hand them over."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.errors import (
    CancelledError,
    ClosedError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
)
from armnn.graph import Aliases
from armnn.profiling import Recorder
from armnn.runtime import NetworkProperties
from armnn.runtime.states import usual_states

Array = NDArray[Any]
RNG = np.random.default_rng(3)
FRAMES = RNG.standard_normal((40, 1, 3)).astype(np.float32)
KINDS = ("in process", "isolated", "open shape", "decided by data")


def recurrent(rows: Any = 1, *, waits: bool = False) -> Network:
    """Return h' = x / 2 + h / 4, c' = c + h', y = h' + c'.

    Args:
        rows: The size of the first dimension.
        waits: Whether what is computed decides about the shape of an output.
    """
    network = Network("recurrent")
    x, h, c = (network.add_input(name, TensorInfo((rows, 3))) for name in ("x", "h", "c"))
    half, quarter = (network.add_constant(np.float32([value])) for value in (0.5, 0.25))
    new = network.add_addition(
        network.add_multiplication(x, half), network.add_multiplication(h, quarter), name="new"
    )
    total = network.add_addition(c, new, name="total")
    network.add_output("h_out", new)
    network.add_output("c_out", total)
    network.add_output("y", network.add_addition(new, total, name="sum"))
    if waits:
        network.add_output("positive", network.add_non_zero(network.add_activation(x)))
    return network


STATES = {"h_out": "h", "c_out": "c"}


def by_hand(frames: Array, h: Any = 0, c: Any = 0) -> Iterator[tuple[Array, Array, Array]]:
    for x in frames:
        h = x * np.float32(0.5) + h * np.float32(0.25)
        c = c + h
        yield h, c, h + c


@pytest.fixture
def load() -> Iterator[Any]:
    """Return a function that loads the network of a kind."""
    with ExitStack() as stack:

        def make(kind: str = "in process", **options: Any) -> armnn.LoadedNetwork:
            creation = CreationOptions(isolate=["CpuRef"] if kind == "isolated" else [])
            network = recurrent("rows" if kind == "open shape" else 1, waits="data" in kind)
            shapes = [dict.fromkeys("xhc", (1, 3))] if kind == "open shape" else []
            named = {"states": STATES, "shapes": shapes, **options}
            return stack.enter_context(Runtime(creation)).load_model(network, ["CpuRef"], **named)

        yield make


def test_names_choose_the_outputs_of_runs_on_states(load) -> None:
    model = load()
    for each in (model, model.stream()):
        assert list(each.run({"x": FRAMES[0]}, names=["y"])) == ["y"]
        with pytest.raises(InvalidArgumentError, match=r"'h_out' is the next value of a state, wh"):
            each.run({"x": FRAMES[0]}, names=["h_out"])
        copied = np.empty((1, 3), np.float32)
        made = each.run({"x": FRAMES[1]}, {"h_out": copied}, names=["h_out"])
        h, _, _ = list(by_hand(FRAMES[:2]))[1]
        np.testing.assert_allclose(made["h_out"], h, rtol=1e-6)
        assert made["h_out"] is copied


@pytest.mark.parametrize("kind", KINDS)
def test_runs_compute_the_loop_by_hand(load, kind: str) -> None:
    model = load(kind)
    for x, (h, c, y) in zip(FRAMES, by_hand(FRAMES), strict=True):
        made = model.run({"x": x})
        assert made["y"].tobytes() == y.tobytes()
        assert not {"h_out", "c_out"} & set(made)
        found = model.states()
        assert (found["h"].tobytes(), found["c"].tobytes()) == (h.tobytes(), c.tobytes())


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_and_a_submitted_run_go_on_with_the_states(load, kind: str) -> None:
    stream = load(kind).stream()
    x = np.empty((1, 3), np.float32)
    call = stream.bind({"x": x})
    for number, (frame, (h, _, y)) in enumerate(zip(FRAMES, by_hand(FRAMES), strict=True)):
        x[...] = frame
        if number % 4 == 0:
            made = call()
        elif number % 4 == 1:
            made = stream.run({"x": frame})
        elif number % 4 == 2:
            made = stream.submit({"x": frame}).result(60)
        else:
            made = call.submit().result(60)
        assert made["y"].tobytes() == y.tobytes(), number
        assert stream.states()["h"].tobytes() == h.tobytes()


@pytest.mark.parametrize("limit", ["timeout", "cancel", "profiler", "properties"])
def test_a_limited_run_goes_on_with_the_states_in_place(load, limit: str) -> None:
    recorder = Recorder()
    limits = {"timeout": 60, "cancel": threading.Event(), "profiler": recorder}
    given = {limit: limits[limit]} if limit in limits else {}
    properties = NetworkProperties(profiler=recorder if limit == "properties" else None)
    stream = load(properties=properties).stream()
    for number, (x, (_, _, y)) in enumerate(zip(FRAMES, by_hand(FRAMES), strict=True)):
        made = stream.run({"x": x}, **(given if number % 2 else {}))
        assert made["y"].tobytes() == y.tobytes()
    assert stream.copied_bytes == 0
    runs = sum(event.details.get("category") == "run" for event in recorder.events)
    assert runs == {"profiler": 20, "properties": 40}.get(limit, 0)
    types = {
        event.details["type"]
        for event in recorder.events
        if event.details.get("category") == "layer"
    }
    assert types == ({"Addition", "Multiplication"} if runs else set())


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_stopped_leaves_the_states(load, kind: str) -> None:
    stream, stopped = load(kind).stream(), threading.Event()
    stopped.set()
    first, second = by_hand(FRAMES[:2])
    stream.run({"x": FRAMES[0]})
    for limits, error in (
        ({"timeout": 0}, DeadlineExceededError),
        ({"cancel": stopped}, CancelledError),
    ):
        with pytest.raises(error):
            stream.run({"x": FRAMES[0]}, **limits)
        assert stream.states()["c"].tobytes() == first[1].tobytes()
    assert stream.run({"x": FRAMES[1]})["y"].tobytes() == second[2].tobytes()


def test_streams_have_states_of_their_own(load) -> None:
    model = load()
    first, second = model.stream(), model.stream()
    alone = [y for _, _, y in by_hand(FRAMES)]
    for x, expected in zip(FRAMES, alone, strict=True):
        first.run({"x": x})
        second.run({"x": 2 * x})
        assert model.run({"x": x})["y"].tobytes() == expected.tobytes()
    np.testing.assert_array_equal(second.states()["c"], 2 * first.states()["c"])


def test_four_threads_have_four_streams(load) -> None:
    model = load()
    right: list[bool] = []

    def work(factor: float) -> None:
        stream, frames = model.stream(), FRAMES * np.float32(factor)
        for x, (_, _, y) in zip(frames, by_hand(frames), strict=True):
            right.append(stream.run({"x": x})["y"].tobytes() == y.tobytes())

    threads = [threading.Thread(target=work, args=(factor,)) for factor in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4 * len(FRAMES)


def test_states_are_saved_set_and_reset(load) -> None:
    model = load()
    for x in FRAMES[:5]:
        model.run({"x": x})
    saved = model.states()
    rest = [model.run({"x": x})["y"] for x in FRAMES[5:]]
    other = model.stream()
    other.set_states(saved)
    for x, y in zip(FRAMES[5:], rest, strict=True):
        assert other.run({"x": x})["y"].tobytes() == y.tobytes()
    other.set_states({"h": np.ones((1, 3), np.float32)})
    (_, _, y), *_ = by_hand(FRAMES[:1], h=np.float32(1), c=other.states()["c"])
    np.testing.assert_array_equal(other.run({"x": FRAMES[0]})["y"], y)
    model.reset()
    assert not any(array.any() for array in model.states().values())
    (_, _, y), *_ = by_hand(FRAMES[:1])
    np.testing.assert_array_equal(model.run({"x": FRAMES[0]})["y"], y)


def test_the_output_of_a_state_comes_when_it_is_asked_for(load) -> None:
    model = load()
    asked = np.empty((1, 3), np.float32)
    for x, (h, _, y) in zip(FRAMES, by_hand(FRAMES), strict=True):
        made = model.run({"x": x}, outputs={"h_out": asked})
        assert made["h_out"] is asked
        assert (asked.tobytes(), made["y"].tobytes()) == (h.tobytes(), y.tobytes())


def test_calls_of_the_model_have_states_of_their_own(load) -> None:
    model = load()
    x = FRAMES[0].copy()
    first, second = model.bind({"x": x}), model.bind({"x": x})
    first()
    np.testing.assert_array_equal(first()["y"], [y for _, _, y in by_hand([x, x])][1])
    np.testing.assert_array_equal(second()["y"], next(by_hand([x]))[2])
    assert not model.states()["c"].any()


def test_rows_of_other_sizes_share_the_states() -> None:
    network = Network("sum of rows")
    x, total = (
        network.add_input("x", TensorInfo(("n", 3))),
        network.add_input("s", TensorInfo((3,))),
    )
    rows = network.add_reduce(x, reduce_operation="Sum", axis=(0,), name="rows")
    network.add_output("s_out", network.add_addition(rows, total, name="add"))
    network.add_output("y", network.add_reduce(x, reduce_operation="Max", axis=(0,), name="max"))
    model = armnn.load_model(network, ["CpuRef"], states="auto")
    ones = np.ones((20, 3), np.float32)
    for count in range(1, 20):
        model.run({"x": ones[:count]})
    np.testing.assert_array_equal(model.states()["s"], [190] * 3)


def test_a_failed_run_leaves_the_states(load) -> None:
    model = load()
    model.run({"x": FRAMES[0]})
    before = model.states()
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(armnn.errors.CancelledError):
        model.run({"x": FRAMES[1]}, cancel=cancel)
    assert all((model.states()[name] == before[name]).all() for name in before)


def test_a_stream_belongs_to_one_thread_at_a_time(load) -> None:
    model = load()
    stream = model.stream()
    stream.run({"x": FRAMES[0]})
    inside, go_on = threading.Event(), threading.Event()

    class Waits:
        def is_set(self) -> bool:
            inside.set()
            return not go_on.wait(30)

    thread = threading.Thread(
        target=stream.run, args=({"x": FRAMES[0]},), kwargs={"cancel": Waits()}
    )
    thread.start()
    assert inside.wait(30)
    with pytest.raises(ExecutionError, match=r"'recurrent' runs already: .*stream\(\) makes one"):
        stream.run({"x": FRAMES[1]})
    model.run({"x": FRAMES[1]})
    go_on.set()
    thread.join(30)


def test_a_model_is_pickled_with_its_states(tmp_path: Path) -> None:
    armnn.save(recurrent(), tmp_path / "m.armnn")
    model = armnn.load_model(tmp_path / "m.armnn", ["CpuRef"], states=STATES)
    again = pickle.loads(pickle.dumps(model))
    for x, (_, _, y) in zip(FRAMES, by_hand(FRAMES), strict=True):
        assert again.run({"x": x})["y"].tobytes() == y.tobytes()


@pytest.mark.parametrize("kind", ["in process", "decided by data"])
def test_a_model_goes_with_its_streams(load, kind: str) -> None:
    gc.disable()  # no cycle may keep it
    try:
        model = load(kind)
        model.run({"x": FRAMES[0]})
        stream = model.stream()
        stream.run({"x": FRAMES[0]})
        gone = weakref.ref(model)
        del model
        assert gone() is not None
        stream.run({"x": FRAMES[0]})
        del stream
        assert gone() is None
    finally:
        gc.enable()


def test_variables_are_kept_unasked_and_may_be_handed_over() -> None:
    network = Network("variable")
    x, total = network.add_input("x", TensorInfo((2,))), network.add_input("v", TensorInfo((2,)))
    network.add_output("v", network.add_addition(x, total, name="add"))
    network.metadata["initial v"] = "5"
    model = armnn.load_model(network, ["CpuRef"])
    one = np.ones(2, np.float32)
    handed = model.run({"x": one, "v": one})
    np.testing.assert_array_equal(handed["v"], [2, 2])
    for count in range(1, 4):
        assert model.run({"x": one}) == {}
        np.testing.assert_array_equal(model.states()["v"], [5 + count] * 2)
    model.reset()
    np.testing.assert_array_equal(model.states()["v"], [5, 5])
    np.testing.assert_array_equal(model.run({"x": one, "v": one})["v"], [2, 2])
    with pytest.raises(InvalidArgumentError, match="nothing was given for input 'x'"):
        model.run({"v": one})


def test_second_names_will_do() -> None:
    network = recurrent()
    network.aliases = Aliases({"x:0": "x", "h:0": "h"}, {"h:1": "h_out", "y:0": "y"})
    model = armnn.load_model(network, ["CpuRef"], states={"h:1": "h:0", "c_out": "c"})
    for x, (_, _, y) in zip(FRAMES, by_hand(FRAMES), strict=True):
        assert model.run({"x:0": x})["y:0"].tobytes() == y.tobytes()
    model.set_states({"h:0": np.ones((1, 3), np.float32)})
    assert model.states()["h"].all()


def test_real_values_are_kept_as_the_caller_sees_them() -> None:
    network = Network("stored")
    info = TensorInfo((2,), "QAsymmU8", 0.5, 10)
    x, total = network.add_input("x", info), network.add_input("s", info)
    made = network.add("Addition", [x, total], name="add", outputs=[info]).output
    network.add_output("s_out", made)
    model = armnn.load_model(network, ["CpuRef"], states={"s_out": "s"}, quantize=True)
    for _ in range(3):
        model.run({"x": np.float32([0.5, 1])})
    np.testing.assert_array_equal(model.states()["s"], np.float32([1.5, 3]))


REFUSED: tuple[tuple[Any, str], ...] = (
    (
        {"none": "h"},
        r"^there is no output .none. that could be the next value of the state .h.: the network ",
    ),
    ({"h": "h_out"}, r"^there is no output 'h' .*: write \{'h_out': 'h'\}, the output first$"),
    ({"h_out": "none"}, r"^there is no input 'none' of which the output 'h_out' could be"),
    (
        {"h_out": "h", "y": "h"},
        r"^the outputs 'h_out' and 'y' are both .* of the state 'h'",
    ),
    (["h"], r"^states is \['h'\], expected a mapping from names of outputs .*, or \"auto\""),
    ({"h_out": 3}, r"^the input of which the output 'h_out' is the next value is 3, exp"),
    ("h", r"^states is 'h', expected a mapping"),
)


@pytest.mark.parametrize(("states", "message"), REFUSED)
def test_what_is_no_state_is_refused(load, states: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        load(states=states)


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (TensorInfo((1, 4)), r"'new' \(.*\[1,3\]\) cannot be .* state 's' \(.*\[1,4\]\)"),
        (TensorInfo((3,)), r"'new' .* cannot be .* state 's'"),
        (TensorInfo((1, 3), "Float16"), r"'new' .*Float32.* cannot be .* 's' \(.*Float16"),
    ],
)
def test_an_output_of_another_shape_or_type_is_refused(info: TensorInfo, message: str) -> None:
    network = Network("unlike")
    x, state = network.add_input("x", TensorInfo((1, 3))), network.add_input("s", info)
    network.add_output("new", network.add_activation(x))
    network.add_output("used", network.add_activation(state))
    with pytest.raises(InvalidArgumentError, match=message):
        armnn.load_model(network, ["CpuRef"], states={"new": "s"})


def test_an_output_whose_shape_turns_out_to_be_another_is_refused_by_its_first_run() -> None:
    network = Network("grows")
    x, past = (
        network.add_input("x", TensorInfo((1, 3))),
        network.add_input("past", TensorInfo(("n", 3))),
    )
    network.add_output("present", network.add_concat([past, x], axis=0, name="join"))
    shapes = [{"past": (2, 3)}]
    assert usual_states(*(network_infos(network))) == {}
    model = armnn.load_model(network, ["CpuRef"], states={"present": "past"}, shapes=shapes)
    with pytest.raises(
        InvalidArgumentError, match=r"'present' .*\[3,3\]\) cannot be .* 'past' .*\[2,3\]\)$"
    ):
        model.run({"x": FRAMES[0]})


def network_infos(network: Network) -> tuple[dict[str, TensorInfo], dict[str, TensorInfo]]:
    return (
        {layer.name: layer.output.info for layer in network.inputs},
        {layer.name: layer.input_infos[0] for layer in network.outputs},
    )


def test_arguments_of_a_stateful_model_are_checked(load) -> None:
    model = load()
    one = np.ones((1, 3), np.float32)
    with pytest.raises(
        InvalidArgumentError, match=r"^the input 'h' is a state, whose next value is the output"
    ):
        model.run({"x": one, "h": one})
    with pytest.raises(
        InvalidArgumentError, match="'h' is a state, whose next value is the output"
    ):
        model.stream().bind({"x": one, "h": one})
    with pytest.raises(InvalidArgumentError, match="'h_out' is the next value of a state of the"):
        model.stream().bind({"x": one}, {"h_out": one})
    with pytest.raises(InvalidArgumentError, match=r"there is no state 'x': .* are 'h', 'c'$"):
        model.set_states({"x": one})
    with pytest.raises(InvalidArgumentError, match=r"the state 'h' has shape \[2,3\]"):
        model.set_states({"h": np.ones((2, 3), np.float32)})
    with pytest.raises(InvalidArgumentError, match=r"the state 'h' .*float64"):
        model.set_states({"h": np.ones((1, 3))})
    with pytest.raises(
        InvalidArgumentError,
        match=r"cannot be rewound: each step replaces all of the states 'h', 'c'",
    ):
        model.rewind(1)
    with pytest.raises(InvalidArgumentError, match=r"'x' has shape \[2,3\]: expected \[1,3\]"):
        model.run({"x": np.ones((2, 3), np.float32)})
    with pytest.raises(InvalidArgumentError, match="nothing was given for input 'x'"):
        model.run({})
    plain = load(states=None)
    with pytest.raises(InvalidArgumentError, match=r"has no states: load_model\(\.\.\., states"):
        plain.stream()
    assert plain.states() == {}


def test_a_state_of_an_open_shape_has_that_of_the_first_inputs(load) -> None:
    model = load("open shape", shapes=[])
    with pytest.raises(InvalidArgumentError, match=r"\[rows,3\] of the state 'h' is not known"):
        model.states()
    zeros = np.zeros((1, 3), np.float32)
    model.set_states({"h": zeros, "c": zeros})
    for stream in (model, model.stream()):
        made = stream.run({"x": FRAMES[0]})["y"]
        np.testing.assert_array_equal(made, next(by_hand(FRAMES[:1]))[2])


def test_all_runs_of_a_stream_have_the_sizes_of_the_first_one_that_ended() -> None:
    network = Network("outer")
    x, h = (
        network.add_input("x", TensorInfo(("b", "n"))),
        network.add_input("h", TensorInfo(("b", 1))),
    )
    last = network.add_reduce(x, reduce_operation="Sum", axis=(1,), keep_dims=True)
    network.add_output("hn", network.add_addition(h, last))
    network.add_output("y", network.add_addition(x, h, name="y"))
    stream = armnn.load_model(network, ["CpuRef"], states="auto").stream()
    for wrong in (np.ones((3, 2), np.int8), np.ones((3, 2, 1), np.float32)):
        with pytest.raises(InvalidArgumentError):
            stream.run({"x": wrong})
    for columns in (2, 5):
        stream.run({"x": np.ones((4, columns), np.float32)})
    np.testing.assert_array_equal(stream.states()["h"], np.full((4, 1), 7))
    with pytest.raises(
        InvalidArgumentError, match=r"'x' has shape \[3,2\]: expected b=4, as the state 'h' of the"
    ):
        stream.run({"x": np.ones((3, 2), np.float32)})


USUAL = (
    (
        {"past_key_values.0.key": (1, 8), "past_key_values.0.value": (1, 8)},
        "present.0.key",
        "past_key_values.0.key",
    ),
    ({"past.0.key": (1, 8)}, "present.0.key", "past.0.key"),
    ({"h": (1, 8)}, "hn", "h"),
    ({"state": (2, None, 8)}, "stateN", "state"),
    ({"h_in": (1, 8)}, "h_out", "h_in"),
    ({"c": (1, 8)}, "new_c", "c"),
    ({"same": (1, 8)}, "same", "same"),
    ({"h": (1, 8), "h_in": (1, 8)}, "h_out", None),
    ({"past_key_values.0.key": (1, "past", 8)}, "present.0.key", None),
    ({"x": (1, 8)}, "y", None),
    ({"h": (1, 9)}, "hn", None),
    ({"h": (1, 8), "x": ("n", 8)}, "new_h", "h"),
    ({"h": (1, 8), "x": ("n", 8)}, "next_h", None),
)


@pytest.mark.parametrize(("inputs", "output", "expected"), USUAL)
def test_usual_names_tell_of_states_where_nothing_else_can_be_meant(
    inputs: Mapping[str, Any], output: str, expected: str | None
) -> None:
    infos = {name: TensorInfo(shape) for name, shape in inputs.items()}
    shape = (None, None, None) if output == "stateN" else (1, 8)
    made = TensorInfo((1, "past + 1", 8) if "past" in str(inputs.values()) else shape)
    if "x" in inputs:  # a name that no input has says nothing, one that an input has is another
        made = TensorInfo(("any" if output == "new_h" else "n", 8))
    found = usual_states(infos, {output: made})
    assert found == ({} if expected is None else {expected: output})


# -- states that fill up ---------------------------------------------------------------------------


def decoder(capacity: Any = 300, rows: Any = "rows") -> Network:
    """Return attention of x to a cache of all x so far."""
    network = Network("decoder")
    x = network.add_input("x", TensorInfo((1, 2, rows, 4)))
    past, at, count = (
        network.add_input(name, TensorInfo(shape, kind))
        for name, shape, kind in (
            ("past", (1, 2, capacity, 4), "Float32"),
            ("at", (1,), "Signed64"),
            ("count", (), "Signed64"),
        )
    )
    keys = network.add_tensor_scatter(past, x, at, name="scatter")
    network.add_output("present", keys)
    network.add_output("y", network.add_cached_attention(x, keys, keys, count, name="attention"))
    return network


def attended(seen: Array, rows: int) -> Array:
    """Return what the last rows see of all rows up to themselves, in float64."""
    made = np.zeros((1, 2, rows, 4))
    for head in range(2):
        for row in range(rows):
            keys = seen[0, head, : seen.shape[2] - rows + row + 1].astype(np.float64)
            weights = np.exp(keys @ keys[-1] / 2)
            made[0, head, row] = weights @ keys / weights.sum()
    return made


STEPS = (5, 1, 1, 3, 1, 240, 6, 1)


@pytest.mark.parametrize("kind", ["in process", "isolated"])
@pytest.mark.parametrize("capacity", [300, "capacity"])
def test_a_cache_gets_its_new_rows_only(kind: str, capacity: Any) -> None:
    creation = CreationOptions(isolate=["CpuRef"] if kind == "isolated" else [])
    with Runtime(creation) as runtime:
        model = runtime.load_model(decoder(capacity), ["CpuRef"], states="auto")
        stream = model.stream()
        seen = np.empty((1, 2, 0, 4), np.float32)
        for rows in STEPS:
            x = RNG.standard_normal((1, 2, rows, 4)).astype(np.float32)
            before, valid = stream.copied_bytes, seen.nbytes
            seen = np.concatenate([seen, x], 2)
            np.testing.assert_allclose(stream.run({"x": x})["y"], attended(seen, rows), rtol=1e-4)
            moved = valid if capacity != 300 and valid // 32 <= 256 < seen.shape[2] else 0
            assert stream.copied_bytes - before == x.nbytes + moved
            assert stream.length == seen.shape[2]
            assert stream.states()["past"].tobytes() == seen.tobytes()


def test_steps_of_a_cache_have_the_bits_of_a_loop_by_hand() -> None:
    stateful = armnn.load_model(decoder(64), ["CpuRef"], states={"present": "past"})
    plain = armnn.load_model(decoder(64), ["CpuRef"])
    past = np.zeros((1, 2, 64, 4), np.float32)
    for number in range(64):
        x = RNG.standard_normal((1, 2, 1, 4)).astype(np.float32)
        given = {"x": x, "past": past, "at": np.array([number]), "count": np.array(number + 1)}
        made = plain.run(given)
        past = made["present"]
        assert stateful.run({"x": x})["y"].tobytes() == made["y"].tobytes()
    with pytest.raises(
        ExecutionError, match=r"^the states 'past' are full: 64 of 64 rows are used, .* adds 1;"
    ):
        stateful.run({"x": x})
    assert stateful.states()["past"].tobytes() == past.tobytes()


def test_a_step_of_more_rows_than_a_cache_has_names_the_cache() -> None:
    stream = armnn.load_model(decoder(8), ["CpuRef"], states="auto").stream()
    shape = (1, 2, 9, 4)
    x = np.ones(shape, np.float32)
    for call in (
        lambda: stream.bind({"x": shape}),
        lambda: stream.bind({"x": x}),
        lambda: stream.run({"x": x}),
    ):
        with pytest.raises(ExecutionError) as caught:
            call()
        told = f"the states 'past' are full: 0 of {shape[2] - 1} rows are used, and this call adds "
        assert str(caught.value).startswith(f"{told}{shape[2]};")


def test_a_cache_is_rewound_saved_and_reset() -> None:
    model = armnn.load_model(decoder(32), ["CpuRef"], states="auto")
    x = RNG.standard_normal((8, 1, 2, 2, 4)).astype(np.float32)
    first = [model.run({"x": each})["y"] for each in x]
    saved = model.states()
    assert saved["past"].shape == (1, 2, 16, 4)
    model.rewind(6)
    again = [model.run({"x": each})["y"] for each in x[3:]]
    assert [y.tobytes() for y in again] == [y.tobytes() for y in first[3:]]
    other = model.stream()
    other.set_states({"past": saved["past"][:, :, :4]})
    assert other.length == 4
    assert other.run({"x": x[2]})["y"].tobytes() == first[2].tobytes()
    model.reset()
    assert model.states()["past"].shape == (1, 2, 0, 4)
    assert model.run({"x": x[0]})["y"].tobytes() == first[0].tobytes()
    with pytest.raises(InvalidArgumentError, match="cannot be rewound to 3 rows: expected 0 to 2"):
        model.rewind(3)
    with pytest.raises(InvalidArgumentError, match=r"'at' counts the rows of the states 'past'"):
        model.run({"x": x[0], "at": np.array([0])})


@pytest.mark.parametrize("how", ["call", "submit", "kept output"])
def test_a_bound_call_goes_on_in_a_cache_that_has_grown(how: str) -> None:
    stream = armnn.load_model(decoder("n"), ["CpuRef"], states="auto").stream(capacity=5)
    x, y = np.empty((2, 1, 2, 1, 4), np.float32)
    call = stream.bind({"x": x}, {"y": y} if how == "kept output" else {})
    assert [*call.inputs] == ["x"]
    made, seen = call.outputs["y"], np.empty((1, 2, 0, 4), np.float32)
    for count in range(1, 270):  # it is full after 5 steps and 256, once because of another run
        x[...] = RNG.standard_normal(x.shape)
        seen = np.concatenate([seen, x], 2)
        if count == 257:
            stream.run({"x": x})
            continue
        found = call() if how != "submit" else call.submit().result(60)
        assert found["y"] is made
        np.testing.assert_allclose(made, attended(seen, 1), rtol=1e-4, atol=1e-6)
        assert stream.length == count
    assert call.states["past"].shape[2] == 512
    assert stream.states()["past"].tobytes() == seen.tobytes()
    call.close()
    stream.rewind(0)
    stream.run({"x": np.ones((1, 2, 600, 4), np.float32)})
    with pytest.raises(ClosedError):
        call()


def test_calls_in_a_cache_that_has_grown_free_what_they_had() -> None:
    model = armnn.load_model(decoder("n"), ["CpuRef"], states="auto")
    stream = model.stream(capacity=1)
    call = stream.bind({"x": np.ones((1, 2, 1, 4), np.float32)})
    before = weakref.ref(call._contexts[0])
    call()
    call()
    gc.collect()
    assert before() is None
    gone = weakref.ref(model)
    del model, stream, call
    gc.collect()
    assert gone() is None


def test_a_step_may_have_more_rows_than_a_cache_begins_with() -> None:
    model = armnn.load_model(decoder("n"), ["CpuRef"], states="auto")
    x = RNG.standard_normal((1, 2, 900, 4)).astype(np.float32)
    for begin, end in ((0, 300), (300, 900)):
        made = model.run({"x": x[:, :, begin:end]})["y"]
        expected = attended(x[:, :, :end], end - begin)
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-6)
    assert model.states()["past"].tobytes() == x.tobytes()


@pytest.mark.parametrize("what", ["rewind", "set_states", "states"])
def test_a_cache_that_grows_while_another_thread_waits(what: str) -> None:
    stream = armnn.load_model(decoder("n"), ["CpuRef"], states="auto").stream()
    x = RNG.standard_normal((1, 2, 300, 4)).astype(np.float32)
    stream.run({"x": x[:, :, :1]})
    memory = stream._states.memory(stream.network)
    real = memory.lock

    class Waited:
        """A lock that is had only after another thread has made a step."""

        def __enter__(self) -> None:
            memory.lock = real
            stream.run({"x": x[:, :, 1:]})
            real.acquire()

        def __exit__(self, *_: object) -> None:
            real.release()

    memory.lock = Waited()  # type: ignore[assignment]
    if what == "rewind":
        stream.rewind(290)
        assert stream.length == 290
    elif what == "set_states":
        stream.set_states({"past": x[:, :, :2]})
        assert stream.states()["past"].tobytes() == x[:, :, :2].tobytes()
    else:
        assert stream.states()["past"].tobytes() == x.tobytes()


def test_a_cache_that_another_layer_reads_is_copied() -> None:
    network = decoder(16)
    (past,) = (layer.output for layer in network.inputs if layer.name == "past")
    network.add_output("old", network.add_activation(past, function="ReLu", name="reader"))
    model = armnn.load_model(network, ["CpuRef"], states={"present": "past"})
    one = np.ones((1, 2, 1, 4), np.float32)
    for number in range(3):
        made = model.run({"x": one, "at": np.array([number]), "count": np.array(number + 1)})
        assert made["old"][0, 0, :, 0].sum() == number


def test_caches_are_known_of_a_prepared_model(tmp_path: Path) -> None:
    armnn.save(decoder(16, 1), tmp_path / "m.armnn", beyond_arm_nn=True)
    for _ in range(2):
        named = {"cache_dir": tmp_path / "cache", "states": "auto"}
        model = armnn.load_model(tmp_path / "m.armnn", ["CpuRef"], **named)
        for count in range(1, 4):
            model.run({"x": np.ones((1, 2, 1, 4), np.float32)})
            assert model.states()["past"].shape == (1, 2, count, 4)
        model.unload()
