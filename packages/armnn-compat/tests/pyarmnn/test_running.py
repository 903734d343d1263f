# SPDX-License-Identifier: MIT
"""Parsed models: prepared, run and profiled as by PyArmNN's examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import onnx
import pytest
import tflite
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import armnn
from armnn_compat import pyarmnn as ann

REFERENCE = [ann.BackendId("CpuRef")]
WEIGHTS = np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2)
IMAGE = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)


def convolution(batch: int | str = 1) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["scores"]),
    ]
    shapes = {"image": [batch, 1, 3, 3], "scores": [batch, 2, 2, 2]}
    image, scores = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    )
    graph = helper.make_graph(
        nodes, "conv", [image], [scores], [numpy_helper.from_array(WEIGHTS, "w")]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "conv.onnx"
    onnx.save(convolution(), path)
    return path


@pytest.fixture
def parsed(model: Path) -> tuple[Any, Any]:
    parser = ann.IOnnxParser()
    return parser, parser.CreateNetworkFromBinaryFile(str(model))


def loaded(network: Any, **properties: Any) -> tuple[Any, int]:
    runtime = ann.IRuntime(ann.CreationOptions())
    optimized, messages = ann.Optimize(network, REFERENCE, runtime.GetDeviceSpec())
    assert messages == ()
    return runtime, runtime.LoadNetwork(optimized, **properties)[0]


def test_a_model_runs_as_in_the_examples(parsed) -> None:
    parser, network = parsed
    runtime, identifier = loaded(network)
    given = parser.GetNetworkInputBindingInfo("image")
    made = parser.GetNetworkOutputBindingInfo("scores")
    assert tuple(given[1].GetShape()) == (1, 1, 3, 3)
    assert (given[1].GetDataType(), given[1].GetQuantizationScale()) == (ann.DataType_Float32, 1)
    inputs = ann.make_input_tensors([given], [IMAGE])
    outputs = ann.make_output_tensors([made])
    memory = outputs[0][1].get_memory_area()
    (expected,) = ReferenceEvaluator(convolution()).run(None, {"image": IMAGE})
    for _ in range(2):
        memory[:] = -1
        runtime.EnqueueWorkload(identifier, inputs, outputs)
        np.testing.assert_allclose(memory.reshape(1, 2, 2, 2), expected, rtol=1e-6)
    assert ann.workload_tensors_to_ndarray(outputs)[0].base is memory


def test_a_file_of_arm_nn_runs(parsed, tmp_path: Path) -> None:
    armnn.save(parsed[1].built().network, tmp_path / "conv.armnn")
    parser = ann.IDeserializer()
    network = parser.CreateNetworkFromBinary(str(tmp_path / "conv.armnn"))
    runtime, identifier = loaded(network)
    inputs = ann.make_input_tensors([parser.GetNetworkInputBindingInfo(0, "image")], [IMAGE])
    outputs = ann.make_output_tensors([parser.GetNetworkOutputBindingInfo(0, "scores")])
    runtime.EnqueueWorkload(identifier, inputs, outputs)
    (expected,) = ReferenceEvaluator(convolution()).run(None, {"image": IMAGE})
    np.testing.assert_allclose(ann.workload_tensors_to_ndarray(outputs)[0], expected, rtol=1e-6)


def test_the_profiler_records_runs_when_it_is_on(parsed) -> None:
    parser, network = parsed
    runtime, identifier = loaded(network)
    profiler = runtime.GetProfiler(identifier)
    inputs = ann.make_input_tensors([parser.GetNetworkInputBindingInfo("image")], [IMAGE])
    outputs = ann.make_output_tensors([parser.GetNetworkOutputBindingInfo("scores")])
    runtime.EnqueueWorkload(identifier, inputs, outputs)
    assert not profiler.IsProfilingEnabled()
    with pytest.raises(ValueError, match="the profile has no run: EnableProfiling"):
        ann.get_profiling_data(profiler)
    profiler.EnableProfiling(True)
    for _ in range(2):
        runtime.EnqueueWorkload(identifier, inputs, outputs)
    data = ann.get_profiling_data(profiler)
    assert data.inference_data["time_unit"] == "us"
    assert len(data.inference_data["execution_time"]) == 2
    assert {each["backend"] for each in data.per_workload_execution_data.values()} == {"CpuRef"}
    assert all(
        min(each["execution_time"]) > 0 for each in data.per_workload_execution_data.values()
    )
    log = profiler.event_log().splitlines()
    assert log[0] == "Event Sequence - Name | Duration (ms) | Start (ms) | Stop (ms) | Device"
    assert [line for line in log if line.endswith("| CpuRef")]


def test_properties_switch_the_profiler_on_with_details(parsed) -> None:
    _parser, network = parsed
    none = ann.MemorySource_Undefined
    details = ann.ProfilingDetailsMethod_DetailsWithEvents
    properties = ann.INetworkProperties(True, none, none, True, details)
    runtime, identifier = loaded(network, networkProperties=properties)
    profiler = runtime.GetProfiler(identifier)
    assert profiler.IsProfilingEnabled()
    assert json.loads(profiler.as_json())["ArmNN"]["layer_details"]


def test_the_backend_is_read_from_arm_nns_names_of_workloads() -> None:
    clock = {"Wall clock time_#2": {"type": "Measurement", "raw": [3.5], "unit": "us"}}
    names = {"RefX": "CpuRef", "NeonX": "CpuAcc", "ClX": "GpuAcc", "EthosNX": "EthosNAcc"}
    events = {name: {"type": "Event", **clock} for name in (*names, "CopyMemGeneric")}
    execute = {"type": "Event", **clock, **events}

    class Recorded:
        def as_json(self) -> str:
            run = {"Execute_#2": execute}
            return json.dumps({"ArmNN": {"inference_measurements_#1": run}})

    data = ann.get_profiling_data(Recorded())
    found = {name: each["backend"] for name, each in data.per_workload_execution_data.items()}
    assert found == {**names, "CopyMemGeneric": "Unknown"}
    assert data.inference_data == {"time_unit": "us", "execution_time": [3.5]}


def test_messages_say_which_backends_are_skipped(parsed) -> None:
    runtime = ann.IRuntime(ann.CreationOptions())
    backends = [ann.BackendId("Nowhere"), *REFERENCE]
    _, messages = ann.Optimize(parsed[1], backends, runtime.GetDeviceSpec())
    assert messages == ("WARNING: backend Nowhere is skipped: it was not found",)


@pytest.mark.parametrize(
    ("backends", "message"),
    [
        ([], "Invoked Optimize with no backends specified: expected a list"),
        (["Unknown"], r"None of the preferred backends \[Unknown \] are supported. Current platf"),
    ],
)
def test_optimize_fails_without_backends(parsed, backends: list[str], message: str) -> None:
    runtime = ann.IRuntime(ann.CreationOptions())
    with pytest.raises(RuntimeError, match=message):
        ann.Optimize(parsed[1], [ann.BackendId(each) for each in backends], runtime.GetDeviceSpec())


def test_the_device_lists_its_backends() -> None:
    spec = ann.IRuntime(ann.CreationOptions()).GetDeviceSpec()
    ids = spec.GetSupportedBackends()
    assert ann.BackendId("CpuRef") in ids
    assert str(spec) == f"IDeviceSpec {{ supportedBackends: [{', '.join(map(str, ids))}]}}"
    assert [each.Get() for each in ids if each.IsCpuRef()] == ["CpuRef"]


def test_options_of_the_optimizer_are_the_cores(parsed) -> None:
    some = ann.BackendOptions(ann.BackendId("CpuRef"))
    some.AddOption(ann.BackendOption("Some", 1))
    assert [option.GetName() for option in ann.BackendOptions(some)] == ["Some"]
    options = ann.OptimizerOptions(
        True, False, False, ann.ShapeInferenceMethod_InferAndValidate, True, [some], True
    )
    core = options.for_core(parsed[1].built())
    assert core.reduce_fp32_to_fp16
    assert (core.import_enabled, core.export_enabled, core.debug) == (True, True, False)
    assert core.shape_inference_method is armnn.ShapeInferenceMethod.INFER_AND_VALIDATE
    assert core.model_options == {"CpuRef": {"Some": 1}}
    assert not ann.OptimizerOptions().for_core(parsed[1].built()).reduce_fp32_to_fp16
    with pytest.raises(TypeError, match="'OptimizerOptions_m_ModelOptions_set', argument 2: got"):
        options.m_ModelOptions = ["nonsense", some]
    with pytest.raises(TypeError, match="Wrong number or type of arguments for OptimizerOptions"):
        ann.OptimizerOptions(modelOptions=some)
    with pytest.raises(AttributeError, match="no option 'm_Fast': it has m_"):
        options.m_Fast = True


def test_a_network_is_drawn(parsed, tmp_path: Path) -> None:
    runtime = ann.IRuntime(ann.CreationOptions())
    optimized, _ = ann.Optimize(parsed[1], REFERENCE, runtime.GetDeviceSpec())
    optimized.SerializeToDot(str(tmp_path / "net.dot"))
    assert "Convolution2d" in (tmp_path / "net.dot").read_text()
    with pytest.raises(RuntimeError, match="Failed to open dot file"):
        optimized.SerializeToDot(str(tmp_path / "nowhere" / "net.dot"))


def test_runs_that_cannot_be_are_refused(parsed) -> None:
    parser, network = parsed
    runtime, identifier = loaded(network)
    inputs = ann.make_input_tensors([parser.GetNetworkInputBindingInfo("image")], [IMAGE])
    outputs = ann.make_output_tensors([parser.GetNetworkOutputBindingInfo("scores")])
    with pytest.raises(RuntimeError, match=r"does not match network. Got 0, expected 1: 0"):
        runtime.EnqueueWorkload(identifier, [], outputs)
    with pytest.raises(RuntimeError, match=r"No input has the id 5: the network has 0 \('image'\)"):
        runtime.EnqueueWorkload(identifier, [(5, inputs[0][1])], outputs)
    with pytest.raises(RuntimeError, match=r"Failed to enqueue workload for network. There is no"):
        runtime.EnqueueWorkload(9, inputs, outputs)
    with pytest.raises(RuntimeError, match=r"Failed to unload network. There is no network with"):
        runtime.UnloadNetwork(9)
    with pytest.raises(RuntimeError, match="No output has the id 5: the network has 0"):
        runtime.GetOutputTensorInfo(identifier, 5)
    runtime.UnloadNetwork(identifier)
    with pytest.raises(RuntimeError, match="Failed to get profiler There is no network"):
        runtime.GetProfiler(identifier)


@pytest.mark.parametrize(
    ("parser", "method", "message"),
    [
        (ann.ITfLiteParser, "CreateNetworkFromBinaryFile", "Cannot find the file nowhere.x: ther"),
        (ann.IOnnxParser, "CreateNetworkFromBinaryFile", r"Invalid \(null\) filename or no file:"),
        (ann.IDeserializer, "CreateNetworkFromBinary", "Cannot read the file nowhere.x: there is"),
    ],
)
def test_files_that_are_not_there_are_named(parser: Any, method: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        getattr(parser(), method)("nowhere.x")


def test_parsers_refuse_what_they_do_not_have(parsed, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="No input binding found for 'x': the network has 'ima"):
        parsed[0].GetNetworkInputBindingInfo("x")
    with pytest.raises(RuntimeError, match="no network was parsed: call CreateNetworkFromBinaryF"):
        ann.IOnnxParser().GetNetworkInputBindingInfo("x")
    onnx.save(convolution("N"), tmp_path / "open.onnx")
    parser = ann.IOnnxParser()
    parser.CreateNetworkFromBinaryFile(str(tmp_path / "open.onnx"))
    with pytest.raises(RuntimeError, match="PyArmNN knows no open dimensions"):
        parser.GetNetworkInputBindingInfo("image")
    parsed[1].AddFloorLayer("floor")
    with pytest.raises(RuntimeError, match="'floor' \\(Floor\\) was added to the network of a pa"):
        loaded(parsed[1])
    options = ann.TfLiteParserOptions(m_StandInLayerForUnsupported=True)
    with pytest.raises(RuntimeError, match="m_StandInLayerForUnsupported is True: stand-ins can"):
        ann.ITfLiteParser(options).CreateNetworkFromBinaryFile("x.tflite")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("m_TimelineEnabled", True, "not possible to enable timeline reporting without profiling"),
        ("m_EnableProfiling", True, "there is no external profiling; runtime.GetProfiler"),
    ],
)
def test_external_profiling_is_refused(name: str, value: bool, message: str) -> None:
    options = ann.CreationOptions()
    setattr(options.m_ProfilingOptions, name, value)
    with pytest.raises(RuntimeError, match=message):
        ann.IRuntime(options)


def test_options_of_arm_nns_gpu_backend_are_refused() -> None:
    with pytest.raises(RuntimeError, match="m_EnableGpuProfiling or m_GpuAccTunedParameters is se"):
        ann.IRuntime(ann.CreationOptions(m_EnableGpuProfiling=True))


NEG = 59
"""The number of the operator in the schema."""


def numbers(builder: Any, values: list[int]) -> Any:
    return builder.CreateNumpyVector(np.array(values, np.int32))


def offsets(builder: Any, start: Any, items: list[Any]) -> Any:
    start(builder, len(items))
    for item in reversed(items):
        builder.PrependUOffsetTRelative(item)
    return builder.EndVector()


def tensor(builder: Any, name: str) -> Any:
    """Return a [1,2] tensor whose signature leaves batch open."""
    text, shape = builder.CreateString(name), numbers(builder, [1, 2])
    signature = numbers(builder, [-1, 2])
    tflite.TensorStart(builder)
    tflite.TensorAddName(builder, text)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddShapeSignature(builder, signature)
    return tflite.TensorEnd(builder)


@pytest.fixture
def negation(tmp_path: Path) -> str:
    """Return a file that computes ``-x``."""
    builder = flatbuffers.Builder(256)
    tensors = [tensor(builder, name) for name in ("x:0", "Identity")]
    takes, makes = numbers(builder, [0]), numbers(builder, [1])
    tflite.OperatorStart(builder)
    tflite.OperatorAddInputs(builder, takes)
    tflite.OperatorAddOutputs(builder, makes)
    operators = [tflite.OperatorEnd(builder)]
    tensors = offsets(builder, tflite.SubGraphStartTensorsVector, tensors)
    operators = offsets(builder, tflite.SubGraphStartOperatorsVector, operators)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, takes)
    tflite.SubGraphAddOutputs(builder, makes)
    tflite.SubGraphAddOperators(builder, operators)
    subgraph = tflite.SubGraphEnd(builder)
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, NEG)
    tflite.OperatorCodeAddBuiltinCode(builder, NEG)
    code = tflite.OperatorCodeEnd(builder)
    buffer = (tflite.BufferStart(builder), tflite.BufferEnd(builder))[1]
    subgraphs = offsets(builder, tflite.ModelStartSubgraphsVector, [subgraph])
    codes = offsets(builder, tflite.ModelStartOperatorCodesVector, [code])
    buffers = offsets(builder, tflite.ModelStartBuffersVector, [buffer])
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddSubgraphs(builder, subgraphs)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    path = tmp_path / "neg.tflite"
    path.write_bytes(builder.Output())
    return str(path)


def test_a_file_with_an_open_batch_has_the_shape_that_it_states(negation: str) -> None:
    parser = ann.ITfLiteParser()
    network = parser.CreateNetworkFromBinaryFile(negation)
    graph = parser.GetSubgraphCount() - 1
    assert parser.GetSubgraphInputTensorNames(graph) == ("x:0",)
    assert parser.GetSubgraphOutputTensorNames(graph) == ("Identity",)
    given = parser.GetNetworkInputBindingInfo(graph, "x:0")
    made = parser.GetNetworkOutputBindingInfo(graph, "Identity")
    assert (tuple(given[1].GetShape()), tuple(made[1].GetShape())) == ((1, 2), (1, 2))
    runtime = ann.IRuntime(ann.CreationOptions())
    backends = [ann.BackendId("CpuRef")]
    optimized, messages = ann.Optimize(network, backends, runtime.GetDeviceSpec())
    assert messages == ()
    identifier, _ = runtime.LoadNetwork(optimized)
    inputs = ann.make_input_tensors([given], [np.array([1, -2], np.float32)])
    outputs = ann.make_output_tensors([made])
    runtime.EnqueueWorkload(identifier, inputs, outputs)
    assert ann.workload_tensors_to_ndarray(outputs)[0].tolist() == [[-1, 2]]


def test_other_subgraphs_and_names_are_refused(negation: str) -> None:
    parser = ann.ITfLiteParser()
    parser.CreateNetworkFromBinaryFile(negation)
    with pytest.raises(RuntimeError, match="there is no subgraph 1: the parser reads subgraph 0"):
        parser.GetSubgraphInputTensorNames(1)
    with pytest.raises(RuntimeError, match="No output binding found for 'y': the network has 'Id"):
        parser.GetNetworkOutputBindingInfo(0, "y")
