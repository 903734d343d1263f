# SPDX-License-Identifier: MIT
"""Layers that pass the rules run, in every data type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn.backends import ArrayHandle, ModelContext
from armnn.graph import Layer, Network
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import ElementwiseBinaryDescriptor, ElementwiseUnaryDescriptor
from armnn.layers.joining import SplitterDescriptor
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.layers.reduction import ReduceDescriptor
from armnn.layers.resizing import ResizeDescriptor
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataType,
    PoolingAlgorithm,
    ReduceOperation,
    ResizeMethod,
    UnaryOperation,
)
from armnn_backend_ref.support import support_of
from armnn_backend_ref.workload import RefWorkload

if TYPE_CHECKING:
    from armnn.layers import Descriptor

PICTURE = (1, 2, 2, 2)

SAMPLES: list[tuple[str, int, Descriptor | None]] = [
    *(("Activation", 1, ActivationDescriptor(function=item)) for item in ActivationFunction),
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
