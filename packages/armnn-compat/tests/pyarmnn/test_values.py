# SPDX-License-Identifier: MIT
"""Shapes, infos, tensors, constants, quantized values, and the marks of ownership."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pytest

from armnn.types import ActivationFunction, DataType, MemorySource
from armnn_compat import pyarmnn as ann

NUMPY_TYPES = {
    "Float32": np.float32, "Float16": np.float16, "QAsymmU8": np.uint8, "QAsymmS8": np.int8,
    "QSymmS8": np.int8, "QSymmS16": np.int16, "Signed32": np.int32, "Boolean": np.bool_,
}  # fmt: skip


def test_constants_are_arm_nns_numbers() -> None:
    assert (ann.DataType_Float16, ann.DataType_Float32, ann.DataType_QAsymmU8) == (0, 1, 2)
    assert (ann.DataLayout_NCHW, ann.DataLayout_NHWC, ann.ActivationFunction_TanH) == (1, 2, 1)
    assert (ann.ResizeMethod_NearestNeighbor, ann.PaddingMethod_Exclude) == (1, 1)
    assert ann.ShapeInferenceMethod_InferAndValidate == 1
    assert ann.ProfilingDetailsMethod_DetailsOnly == 2
    assert type(ann.UnaryOperation_Neg) is int


@pytest.mark.parametrize("kind", [DataType, ActivationFunction, MemorySource])
def test_members_that_arm_nn_lacks_are_left_out(kind: Any) -> None:
    names = {name for name in ann.CONSTANTS if name.startswith(f"{kind.__name__}_")}
    ours = {member.arm_name for member in kind if member >= 1000}
    assert ours
    assert names == {f"{kind.__name__}_{member.arm_name}" for member in kind if member < 1000}


def test_what_is_missing_is_named_with_what_is_close() -> None:
    with pytest.raises(AttributeError, match="no 'DataType_Float'; did you mean 'DataType_Float"):
        _ = ann.DataType_Float
    with pytest.raises(AttributeError, match="no 'ICaffeParser': Arm NN dropped its parser of"):
        _ = ann.ICaffeParser
    with pytest.raises(AttributeError, match=r"no 'xyzzy'$"):
        _ = ann.xyzzy


def test_versions_are_those_of_a_release() -> None:
    assert ann.__version__ == ann.ARMNN_VERSION == ann.GetVersion() == "33.0.0"
    assert (ann.GetMajorVersion(), ann.GetMinorVersion()) == (33, 0)
    ann.check_armnn_version("33.0.7")
    with pytest.raises(AssertionError, match=r"Expected ArmNN version is 33.0.0 but installed"):
        ann.check_armnn_version("33.1.0")


def test_a_shape_is_a_sequence_of_dimensions() -> None:
    shape = ann.TensorShape((2, "3", 4.0))
    assert (len(shape), shape.GetNumDimensions(), shape.GetNumElements()) == (3, 3, 24)
    assert tuple(shape) == (2, 3, 4)
    shape[1] = 5
    assert repr(shape) == "TensorShape{Shape(2, 5, 4), NumDimensions: 3, NumElements: 40}"
    assert shape == ann.TensorShape((2, 5, 4)) != ann.TensorShape((2, 5))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], TypeError, "Argument is not a tuple: got \\[1, 2\\]"),
        ((1, "two"), TypeError, "All elements must be numbers: got"),
        ((), RuntimeError, "Tensor numDimensions must be greater than 0"),
    ],
)
def test_other_shapes_are_refused(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ann.TensorShape(given)


@pytest.mark.parametrize("index", [-1, 3])
def test_dimensions_outside_of_a_shape_are_refused(index: int) -> None:
    with pytest.raises(ValueError, match=f"Invalid dimension index: {index} \\(number of dim"):
        ann.TensorShape((1, 2, 3))[index]


def test_an_info_says_what_a_tensor_is() -> None:
    info = ann.TensorInfo(ann.TensorShape((2, 3)), ann.DataType_QAsymmU8, 0.5, 1, True)
    assert (info.GetNumElements(), info.GetNumBytes(), info.GetNumDimensions()) == (6, 6, 2)
    assert (info.GetQuantizationScale(), info.GetQuantizationOffset()) == (0.5, 1)
    assert info.IsQuantized()
    assert info.IsConstant()
    assert str(info) == (
        "TensorInfo{DataType: 2, IsQuantized: 1, QuantizationScale: 0.500000, "
        "QuantizationOffset: 1, IsConstant: 1, NumDimensions: 2, NumElements: 6}"
    )
    copied = ann.TensorInfo(info)
    copied.GetShape()[0] = 7
    copied.SetQuantizationScale(0.25)
    assert (info.GetNumElements(), info.GetQuantizationScale()) == (6, 0.5)
    assert not info.IsTypeSpaceMatch(copied)
    plain = ann.TensorInfo(ann.TensorShape((1,)), ann.DataType_Float32)
    assert not plain.IsQuantized()
    assert not plain.IsConstant()
    with pytest.raises(TypeError, match="Wrong number or type of arguments for TensorInfo"):
        ann.TensorInfo(3)


@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_a_tensor_owns_memory_of_its_type(name: str) -> None:
    info = ann.TensorInfo(ann.TensorShape((2, 3)), getattr(ann, f"DataType_{name}"))
    tensor = ann.Tensor(info)
    memory = tensor.get_memory_area()
    assert (memory.dtype, memory.shape) == (NUMPY_TYPES[name], (6,))
    assert tensor.GetNumBytes() == memory.nbytes
    for twin in (copy(tensor), ann.Tensor(tensor)):
        assert twin.get_memory_area() is memory
        assert twin.GetInfo() is not tensor.GetInfo()
    (view,) = ann.workload_tensors_to_ndarray([(0, tensor)])
    assert view.shape == (2, 3)
    assert np.shares_memory(view, memory)
    assert str(tensor) == (
        f"Tensor{{DataType: {info.GetDataType()}, NumBytes: {memory.nbytes}, NumDimensions: 2, "
        "NumElements: 6}"
    )


def test_a_tensor_without_arguments_is_empty() -> None:
    for tensor in (ann.Tensor(), ann.ConstTensor()):
        assert tensor.GetNumElements() == tensor.GetNumBytes() == 0
        assert tensor.get_memory_area() is None


def float_info(*, constant: bool = True) -> ann.TensorInfo:
    return ann.TensorInfo(ann.TensorShape((2, 3)), ann.DataType_Float32, 0.0, 0, constant)


def test_a_constant_reads_the_callers_array() -> None:
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    tensor = ann.ConstTensor(float_info(), data)
    assert np.shares_memory(tensor.get_memory_area(), data)
    assert not tensor.get_memory_area().flags.writeable
    assert data.flags.writeable
    assert copy(tensor).get_memory_area() is tensor.get_memory_area()
    assert ann.ConstTensor(ann.Tensor(float_info())).GetNumElements() == 6


UNKNOWN = ann.TensorInfo(ann.TensorShape((1,)), 99, 0.0, 0, True)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ann.Tensor("x"), ValueError, "arguments provided to create Tensor. Expected none"),
        (lambda: ann.Tensor(UNKNOWN), ValueError, "not supported. Got 99, expected a DataType"),
        (lambda: ann.ConstTensor("x"), ValueError, "provided to create Const Tensor. Expected no"),
        (lambda: ann.ConstTensor(float_info(), [1]), TypeError, "provided as a numpy array"),
        (
            lambda: ann.ConstTensor(UNKNOWN, np.zeros(1)),
            ValueError,
            "provided for this Tensor is not supported: 99",
        ),
        (
            lambda: ann.ConstTensor(float_info(), np.zeros((2, 3))),
            TypeError,
            "type <class 'numpy.float32'> for type 1 but instead got numpy.float64",
        ),
        (
            lambda: ann.ConstTensor(float_info(), np.zeros((2, 2), np.float32)),
            ValueError,
            "ConstTensor requires 24 bytes, 16 provided",
        ),
        (
            lambda: ann.ConstTensor(float_info(constant=False), np.zeros((2, 3), np.float32)),
            ValueError,
            "^TensorInfo when initializing ConstTensor must be set to constant.$",
        ),
        (
            lambda: ann.ConstTensor(ann.Tensor(float_info(constant=False))),
            ValueError,
            "^TensorInfo of Tensor when initializing ConstTensor must be set to constant.$",
        ),
        (
            lambda: ann.make_input_tensors([(0, float_info())], []),
            ValueError,
            "Length of 'inputs_binding_info' does not match length of 'input_data': 1 and 0",
        ),
    ],
)
def test_other_tensors_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_inputs_are_constants_of_their_bindings() -> None:
    info = float_info(constant=False)
    ((number, tensor),) = ann.make_input_tensors([(4, info)], [np.zeros(6, np.float32)])
    assert (number, tensor.GetDataType(), info.IsConstant()) == (4, 1, True)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.0, "uint8", 130), (-1.25, "int8", 125), (1.25, "int8", 127), (-1000.0, "uint8", 0),
        (0.25, "int16", 129), (-0.25, "int32", 127), (float("inf"), "int16", 32767),
    ],
)  # fmt: skip
def test_values_are_rounded_away_from_zero_and_clipped(
    value: float, dtype: str, expected: int
) -> None:
    made = ann.quantize(value, 0.5, 128, dtype)
    assert (made, type(made)) == (expected, int)
    assert getattr(ann, f"Quantize_{dtype}_t")(value, 0.5, 128) == expected


def test_stored_values_are_decoded() -> None:
    for value in (3, np.uint8(3), np.int32(3)):
        assert ann.dequantize(value, 0.5, 128, "uint8") == -62.5
    assert ann.Dequantize_int8_t(-4, 0.25, 4) == -2.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ann.quantize(1, 1, 0, "uint16"), "Unexpected target datatype uint16 given."),
        (lambda: ann.quantize(float("nan"), 1, 0, "int8"), "the value is NaN"),
        (lambda: ann.dequantize(1, 1, 0, "uint16"), "Unexpected value datatype uint16 given."),
        (lambda: ann.dequantize(-1, 1, 0, "uint8"), "range of the given datatype uint8: got -1"),
    ],
)
def test_other_values_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_permutation_knows_its_inverse() -> None:
    permutation = ann.PermutationVector((0, 2, 3, 1))
    assert (permutation[3], permutation.GetSize(), tuple(permutation)) == (1, 4, (0, 2, 3, 1))
    assert permutation.IsInverse(ann.PermutationVector((0, 3, 1, 2)))
    assert not permutation.IsInverse(permutation)
    assert permutation == ann.PermutationVector((0, 2, 3, 1))
    with pytest.raises(ValueError, match="Invalid index 4: there are 4 dimensions"):
        permutation[4]


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
