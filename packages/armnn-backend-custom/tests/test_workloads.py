# SPDX-License-Identifier: MIT
"""Custom's workloads compute into bound tensors and report missing ones."""

from __future__ import annotations

import numpy as np
import pytest

from armnn.backends import ArrayHandle, TensorHandle
from armnn.errors import ExecutionError, InvalidArgumentError
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_custom.pre_compiled import CustomPreCompiledObject
from armnn_backend_custom.workloads import AdditionWorkload, CopyWorkload, PreCompiledWorkload


def handle(values: list[float]) -> TensorHandle:
    array = np.array(values, np.float32)
    return ArrayHandle(TensorInfo(array.shape, DataType.FLOAT32), array)


def test_the_addition_workload_adds_each_time_it_is_run() -> None:
    first, total = handle([1, 2]), handle([0, 0])
    step = AdditionWorkload().bind([first, handle([10, 20])], [total])
    step()
    assert total.map().tolist() == [11, 22]
    first.map()[:] = [5, 6]
    step()
    assert total.map().tolist() == [15, 26]


def test_the_pre_compiled_workload_adds() -> None:
    total = handle([0, 0])
    compiled = PreCompiledWorkload(CustomPreCompiledObject())
    compiled.bind([handle([1, 2]), handle([10, 20])], [total])()
    assert total.map().tolist() == [11, 22]


@pytest.mark.parametrize("compiled", [None, "a program"])
def test_the_pre_compiled_workload_requires_an_object(compiled: object) -> None:
    message = "CustomPreCompiledWorkload requires a valid pre-compiled object: got "
    with pytest.raises(InvalidArgumentError, match=message):
        PreCompiledWorkload(compiled)


def test_the_pre_compiled_object_refuses_missing_data() -> None:
    step = PreCompiledWorkload(CustomPreCompiledObject()).bind([handle([1]), None], [handle([0])])
    with pytest.raises(ExecutionError, match="Invalid input/output data"):
        step()


def test_the_copy_workload_copies() -> None:
    target = handle([0, 0])
    CopyWorkload("MemCopy").bind([handle([1, 2])], [target])()
    assert target.map().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([], [handle([1])], "layer type Input: Input cannot be zero length"),
        ([handle([1])], [], "layer type Input: Output cannot be zero length"),
        (
            [handle([1, 2])],
            [handle([1])],
            "data input and output differ in byte count: got 8 and 4",
        ),
    ],
)
def test_the_copy_workload_says_what_is_wrong(
    inputs: list[TensorHandle], outputs: list[TensorHandle], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        CopyWorkload("Input").bind(inputs, outputs)
