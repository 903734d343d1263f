# SPDX-License-Identifier: MIT
"""A model is measured beside each other runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn.benchmarking import bench


@pytest.mark.parametrize(
    ("name", "against"),
    [("page_orientation", ["onnxruntime", "openvino"]), ("face_detection", ["litert", "openvino"])],
)
def test_runtimes_take_turns(model: Callable[[str], Path], name: str, against: list[str]) -> None:
    path = model(name)
    shapes = [
        [size if isinstance(size, int) else 1 for size in layer.output.info.shape or ()]
        for layer in armnn.parse(path).inputs
    ]
    inputs = [np.zeros(shape, np.float32) for shape in shapes]
    measured = bench(
        path,
        ["CpuAcc", "CpuRef"],
        inputs=inputs,
        against=against,
        seconds=0.1,
        threads=1,
        streams=2,
    )
    assert [each.name for each in measured] == ["armnn", *against]
    assert [each.fault for each in measured] == [""] * 3
    assert all(each.runs_per_second > 0 for each in measured)
