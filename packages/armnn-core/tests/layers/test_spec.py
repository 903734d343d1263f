# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from armnn.errors import InvalidArgumentError
from armnn.layers import LAYERS, Descriptor, InputSlot
from armnn.layers._spec import layer, slot
from armnn.types import (
    ActivationFunction,
    ArgMinMaxFunction,
    BinaryOperation,
    ComparisonOperation,
    DataLayout,
    DataType,
    FusedKernelType,
    LogicalBinaryOperation,
    NormalizationAlgorithmChannel,
    NormalizationAlgorithmMethod,
    OutputShapeRounding,
    PaddingMethod,
    PaddingMode,
    PoolingAlgorithm,
    ReduceOperation,
    ResizeMethod,
    ResizeRounding,
    ScatterNdFunction,
    UnaryOperation,
)
from armnn_conformance.cases import cases_of

NCHW, NHWC = DataLayout.NCHW, DataLayout.NHWC
PADS = {"pad_left": 0, "pad_right": 0, "pad_top": 0, "pad_bottom": 0}
CONVOLUTION = {
    **PADS,
    "stride_x": 1,
    "stride_y": 1,
    "dilation_x": 1,
    "dilation_y": 1,
    "data_layout": NCHW,
}
POOLING = {
    "pool_type": PoolingAlgorithm.MAX,
    **PADS,
    "pool_width": 0,
    "pool_height": 0,
    "stride_x": 0,
    "stride_y": 0,
    "output_shape_rounding": OutputShapeRounding.FLOOR,
    "padding_method": PaddingMethod.EXCLUDE,
    "data_layout": NCHW,
    "dilation_x": 1,
    "dilation_y": 1,
}
SCALES = {
    "input_intermediate_scale": 0,
    "forget_intermediate_scale": 0,
    "cell_intermediate_scale": 0,
    "output_intermediate_scale": 0,
    "hidden_state_zero_point": 0,
    "hidden_state_scale": 0,
}
LSTM_FLAGS = {
    "cifg_enabled": True,
    "peephole_enabled": False,
    "projection_enabled": False,
    "layer_norm_enabled": False,
}
LSTM = {
    "activation_func": 1,
    "clipping_thres_cell": 0,
    "clipping_thres_proj": 0,
    **LSTM_FLAGS,
    "time_major": False,
    **SCALES,
}


DEFAULTS = {
    "Activation": {"function": ActivationFunction.SIGMOID, "a": 0, "b": 0},
    "ArgMinMax": {"function": ArgMinMaxFunction.MIN, "axis": -1, "select_last_index": False},
    "BatchNormalization": {"eps": 1e-4, "data_layout": NCHW},
    "BatchToSpaceNd": {
        "block_shape": (1, 1),
        "crops": ((0, 0), (0, 0)),
        "data_layout": NCHW,
    },
    "Comparison": {"operation": ComparisonOperation.EQUAL},
    "Concat": {"axis": 0},
    "Convolution2d": CONVOLUTION,
    "DepthToSpace": {"block_size": 1, "data_layout": NHWC, "column_row_depth": False},
    "DepthwiseConvolution2d": CONVOLUTION,
    "DetectionPostProcess": {
        "max_detections": 0,
        "max_classes_per_detection": 1,
        "detections_per_class": 1,
        "nms_score_threshold": 0,
        "nms_iou_threshold": 0,
        "num_classes": 0,
        "use_regular_nms": False,
        "scale_x": 0,
        "scale_y": 0,
        "scale_w": 0,
        "scale_h": 0,
    },
    "ElementwiseUnary": {"operation": UnaryOperation.ABS},
    "FakeQuantization": {"min": -6, "max": 6},
    "Fill": {"value": 0},
    "FullyConnected": {"transpose_weight_matrix": False},
    "Gather": {"axis": 0},
    "InstanceNormalization": {"gamma": 1, "beta": 0, "eps": 1e-12, "data_layout": NCHW},
    "L2Normalization": {"eps": 1e-12, "data_layout": NCHW},
    "LogicalBinary": {"operation": LogicalBinaryOperation.LOGICAL_AND},
    "LogSoftmax": {"beta": 1, "axis": -1},
    "Lstm": LSTM,
    "QLstm": {"cell_clip": 0, "projection_clip": 0, **LSTM_FLAGS, **SCALES},
    "Mean": {"axis": (), "keep_dims": False},
    "Normalization": {
        "norm_channel_type": NormalizationAlgorithmChannel.ACROSS,
        "norm_method_type": NormalizationAlgorithmMethod.LOCAL_BRIGHTNESS,
        "norm_size": 0,
        "alpha": 0,
        "beta": 0,
        "k": 0,
        "data_layout": NCHW,
    },
    "Pad": {"pad_list": (), "pad_value": 0, "padding_mode": PaddingMode.CONSTANT},
    "Permute": {"dim_mappings": ()},
    "Pooling2d": POOLING,
    "PreCompiled": {"num_output_slots": 1},
    "Reshape": {"target_shape": (), "zero_copies": False},
    "Resize": {
        "target_width": 0,
        "target_height": 0,
        "method": ResizeMethod.NEAREST_NEIGHBOR,
        "data_layout": NCHW,
        "align_corners": False,
        "half_pixel_centers": False,
        "rounding": ResizeRounding.TENSORFLOW,
        "cubic_coefficient": -0.75,
        "exclude_outside": False,
        "scale_width": 0,
        "scale_height": 0,
    },
    "Reduce": {"keep_dims": False, "axis": (), "reduce_operation": ReduceOperation.SUM},
    "Slice": {"begin": (), "size": ()},
    "Softmax": {"beta": 1, "axis": -1},
    "SpaceToBatchNd": {
        "block_shape": (1, 1),
        "pad_list": ((0, 0), (0, 0)),
        "data_layout": NCHW,
    },
    "SpaceToDepth": {"block_size": 1, "data_layout": NHWC},
    "Splitter": {"axis": 0, "sizes": ()},
    "Stack": {"axis": 0},
    "StandIn": {"num_outputs": 0},
    "StridedSlice": {
        "begin": (),
        "end": (),
        "stride": (),
        "begin_mask": 0,
        "end_mask": 0,
        "shrink_axis_mask": 0,
        "ellipsis_mask": 0,
        "new_axis_mask": 0,
        "data_layout": NCHW,
    },
    "Transpose": {"dim_mappings": ()},
    "TransposeConvolution2d": {
        **PADS,
        "stride_x": 0,
        "stride_y": 0,
        "data_layout": NCHW,
        "output_shape_enabled": False,
        "output_shape": (),
    },
    "UnidirectionalSequenceLstm": LSTM,
    "ChannelShuffle": {"num_groups": 0, "axis": 0},
    "Convolution3d": {
        **CONVOLUTION,
        "pad_front": 0,
        "pad_back": 0,
        "stride_z": 1,
        "dilation_z": 1,
        "data_layout": DataLayout.NDHWC,
    },
    "Pooling3d": {
        **POOLING,
        "pad_front": 0,
        "pad_back": 0,
        "pool_depth": 0,
        "dilation_z": 1,
        "stride_z": 0,
        "data_layout": DataLayout.NCDHW,
    },
    "BatchMatMul": {
        "transpose_x": False,
        "transpose_y": False,
        "adjoint_x": False,
        "adjoint_y": False,
        "data_layout_x": NCHW,
        "data_layout_y": NCHW,
    },
    "ElementwiseBinary": {"operation": BinaryOperation.ADD},
    "Tile": {"multiples": ()},
    "Fused": {"num_output_slots": 2, "fused_kernel_type": FusedKernelType.ADD_MUL_ADD},
    "BroadcastTo": {"broadcast_to_shape": ()},
    "ScatterNd": {"function": ScatterNdFunction.UPDATE, "axis": 0, "axis_enabled": False},
    "Cast": {"saturate": False},
}
"""The parameters of each layer type of Arm NN that has any, with the values of its headers and of
fields that it lacks; those of other layer types are held by ``test_released_layers.py``."""

WITHOUT_KERNEL = {
    "Input",
    "Output",
    "Constant",
    "MemCopy",
    "MemImport",
    "Merge",
    "Switch",
    "Map",
    "Unmap",
    "PreCompiled",
    "StandIn",
}


@pytest.fixture
def table() -> Iterator[None]:
    """Take back what a test enters into the table."""
    before = dict(LAYERS)
    yield
    LAYERS.clear()
    LAYERS.update(before)


@pytest.mark.parametrize("name", [spec.name for spec in LAYERS.values() if spec.number < 1000])
def test_parameters_have_the_defaults_of_arm_nn(name: str) -> None:
    descriptor = LAYERS[name].descriptor()
    assert dataclasses.asdict(descriptor) == DEFAULTS.get(name, {})


@pytest.mark.parametrize("name", [*LAYERS])
def test_defaults_have_the_type_of_their_field(name: str) -> None:
    """An int for a float would make another, equal descriptor."""
    for field in dataclasses.fields(LAYERS[name].descriptor):
        if field.type == "float":
            assert type(field.default) is float, field.name
        elif field.type == "int":
            assert type(field.default) is int, field.name
        elif str(field.type).startswith("tuple"):
            assert type(field.default) is tuple, field.name


@pytest.mark.parametrize("name", [*LAYERS])
def test_descriptors_are_named_after_their_layer(name: str) -> None:
    assert LAYERS[name].descriptor.__name__ == f"{name}Descriptor"


@pytest.mark.parametrize("name", [*LAYERS])
def test_every_input_says_what_stands_in_it(name: str) -> None:
    assert all(input_slot.doc.endswith(".") for input_slot in LAYERS[name].inputs)


def test_sums_of_products_count_their_multiply_adds() -> None:
    for spec in LAYERS.values():
        numerics = spec.numerics
        assert not numerics.linear or numerics.averages or spec.multiply_adds, spec.name


def test_a_layer_without_a_kernel_says_why() -> None:
    assert {spec.name for spec in LAYERS.values() if spec.no_kernel} == WITHOUT_KERNEL


def test_an_input_that_fills_a_field_is_optional_and_read_by_the_shape_function() -> None:
    slots = [s for spec in LAYERS.values() for s in spec.inputs if s.fills is not None]
    assert slots
    assert all(s.optional and s.shapes_output and s.fills == s.name for s in slots)


def test_a_variadic_input_takes_what_follows() -> None:
    spec = LAYERS["Concat"]
    assert spec.is_variadic
    assert spec.input_slot(5) is spec.inputs[0]
    assert not LAYERS["Addition"].is_variadic


def test_inputs_are_found_by_name() -> None:
    assert LAYERS["Convolution2d"].input_index("bias") == 2
    with pytest.raises(KeyError, match="biases"):
        LAYERS["Convolution2d"].input_index("biases")


def test_a_variadic_output_is_counted_by_the_descriptor() -> None:
    spec = LAYERS["Splitter"]
    assert len(spec.output_slots(spec.descriptor(sizes=(1, 2, 3)))) == 3
    assert len(spec.output_slots(spec.descriptor())) == 0


class FakeDescriptor(Descriptor):
    """A layer of a test."""

    size: int = 0


def test_a_declared_layer_enters_the_table(table: None) -> None:
    declared = layer(5000, inputs=[slot("input")])(FakeDescriptor)
    assert LAYERS["Fake"].descriptor is declared
    assert declared(size=3).size == 3
    assert LAYERS["Fake"].number == 5000
    assert LAYERS["Fake"].since == (1, 0)


@pytest.mark.parametrize(
    ("name", "number", "message"),
    [
        ("Softmax", 5000, r"'Softmax' \(5000\) clashes with 'Softmax' \(52\)"),
        ("Fake", 52, r"'Fake' \(52\) clashes with 'Softmax' \(52\)"),
    ],
)
def test_a_taken_name_or_number_is_refused(
    table: None, name: str, number: int, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        layer(number, outputs=[])(type(f"{name}Descriptor", (FakeDescriptor,), {}))


@pytest.mark.parametrize(
    "inputs",
    [[slot("input"), slot("input")], [slot("inputs", variadic=True), slot("other")]],
    ids=["one name twice", "variadic not last"],
)
def test_ill_formed_inputs_are_refused(table: None, inputs: list[InputSlot]) -> None:
    with pytest.raises(InvalidArgumentError, match="need different names, and only the last"):
        layer(5000, inputs=inputs, outputs=[])(FakeDescriptor)


def test_an_input_cannot_fill_a_field_that_is_not_there(table: None) -> None:
    with pytest.raises(InvalidArgumentError, match="fills 'shape', which FakeDescriptor does not"):
        layer(5000, inputs=[slot("shape", optional=True, fills="shape")])(FakeDescriptor)


def test_an_output_cannot_be_like_an_input_that_is_not_there(table: None) -> None:
    with pytest.raises(InvalidArgumentError, match="like 'input', which is not an input"):
        layer(5000)(FakeDescriptor)


def test_shapes_and_indices_are_integers_of_32_or_64_bits() -> None:
    for name in ("Shape", "Rank", "ArgMinMax"):
        assert LAYERS[name].outputs[0].data_types == (DataType.SIGNED32, DataType.SIGNED64)


@pytest.mark.parametrize("name", [spec.name for spec in LAYERS.values() if spec.moves_data])
def test_what_moves_data_has_each_element_of_an_output_from_an_input(name: str) -> None:
    cases = list(cases_of(name))
    assert cases
    for case in cases:
        given = {x for value in case.inputs if value is not None for x in value.real.flat}
        assert {x for expected in case.expected for x in expected.flat} <= given, case.id


def test_what_computes_or_fills_in_does_not_only_move_data() -> None:
    others = ("Addition", "Cast", "Pad", "Quantize", "SpaceToBatchNd", "TopK", "Trilu")
    assert not [name for name in others if LAYERS[name].moves_data]
