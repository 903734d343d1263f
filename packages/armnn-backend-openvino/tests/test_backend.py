# SPDX-License-Identifier: MIT
"""OpenVino compiles subgraphs, matches CpuRef, refuses with reasons."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import armnn
from armnn.backends import ModelContext, SubgraphView
from armnn.errors import InvalidArgumentError
from armnn.types import DataType
from armnn_backend_openvino.backend import OpenVinoBackend

MODEL = ModelContext({})


@pytest.fixture
def runtime() -> Iterator[armnn.Runtime]:
    with armnn.Runtime() as runtime:
        yield runtime


def classifier(shape: tuple[int | None, ...] = (1, 3, 8, 8)) -> armnn.Network:
    """Return a convolution, an activation, a pooling and a softmax."""
    rng = np.random.default_rng(5)
    net = armnn.Network("classifier")
    x = net.add_input("x", armnn.TensorInfo(shape, DataType.FLOAT32))
    kernel = net.add_constant(rng.standard_normal((4, 3, 3, 3), np.float32), name="kernel")
    y = net.add_convolution2d(x, kernel, stride_x=2, stride_y=2, name="conv")
    y = net.add_activation(y, function=armnn.ActivationFunction.SIGMOID, name="sigmoid")
    y = net.add_mean(y, axis=(2, 3), name="mean")
    net.add_output("y", net.add_softmax(y, name="softmax"))
    return net


def layer_types(optimized: armnn.OptimizedNetwork) -> list[tuple[str, str | None]]:
    return [
        (layer.type, layer.backend)
        for layer in optimized.network.topological_order()
        if layer.type not in ("Input", "Output", "Constant")
    ]


def test_a_network_becomes_one_layer_with_the_same_results(runtime: armnn.Runtime) -> None:
    optimized = runtime.optimize(classifier(), backends=["OpenVino"])
    assert layer_types(optimized) == [("PreCompiled", "OpenVino")]
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8), np.float32)
    expected = runtime.load_network(runtime.optimize(classifier(), backends=["CpuRef"])).run(
        {"x": x}
    )["y"]
    loaded = runtime.load_network(optimized)
    for factor in (1, 2, 1):
        got = loaded.run({"x": np.float32(factor) * x})["y"]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_layer_that_it_lacks_splits_the_network(runtime: armnn.Runtime) -> None:
    net = armnn.Network("split")
    x = net.add_input("x", armnn.TensorInfo((4,), DataType.FLOAT32))
    y = net.add_addition(x, x, name="before")
    axis = net.add_constant(np.int32([0]), name="axis")
    y = net.add_reverse_v2(y, axis, name="between")
    net.add_output("y", net.add_floor(y, name="behind"))
    optimized = runtime.optimize(net, backends=["OpenVino", "CpuRef"])
    assert layer_types(optimized) == [
        ("PreCompiled", "OpenVino"),
        ("ReverseV2", "CpuRef"),
        ("PreCompiled", "OpenVino"),
    ]
    row = next(row for row in optimized.report if row.layer == "between")
    assert "cannot be exported to ONNX" in row.reason
    out = runtime.load_network(optimized).run({"x": np.float32([0, 1, 1.6, 9])})["y"]
    assert out.tolist() == [18, 3, 2, 0]


def test_open_shapes_are_compiled_for_each_shape(runtime: armnn.Runtime) -> None:
    network = classifier((None, 3, 8, 8))
    loaded = runtime.load_network(runtime.optimize(network, backends=["OpenVino"]))
    reference = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
    for batch in (1, 3, 1):
        x = np.random.default_rng(batch).standard_normal((batch, 3, 8, 8), np.float32)
        np.testing.assert_allclose(
            loaded.run({"x": x})["y"], reference.run({"x": x})["y"], rtol=1e-5, atol=1e-6
        )


def test_a_profiler_learns_the_layers_inside(runtime: armnn.Runtime) -> None:
    loaded = runtime.load_network(runtime.optimize(classifier(), backends=["OpenVino"]))
    x = np.ones((1, 3, 8, 8), np.float32)
    for _ in range(2):
        recorder = armnn.profiling.Recorder()
        loaded.run({"x": x}, profiler=recorder)
        kernels = [e for e in recorder.events if e.details["category"] == "kernel"]
        # OpenVINO computes the sigmoid in the convolution; a mean is one node, and so is a softmax.
        known = {e.name: e.details["type"] for e in kernels}
        assert known.items() >= {"conv": "Convolution2d", "softmax": "Softmax"}.items()
        assert {event.details["backend"] for event in kernels} == {"OpenVino"}
        (part,) = (e for e in recorder.events if e.details["category"] == "layer")
        assert part.start_ns <= kernels[0].start_ns
        assert all(event.duration_ns > 0 for event in kernels)  # OpenVINO's own clock
        loaded.run({"x": x})  # reports nothing
        assert len(recorder.events) == len(kernels) + 2
    times = armnn.profiling.layer_times(recorder.events, loaded.report)
    counted = {time.layer: time.multiply_adds for time in times}
    assert counted["conv"] == 3 * 3 * 4 * 27  # 3x3 places of 4 channels sum 3x3x3 products


def test_threads_run_one_network_at_once(runtime: armnn.Runtime) -> None:
    loaded = runtime.load_network(runtime.optimize(classifier(), backends=["OpenVino"]))
    inputs = np.random.default_rng(2).standard_normal((8, 1, 3, 8, 8), np.float32)
    expected = [loaded.run({"x": x})["y"] for x in inputs]
    got: dict[int, bool] = {}

    def work(index: int) -> None:
        results = [loaded.run({"x": inputs[index]})["y"] for _ in range(20)]
        got[index] = all(np.array_equal(result, expected[index]) for result in results)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == dict.fromkeys(range(8), True)


@pytest.mark.parametrize(
    ("data_type", "shape", "reason"),
    [
        (DataType.FLOAT64, (2,), "input 0 is Float64, expected Float32"),
        (DataType.SIGNED64, (2,), "input 0 is Signed64, expected Float32"),
        (DataType.FLOAT32, (0,), "input 0 is empty"),
    ],
)
def test_what_openvino_would_change_or_not_run_is_refused(
    data_type: DataType, shape: tuple[int, ...], reason: str
) -> None:
    net = armnn.Network("refused")
    x = net.add_input("x", armnn.TensorInfo(shape, data_type))
    layer = net.add_addition(x, x).producer
    assert OpenVinoBackend().supports(layer, MODEL).reason.startswith(reason)


def known_faults() -> Iterator[tuple[str, armnn.Value]]:
    """Yield values that OpenVINO computes wrongly, with the reasons."""
    net = armnn.Network("faults")
    x = net.add_input("x", armnn.TensorInfo((1, 4, 4, 4)))
    lrn = {"norm_size": 3, "alpha": 0.5, "beta": 0.75, "data_layout": "NCHW"}
    yield "cuts k, which is 1.5, to a whole", net.add_normalization(x, k=1.5, **lrn)
    cubic = {"method": "Cubic", "half_pixel_centers": True, "data_layout": "NCHW"}
    yield (
        "does not exclude samples",
        net.add_resize(x, target_height=3, target_width=3, exclude_outside=True, **cubic),
    )
    zero = "takes a parameter of 0 for one that is not given"
    yield zero, net.add_activation(x, function="HardSigmoid", a=0.5, b=0.0)
    yield zero, net.add_activation(x, function="Selu", a=0.0, b=1.5)
    steps, rng = net.add_input("steps", armnn.TensorInfo((1, 3, 2))), np.random.default_rng(0)
    weights = [net.add_constant(rng.random((2, 3, n), np.float32)) for n in (2, 1)]
    ways = {"direction": "Bidirectional", "activation_a": (1.0,) * 4, "activation_b": (1.0,) * 4}
    chosen = ("Sigmoid", "TanH", "Sigmoid", "ReLu")
    outputs = net.add_gru(steps, *weights, activations=chosen, **ways)
    yield "takes the activations of the first direction for both", outputs[0]
    whole = net.add_input("whole", armnn.TensorInfo((4,), DataType.SIGNED32))
    through_float = "computes it in Float32, which does not hold all numbers of Signed32"
    yield through_float, net.add_division(whole, whole)
    yield through_float, net.add_comparison(whole, whole, operation="Equal")
    yield through_float, net.add_elementwise_binary(whole, whole, operation="Power")
    yield through_float, net.add_reduce(whole, axis=(0,), reduce_operation="Max")


def test_known_faults_are_refused_unless_results_are_trusted() -> None:
    for reason, value in known_faults():
        assert value.producer is not None
        assert reason in OpenVinoBackend().supports(value.producer, MODEL).reason
        assert OpenVinoBackend().supports(value.producer, ModelContext({"TrustResults": True}))


def test_a_shape_that_openvino_loses_fails_the_subgraph(runtime: armnn.Runtime) -> None:
    net = armnn.Network("rank")
    x = net.add_input("x", armnn.TensorInfo((2, 3)))
    value = net.add_transpose(x, dim_mappings=(1, 0), name="turn")
    twice = net.add_constant(np.full((1, 1, 1), 2, np.float32))
    net.add_output("y", net.add_multiplication(value, twice, name="double"))
    optimized = runtime.optimize(net, backends=["OpenVino", "CpuRef"])
    reasons = [row.reason for row in optimized.report]
    assert any("with the shape [3, 2], expected [1, 3, 2]" in reason for reason in reasons)
    given = np.float32([[1, 2, 3], [4, 5, 6]])
    got = runtime.load_network(optimized).run({"x": given})["y"]
    assert got.tolist() == [[[2, 8], [4, 10], [6, 12]]]


def test_a_normalization_with_a_whole_k_is_that_of_cpuref(runtime: armnn.Runtime) -> None:
    net = armnn.Network("whole")
    x = net.add_input("x", armnn.TensorInfo((1, 4, 3, 5)))
    lrn = {"norm_size": 3, "alpha": 0.9, "beta": 0.75, "k": 2.0, "data_layout": "NCHW"}
    net.add_output("y", net.add_normalization(x, **lrn))
    given = {"x": np.random.default_rng(3).standard_normal((1, 4, 3, 5), np.float32)}
    got, expected = (
        runtime.load_network(runtime.optimize(net, backends=[backend])).run(given)["y"]
        for backend in ("OpenVino", "CpuRef")
    )
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_nobody_uses_openvino_without_naming_it(runtime: armnn.Runtime) -> None:
    owners = {owner for _, owner in layer_types(runtime.optimize(classifier()))}
    assert owners == {"CpuRef"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Threads": 2}, "does not know the option 'Threads': expected some of Device, Number"),
        ({"Device": "TPU.7"}, "has no device 'TPU.7' here: expected .*CPU"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        OpenVinoBackend().create_model_context(options)


def test_more_threads_than_cpus_are_capped_with_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for asked, taken in ((2, 2), (64, 2)):
        made = OpenVinoBackend().create_model_context({"NumberOfThreads": asked})
        assert made.options["NumberOfThreads"] == taken
    assert [each.message for each in caplog.records] == [
        "NumberOfThreads is 64, but there are 2 CPUs to use: it takes 2"
    ]


def test_a_runtime_has_no_options_for_openvino() -> None:
    options = armnn.CreationOptions(backend_options={"OpenVino": {"Device": "CPU"}})
    with pytest.raises(InvalidArgumentError, match="'OpenVino' has no options for a runtime: got"):
        armnn.Runtime(options)


def test_options_reach_the_compiled_model(runtime: armnn.Runtime) -> None:
    options = {"OpenVino": {"NumberOfThreads": 1, "FastMathEnabled": False, "Device": "CPU"}}
    optimized = runtime.optimize(classifier(), backends=["OpenVino"], backend_options=options)
    (layer,) = (one for one in optimized.network.layers if one.type == "PreCompiled")
    compiled = layer.compiled.model
    assert compiled.get_property("INFERENCE_NUM_THREADS") == 1
    assert "f" in str(compiled.get_property("INFERENCE_PRECISION_HINT"))


def test_the_devices_are_a_capability() -> None:
    assert "CPU" in str(OpenVinoBackend().capabilities["Devices"]).split(",")


def test_a_subgraph_that_cannot_be_compiled_has_failed_with_the_reason() -> None:
    net = armnn.Network("failed")
    x = net.add_input("x", armnn.TensorInfo((4,), DataType.FLOAT32))
    net.add_output("y", net.add_fake_quantization(x, name="fake"))
    view = SubgraphView.of(net, [net.find("fake")])
    views = OpenVinoBackend().optimize_subgraph(view, MODEL)
    assert views.failed == [view]
    assert "cannot be exported" in views.reasons["fake"]
