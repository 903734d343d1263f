# SPDX-License-Identifier: MIT
"""Fixtures of layer types: inference here and by ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from armnn.layers import LAYERS, infer_outputs
from armnn.tensor import TensorInfo, info_of


@pytest.fixture
def infer() -> Callable[..., tuple[TensorInfo, ...]]:
    """Return a function that infers a layer without a network."""
    return _infer


def _infer(
    layer_type: str,
    operands: Sequence[Any] | Mapping[str, Any],
    requested: Sequence[Any] | None = None,
    **parameters: Any,
) -> tuple[TensorInfo, ...]:
    """Infer from operands, in slot order or by name.

    Operands are infos, shapes (of Float32), or known arrays.
    """
    spec = LAYERS[layer_type]
    if isinstance(operands, Mapping):
        names = [input_slot.name for input_slot in spec.inputs]
        assert set(operands) <= set(names)
        operands = [operands.get(name) for name in names]
    descriptor = spec.descriptor(**parameters)
    return infer_outputs(
        spec,
        descriptor,
        [_operand_info(operand) for operand in operands],
        [operand if isinstance(operand, np.ndarray) else None for operand in operands],
        [None] * len(spec.output_slots(descriptor)) if requested is None else requested,
    )


def _operand_info(operand: Any) -> TensorInfo | None:
    if isinstance(operand, np.ndarray):
        return info_of(operand)
    return operand if operand is None or isinstance(operand, TensorInfo) else TensorInfo(operand)


@pytest.fixture
def onnx_shapes() -> Callable[..., list[tuple[int, ...]]]:
    """Return a function that infers shapes by ONNX's own code."""
    return _onnx_shapes


def _onnx_shapes(
    op_type: str, operands: Sequence[Any], outputs: int = 1, **attributes: Any
) -> list[tuple[int, ...]]:
    """Infer from shapes (of floats) or known arrays.

    Raises:
        onnx.shape_inference.InferenceError: The operator refuses them.
    """
    import onnx
    from onnx import helper, numpy_helper, shape_inference

    names = [f"in{index}" for index in range(len(operands))]
    results = [f"out{index}" for index in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, results, **attributes)],
        "one",
        [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name, shape in zip(names, operands, strict=True)
            if not isinstance(shape, np.ndarray)
        ],
        [onnx.ValueInfoProto(name=name) for name in results],
        [
            numpy_helper.from_array(array, name)
            for name, array in zip(names, operands, strict=True)
            if isinstance(array, np.ndarray)
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return [
        tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in inferred.graph.output
    ]
