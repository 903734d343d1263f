# SPDX-License-Identifier: MIT
"""Kernels make the shapes that the layer table infers.

A workload copies its results into memory of that shape, where NumPy would broadcast a smaller one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn.backends import ArrayHandle, ModelContext, TensorHandle
from armnn_backend_ref.workload import RefWorkload
from armnn_conformance.cases import LayerCase, all_cells, cases_of
from armnn_conformance.running import layer_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo
    from armnn.types import DataType

CELLS = list(all_cells())
CELL_IDS = [f"{layer}-{data_type.arm_name}" for layer, data_type in CELLS]


class Receiver(TensorHandle):
    """An output of unknown shape, which receives the result's array."""

    def __init__(self, info: TensorInfo) -> None:
        self.info = info.with_shape(None)
        self.array: NDArray[Any] | None = None

    def map(self) -> NDArray[Any]:
        raise AssertionError("there is nothing to map before a shape is known")

    def assign(self, array: NDArray[Any]) -> None:
        self.array = array


def made(case: LayerCase) -> list[NDArray[Any] | None]:
    layer = layer_of(case)
    outputs = [Receiver(info) for info in layer.output_infos]
    inputs = [
        None if value is None or operand is None else ArrayHandle(operand.info, operand.stored)
        for value, operand in zip(layer.inputs, case.inputs, strict=False)
    ]
    RefWorkload(layer, ModelContext({})).bind(inputs, outputs)()
    for info, output in zip(layer.output_infos, outputs, strict=True):
        assert output.array is not None
        assert info.accepts(output.array.shape), f"{case}: {output.array.shape} is not {info}"
    return [output.array for output in outputs]


@pytest.mark.parametrize(("layer", "data_type"), CELLS, ids=CELL_IDS)
def test_the_shape_function_says_what_the_kernel_makes(layer: str, data_type: DataType) -> None:
    for case in cases_of(layer, data_type):
        arrays = made(case)
        shapes = [np.shape(array) for array in arrays]
        assert shapes == [expected.shape for expected in case.expected], str(case)
