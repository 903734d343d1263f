# SPDX-License-Identifier: MIT
"""TensorFlow Lite files: names, shapes and results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite

from armnn_compat import pyarmnn as ann

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
