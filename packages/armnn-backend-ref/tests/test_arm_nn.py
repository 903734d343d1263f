# SPDX-License-Identifier: MIT
"""CpuRef computes what Arm NN's reference tests expect, and takes the types that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.backends import ModelContext
from armnn.graph import Network
from armnn.layers import LAYERS
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.detection import DetectionPostProcessDescriptor
from armnn.layers.elementwise import ElementwiseUnaryDescriptor
from armnn.layers.joining import StackDescriptor
from armnn.layers.normalization import NormalizationDescriptor
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.layers.recurrent import LstmActivation, LstmDescriptor, QLstmDescriptor
from armnn.layers.reduction import ArgMinMaxDescriptor
from armnn.layers.reshaping import PadDescriptor
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    DataLayout,
    DataType,
    NormalizationAlgorithmChannel,
    NormalizationAlgorithmMethod,
    OutputShapeRounding,
    PaddingMethod,
    PoolingAlgorithm,
)
from armnn_backend_ref.backend import RefBackend
from armnn_backend_ref.support import ANY
from armnn_conformance.cases import data_types_of

Array = NDArray[Any]
RunLayer = Callable[..., tuple[Array, ...]]

S16, S8 = DataType.QSYMM_S16, DataType.QASYMM_S8
GATES = ("forget", "cell", "output")


def test_the_value_of_a_quantized_pad_is_a_real_number(run_layer: RunLayer) -> None:
    """Arm NN takes it for a stored value.

    There, 1.0 would be stored as 1 and mean -3.
    """
    info = TensorInfo((1,), DataType.QASYMM_U8, 0.5, 7)
    d = PadDescriptor(pad_list=((1, 0),), pad_value=1.0)
    (y,) = run_layer("Pad", [(np.uint8([100]), info)], d)
    assert y.tolist() == [9, 100]


def test_soft_relu_of_a_large_number_is_that_number(run_layer: RunLayer) -> None:
    """Arm NN computes log(1 + exp(x)) literally.

    That is infinite from 88.8 up.
    """
    d = ActivationDescriptor(function=ActivationFunction.SOFT_RELU)
    (y,) = run_layer("Activation", [np.float32([88.8, 1000])], d)
    assert y.tolist() == np.float32([88.8, 1000]).tolist()


def lstm(
    run_layer: RunLayer,
    d: LstmDescriptor,
    x: Array,
    cell: Array,
    cell_weights: Array,
    infos: dict[str, TensorInfo | None],
) -> tuple[Array, ...]:
    """Run a cell of one unit.

    All parameters are zero but the weights of the candidate.
    """
    count = x.shape[1]
    shapes = {f"input_to_{gate}_weights": (1, count) for gate in (*GATES, "input")}
    shapes |= {f"recurrent_to_{gate}_weights": (1, 1) for gate in (*GATES, "input")}
    biases = ("forget_gate_bias", "cell_bias", "output_gate_bias", "input_gate_bias")
    shapes |= dict.fromkeys(biases, (1,))
    named = {name: np.zeros(shape, x.dtype) for name, shape in shapes.items()}
    named["input_to_cell_weights"] = cell_weights.astype(x.dtype)
    given = {"input": x, "output_state_in": np.zeros((1, 1), x.dtype), "cell_state_in": cell}
    operands = []
    for slot in LAYERS["Lstm"].inputs:
        array = (given | named).get(slot.name)
        info = infos.get(slot.name, infos["parameters"])
        typed = array is not None and info is not None
        operands.append((array, info.with_shape(array.shape)) if typed else array)
    outputs = [infos.get(name) for name in ("scratch_buffer", "output", "cell", "output")]
    return run_layer("Lstm", operands[:3], d, constants=operands[3:], outputs=outputs)


def test_without_an_activation_the_output_gate_lets_the_cell_through(run_layer: RunLayer) -> None:
    """Arm NN multiplies the candidate instead.

    There, 0.5 * 4 = 2 instead of 0.5 * (0.5 * 3 + 0.5 * 4).
    """
    d = LstmDescriptor(activation_func=LstmActivation.NONE, cifg_enabled=False)
    x, cell = np.float32([[4]]), np.float32([[3]])
    infos: dict[str, TensorInfo | None] = {"parameters": None}
    _, _, new_cell, output = lstm(run_layer, d, x, cell, np.array([[1]]), infos)
    assert new_cell.tolist() == [[3.5]]
    assert output.tolist() == [[1.75]]


def in_steps(scale: float) -> TensorInfo:
    return TensorInfo(None, S16, scale)


def test_each_tensor_of_a_quantized_lstm_has_its_own_scale(run_layer: RunLayer) -> None:
    """Arm NN uses the first tensor's scale for all."""
    d = LstmDescriptor(activation_func=LstmActivation.NONE, cifg_enabled=False)
    infos: dict[str, TensorInfo | None] = {
        "input": in_steps(1.0),
        "cell_state_in": in_steps(0.5),
        "parameters": in_steps(0.25),
        "scratch_buffer": in_steps(2.0**-4),
        "cell": in_steps(0.125),
        "output": in_steps(2.0**-5),
    }
    x, cell = np.int16([[4]]), np.int16([[6]])  # 4 and 3
    _, _, new_cell, output = lstm(run_layer, d, x, cell, np.array([[2]]), infos)
    assert new_cell.tolist() == [[20]]  # 0.5 * 3 + 0.5 * (4 * 0.5) = 2.5
    assert output.tolist() == [[40]]  # 0.5 * 2.5 = 1.25


def test_a_quantized_lstm_rounds_each_partial_sum_as_arm_nn_does(run_layer: RunLayer) -> None:
    """Four terms of a quarter vanish, each rounded to steps."""
    d = LstmDescriptor(activation_func=LstmActivation.NONE, cifg_enabled=False)
    steps = dict.fromkeys(("parameters", "input", "cell_state_in"), in_steps(0.5))
    infos: dict[str, TensorInfo | None] = {**steps, "output": in_steps(1.0), "cell": in_steps(1.0)}
    infos["scratch_buffer"] = in_steps(1.0)
    zero, ones = np.int16([[0]]), np.ones((1, 4), np.int16)
    _, _, new_cell, _ = lstm(run_layer, d, ones, zero, ones, infos)
    assert new_cell.tolist() == [[0]]  # a sum rounded once would give sigmoid(0) * 1 = 1
    _, _, new_cell, _ = lstm(run_layer, d, ones, zero, 2 * ones, infos)
    assert new_cell.tolist() == [[4]]  # a half is rounded up each time; once would give 2


def q_lstm(run_layer: RunLayer, d: QLstmDescriptor, bias: int, inputs: int = 1) -> int:
    """Return one unit's cell, in 1/1024, for a candidate bias."""
    weights = TensorInfo((1, inputs), DataType.QSYMM_S8, 0.5)
    recurrent = TensorInfo((1, 1), DataType.QSYMM_S8, 0.5)
    ones = np.ones((1, inputs), np.int8)
    named: dict[str, Any] = {"input_to_cell_weights": (ones, weights)}
    for gate in GATES:
        named.setdefault(f"input_to_{gate}_weights", (0 * ones, weights))
        named[f"recurrent_to_{gate}_weights"] = (np.int8([[0]]), recurrent)
        name = "cell_bias" if gate == "cell" else f"{gate}_gate_bias"
        named[name] = np.int32([bias if gate == "cell" else 0])
    operands = [
        (ones, TensorInfo((1, inputs), S8, 0.5)),
        (np.int8([[0]]), TensorInfo((1, 1), S8, 2.0**-7)),
        (np.int16([[0]]), TensorInfo((1, 1), S16, 2.0**-10)),
    ]
    constants = [named.get(slot.name) for slot in LAYERS["QLstm"].inputs[3:]]
    _, cell, _ = run_layer("QLstm", operands, d, constants=constants)
    return int(cell.item())


def gate_steps(scale: float) -> QLstmDescriptor:
    return QLstmDescriptor(
        forget_intermediate_scale=scale,
        cell_intermediate_scale=scale,
        output_intermediate_scale=scale,
        hidden_state_scale=2.0**-7,
    )


def test_a_q_lstm_rounds_each_partial_sum_as_arm_nn_does(run_layer: RunLayer) -> None:
    """Four terms of a quarter, in steps of one."""
    assert q_lstm(run_layer, gate_steps(1.0), bias=0, inputs=4) == 0
    # In steps of a quarter they are there: tanh(1) is 780 steps of the cell.
    assert q_lstm(run_layer, gate_steps(0.25), bias=0, inputs=4) == 390


def test_the_biases_of_a_q_lstm_count_for_nothing_without_normalization(
    run_layer: RunLayer,
) -> None:
    """Kept from Arm NN: these biases belong to the normalization.

    Arm NN has it from Android.
    """
    without, with_bias = (q_lstm(run_layer, gate_steps(0.25), bias) for bias in (0, 1000))
    assert without == with_bias == 126  # tanh(0.25) is 251 steps, half of which goes up


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_within_looks_at_height_and_width_in_both_layouts(
    run_layer: RunLayer, layout: DataLayout
) -> None:
    """Arm NN always takes axes 2 and 3.

    In NHWC these are width and channels.
    """
    x = np.ones((1, 2, 3, 4), np.float32)
    d = NormalizationDescriptor(
        norm_channel_type=NormalizationAlgorithmChannel.WITHIN,
        norm_size=3,
        alpha=1.0,
        beta=1.0,
        data_layout=layout,
    )
    (y,) = run_layer("Normalization", [x], d)
    rows, columns = (3, 4) if layout is DataLayout.NCHW else (2, 3)
    near = [[min(i + 1, size - 1) - max(i - 1, 0) + 1 for i in range(size)] for size in y.shape]
    first, second = layout.spatial_axes
    expected = 1 / np.multiply.outer(near[first], near[second])
    plane = y[0, 0] if layout is DataLayout.NCHW else y[0, :, :, 0]
    assert plane.shape == (rows, columns)
    np.testing.assert_allclose(plane, expected, rtol=1e-6)


def test_local_contrast_is_refused_rather_than_left_out() -> None:
    """Arm NN's reference claims it and writes nothing."""
    network = Network("test")
    x = network.add_input("x", TensorInfo((1, 1, 2, 2)))
    method = NormalizationAlgorithmMethod.LOCAL_CONTRAST
    layer = network.add("Normalization", [x], NormalizationDescriptor(norm_method_type=method))
    support = RefBackend().supports(layer, ModelContext({}))
    assert not support
    assert "norm_method_type is LocalContrast, expected LocalBrightness" in support.reason


def test_a_quantized_normalization_is_stored_in_the_steps_of_its_output(
    run_layer: RunLayer,
) -> None:
    """Arm NN stores it in its input's steps, as 2."""
    d = NormalizationDescriptor(norm_size=1, alpha=1.0, beta=1.0, k=0.0)
    x = np.array([8], np.int16).reshape(1, 1, 1, 1)  # 2.0, which becomes 2 / 2 ** 2 = 0.5
    output = TensorInfo(None, S16, 0.125)
    (y,) = run_layer("Normalization", [(x, TensorInfo(x.shape, S16, 0.25))], d, outputs=[output])
    assert y.item() == 4


def test_a_quantized_softmax_is_stored_in_the_steps_of_its_output(run_layer: RunLayer) -> None:
    """Arm NN's optimizer silently replaces the scale of QAsymmU8.

    It puts 1 / 256 and 0 in their place.
    """
    x = TensorInfo((4,), DataType.QASYMM_U8, 0.5, 128)
    output = TensorInfo(None, DataType.QASYMM_U8, 0.125, 10)
    (y,) = run_layer("Softmax", [(np.full(4, 128, np.uint8), x)], outputs=[output])
    assert y.tolist() == [12] * 4  # 10 and two eighths


def test_a_window_of_no_size_is_the_whole_picture(run_layer: RunLayer) -> None:
    """In Arm NN it reads nothing and gives zero."""
    d = Pooling2dDescriptor(pool_type=PoolingAlgorithm.AVERAGE)
    (y,) = run_layer("Pooling2d", [np.float32([[[[1, 2], [3, 6]]]])], d)
    assert y.item() == 3


def test_nan_goes_through_relu(run_layer: RunLayer) -> None:
    """Arm NN makes zero of it."""
    d = ActivationDescriptor(function=ActivationFunction.RELU)
    (y,) = run_layer("Activation", [np.float32([np.nan, -1, 1])], d)
    np.testing.assert_array_equal(y, [np.nan, 0, 1])


def test_integers_do_not_go_through_floats(run_layer: RunLayer) -> None:
    """Arm NN converts Signed32 to float32.

    2^24 + 1 loses its one, and 2^31 - 1 wraps around.
    """
    x = np.int32([2**24 + 1, 1 - 2**31])
    (y,) = run_layer("ElementwiseUnary", [x], ElementwiseUnaryDescriptor())
    assert y.tolist() == [2**24 + 1, 2**31 - 1]


def test_boxes_of_equal_score_come_in_their_order(run_layer: RunLayer) -> None:
    """Arm NN sorts them by std::partial_sort, which keeps no order."""
    d = DetectionPostProcessDescriptor(
        max_detections=4, num_classes=1, scale_x=1, scale_y=1, scale_w=1, scale_h=1
    )
    anchors = np.float32([[0, 10 * place, 1, 1] for place in range(4)])
    scores = np.full((1, 4, 2), 0.75, np.float32)
    operands = [np.zeros((1, 4, 4), np.float32), scores, anchors]
    boxes, *_ = run_layer("DetectionPostProcess", operands, d)
    assert boxes[0, :, 1].tolist() == [-0.5, 9.5, 19.5, 29.5]


@pytest.mark.parametrize("data_type", ANY, ids=lambda data_type: data_type.arm_name)
@pytest.mark.parametrize("axis", [0, 1])
def test_every_type_is_stacked_along_every_axis(
    run_layer: RunLayer, data_type: DataType, axis: int
) -> None:
    """Arm NN overruns its buffers on axis 0.

    Only Float32 is safe there.
    """
    info = TensorInfo((3,), data_type, 0.5 if data_type.is_quantized else ())
    x, y = (np.array(row).astype(data_type.numpy_dtype) for row in ([0, 1, 0], [1, 1, 0]))
    (z,) = run_layer("Stack", [(x, info), (y, info)], StackDescriptor(axis=axis))
    assert z.tolist() == np.stack([x, y], axis).tolist()


@pytest.mark.parametrize("method", PaddingMethod)
def test_a_maximum_never_counts_padding(run_layer: RunLayer, method: PaddingMethod) -> None:
    """Kept from Arm NN: IgnoreValue puts no zeros around maxima."""
    d = Pooling2dDescriptor(
        pool_width=2, pool_height=1, stride_x=1, stride_y=1, pad_left=1, padding_method=method
    )
    (y,) = run_layer("Pooling2d", [np.float32([[[[-3, -5]]]])], d)
    assert y.ravel().tolist() == [-3, -3]


@pytest.mark.parametrize(
    ("pool_type", "expected"), [(PoolingAlgorithm.AVERAGE, 2.0), (PoolingAlgorithm.L2, 8**0.5)]
)
def test_a_divisor_stops_at_the_end_of_the_padding(
    run_layer: RunLayer, pool_type: PoolingAlgorithm, expected: float
) -> None:
    """Kept from Arm NN: positions beyond the padding are uncounted.

    Of five positions one reads, one is padding, three are beyond it.
    """
    d = Pooling2dDescriptor(
        pool_type=pool_type,
        pool_width=5,
        pool_height=1,
        stride_x=4,
        stride_y=1,
        pad_right=1,
        padding_method=PaddingMethod.IGNORE_VALUE,
        output_shape_rounding=OutputShapeRounding.CEILING,
    )
    (y,) = run_layer("Pooling2d", [np.float32([[[[0, 0, 0, 0, 4]]]])], d)
    assert y.shape == (1, 1, 1, 2)
    np.testing.assert_allclose(y[0, 0, 0, 1], expected)


def test_a_transposed_convolution_of_a_batch_has_as_many_channels_as_kernels(
    run_layer: RunLayer,
) -> None:
    """Arm NN infers a wrong channel count from larger batches.

    They are those of two items and more.
    """
    d = TransposeConvolution2dDescriptor(stride_x=1, stride_y=1)
    x = np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1)
    weights = np.float32([1, 10, 100]).reshape(3, 1, 1, 1)
    (y,) = run_layer("TransposeConvolution2d", [x, weights], d)
    assert y[:, :, 0, 0].tolist() == [[0, 0, 0], [1, 10, 100], [2, 20, 200], [3, 30, 300]]


def test_a_box_with_several_classes_is_suppressed_once(run_layer: RunLayer) -> None:
    """Arm NN reads a box's second class as another's score.

    Its fast suppression does so, for the next box.
    """
    d = DetectionPostProcessDescriptor(
        max_detections=2,
        max_classes_per_detection=2,
        num_classes=2,
        nms_iou_threshold=0.5,
        scale_x=1,
        scale_y=1,
        scale_w=1,
        scale_h=1,
    )
    scores = np.float32([[[0, 0.5, 0.25], [0, 0.125, 0.75]]])
    anchors = np.float32([[0, 0, 1, 1], [0, 9, 1, 1]])
    encodings = np.zeros((1, 2, 4), np.float32)
    operands = [encodings, scores, anchors]
    boxes, classes, best, count = run_layer("DetectionPostProcess", operands, d)
    assert count.tolist() == [4]
    assert best.tolist() == [[0.75, 0.125, 0.5, 0.25]]
    assert classes.tolist() == [[1, 0, 0, 1]]
    assert boxes[0, :, 1].tolist() == [8.5, 8.5, -0.5, -0.5]


_TYPES = {
    "F16": DataType.FLOAT16,
    "BF16": DataType.BFLOAT16,
    "F32": DataType.FLOAT32,
    "U8": DataType.QASYMM_U8,
    "S8": DataType.QASYMM_S8,
    "QS8": DataType.QSYMM_S8,
    "S16": DataType.QSYMM_S16,
    "S32": DataType.SIGNED32,
    "S64": DataType.SIGNED64,
    "BOOL": DataType.BOOLEAN,
}
_STANDARD = "F32 F16 U8 S8 S16"

# What RefLayerSupport.cpp of Arm NN 20.08 to 26.07 takes for the first input, and BFloat16 wherever
# it takes Float16.
_TAKEN = {
    "Activation": "STANDARD",
    "Addition": "STANDARD S32",
    "ArgMinMax": "STANDARD S32 S64",
    "BatchMatMul": "STANDARD",
    "BatchNormalization": "STANDARD",
    "BatchToSpaceNd": "STANDARD",
    "BroadcastTo": "STANDARD QS8 S32 S64",
    "Cast": "STANDARD QS8 S32 S64",
    "ChannelShuffle": "STANDARD QS8",
    "Comparison": "STANDARD S32 BOOL",
    "Concat": "STANDARD S32",
    "ConvertFp16ToFp32": "F16",
    "ConvertFp32ToFp16": "F32",
    "Convolution2d": "STANDARD QS8",
    "Convolution3d": "STANDARD QS8",
    "Debug": "STANDARD QS8 S32 BOOL",
    "DepthToSpace": "STANDARD",
    "DepthwiseConvolution2d": "STANDARD QS8",
    "Dequantize": "F16 U8 S8 QS8 S16",
    "DetectionPostProcess": "STANDARD",
    "Division": "STANDARD S32",
    "ElementwiseBinary": "STANDARD S32",
    "ElementwiseUnary": "STANDARD S32 BOOL",
    "FakeQuantization": "F32",
    "Fill": "F32 F16 S32",
    "Floor": "F32 F16",
    "FullyConnected": "STANDARD",
    "Gather": "STANDARD S32",
    "GatherNd": "STANDARD S32",
    "InstanceNormalization": "F32 F16",
    "L2Normalization": "STANDARD",
    "LogSoftmax": "F32 F16",
    "LogicalBinary": "BOOL",
    "Lstm": "F32 F16 S16",
    "Maximum": "STANDARD S32",
    "Mean": "STANDARD",
    "Minimum": "STANDARD S32",
    "Multiplication": "STANDARD S32",
    "Normalization": "STANDARD",
    "Pad": "STANDARD",
    "Permute": "STANDARD",
    "Pooling2d": "STANDARD",
    "Pooling3d": "STANDARD",
    "Prelu": "STANDARD",
    "QLstm": "S8",
    "QuantizedLstm": "U8",
    "Quantize": "STANDARD QS8",
    "Rank": "STANDARD QS8 S32 S64 BOOL",
    "Reduce": "STANDARD S32",
    "Reshape": "STANDARD S32 BOOL",
    "Resize": "STANDARD QS8",
    "ReverseV2": "STANDARD QS8 S32",
    "ScatterNd": "STANDARD QS8 S32",
    "Shape": "STANDARD QS8 S32 S64 BOOL",
    "Slice": "STANDARD S32",
    "Softmax": "STANDARD QS8",
    "SpaceToBatchNd": "STANDARD",
    "SpaceToDepth": "STANDARD",
    "Splitter": "STANDARD",
    "Stack": "STANDARD S32",
    "StridedSlice": "STANDARD",
    "Subtraction": "STANDARD S32",
    "Tile": "STANDARD QS8 S32 S64",
    "Transpose": "STANDARD",
    "TransposeConvolution2d": "STANDARD QS8",
    "UnidirectionalSequenceLstm": "F32 S8",
}
_BEYOND = {"Fused": "Arm NN has it for CpuAcc only"}


def _taken(layer: str) -> list[DataType]:
    names = _TAKEN[layer].replace("STANDARD", _STANDARD).split()
    if "F16" in names and layer != "ConvertFp16ToFp32":
        names.append("BF16")
    return [_TYPES[name] for name in names]


def test_every_layer_of_arm_nn_is_looked_at() -> None:
    computed = {name for name, spec in LAYERS.items() if spec.number < 1000 and not spec.no_kernel}
    assert computed == set(_TAKEN) | set(_BEYOND)


@pytest.mark.parametrize("layer", _TAKEN)
def test_every_type_of_arm_nn_is_computed(layer: str) -> None:
    missing = [kind.arm_name for kind in _taken(layer) if kind not in data_types_of(layer)]
    assert missing == []


def _supported(layer: str, infos: list[TensorInfo], d: Any, output: TensorInfo) -> str:
    network = Network("test")
    values = [network.add_input(str(place), each) for place, each in enumerate(infos)]
    made = network.add(layer, values, d, outputs=[output])
    return RefBackend().supports(made, ModelContext({})).reason


def _info(kind: DataType, *shape: int) -> TensorInfo:
    return TensorInfo(shape, kind, 0.5 if kind.is_quantized else ())


_BYTES = (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8)


@pytest.mark.parametrize("weights", _BYTES)
@pytest.mark.parametrize("data", _BYTES)
@pytest.mark.parametrize(
    ("layer", "d", "shape"),
    [
        ("Convolution2d", Convolution2dDescriptor(), (3, 2, 2, 2)),
        ("DepthwiseConvolution2d", DepthwiseConvolution2dDescriptor(), (1, 2, 2, 4)),
        (
            "TransposeConvolution2d",
            TransposeConvolution2dDescriptor(stride_x=1, stride_y=1),
            (3, 2, 2, 2),
        ),
    ],
)
def test_data_in_eight_bits_goes_with_weights_of_every_such_type(
    layer: str, d: Any, shape: tuple[int, ...], data: DataType, weights: DataType
) -> None:
    infos = [_info(data, 1, 2, 3, 3), _info(weights, *shape)]
    infos.append(_info(DataType.SIGNED32, shape[0] if shape[0] > 1 else shape[3]))
    assert _supported(layer, infos, d, TensorInfo(None, data, 0.25)) == ""


@pytest.mark.parametrize("kind", [DataType.SIGNED32, DataType.SIGNED64])
def test_an_index_has_32_or_64_bits(kind: DataType) -> None:
    infos, output = [_info(DataType.FLOAT32, 2, 3)], TensorInfo(None, kind)
    assert _supported("ArgMinMax", infos, ArgMinMaxDescriptor(), output) == ""


def test_sums_of_bfloat16_may_stay_float32(run_layer: Any) -> None:
    """1 + 2^-9 is no BFloat16, but a sum of two."""
    x = np.array([1.0, 2.0**-9]).astype(DataType.BFLOAT16.numpy_dtype).reshape(1, 2, 1, 1)
    weights = np.ones((1, 2, 1, 1), x.dtype)
    for output, expected in ((DataType.FLOAT32, 1 + 2.0**-9), (DataType.BFLOAT16, 1.0)):
        (y,) = run_layer("Convolution2d", [x, weights], outputs=[output])
        assert y.dtype == output.numpy_dtype
        assert float(y.item()) == expected


def test_sums_do_not_become_float64() -> None:
    infos = [_info(DataType.FLOAT16, 1, 2, 3, 3), _info(DataType.FLOAT16, 3, 2, 2, 2)]
    reason = _supported(
        "Convolution2d", infos, Convolution2dDescriptor(), TensorInfo(None, DataType.FLOAT64)
    )
    assert "the output 'output' is Float64, expected Float16 as the input 'input'" in reason
