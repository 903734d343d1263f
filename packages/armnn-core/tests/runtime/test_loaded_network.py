# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn.backends import Step, Workload
from armnn.errors import (
    CancelledError,
    ClosedError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
)
from armnn.quantization import quantize

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def scaled(batch: Any = 2) -> Network:
    """Return (x + x) * x over [batch, 3]."""
    network = Network("scaled")
    x = network.add_input("x", TensorInfo((batch, 3)))
    doubled = network.add_addition(x, x, name="double")
    network.add_output("y", network.add_multiplication(doubled, x, name="times"))
    return network


@pytest.fixture
def runtime(make_backend, make_runtime):
    return make_runtime(make_backend("Fake"))


def test_a_run_computes_the_outputs(runtime) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    assert model.inputs == {"x": TensorInfo((2, 3))}
    assert model.outputs == {"y": TensorInfo((2, 3))}
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X * X)


def test_outputs_are_arrays_of_their_own(runtime) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    first = model.run({"x": X})["y"]
    model.run({"x": X + 1})
    np.testing.assert_array_equal(first, 2 * X * X)
    assert first.flags.owndata


def test_inputs_may_be_strided_or_lists(runtime) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    strided = np.zeros((3, 4), np.float32).T[::2]
    strided[:] = X
    assert not strided.flags.c_contiguous
    np.testing.assert_array_equal(model.run({"x": strided})["y"], 2 * X * X)
    np.testing.assert_array_equal(model.run({"x": X.tolist()})["y"], 2 * X * X)


def test_an_input_can_be_an_output_and_a_constant_too(runtime) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,)))
    network.add_output("same", x)
    network.add_output("fixed", network.add_constant(np.array([5.0], np.float32)))
    outputs = runtime.load_model(network, ["Fake"]).run({"x": np.ones(2, np.float32)})
    assert [array.tolist() for array in outputs.values()] == [[1, 1], [5]]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"nothing was given for input 'x': the network 'scaled' takes 'x' \(Float32\[2,3\]\)"),
        ({"z": X}, "there is no input 'z'.*takes 'x'"),
        ({"x": X, "z": X}, "there is no input 'z'"),
        ({"x": X.astype(np.float64)}, "float64: expected float32 .Float32.; .*astype.np.float32."),
        (
            X,
            r"inputs is an array of float32\[2,3\], expected a mapping .*{'x': ...}: the net.* 'x'",
        ),
        ([X], "what is given as inputs is .*expected a mapping from their names, such as {'x'"),
        (5, "what is given as inputs is 5, expected a mapping"),
        ({"x": None}, "the input 'x' is None, expected an array of float32"),
        ({"x": "abc"}, "the input 'x' is 'abc', expected an array of float32"),
        (
            {"x": [[1, 2], [3]]},
            "'x' cannot be converted to an array: .*expected an array of float32",
        ),
        ({"x": X[:1]}, r"'x' has shape \[1,3\]: expected \[2,3\]"),
        ({"x": X.ravel()}, r"'x' has shape \[6\]: expected \[2,3\]"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(runtime, inputs: Any, message: str) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    with pytest.raises(InvalidArgumentError, match=message):
        model.run(inputs)


def test_every_batch_size_gets_its_plan_and_all_are_right(runtime) -> None:
    model = runtime.load_model(scaled("N"), ["Fake"])
    assert model.inputs["x"].shape == ("N", 3)
    for batch in (1, 4, 1, 0, 4):
        x = np.arange(batch * 3, dtype=np.float32).reshape(batch, 3)
        np.testing.assert_array_equal(model.run({"x": x})["y"], 2 * x * x)
    labels = dict.fromkeys(row.specialisation for row in model.report)
    assert list(labels) == ["x=[1,3]", "x=[0,3]", "x=[4,3]"]


def test_the_least_recently_used_plan_goes(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Fake"), plan_limit=2)
    model = runtime.load_model(scaled("N"), ["Fake"])
    for batch in (1, 2, 1, 3):
        model.run({"x": np.zeros((batch, 3), np.float32)})
    assert [row.specialisation for row in model.report][::2] == ["x=[1,3]", "x=[3,3]"]


def test_plans_can_be_made_before_the_first_run(runtime) -> None:
    model = runtime.load_model(scaled("N"), ["Fake"], shapes=[{"x": (7, 3)}])
    assert {row.specialisation for row in model.report} == {"x=[7,3]"}
    with pytest.raises(InvalidArgumentError, match=r"'x' needs a shape: its own \[N,3\]"):
        model.prepare({})
    with pytest.raises(InvalidArgumentError, match="there is no input 'z'"):
        model.prepare({"x": (1, 3), "z": (1,)})
    with pytest.raises(InvalidArgumentError, match=r"shape \[1,4\]: expected \[N,3\]"):
        model.prepare({"x": (1, 4)})


def test_a_plan_is_made_for_the_data_that_decides_about_it(make_backend, make_runtime) -> None:
    meanings = {"Tile": lambda layer, x: np.tile(x, layer.descriptor.multiples)}
    runtime = make_runtime(tiling_backend(make_backend, meanings))
    network = Network()
    x = network.add_input("x", TensorInfo((None,)))
    repeats = network.add_input("repeats", TensorInfo((1,), DataType.SIGNED64))
    network.add_output("y", network.add_tile(x, repeats))
    shapes = [{"x": (2,), "repeats": np.array([count])} for count in (3, 4)]
    model = runtime.load_model(network, ["Tiler"], shapes=shapes)
    assert list(dict.fromkeys(row.specialisation for row in model.report)) == [
        "x=[2], repeats=[1], repeats=[3]",
        "x=[2], repeats=[1], repeats=[4]",
    ]
    with pytest.raises(InvalidArgumentError, match=r"data of the input 'repeats' .* decides how"):
        model.prepare({"x": (2,)})


def test_outputs_bear_the_names_that_the_file_gives_unknown_dimensions(runtime) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None, 3)))
    network.add_output("y", network.add_addition(x, x))
    network.add_output("z", network.add_multiplication(x, x))
    network.declared_shapes |= {"y": ("rows", 7), "z": (1, 2, 3)}
    model = runtime.load_model(network, ["Fake"])
    assert {name: info.shape for name, info in model.outputs.items()} == {
        "y": ("rows", 3),
        "z": (None, 3),
    }


def test_values_that_decide_about_shapes_have_plans_of_their_own(
    make_backend, make_runtime
) -> None:
    meanings = {"Tile": lambda layer, x: np.tile(x, layer.descriptor.multiples)}
    runtime = make_runtime(tiling_backend(make_backend, meanings))
    network = Network("tiles")
    x = network.add_input("x", TensorInfo((2,)))
    n = network.add_input("n", TensorInfo((1,), DataType.SIGNED64))
    network.add_output("y", network.add_tile(x, n))
    model = runtime.load_model(network, ["Tiler"])
    for count in (1, 3, 0, 3):
        y = model.run({"x": np.array([1, 2], np.float32), "n": np.array([count])})["y"]
        assert y.tolist() == [1, 2] * count
    labels = list(dict.fromkeys(row.specialisation for row in model.report))
    assert labels == ["x=[2], n=[1], n=[1]", "x=[2], n=[1], n=[0]", "x=[2], n=[1], n=[3]"]


def tiling_backend(make_backend, meanings) -> Any:
    class Computes(Workload):
        def __init__(self, layer: Any) -> None:
            self.layer = layer

        def bind(self, inputs, outputs) -> Step:
            def step() -> None:
                (output,) = outputs
                result = meanings[self.layer.type](self.layer, *(h.map() for h in inputs))
                if output.info.is_static:
                    output.map()[...] = result
                else:
                    output.assign(result)

            return step

    return make_backend(
        "Tiler",
        supports=lambda _, layer, model: __import__("armnn").backends.SUPPORTED,
        create_workload=lambda _, layer, model: Computes(layer),
    )


def test_what_follows_computed_shapes_runs_as_a_later_segment(make_backend, make_runtime) -> None:
    meanings = {
        "NonZero": lambda _, x: np.stack(np.nonzero(x)).astype(np.int64),
        "Addition": lambda _, x, y: x + y,
        "Multiplication": lambda _, x, y: x * y,
    }
    runtime = make_runtime(tiling_backend(make_backend, meanings))
    network = Network("places")
    x = network.add_input("x", TensorInfo(("N",)))
    places = network.add_non_zero(x, name="places")
    network.add_output("late", network.add_addition(places, places, name="doubled"))
    network.add_output("early", network.add_multiplication(x, x, name="squared"))
    model = runtime.load_model(network, ["Tiler"])
    assert model.outputs["late"].shape == (1, None)
    for values in ([0, 5, 0, 7], [1, 1, 1, 1], [0, 0, 0, 0]):
        outputs = model.run({"x": np.array(values, np.float32)})
        assert list(outputs) == ["late", "early"]
        assert outputs["late"].tolist() == [[2 * i for i, v in enumerate(values) if v]]
        assert outputs["early"].tolist() == [v * v for v in values]
    assert {row.layer for row in model.report} == {"places", "squared", "doubled"}


def test_a_layer_that_assigns_a_wrong_array_is_told(make_backend, make_runtime) -> None:
    meanings = {"NonZero": lambda _, x: np.zeros((2, 2), np.int64)}
    runtime = make_runtime(tiling_backend(make_backend, meanings))
    network = Network()
    x = network.add_input("x", TensorInfo((3,)))
    network.add_output("y", network.add_non_zero(x, name="places"))
    model = runtime.load_model(network, ["Tiler"])
    with pytest.raises(ExecutionError, match=r"'places'.*computed int64 of shape \[2,2\]|\[2, 2\]"):
        model.run({"x": np.zeros(3, np.float32)})


def failing(make_backend, error: BaseException) -> Any:
    class Fails(Workload):
        def bind(self, inputs, outputs) -> Step:
            def step() -> None:
                raise error

            return step

    return make_backend("Fake", create_workload=lambda *_: Fails())


def test_a_layer_that_fails_is_named_with_its_backend_and_the_cause(
    make_backend, make_runtime
) -> None:
    model = make_runtime(failing(make_backend, ZeroDivisionError("boom"))).load_model(scaled())
    for arguments in ({}, {"timeout": 10}):
        with pytest.raises(
            ExecutionError, match=r"layer 'double' \(Addition\) failed on Fake: boom"
        ) as failure:
            model.run({"x": X}, **arguments)
        assert isinstance(failure.value.__cause__, ZeroDivisionError)


def test_an_interrupt_is_not_dressed_up(make_backend, make_runtime) -> None:
    model = make_runtime(failing(make_backend, KeyboardInterrupt())).load_model(scaled())
    with pytest.raises(KeyboardInterrupt):
        model.run({"x": X})


def test_a_run_can_be_cancelled_or_run_out_of_time(runtime) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    cancel = threading.Event()
    model.run({"x": X}, cancel=cancel, timeout=60)
    cancel.set()
    with pytest.raises(CancelledError, match="cancelled before layer 'double'"):
        model.run({"x": X}, cancel=cancel)
    with pytest.raises(DeadlineExceededError, match="time was up before layer 'double'"):
        model.run({"x": X}, timeout=-1)
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X * X)


def test_many_threads_get_their_own_results(runtime) -> None:
    model = runtime.load_model(scaled("N"), ["Fake"])

    def work(seed: int) -> bool:
        x = np.random.default_rng(seed).uniform(-9, 9, (seed % 4, 3)).astype(np.float32)
        return bool((model.run({"x": x})["y"] == (x + x) * x).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(400)))


def test_two_threads_that_meet_a_new_shape_prepare_it_once(make_backend, make_runtime) -> None:
    made: list[str] = []
    barrier = threading.Barrier(4)

    def optimize_subgraph(self, view, model):
        made.append(view.layers[0].name)
        return super(type(self), self).optimize_subgraph(view, model)

    runtime = make_runtime(make_backend("Fake", optimize_subgraph=optimize_subgraph))
    model = runtime.load_model(scaled("N"), ["Fake"])

    def work(_: int) -> None:
        barrier.wait()
        model.run({"x": X})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert made == ["double"]


def test_a_shape_that_cannot_be_prepared_fails_each_time_and_harms_no_other(
    make_backend, make_runtime
) -> None:
    runtime = make_runtime(make_backend("Fake"))
    network = Network()
    x = network.add_input("x", TensorInfo((None,)))
    network.add_output("y", network.add_addition(x, np.ones(3, np.float32), name="add"))
    model = runtime.load_model(network, ["Fake"])
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="layer 'add'"):
            model.run({"x": np.zeros(2, np.float32)})
    assert model.run({"x": np.zeros(3, np.float32)})["y"].tolist() == [1, 1, 1]


def test_an_unloaded_network_refuses_new_runs(runtime) -> None:
    with runtime.load_model(scaled(), ["Fake"]) as model:
        model.run({"x": X})
    with pytest.raises(ClosedError, match="network 'scaled' was closed before this call"):
        model.run({"x": X})
    model.unload()


def test_nan_and_infinity_pass_through(runtime) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    x = np.array([[np.nan, np.inf, -np.inf], [0, 1, 2]], np.float32)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(model.run({"x": x})["y"], (x + x) * x)


@pytest.mark.parametrize(
    ("data_type", "given", "kept"),
    [
        ("Signed32", [1, -2], [1, -2]),
        ("Signed32", [True, False], [1, 0]),
        ("Unsigned8", [0, 255], [0, 255]),
        ("Boolean", [0, 1], [False, True]),
        ("Float32", [1, 2.5], [1, 2.5]),
        ("Float32", [0.1, 2**24 + 1], [np.float32(0.1), 2**24]),
    ],
)
def test_lists_become_arrays_of_the_inputs_type(runtime, data_type, given, kept) -> None:
    model = runtime.load_model(copied(data_type), ["Fake"])
    outputs = model.run({"x": given})
    np.testing.assert_array_equal(
        outputs["y"], np.array(kept, model.inputs["x"].data_type.numpy_dtype)
    )


@pytest.mark.parametrize(
    ("data_type", "given"),
    [
        ("Signed32", [1.0, 2.5]),
        ("Unsigned8", [1, 256]),
        ("Unsigned8", [-1, 1]),
        ("Boolean", [0, 2]),
    ],
)
def test_lists_that_the_inputs_type_cannot_hold_are_refused(runtime, data_type, given) -> None:
    model = runtime.load_model(copied(data_type), ["Fake"])
    with pytest.raises(InvalidArgumentError, match=r"the input 'x' is .*, expected an array of "):
        model.run({"x": given})


@pytest.mark.parametrize(
    ("data_type", "dtype", "advice"),
    [
        (
            "BFloat16",
            np.uint16,
            r"bits, use \.view\(ml_dtypes\.bfloat16\); else .*\.astype\(ml_",
        ),
        ("Float16", np.uint16, r"bits, use \.view\(np\.float16\)"),
        ("BFloat16", np.int32, r"; convert it with \.astype\(ml_dtypes\.bfloat16\)$"),
        ("Signed32", np.uint32, r"; convert it with \.astype\(np\.int32\)$"),
    ],
)
def test_an_array_of_bits_is_viewed_rather_than_converted(
    runtime, data_type, dtype, advice
) -> None:
    model = runtime.load_model(copied(data_type), ["Fake"])
    with pytest.raises(InvalidArgumentError, match=advice):
        model.run({"x": np.zeros(2, dtype)})
    with pytest.raises(InvalidArgumentError, match=advice):
        Network().add_constant(np.zeros(2, dtype), TensorInfo((2,), data_type))


def test_real_numbers_for_a_quantized_tensor_are_never_told_to_be_cast(runtime) -> None:
    info = TensorInfo((3,), "QAsymmS8", scales=(0.5,), zero_points=(-3,))
    network = Network("quantized")
    network.add_output("y", network.add_input("x", info))
    given, stored = np.float32([0, 0.5, -1]), np.int8([-3, -2, -5])
    with pytest.raises(InvalidArgumentError, match=r"with quantize=True to give and get") as at:
        runtime.load_model(network, ["Fake"]).run({"x": given})
    assert "quantization.quantize(array, info)" in str(at.value)
    with pytest.raises(InvalidArgumentError, match=r"is float64: .* with quantize=True"):
        runtime.load_model(network, ["Fake"]).run({"x": [0.0, 0.5, -1.0]})
    np.testing.assert_array_equal(quantize(given, info), stored)
    real = runtime.load_model(network, ["Fake"], quantize=True).run({"x": given})
    np.testing.assert_array_equal(real["y"], given)
    for call in (
        lambda: network.add_constant(given, info),
        lambda: runtime.load_model(network, ["Fake"]).run({"x": stored}, outputs={"y": given}),
    ):
        with pytest.raises(InvalidArgumentError, match=r"quantization\.quantize\(array, info\)$"):
            call()
    with pytest.raises(InvalidArgumentError, match=r"convert it with \.astype\(np\.int8\)$"):
        runtime.load_model(network, ["Fake"]).run({"x": stored.astype(np.int32)})


def copied(data_type: str) -> Network:
    network = Network("copied")
    network.add_output("y", network.add_input("x", TensorInfo((2,), data_type)))
    return network


@pytest.mark.parametrize("timeout", ["1", float("nan"), float("inf"), True, [1]])
def test_what_is_no_time_limit_is_refused(runtime, timeout) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    with pytest.raises(InvalidArgumentError, match=r"the timeout is .*, expected "):
        model.run({"x": X}, timeout=timeout)


def test_what_cannot_watch_a_run_is_refused(runtime) -> None:
    model = runtime.load_model(scaled(), ["Fake"])
    with pytest.raises(
        InvalidArgumentError, match=r"cancel is True, expected an object with is_set"
    ):
        model.run({"x": X}, cancel=True)
    with pytest.raises(
        InvalidArgumentError, match=r"profiler is the class object, expected a Prof"
    ):
        model.run({"x": X}, profiler=object)


def test_a_shape_that_no_array_has_is_refused(runtime) -> None:
    model = runtime.load_model(scaled(None), ["Fake"])
    with pytest.raises(InvalidArgumentError, match="shape of the input 'x' is 3, expected a list"):
        model.prepare({"x": 3})
    with pytest.raises(InvalidArgumentError, match="expected one that an array can have"):
        model.prepare({"x": (2**62, 3)})
    with pytest.raises(InvalidArgumentError, match="is a set, expected a mapping"):
        model.prepare({"x"})


def test_a_network_of_another_runtime_is_not_taken_for_one_of_the_same_number(
    make_backend, make_runtime
) -> None:
    backend = make_backend("Fake")
    first, second = make_runtime(backend), make_runtime(backend)
    ours, theirs = first.load_model(scaled(), ["Fake"]), second.load_model(scaled(), ["Fake"])
    assert ours.id == theirs.id
    with pytest.raises(InvalidArgumentError, match="belongs to another runtime"):
        first.unload_network(theirs)
    np.testing.assert_array_equal(ours.run({"x": X})["y"], 2 * X * X)
