# SPDX-License-Identifier: MIT
"""Acme's shared code: a workload, kernels, a check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn import DataType, Layer
from armnn.backends import SUPPORTED, Step, Support, TensorHandle, Workload

Array = NDArray[np.float32]


class NumpyWorkload(Workload):
    """A layer computed by a function of arrays."""

    def __init__(self, compute: Callable[..., Array]) -> None:
        self._compute = compute

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that computes on these tensors."""
        operands = [None if handle is None else handle.map() for handle in inputs]
        result: NDArray[Any] = outputs[0].map()

        def step() -> None:
            result[...] = self._compute(*operands)

        return step


def fully_connected(layer: Layer) -> Callable[..., Array]:
    """Return the function of a FullyConnected layer."""
    is_transposed = layer.descriptor.transpose_weight_matrix  # type: ignore[attr-defined]  # by type

    def compute(x: Array, weights: Array, bias: Array | None = None) -> Array:
        product = x.reshape(len(x), -1) @ (weights.T if is_transposed else weights)
        return product if bias is None else product + bias

    return compute


def relu(x: Array) -> Array:
    """Return the larger of each number and 0."""
    return np.maximum(x, 0)


def float32_only(layer: Layer) -> Support:
    """Return whether all tensors of a layer are Float32."""
    for info in (*layer.input_infos, *layer.output_infos):
        if info is not None and info.data_type is not DataType.FLOAT32:
            return Support.no(f"a tensor is {info.data_type.arm_name}, expected Float32")
    return SUPPORTED
