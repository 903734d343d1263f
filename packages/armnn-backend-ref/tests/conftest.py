# SPDX-License-Identifier: MIT
"""Fixtures that run one layer, operation or ONNX operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import helper

from armnn.backends import ArrayHandle, ModelContext
from armnn.graph import Network
from armnn.layers import LAYERS
from armnn.tensor import TensorInfo, info_of
from armnn_backend_ref.backend import RefBackend
from armnn_backend_ref.ops import OPS

if TYPE_CHECKING:
    from armnn.layers import Descriptor, Requested

Array: TypeAlias = NDArray[Any]
Operand: TypeAlias = Array | tuple[Array, TensorInfo] | None
RunLayer: TypeAlias = Callable[..., tuple[Array, ...]]


def _run_layer(
    layer_type: str,
    inputs: Sequence[Operand],
    descriptor: Descriptor | None = None,
    *,
    constants: Sequence[Operand] = (),
    outputs: Sequence[Requested] | None = None,
) -> tuple[Array, ...]:
    """Run a layer on inputs, then constants; return stored outputs.

    An operand is an array, or stored values with their info, or None where it is absent.
    """
    network = Network("test")
    pairs = [_with_info(operand) for operand in (*inputs, *constants)]
    values = []
    for index, pair in enumerate(pairs):
        if pair is None:
            values.append(None)
        elif index < len(inputs):
            values.append(network.add_input(f"input {index}", pair[1]))
        else:
            values.append(network.add_constant(*pair))
    layer = network.add(layer_type, values, descriptor, outputs=outputs)
    backend, model = RefBackend(), ModelContext({})
    support = backend.supports(layer, model)
    assert support, support.reason
    handles = [None if pair is None else ArrayHandle(pair[1], pair[0]) for pair in pairs]
    targets = [ArrayHandle(info, _never_written(info)) for info in layer.output_infos]
    backend.create_workload(layer, model).bind(handles, targets)()
    return tuple(target.map() for target in targets)


def _with_info(operand: Operand) -> tuple[Array, TensorInfo] | None:
    if operand is None or isinstance(operand, tuple):
        return operand
    return operand, info_of(operand)


def _never_written(info: TensorInfo) -> Array:
    """Return memory whose content a test would notice."""
    dtype = info.data_type.numpy_dtype
    garbage = np.full(info.num_elements * dtype.itemsize, 0xA5, np.uint8)
    return garbage.view(dtype).reshape(info.static_shape)


@pytest.fixture
def run_layer() -> RunLayer:
    return _run_layer


def _compute(descriptor: Descriptor, *inputs: Any, outputs: tuple[TensorInfo, ...] = ()) -> Any:
    """Call a descriptor's operation on real values, as workloads do."""
    name = next(name for name, spec in LAYERS.items() if spec.descriptor is type(descriptor))
    op = OPS[name]
    first = (descriptor, outputs) if op.typed else (descriptor,)
    with np.errstate(all="ignore"):
        return op.function(*first, *inputs)


@pytest.fixture
def compute() -> Callable[..., Any]:
    return _compute


def _onnx_run(
    op: str, *inputs: Array | None, opset: int = 20, outputs: int = 1, **attributes: Any
) -> Any:
    """Run one ONNX operator on onnxruntime; return its output.

    Several outputs are returned as a list.
    """
    names = ["" if array is None else f"x{index}" for index, array in enumerate(inputs)]
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    declared = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in feeds.items()
    ]
    targets = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op, names, targets, **attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in targets]
    model = helper.make_model(
        helper.make_graph([node], "one operator", declared, results),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=10,
    )
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    arrays = [np.asarray(y) for y in session.run(None, feeds)]
    return arrays[0] if outputs == 1 else arrays


@pytest.fixture
def onnx_run() -> Callable[..., Any]:
    return _onnx_run
