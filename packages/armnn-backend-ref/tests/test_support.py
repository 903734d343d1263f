# SPDX-License-Identifier: MIT
"""What CpuRef takes, and the reasons why it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from armnn.backends import ArrayHandle, ModelContext
from armnn.graph import Layer, Network
from armnn.layers import LAYERS, Descriptor
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.convolution import Convolution2dDescriptor, DepthwiseConvolution2dDescriptor
from armnn.layers.elementwise import ElementwiseBinaryDescriptor, ElementwiseUnaryDescriptor
from armnn.layers.indexing import ScatterNdDescriptor
from armnn.layers.joining import SplitterDescriptor
from armnn.layers.matmul import BatchMatMulDescriptor, FullyConnectedDescriptor
from armnn.layers.normalization import NormalizationDescriptor
from armnn.layers.plumbing import StandInDescriptor
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.layers.recurrent import QLstmDescriptor
from armnn.layers.reduction import ReduceDescriptor
from armnn.layers.resizing import ResizeDescriptor
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataType,
    NormalizationAlgorithmMethod,
    PoolingAlgorithm,
    ReduceOperation,
    ResizeMethod,
    UnaryOperation,
)
from armnn_backend_ref.support import RULES, support_of
from armnn_backend_ref.workload import RefWorkload

F16, BF16, F32, F64 = DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32, DataType.FLOAT64
U8, S8, QS8, S16 = DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8, DataType.QSYMM_S16
S32, S64, BOOL = DataType.SIGNED32, DataType.SIGNED64, DataType.BOOLEAN
I8, UI8 = DataType.SIGNED8, DataType.UNSIGNED8


Arguments = tuple[Any, ...]
"""What :func:`layer_of` takes."""


def info(data_type: DataType, *shape: int) -> TensorInfo:
    return TensorInfo(shape, data_type, 0.5 if data_type.is_quantized else ())


def layer_of(
    layer_type: str,
    inputs: Sequence[TensorInfo | None],
    descriptor: Descriptor | None = None,
    outputs: Sequence[TensorInfo | DataType | None] | None = None,
) -> Layer:
    network = Network("test")
    values = [
        None if item is None else network.add_input(f"x{index}", item)
        for index, item in enumerate(inputs)
    ]
    return network.add(layer_type, values, descriptor, outputs=outputs)


def test_every_layer_with_a_kernel_has_rules() -> None:
    assert set(RULES) == {name for name, spec in LAYERS.items() if not spec.no_kernel}


@pytest.mark.parametrize("name", [name for name in RULES if not LAYERS[name].is_variadic])
def test_rules_name_slots_that_the_layer_has(name: str) -> None:
    """A rule about a missing slot cannot fail."""
    spec = LAYERS[name]
    layer = Layer(spec, spec.descriptor(), "test", 0, (None,) * len(spec.inputs), (None,))
    for rule in RULES[name]:
        try:
            rule(layer)
        except ValueError:
            continue  # this layer is not well formed; only an unknown slot matters here


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("Merge", "control flow has no kernel"),
        ("StandIn", "it stands in for an operator that the parser does not know"),
        ("MemCopy", "the runtime moves the bytes itself"),
    ],
)
def test_a_layer_without_a_kernel_is_refused(name: str, rest: str) -> None:
    spec = LAYERS[name]
    support = support_of(Layer(spec, spec.descriptor(), "test", 0, (), ()))
    assert support.reason.startswith(f"CpuRef has no kernel for {name}: {rest}")


@pytest.mark.parametrize("data_type", [F16, BF16, F32, F64, U8, S8, QS8, S16])
@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "L2Normalization", "Pooling2d"])
def test_real_layers_take_every_real_type(name: str, data_type: DataType) -> None:
    assert support_of(layer_of(name, [info(data_type, 1, 2, 3, 4)]))


@pytest.mark.parametrize(
    ("data", "weights", "bias"),
    [
        (F32, F32, F32),
        (F64, F64, F64),
        (F16, F16, F16),
        (BF16, BF16, F32),
        (S8, QS8, S32),
        (U8, U8, S32),
        (U8, QS8, S32),
        (S16, QS8, S32),
        (S16, S16, S32),
    ],
)
def test_convolutions_take_weights_and_bias_that_go_with_the_data(
    data: DataType, weights: DataType, bias: DataType
) -> None:
    inputs = [info(data, 1, 2, 3, 3), info(weights, 4, 2, 1, 1), info(bias, 4)]
    assert support_of(layer_of("Convolution2d", inputs, Convolution2dDescriptor()))


BITS = ElementwiseBinaryDescriptor(operation=BinaryOperation.BITWISE_AND)
INVERTED = ElementwiseUnaryDescriptor(operation=UnaryOperation.BITWISE_NOT)
MIXED_TYPES = "Float16, BFloat16, Float32, QAsymmU8, QAsymmS8, QSymmS8 or QSymmS16"
REAL_TYPES = "Float16, BFloat16, Float32, Float64, QAsymmU8, QAsymmS8, QSymmS8 or QSymmS16"
PER_AXIS = TensorInfo((2, 2, 1, 1), QS8, (0.5, 0.5), axis=1)


@pytest.mark.parametrize(
    ("reason", "arguments"),
    [
        (
            f"the input 'input' is Boolean, expected {REAL_TYPES}",
            ("Softmax", [info(BOOL, 2)]),
        ),
        (
            "the output 'output' is Float64, expected Float32 as the input 'input'",
            ("Softmax", [info(F32, 2)], None, [F64]),
        ),
        (
            "the input 'other' is Signed64, expected Signed32 as the input 'input'",
            ("Addition", [info(S32, 2), info(S64, 2)]),
        ),
        (
            "the input 'inputs' is Signed32, expected Float32 as the input 'inputs'",
            ("Concat", [info(F32, 2), info(S32, 2)]),
        ),
        (
            "the input 'other' is Signed32, expected Boolean",
            ("LogicalBinary", [info(BOOL, 2), info(S32, 2)]),
        ),
        (
            "the input 'indices' is Float32, expected Signed32 or Signed64",
            ("Gather", [info(F32, 2), info(F32, 1)]),
        ),
        (
            f"the input 'weights' is Float64, expected {MIXED_TYPES}",
            ("Convolution2d", [info(F32, 1, 2, 3, 3), info(F64, 4, 2, 1, 1)]),
        ),
        (
            "the input 'weights' is Float32, expected Float64",
            ("Convolution2d", [info(F64, 1, 2, 3, 3), info(F32, 4, 2, 1, 1)]),
        ),
        (
            f"the input 'bias' is Signed64, expected Signed32, {MIXED_TYPES}",
            ("Convolution2d", [info(S8, 1, 2, 3, 3), info(QS8, 4, 2, 1, 1), info(S64, 4)]),
        ),
        (
            f"the input 'bias' is Signed32, expected {MIXED_TYPES}",
            ("Convolution2d", [info(F16, 1, 2, 3, 3), info(F16, 4, 2, 1, 1), info(S32, 4)]),
        ),
        (
            "the scales of the input 'weights' lie along axis 1, expected 0",
            ("Convolution2d", [info(S8, 1, 2, 3, 3), PER_AXIS]),
        ),
        (
            "the scales of the input 'weights' lie along axis 1, expected 3",
            (
                "DepthwiseConvolution2d",
                [info(S8, 1, 2, 3, 3), TensorInfo((1, 2, 1, 2), QS8, (0.5, 0.5), axis=1)],
            ),
        ),
        (
            "the scales of the input 'weights' lie along axis 0, expected 1",
            ("FullyConnected", [info(S8, 1, 2), TensorInfo((2, 2), QS8, (0.5, 0.5), axis=0)]),
        ),
        (
            "the scales of the input 'weights' lie along axis 1, expected 0",
            (
                "FullyConnected",
                [info(S8, 1, 2), TensorInfo((2, 2), QS8, (0.5, 0.5), axis=1)],
                FullyConnectedDescriptor(transpose_weight_matrix=True),
            ),
        ),
        (
            "the input 'input' has 2 scales, expected one",
            (
                "Convolution2d",
                [TensorInfo((1, 2, 3, 3), S8, (0.5, 0.5), axis=1), info(QS8, 4, 2, 1, 1)],
                None,
                [info(S8, 1, 4, 3, 3)],
            ),
        ),
        (
            "the input 'input' is QAsymmS8 without a scale: give it one",
            ("Softmax", [TensorInfo((2,), S8)]),
        ),
        (
            "axis_enabled is True, expected False: rows of indices name the leading axes",
            (
                "ScatterNd",
                [info(F32, 3), TensorInfo((1, 1), S32), info(F32, 1)],
                ScatterNdDescriptor(axis_enabled=True),
            ),
        ),
        (
            "norm_method_type is LocalContrast, expected LocalBrightness",
            (
                "Normalization",
                [info(F32, 1, 1, 1, 1)],
                NormalizationDescriptor(
                    norm_method_type=NormalizationAlgorithmMethod.LOCAL_CONTRAST
                ),
            ),
        ),
        (
            "the input 'target_shape' is computed by the network, expected a known value",
            ("Reshape", [info(F32, 2), info(S64, 1)]),
        ),
        (
            f"the input 'input' is Signed32, expected {REAL_TYPES} for pool_type Average",
            (
                "Pooling2d",
                [info(S32, 1, 1, 2, 2)],
                Pooling2dDescriptor(pool_type=PoolingAlgorithm.AVERAGE),
            ),
        ),
        (
            f"the input 'input' is Signed64, expected {REAL_TYPES} for adjoint_y True",
            (
                "BatchMatMul",
                [info(S64, 2, 2), info(S64, 2, 2)],
                BatchMatMulDescriptor(adjoint_y=True),
            ),
        ),
        (
            f"the input 'input' is Signed32, expected {REAL_TYPES} for function Sigmoid",
            ("Activation", [info(S32, 2)]),
        ),
        (
            "the input 'input' is Float32, expected Boolean for operation LogicalNot",
            (
                "ElementwiseUnary",
                [info(F32, 2)],
                ElementwiseUnaryDescriptor(operation=UnaryOperation.LOGICAL_NOT),
            ),
        ),
    ],
)
def test_the_first_failing_rule_is_the_reason(reason: str, arguments: Arguments) -> None:
    assert support_of(layer_of(*arguments)).reason == f"{arguments[0]} on CpuRef: {reason}"


@pytest.mark.parametrize(
    ("supported", "arguments"),
    [
        (True, ("ElementwiseBinary", [info(S32, 2), info(S32, 2)], BITS)),
        (False, ("ElementwiseBinary", [info(F32, 2), info(F32, 2)], BITS)),
        (True, ("ElementwiseUnary", [info(S32, 2)], INVERTED)),
        (False, ("ElementwiseUnary", [info(U8, 2)], INVERTED)),
        (True, ("Reduce", [info(BOOL, 2)], ReduceDescriptor(reduce_operation=ReduceOperation.MAX))),
        (False, ("Reduce", [info(BOOL, 2)])),
        (True, ("Pooling2d", [info(S32, 1, 1, 2, 2)])),
        (
            False,
            (
                "Pooling2d",
                [info(S32, 1, 1, 2, 2)],
                Pooling2dDescriptor(pool_type=PoolingAlgorithm.AVERAGE),
            ),
        ),
        (
            True,
            ("Activation", [info(S32, 2)], ActivationDescriptor(function=ActivationFunction.RELU)),
        ),
        (False, ("Activation", [info(S32, 2)])),
        (True, ("ElementwiseUnary", [info(S64, 2)])),
        (
            False,
            (
                "ElementwiseUnary",
                [info(S64, 2)],
                ElementwiseUnaryDescriptor(operation=UnaryOperation.EXP),
            ),
        ),
        (
            True,
            (
                "DepthwiseConvolution2d",
                [info(F32, 1, 2, 3, 3), info(F32, 1, 1, 1, 2)],
                DepthwiseConvolution2dDescriptor(),
            ),
        ),
    ],
)
def test_integers_are_taken_where_they_mean_something(
    supported: bool, arguments: Arguments
) -> None:
    assert bool(support_of(layer_of(*arguments))) is supported


@pytest.mark.parametrize(
    ("reason", "arguments"),
    [
        (
            f"the input 'input' is Boolean, expected {REAL_TYPES}",
            ("IsNaN", [info(BOOL, 2)]),
        ),
        (
            f"the input 'gamma' is Signed32, expected {REAL_TYPES}",
            ("LayerNormalization", [info(F32, 2), info(S32, 2)]),
        ),
        (
            "the input 'other' is Float32, expected Signed8 or Unsigned8",
            ("MatMulInteger", [info(I8, 2, 2), info(F32, 2, 2)]),
        ),
        (
            "the input 'input_zero_point' is Unsigned8, expected Signed8 as the input 'input'",
            ("ConvolutionInteger", [info(I8, 1, 1, 2, 2), info(I8, 1, 1, 1, 1), info(UI8, 1)]),
        ),
        (
            f"the input 'input' is Signed8, expected {REAL_TYPES}",
            ("Rnn", [info(I8, 1, 1, 1)] * 3),
        ),
        (
            f"the input 'recurrent_weights' is Signed32, expected {REAL_TYPES}",
            ("Gru", [info(F32, 1, 1, 1), info(F32, 1, 3, 1), info(S32, 1, 3, 1)]),
        ),
        (
            "the input 'cell_state_in' is Float64, expected Float32 as the input 'input'",
            (
                "SequenceLstm",
                [info(F32, 1, 1, 1), *[info(F32, 1, 4, 1)] * 2, *[None] * 3, info(F64, 1, 1, 1)],
            ),
        ),
        (
            "the input 'sequence_lengths' is Float32, expected Signed32 or Signed64",
            ("ReverseSequence", [info(F32, 1, 1), info(F32, 1)]),
        ),
        (
            "the input 'value' is Float64, expected Float32 as the input 'query'",
            ("Attention", [*[info(F32, 1, 1, 1, 1)] * 2, info(F64, 1, 1, 1, 1)]),
        ),
        (
            f"the input 'mask' is Signed64, expected {REAL_TYPES.replace(' or', ',')} or Boolean",
            ("Attention", [*[info(F32, 1, 1, 1, 1)] * 3, info(S64, 1)]),
        ),
        (
            "the input 'condition' is Signed32, expected Boolean",
            ("Compress", [info(F32, 2), info(S32, 2)]),
        ),
        (
            "the output 'output' is Unsigned8, expected 32 bits as Float32 has",
            ("BitCast", [info(F32, 2)], None, [DataType.UNSIGNED8]),
        ),
        (
            "the input 'input' is QAsymmS8, expected a plain type of 8 bits or more",
            ("BitCast", [info(S8, 2)], None, [DataType.SIGNED8]),
        ),
        (
            "the input 'limit' is Signed64, expected Signed32 as the input 'start'",
            ("Range", [info(S32), info(S64), info(S32)]),
        ),
        (
            "the input 'updates' is Float64, expected Float32 as the input 'input'",
            ("ScatterElements", [info(F32, 2), info(S64, 1), info(F64, 1)]),
        ),
        (
            f"the input 'grid' is Signed32, expected {REAL_TYPES}",
            ("GridSample", [info(F32, 1, 1, 1, 1), info(S32, 1, 1, 1, 2)]),
        ),
        (
            "the input 'k' is computed by the network, expected a known value",
            ("TopK", [info(F32, 2), info(S64)]),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_layers_beyond_arm_nn_are_refused_with_a_reason(reason: str, arguments: Arguments) -> None:
    assert support_of(layer_of(*arguments)).reason == f"{arguments[0]} on CpuRef: {reason}"


@pytest.mark.parametrize("data_type", [F16, BF16, F32, F64, U8, S8, QS8, S16])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("LayerNormalization", [(2, 3)]),
        ("RmsNormalization", [(2, 3)]),
        ("GroupNormalization", [(2, 3)]),
        ("Attention", [(1, 2, 3, 4)] * 3),
        ("RotaryEmbedding", [(1, 2, 3, 4), (3, 2), (3, 2)]),
        ("GridSample", [(1, 1, 2, 2), (1, 1, 1, 2)]),
        ("Einsum", [()]),
        ("NonMaxSuppression", [(1, 2, 4), (1, 1, 2)]),
    ],
)
def test_layers_beyond_arm_nn_take_every_real_type(
    name: str, shapes: list[tuple[int, ...]], data_type: DataType
) -> None:
    assert support_of(layer_of(name, [info(data_type, *shape) for shape in shapes]))


def test_a_q_lstm_needs_the_steps_of_its_inner_tensors() -> None:
    shapes = {
        "input": info(S8, 1, 1),
        "output_state_in": info(S8, 1, 1),
        "cell_state_in": info(S16, 1, 1),
    }
    for gate in ("forget", "cell", "output"):
        bias = "cell_bias" if gate == "cell" else f"{gate}_gate_bias"
        shapes[f"input_to_{gate}_weights"] = info(QS8, 1, 1)
        shapes[f"recurrent_to_{gate}_weights"] = info(QS8, 1, 1)
        shapes[bias] = info(S32, 1)
    inputs = [shapes.get(slot.name) for slot in LAYERS["QLstm"].inputs]
    steps = {f"{gate}_intermediate_scale": 0.5 for gate in ("forget", "cell", "output")}
    assert support_of(layer_of("QLstm", inputs, QLstmDescriptor(hidden_state_scale=0.5, **steps)))
    support = support_of(layer_of("QLstm", inputs, QLstmDescriptor(hidden_state_scale=0.5)))
    assert support.reason == (
        "QLstm on CpuRef: forget_intermediate_scale is 0.0, expected a scale above 0"
    )
    support = support_of(layer_of("QLstm", inputs, QLstmDescriptor(**steps)))
    assert support.reason == (
        "QLstm on CpuRef: hidden_state_scale is 0.0, expected a scale above 0"
    )


def test_stand_ins_are_refused_with_the_tables_reason() -> None:
    network = Network("test")
    x = network.add_input("x", info(F32, 2))
    layer = network.add("StandIn", [x], StandInDescriptor(num_outputs=1), outputs=[info(F32, 2)])
    assert "stands in for an operator" in support_of(layer).reason


PICTURE = (1, 2, 2, 2)

SAMPLES: list[tuple[str, int, Descriptor | None]] = [
    *(("Activation", 1, ActivationDescriptor(function=item, a=1.0)) for item in ActivationFunction),
    ("Prelu", 2, None),
    *(("ElementwiseBinary", 2, ElementwiseBinaryDescriptor(operation=i)) for i in BinaryOperation),
    *(("ElementwiseUnary", 1, ElementwiseUnaryDescriptor(operation=i)) for i in UnaryOperation),
    ("Comparison", 2, None),
    ("LogicalBinary", 2, None),
    ("Floor", 1, None),
    ("Fused", 4, None),
    ("BatchMatMul", 2, None),
    *(("Pooling2d", 1, Pooling2dDescriptor(pool_type=item)) for item in PoolingAlgorithm),
    ("InstanceNormalization", 1, None),
    ("L2Normalization", 1, None),
    ("Normalization", 1, None),
    ("Softmax", 1, None),
    ("LogSoftmax", 1, None),
    ("ArgMinMax", 1, None),
    ("Mean", 1, None),
    *(("Reduce", 1, ReduceDescriptor(reduce_operation=item)) for item in ReduceOperation),
    ("SpaceToBatchNd", 1, None),
    ("Concat", 2, None),
    ("Stack", 2, None),
    ("Splitter", 1, SplitterDescriptor(axis=1, sizes=(1, 1))),
    *(
        ("Resize", 1, ResizeDescriptor(target_height=3, target_width=3, method=item))
        for item in ResizeMethod
    ),
    ("Rank", 1, None),
    ("Shape", 1, None),
    ("Debug", 1, None),
]


def sample(name: str, count: int, descriptor: Descriptor | None, data_type: DataType) -> Layer:
    network = Network("test")
    info = TensorInfo(PICTURE, data_type, 0.5 if data_type.is_quantized else ())
    return network.add(name, [network.add_input(f"x{i}", info) for i in range(count)], descriptor)


def stored(info: TensorInfo) -> np.ndarray[Any, Any]:
    return (
        np.arange(1, info.num_elements + 1)
        .reshape(info.static_shape)
        .astype(info.data_type.numpy_dtype)
    )


@pytest.mark.parametrize("data_type", [kind for kind in DataType if not kind.is_storage_only])
@pytest.mark.parametrize(
    ("name", "count", "descriptor"), SAMPLES, ids=[f"{s[0]} {s[2]}" for s in SAMPLES]
)
def test_what_is_supported_runs_and_what_is_not_has_a_reason(
    name: str, count: int, descriptor: Descriptor | None, data_type: DataType
) -> None:
    layer = sample(name, count, descriptor, data_type)
    support = support_of(layer)
    if not support:
        assert data_type.arm_name in support.reason
        return
    inputs = [ArrayHandle(info, stored(info)) for info in layer.input_infos if info is not None]
    outputs = [ArrayHandle(info, stored(info)) for info in layer.output_infos]
    RefWorkload(layer, ModelContext({})).bind(inputs, outputs)()
