# SPDX-License-Identifier: MIT
"""The marks of ownership that PyArmNN's classes have."""

from __future__ import annotations

import numpy as np
import pytest

from armnn_compat import pyarmnn as ann


@pytest.mark.parametrize(
    "name", ["IRuntime", "INetwork", "ITfLiteParser", "ActivationDescriptor", "TensorInfo"]
)
def test_classes_that_programs_make_are_owned(name: str) -> None:
    kind = getattr(ann, name)
    assert kind.thisown is True
    assert kind.__swig_destroy__.__name__ == f"delete_{name}"
    assert kind.__swig_destroy__(object()) is None


@pytest.mark.parametrize(
    "name", ["IConnectableLayer", "IDeviceSpec", "IInputSlot", "IOutputSlot", "IProfiler"]
)
def test_classes_that_programs_only_get_are_not(name: str) -> None:
    kind = getattr(ann, name)
    assert kind.thisown is False
    assert not hasattr(kind, "__swig_destroy__")


def test_options_own_copies() -> None:
    option = ann.BackendOption("threads", 2)
    options = ann.BackendOptions(ann.BackendId("CpuRef"))
    options.AddOption(option)
    option.value = 3
    assert option.thisown
    assert not options[0].thisown
    assert options.for_core() == {"threads": 2}


def test_a_runtime_takes_over_the_networks_that_it_loads() -> None:
    network = ann.INetwork()
    info = ann.TensorInfo(ann.TensorShape((1, 2)), ann.DataType_Float32)
    x, y = network.AddInputLayer(0, "x"), network.AddOutputLayer(0, "y")
    x.GetOutputSlot(0).Connect(y.GetInputSlot(0))
    x.GetOutputSlot(0).SetTensorInfo(info)
    runtime = ann.IRuntime(ann.CreationOptions())
    backends = [ann.BackendId("CpuRef")]
    optimized, _ = ann.Optimize(network, backends, runtime.GetDeviceSpec(), ann.OptimizerOptions())
    assert optimized.thisown
    network_id, _ = runtime.LoadNetwork(optimized)
    assert not optimized.thisown
    data = np.array([[1, 2]], np.float32)
    inputs = ann.make_input_tensors([(0, runtime.GetInputTensorInfo(network_id, 0))], [data])
    outputs = ann.make_output_tensors([(0, runtime.GetOutputTensorInfo(network_id, 0))])
    runtime.EnqueueWorkload(network_id, inputs, outputs)
    np.testing.assert_array_equal(ann.workload_tensors_to_ndarray(outputs)[0], data)
