# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers import LAYERS
from armnn.types import DataLayout

IMAGE = ("InstanceNormalization", "Normalization")


@pytest.mark.parametrize("name", IMAGE)
def test_images_keep_their_shape(infer, name):
    assert infer(name, [("n", 3, 0, None)])[0].shape == ("n", 3, 0, None)
    with pytest.raises(ShapeError, match=r"'input' has shape \[2,3\]: expected rank 4"):
        infer(name, [(2, 3)])


@pytest.mark.parametrize(
    ("shape", "layout", "channels"),
    [
        ((2, 3, 4, 5), DataLayout.NCHW, 3),
        ((2, 3, 4, 5), DataLayout.NHWC, 5),
        (("n", 3), DataLayout.NCHW, 3),
        (("n", 7, 3), DataLayout.NHWC, 3),
        ((2, None, 4, 5), DataLayout.NCHW, 9),
    ],
)
def test_batches_are_normalized_per_channel(infer, shape, layout, channels):
    operands = [shape, *[(channels,)] * 4]
    assert infer("BatchNormalization", operands, data_layout=layout)[0].shape == shape


@pytest.mark.parametrize("name", ["mean", "variance", "beta", "gamma"])
def test_there_is_one_statistic_per_channel(infer, name):
    operands = {"input": (2, 3, 4, 5), "mean": (3,), "variance": (3,), "beta": (3,), "gamma": (3,)}
    with pytest.raises(ShapeError, match=rf"'{name}' has shape \[4\]: expected \[3\]"):
        infer("BatchNormalization", operands | {name: (4,)})


@pytest.mark.parametrize("shape", [("n", 3), (0, 3, 4, 5)])
def test_vectors_of_channels_keep_their_shape(infer, shape):
    assert infer("L2Normalization", [shape])[0].shape == shape


@pytest.mark.parametrize("name", ["BatchNormalization", "L2Normalization"])
def test_channels_are_needed(infer, name):
    operands = [(3,)] * len(LAYERS[name].inputs)
    with pytest.raises(ShapeError, match=r"has shape \[3\]: expected rank 2 or more"):
        infer(name, operands)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
def test_softmax_keeps_the_shape(infer, name):
    assert infer(name, [("n", 0, 3)], axis=-2)[0].shape == ("n", 0, 3)


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), 2), ((), -1)])
def test_softmax_needs_its_axis(infer, shape, axis):
    with pytest.raises(ShapeError, match=f"axis {axis} is not an axis of a tensor of rank"):
        infer("Softmax", [shape], axis=axis)


def test_the_factors_of_a_layer_normalization_broadcast_to_its_input(infer):
    assert infer("LayerNormalization", [("n", 3, 4), (3, 1), (4,)], axis=1)[0].shape == ("n", 3, 4)
    assert infer("RmsNormalization", [("n", 3, 4), ()])[0].shape == ("n", 3, 4)
    with pytest.raises(ShapeError, match=r"'gamma' has shape \[3\]: expected one that broadcasts"):
        infer("LayerNormalization", [(2, 4), (3,)])
    with pytest.raises(ShapeError, match=r"'beta' has shape \[1,1,1\]: expected one that broad"):
        infer("LayerNormalization", [(2, 4), None, (1, 1, 1)])
    with pytest.raises(ShapeError, match="axis 2 is not an axis of a tensor of rank 2"):
        infer("RmsNormalization", [(2, 4)], axis=2)


def test_the_channels_of_a_group_normalization_are_divided_equally(infer):
    assert infer("GroupNormalization", [("n", "c", 5)], num_groups=3)[0].shape == ("n", "c", 5)
    with pytest.raises(ShapeError, match=r"the 4 channels of the input .* divided into 3 groups"):
        infer("GroupNormalization", [(2, 4, 5)], num_groups=3)
    with pytest.raises(ShapeError, match=r"'gamma' has shape \[3\]: expected \[4\]"):
        infer("GroupNormalization", [(2, 5, 4), (3,)], data_layout=DataLayout.NHWC)
    with pytest.raises(InvalidArgumentError, match="'num_groups' is 0, expected at least 1"):
        infer("GroupNormalization", [(2, 4, 5)], num_groups=0)
