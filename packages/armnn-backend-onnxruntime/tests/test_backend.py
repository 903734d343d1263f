# SPDX-License-Identifier: MIT
"""OnnxRuntime compiles subgraphs, matches CpuRef, refuses with reasons."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.backends import ModelContext, SubgraphView
from armnn.errors import BackendError, InvalidArgumentError
from armnn.types import DataType
from armnn_backend_onnxruntime import sessions
from armnn_backend_onnxruntime.backend import CompiledSubgraph, OnnxRuntimeBackend

MODEL = ModelContext({})


@pytest.fixture
def runtime() -> Iterator[armnn.Runtime]:
    with armnn.Runtime() as runtime:
        yield runtime


def classifier(shape: tuple[int | None, ...] = (1, 3, 8, 8)) -> armnn.Network:
    """Return a convolution, an activation, a mean and a softmax."""
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


def compiled_of(optimized: armnn.OptimizedNetwork) -> CompiledSubgraph:
    (layer,) = (one for one in optimized.network.layers if one.type == "PreCompiled")
    assert isinstance(layer.compiled, CompiledSubgraph)
    return layer.compiled


def test_a_network_becomes_one_layer_with_the_same_results(runtime: armnn.Runtime) -> None:
    optimized = runtime.optimize(classifier(), backends=["OnnxRuntime"])
    assert layer_types(optimized) == [("PreCompiled", "OnnxRuntime")]
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8), np.float32)
    reference = runtime.load_network(runtime.optimize(classifier(), backends=["CpuRef"]))
    loaded = runtime.load_network(optimized)
    for factor in (1, 2, 1):
        got = loaded.run({"x": np.float32(factor) * x})["y"]
    np.testing.assert_allclose(got, reference.run({"x": x})["y"], rtol=1e-5, atol=1e-6)


def test_a_layer_that_it_lacks_splits_the_network(runtime: armnn.Runtime) -> None:
    net = armnn.Network("split")
    x = net.add_input("x", armnn.TensorInfo((4,), DataType.FLOAT32))
    y = net.add_addition(x, x, name="before")
    axis = net.add_constant(np.int32([0]), name="axis")
    y = net.add_reverse_v2(y, axis, name="between")
    net.add_output("y", net.add_floor(y, name="behind"))
    optimized = runtime.optimize(net, backends=["OnnxRuntime", "CpuRef"])
    assert layer_types(optimized) == [
        ("PreCompiled", "OnnxRuntime"),
        ("ReverseV2", "CpuRef"),
        ("PreCompiled", "OnnxRuntime"),
    ]
    row = next(row for row in optimized.report if row.layer == "between")
    assert "cannot be exported to ONNX" in row.reason
    out = runtime.load_network(optimized).run({"x": np.float32([0, 1, 1.6, 9])})["y"]
    assert out.tolist() == [18, 3, 2, 0]


def test_open_shapes_are_compiled_for_each_shape(runtime: armnn.Runtime) -> None:
    network = classifier((None, 3, 8, 8))
    loaded = runtime.load_network(runtime.optimize(network, backends=["OnnxRuntime"]))
    reference = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
    for batch in (1, 3, 1):
        x = np.random.default_rng(batch).standard_normal((batch, 3, 8, 8), np.float32)
        np.testing.assert_allclose(
            loaded.run({"x": x})["y"], reference.run({"x": x})["y"], rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize(
    "data_type", [DataType.FLOAT16, DataType.FLOAT64, DataType.SIGNED64, DataType.SIGNED32]
)
def test_tensors_of_other_types_are_bound_in_place(
    runtime: armnn.Runtime, data_type: DataType
) -> None:
    net = armnn.Network("types")
    x = net.add_input("x", armnn.TensorInfo((2, 3), data_type))
    net.add_output("y", net.add_transpose(net.add_addition(x, x), dim_mappings=(1, 0)))
    loaded = runtime.load_network(runtime.optimize(net, backends=["OnnxRuntime"]))
    given = np.arange(-2, 4).reshape(2, 3).astype(data_type.numpy_dtype)
    got = loaded.run({"x": given})["y"]
    assert got.dtype == given.dtype
    assert got.tolist() == (2 * given).T.tolist()


def test_threads_run_one_network_at_once(runtime: armnn.Runtime) -> None:
    loaded = runtime.load_network(runtime.optimize(classifier(), backends=["OnnxRuntime"]))
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


def test_a_layer_without_a_kernel_is_refused_with_onnxruntimes_reason() -> None:
    net = armnn.Network("refused")
    x = net.add_input("x", armnn.TensorInfo((2,), DataType.SIGNED16))
    layer = net.add_minimum(x, x).producer
    reason = OnnxRuntimeBackend().supports(layer, MODEL).reason
    assert reason.startswith("CPUExecutionProvider of onnxruntime does not run it: ")
    assert "NOT_IMPLEMENTED" in reason or "does not take" in reason or "Min" in reason


def sequence_lstm(data_type: DataType = DataType.FLOAT32, **parameters: Any) -> armnn.Layer:
    net = armnn.Network("lstm")
    x = net.add_input("x", armnn.TensorInfo((1, 2, 3), data_type))
    weights = net.add_constant(np.zeros((1, 8, 3), data_type.numpy_dtype))
    recurrent = net.add_constant(np.zeros((1, 8, 2), data_type.numpy_dtype))
    return net.add_sequence_lstm(x, weights, recurrent, **parameters)[0].producer


def activation(function: str, data_type: DataType) -> armnn.Layer:
    net = armnn.Network("activation")
    x = net.add_input("x", armnn.TensorInfo((2,), data_type))
    return net.add_activation(x, function=function, a=0.5).producer


def resize(**parameters: Any) -> armnn.Layer:
    net = armnn.Network("resize")
    x = net.add_input("x", armnn.TensorInfo((1, 4, 4, 3)))
    size = {"target_height": 2, "target_width": 2}
    return net.add_resize(x, method="Cubic", data_layout="NHWC", **size, **parameters).producer


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (lambda: sequence_lstm(clip=0.5), "it clips, and onnxruntime does not clip the cell"),
        (lambda: sequence_lstm(DataType.FLOAT64), "onnxruntime has no SequenceLstm of Float64"),
        (lambda: activation("Shrink", DataType.SIGNED64), "onnxruntime computes Shrink in Float32"),
        (lambda: activation("GeluTanH", DataType.FLOAT64), "GeluTanH of Float64 with constants of"),
        (resize, "onnxruntime moves cubic samples to channels last"),
    ],
)
def test_layers_that_it_computes_otherwise_are_refused(
    layer: Callable[[], armnn.Layer], reason: str
) -> None:
    assert reason in OnnxRuntimeBackend().supports(layer(), MODEL).reason


def test_a_shape_that_is_not_known_is_refused() -> None:
    net = armnn.Network("open")
    x = net.add_input("x", armnn.TensorInfo((None, 2)))
    layer = net.add_floor(x).producer
    reason = OnnxRuntimeBackend().supports(layer, MODEL).reason
    assert reason == "the shape of input 0 depends on computed values."


def test_it_is_not_used_unless_it_is_named(runtime: armnn.Runtime) -> None:
    owners = {owner for _, owner in layer_types(runtime.optimize(classifier()))}
    assert "OnnxRuntime" not in owners


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Threads": 2}, "does not know the option 'Threads': expected some of Device, Number"),
        ({"Device": "TPU.7"}, r"has no device 'TPU\.7' here: expected .*CPUExecutionProvider"),
        ({"NumberOfThreads": -1}, "NumberOfThreads .* is -1: expected a whole number"),
        ({"NumberOfThreads": "2"}, "NumberOfThreads .* is '2': expected a whole number"),
        ({"GraphOptimization": "most"}, "is 'most': expected none, basic, extended or all"),
        ({"ProviderOptions": "fast"}, "is 'fast': expected pairs such as 'device_type=GPU"),
        (
            {"ProviderPackage": "no_such_package"},
            "plug-in provider of package 'no_such_package': ModuleNotFoundError: .* expected an",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        OnnxRuntimeBackend().create_model_context(options)


def test_more_threads_than_cpus_are_capped_with_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for asked, taken in ((2, 2), (64, 2)):
        made = OnnxRuntimeBackend().create_model_context({"NumberOfThreads": asked})
        assert made.options["NumberOfThreads"] == taken
    assert [each.message for each in caplog.records] == [
        "NumberOfThreads is 64, but there are 2 CPUs to use: it takes 2"
    ]


def test_a_runtime_has_no_options_for_onnxruntime() -> None:
    options = armnn.CreationOptions(backend_options={"OnnxRuntime": {"Device": "CPU"}})
    message = "'OnnxRuntime' has no options for a runtime: got Device"
    with pytest.raises(InvalidArgumentError, match=message):
        armnn.Runtime(options)


def test_options_reach_the_session(runtime: armnn.Runtime) -> None:
    options = {"OnnxRuntime": {"NumberOfThreads": 1, "GraphOptimization": "basic"}}
    optimized = runtime.optimize(classifier(), backends=["OnnxRuntime"], backend_options=options)
    session = compiled_of(optimized).session
    got = session.get_session_options()
    assert got.intra_op_num_threads == 1
    assert got.graph_optimization_level.name == "ORT_ENABLE_BASIC"
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_options_of_a_provider_are_pairs() -> None:
    pairs = {"ProviderOptions": " use_arena = 0 ,other=a=b"}
    assert sessions.provider_options(pairs) == {"use_arena": "0", "other": "a=b"}


def test_the_devices_are_a_capability() -> None:
    given = str(OnnxRuntimeBackend().capabilities["Devices"]).split(",")
    assert given[0] == "CPUExecutionProvider"
    assert "AzureExecutionProvider" not in given


def test_a_subgraph_that_cannot_be_compiled_has_failed_with_the_reason() -> None:
    net = armnn.Network("failed")
    x = net.add_input("x", armnn.TensorInfo((4,), DataType.FLOAT32))
    net.add_output("y", net.add_fake_quantization(x, name="fake"))
    view = SubgraphView.of(net, [net.find("fake")])
    views = OnnxRuntimeBackend().optimize_subgraph(view, MODEL)
    assert views.failed == [view]
    assert "cannot be exported" in views.reasons["fake"]


def test_a_session_that_cannot_be_made_names_the_first_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL\nmore lines")

    monkeypatch.setattr("armnn_backend_onnxruntime.backend.make_session", refuse)
    net = armnn.Network("failed")
    x = net.add_input("x", armnn.TensorInfo((4,)))
    net.add_output("y", net.add_floor(x, name="low"))
    message = (
        r"cannot compile 1 layers from 'low' on for CPUExec.*: \[ONNXRuntimeError\] : 1 : FAIL$"
    )
    with pytest.raises(BackendError, match=message):
        OnnxRuntimeBackend().create_workload(net.find("low"), MODEL)


def test_a_failing_run_names_the_layers(runtime: armnn.Runtime) -> None:
    net = armnn.Network("gather")
    x = net.add_input("x", armnn.TensorInfo((4,)))
    indices = net.add_input("indices", armnn.TensorInfo((2,), DataType.SIGNED32))
    net.add_output("y", net.add_gather(x, indices, name="picked"))
    loaded = runtime.load_network(runtime.optimize(net, backends=["OnnxRuntime"]))
    fed = {"x": np.zeros(4, np.float32), "indices": np.int32([1, 77])}
    with pytest.raises(armnn.ArmnnError, match=r"from 'picked' on for CPU.*indices element out"):
        loaded.run(fed)


def test_known_faults_are_refused_unless_results_are_trusted() -> None:
    net = armnn.Network("faults")
    x = net.add_input("x", armnn.TensorInfo((2,), DataType.FLOAT64))
    layer = net.add_activation(x, function="Shrink", a=0.5).producer
    assert layer is not None
    reason = OnnxRuntimeBackend().supports(layer, MODEL).reason
    assert reason == "onnxruntime computes Shrink in Float32."
    assert OnnxRuntimeBackend().supports(layer, ModelContext({"TrustResults": True}))
