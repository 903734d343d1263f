# SPDX-License-Identifier: MIT
"""Networks by hand: what they compute, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.layers import LAYERS
from armnn_compat import pyarmnn as ann

FLOAT32 = ann.DataType_Float32


def info(*shape: int, data_type: int = FLOAT32, constant: bool = False) -> ann.TensorInfo:
    return ann.TensorInfo(ann.TensorShape(shape), data_type, 0.0, 0, constant)


def const(values: Any) -> ann.ConstTensor:
    array = np.asarray(values, np.float32)
    return ann.ConstTensor(info(*array.shape, constant=True), array)


def computed(network: ann.INetwork, inputs: list[Any], outputs: list[ann.TensorInfo]) -> list[Any]:
    """Return what a network by hand makes of its inputs."""
    runtime = ann.IRuntime(ann.CreationOptions())
    backends = [ann.BackendId("CpuRef")]
    optimized, messages = ann.Optimize(network, backends, runtime.GetDeviceSpec())
    assert messages == ()
    identifier, message = runtime.LoadNetwork(optimized)
    assert (identifier, message) == (0, "")
    tensors = [(number, const(values)) for number, values in enumerate(inputs)]
    results = ann.make_output_tensors(list(enumerate(outputs)))
    runtime.EnqueueWorkload(identifier, tensors, results)
    return ann.workload_tensors_to_ndarray(results)


def single(layer: Any, network: ann.INetwork, *inputs: Any) -> None:
    """Connect a layer with inputs and outputs of the network."""
    for index, values in enumerate(inputs):
        source = network.AddInputLayer(index, f"in{index}").GetOutputSlot(0)
        source.SetTensorInfo(info(*np.shape(values)))
        source.Connect(layer.GetInputSlot(index))
    for index in range(layer.GetNumOutputSlots()):
        layer.GetOutputSlot(index).Connect(network.AddOutputLayer(index).GetInputSlot(0))


def test_a_fully_connected_layer_reads_constants_through_slots() -> None:
    network = ann.INetwork()
    descriptor = ann.FullyConnectedDescriptor()
    descriptor.m_BiasEnabled = True
    layer = network.AddFullyConnectedLayer(descriptor, "fc")
    for slot, values in ((1, [[1, 2], [3, 4], [5, 6]]), (2, [10, 20])):
        tensor = const(values)
        constant = network.AddConstantLayer(tensor, "same name")
        constant.GetOutputSlot(0).SetTensorInfo(tensor.GetInfo())
        constant.GetOutputSlot(0).Connect(layer.GetInputSlot(slot))
    single(layer, network, [[1, 0, 2]])
    (result,) = computed(network, [[[1, 0, 2]]], [info(1, 2)])
    assert result.tolist() == [[10 + 1 + 10, 20 + 2 + 12]]


def test_layers_may_be_added_and_connected_in_any_order() -> None:
    network = ann.INetwork()
    last = network.AddOutputLayer(7, "last")
    total = network.AddAdditionLayer("total")
    total.GetOutputSlot(0).Connect(last.GetInputSlot(0))
    half = ann.ActivationDescriptor()
    half.m_Function, half.m_A = ann.ActivationFunction_Linear, 0.5
    halved = network.AddActivationLayer(half)
    halved.GetOutputSlot(0).Connect(total.GetInputSlot(1))
    first = network.AddInputLayer(3)
    first.GetOutputSlot(0).SetTensorInfo(info(2))
    for reader in (halved.GetInputSlot(0), total.GetInputSlot(0)):
        first.GetOutputSlot(0).Connect(reader)
    runtime = ann.IRuntime(ann.CreationOptions())
    optimized, _ = ann.Optimize(network, [ann.BackendId("CpuRef")], runtime.GetDeviceSpec())
    identifier, _ = runtime.LoadNetwork(optimized)
    results = ann.make_output_tensors([(7, info(2))])
    runtime.EnqueueWorkload(identifier, [(3, const([2, 4]))], results)
    assert results[0][1].get_memory_area().tolist() == [3, 6]
    assert runtime.GetInputTensorInfo(identifier, 3).GetNumElements() == 2
    assert runtime.GetOutputTensorInfo(identifier, 7).GetNumDimensions() == 1


def test_tensors_that_arm_nn_takes_as_members_are_no_slots() -> None:
    network = ann.INetwork()
    descriptor = ann.BatchNormalizationDescriptor()
    descriptor.m_Eps = 0.0
    members = const([1]), const([4]), const([10]), const([3])  # mean, variance, beta, gamma
    layer = network.AddBatchNormalizationLayer(descriptor, *members, "norm")
    assert (layer.GetNumInputSlots(), layer.GetNumOutputSlots()) == (1, 1)
    values = [[[[1.0, 3.0]]]]
    single(layer, network, values)
    (result,) = computed(network, [values], [info(1, 1, 1, 2)])
    assert result.tolist() == [[[[10, 13]]]]


def test_views_join_and_split() -> None:
    first, second = [[1, 2]], [[3, 4], [5, 6]]
    network = ann.INetwork()
    shapes = [ann.TensorShape((1, 2)), ann.TensorShape((2, 2))]
    descriptor = ann.CreateDescriptorForConcatenation(shapes, 0)
    assert descriptor.GetViewOrigin(1) == [1, 0]
    single(network.AddConcatLayer(descriptor, "joined"), network, first, second)
    assert computed(network, [first, second], [info(3, 2)])[0].tolist() == [*first, *second]
    network = ann.INetwork()
    views = ann.SplitterDescriptor(2, 2)
    for view, (origin, size) in enumerate(((0, 1), (1, 2))):
        views.SetViewOriginCoord(view, 0, origin)
        views.SetViewSize(view, 0, size)
        views.SetViewSize(view, 1, 2)
    single(network.AddSplitterLayer(views), network, [*first, *second])
    results = computed(network, [[*first, *second]], [info(1, 2), info(2, 2)])
    assert [result.tolist() for result in results] == [first, second]


def test_an_lstm_takes_its_weights_by_name() -> None:
    params, descriptor = ann.LstmInputParams(), ann.LstmDescriptor()
    for name in ("Forget", "Cell", "Output"):
        setattr(params, f"m_InputTo{name}Weights", const([[0]]))
        setattr(params, f"m_RecurrentTo{name}Weights", const([[0]]))
    params.m_ForgetGateBias, params.m_CellBias, params.m_OutputGateBias = (
        const([-100]), const([0]), const([100]),
    )  # fmt: skip
    network = ann.INetwork()
    descriptor.m_ActivationFunc = 1  # ReLu
    layer = network.AddLstmLayer(descriptor, params, "cell")
    assert (layer.GetNumInputSlots(), layer.GetNumOutputSlots()) == (3, 4)
    single(layer, network, [[1]], [[0]], [[2]])
    infos = [info(1, 3), info(1, 1), info(1, 1), info(1, 1)]
    results = computed(network, [[[1]], [[0]], [[2]]], infos)
    # The forget gate is closed and the candidate is 0, so nothing is left.
    assert [float(each.ravel()[0]) for each in results[1:]] == pytest.approx([0, 0, 0], abs=1e-6)


def test_every_method_derives_from_the_layer_table() -> None:
    methods = {name for name in dir(ann.INetwork) if name.startswith("Add")}
    names = {f"Add{spec.name}Layer" for spec in LAYERS.values() if spec.number < 1000}
    assert methods < names
    assert names - methods == {
        f"Add{name}Layer"
        for name in (
            "ConvertFp16ToFp32", "ConvertFp32ToFp16", "Debug", "FakeQuantization", "Fused", "Map",
            "MemCopy", "MemImport", "PreCompiled", "ScatterNd", "Unmap",
        )
    }  # fmt: skip


def test_slots_know_what_they_are_connected_to() -> None:
    network = ann.INetwork()
    source, reader = network.AddInputLayer(0), network.AddFloorLayer("floor")
    output, read = source.GetOutputSlot(0), reader.GetInputSlot(0)
    assert read.GetConnection() is None
    assert output.Connect(read) == 0
    assert (len(output), output.GetNumConnections(), output[0]) == (1, 1, read)
    assert read.GetConnection() is output
    assert output.GetOwningLayerGuid() == source.GetGuid() != reader.GetGuid()
    with pytest.raises(RuntimeError, match="input slot of layer 'floor' \\(Floor\\), but the lat"):
        output.Connect(read)
    output.Disconnect(read)
    assert (output.GetNumConnections(), read.GetConnection()) == (0, None)
    with pytest.raises(ValueError, match="Invalid index 1 provided: 0 inputs read it"):
        output[1]
    with pytest.raises(ValueError, match="Invalid index 1 provided: layer 'floor' \\(Floor\\) has"):
        reader.GetOutputSlot(1)


def optimized(network: ann.INetwork) -> Any:
    runtime = ann.IRuntime(ann.CreationOptions())
    return ann.Optimize(network, [ann.BackendId("CpuRef")], runtime.GetDeviceSpec())


def test_what_is_not_connected_is_named() -> None:
    network = ann.INetwork()
    network.AddFloorLayer("floor")
    with pytest.raises(
        RuntimeError, match="'floor' \\(Floor\\): the input slot 0 is not connected"
    ):
        optimized(network)


def test_an_input_without_a_description_is_named() -> None:
    network = ann.INetwork()
    source = network.AddInputLayer(0, "x").GetOutputSlot(0)
    source.Connect(network.AddOutputLayer(0).GetInputSlot(0))
    with pytest.raises(RuntimeError, match="'x' \\(Input\\) has no TensorInfo: call SetTensorInfo"):
        optimized(network)


def test_an_id_that_comes_twice_is_refused() -> None:
    network = ann.INetwork()
    for _ in range(2):
        network.AddInputLayer(0, "x").GetOutputSlot(0).SetTensorInfo(info(1))
    with pytest.raises(RuntimeError, match="the id 0 is used twice"):
        optimized(network)


def test_a_cycle_is_refused() -> None:
    network = ann.INetwork()
    layer = network.AddFloorLayer("floor")
    layer.GetOutputSlot(0).Connect(layer.GetInputSlot(0))
    with pytest.raises(RuntimeError, match="'floor' \\(Floor\\) is part of a cycle"):
        optimized(network)


def test_a_declared_shape_that_cannot_be_is_an_error() -> None:
    network = ann.INetwork()
    layer = network.AddFloorLayer("floor")
    single(layer, network, [1, 2])
    layer.GetOutputSlot(0).SetTensorInfo(info(3))
    with pytest.raises(RuntimeError, match="layer 'floor' \\(Floor\\)"):
        optimized(network)


def test_arguments_of_another_kind_are_refused() -> None:
    network = ann.INetwork()
    with pytest.raises(TypeError, match="AddSoftmaxLayer: got PadDescriptor, expected SoftmaxDesc"):
        network.AddSoftmaxLayer(ann.PadDescriptor())
    with pytest.raises(TypeError, match="AddFloorLayer: got int, int, expected name"):
        network.AddFloorLayer(3, 4)
    layer = network.AddSoftmaxLayer(softmaxDescriptor=ann.SoftmaxDescriptor(), name="s")
    assert layer.GetName() == "s"
