# SPDX-License-Identifier: MIT
"""Descriptors: Arm NN's names, the layer table's defaults."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from armnn.layers import LAYERS
from armnn_compat import pyarmnn as ann
from armnn_compat.pyarmnn.descriptors import DERIVED


@pytest.mark.parametrize("name", sorted(DERIVED))
def test_defaults_are_those_of_the_layer_table(name: str) -> None:
    kind = DERIVED[name]
    descriptor = kind()
    assert descriptor == kind()
    assert descriptor.for_core() == LAYERS[name.removesuffix("Descriptor")].descriptor()


def test_names_are_arm_nns() -> None:
    descriptor = ann.Convolution2dDescriptor()
    for name in ("PadLeft", "PadRight", "PadTop", "PadBottom"):
        assert getattr(descriptor, f"m_{name}") == 0
    assert (descriptor.m_StrideX, descriptor.m_DilationY, descriptor.m_BiasEnabled) == (1, 1, False)
    assert ann.ReduceDescriptor().m_vAxis == []
    assert ann.PadDescriptor().m_PaddingMode == ann.PaddingMode_Constant
    assert ann.LstmDescriptor().m_ClippingThresProj == 0
    assert ann.FullyConnectedDescriptor().m_TransposeWeightMatrix is False


def test_what_arm_nn_lacks_is_no_parameter() -> None:
    fields = {field.name for field in dataclasses.fields(LAYERS["Resize"].descriptor)}
    assert "cubic_coefficient" in fields
    with pytest.raises(AttributeError, match="ResizeDescriptor has no parameter 'm_CubicCoef"):
        ann.ResizeDescriptor().m_CubicCoefficient = 1
    assert not hasattr(ann, "CastDescriptor")


def test_a_constructor_takes_the_parameters_in_order() -> None:
    descriptor = ann.BatchToSpaceNdDescriptor([1, 2, 3], [(4, 5), (6, 7)])
    assert (descriptor.m_BlockShape, descriptor.m_Crops) == ([1, 2, 3], [(4, 5), (6, 7)])
    assert ann.MeanDescriptor([2], True).for_core() == LAYERS["Mean"].descriptor(
        axis=(2,), keep_dims=True
    )
    permute = ann.PermuteDescriptor(ann.PermutationVector((1, 0)))
    assert permute.for_core() == LAYERS["Permute"].descriptor(dim_mappings=(1, 0))
    reshape = ann.ReshapeDescriptor(ann.TensorShape((2, 3)))
    assert reshape.for_core() == LAYERS["Reshape"].descriptor(target_shape=(2, 3))
    stack = ann.StackDescriptor(1, 2, ann.TensorShape((3,)))
    assert (stack.m_Axis, stack.m_NumInputs, tuple(stack.m_InputShape)) == (1, 2, (3,))
    with pytest.raises(TypeError, match="FillDescriptor: got 2, expected at most m_Value"):
        ann.FillDescriptor(1.0, 2.0)


@pytest.mark.parametrize(
    ("name", "parameter", "value", "message"),
    [
        ("BatchToSpaceNd", "m_BlockShape", [-1], "value -1 of type 'int' to C type 'j'"),
        ("BatchToSpaceNd", "m_BlockShape", ["one"], "value 'one' of type 'str' to C type 'j'"),
        ("BatchToSpaceNd", "m_Crops", [(1, 2, 3)], r"value \(1, 2, 3\) of type 'tuple' to C type"),
        ("BatchToSpaceNd", "m_Crops", [-1], "value -1 of type 'int' to C type"),
        ("Slice", "m_Begin", 3, "value 3 of type 'int' to C type 'a sequence'"),
        ("Gather", "m_Axis", 1.5, "value 1.5 of type 'float' to C type 'int'"),
        (
            "Permute",
            "m_DimMappings",
            (0, 1),
            r"value \(0, 1\) of type 'tuple' to C type 'PermutationVector'",
        ),
    ],
)
def test_values_of_another_kind_are_refused(
    name: str, parameter: str, value: Any, message: str
) -> None:
    descriptor = getattr(ann, f"{name}Descriptor")()
    with pytest.raises(TypeError, match=f"^Failed to convert python input {message}"):
        setattr(descriptor, parameter, value)


def test_a_parameter_outside_of_its_range_is_refused_when_the_layer_is_made() -> None:
    descriptor = ann.SpaceToBatchNdDescriptor((2, 2), [(0, 0)])
    with pytest.raises(ValueError, match=r"the parameter 'pad_list' is .* expected 2 pairs"):
        descriptor.for_core()


def test_views_are_coordinates_per_dimension() -> None:
    empty = ann.ConcatDescriptor()
    assert (empty.GetNumViews(), empty.GetNumDimensions(), empty.GetConcatAxis()) == (0, 0, 1)
    views = ann.SplitterDescriptor(2, 3)
    views.SetViewOriginCoord(1, 0, 5)
    views.SetViewSize(1, 1, 7)
    assert (views.GetViewOrigin(1), views.GetViewSizes(1)) == ([5, 0], [0, 7])
    assert views.GetOrigins().GetViewOrigin(1) == [5, 0]
    with pytest.raises(RuntimeError, match=r"Failed to set view origin coordinates. There are 2"):
        views.SetViewOriginCoord(2, 0, 1)
    with pytest.raises(RuntimeError, match=r"Failed to set view size. There are 2 views of 3"):
        views.SetViewSize(0, 3, 1)
    with pytest.raises(ValueError, match="expected views that follow each other along one axis"):
        views.for_core()


@pytest.mark.parametrize(
    ("shapes", "axis", "error", "message"),
    [
        ([(1, 2), (3, 4)], 0, RuntimeError, "must be the same size along all dimensions  except"),
        ([(1, 2)], 0, RuntimeError, "Concatenation requires at least 2 inputs"),
        ([(1, 2), (1, 2)], 2, RuntimeError, "except the concatenation dimension 2"),
    ],
)
def test_shapes_that_cannot_be_joined_are_refused(
    shapes: Any, axis: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ann.CreateDescriptorForConcatenation([ann.TensorShape(each) for each in shapes], axis)


def test_what_is_no_shape_cannot_be_joined() -> None:
    with pytest.raises(TypeError, match="in method 'CreateDescriptorForConcatenation', argument 1"):
        ann.CreateDescriptorForConcatenation([-1, "one"], 0)


def test_the_tensors_of_an_lstm_are_named_by_arm_nn() -> None:
    params = ann.LstmInputParams()
    assert params.m_ProjectionBias is None
    assert params.m_CellLayerNormWeights is None
    with pytest.raises(AttributeError, match="LstmInputParams has no tensor 'm_Weights': it has"):
        params.m_Weights = None
    with pytest.raises(TypeError, match="m_CellBias is 3: expected a ConstTensor or None"):
        params.m_CellBias = 3
    with pytest.raises(AttributeError, match="QuantizedLstmInputParams has no tensor 'm_Proj"):
        ann.QuantizedLstmInputParams().m_ProjectionBias = None
