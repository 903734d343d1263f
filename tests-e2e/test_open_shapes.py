# SPDX-License-Identifier: MIT
"""Slips in options and lists of backends: told at load, with a cache as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import Network, TensorInfo
from armnn.errors import ArmnnError, InvalidArgumentError, OptimizationError


@pytest.mark.parametrize("is_cached", [False, True], ids=["plain", "cached"])
@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        (
            {"backends": ["CpuAcc"], "backend_options": {"CpuAcc": {"NoSuch": 1}}},
            InvalidArgumentError,
            "option 'NoSuch' is not known",
        ),
        ({"backends": ["Custom"]}, OptimizationError, r"no backend of \[Custom\] runs 1 layer"),
        (
            {"backends": ["Custom", "CpuRef"], "strict": True},
            OptimizationError,
            "strict mode: 1 layer",
        ),
    ],
    ids=["option", "list", "strict"],
)
def test_a_model_with_an_open_dimension_is_not_loaded_for_what_cannot_run_it(
    arguments: dict[str, Any], kind: type[ArmnnError], said: str, is_cached: bool, tmp_path: Path
) -> None:
    network = Network("open")
    x = network.add_input("x", TensorInfo((None, 4)))
    network.add_output("y", network.add_activation(x, function="ReLu"))
    armnn.save(network, tmp_path / "open.armnn")
    cache = tmp_path / "cache" if is_cached else None
    for _ in range(2):
        with pytest.raises(kind, match=said):
            armnn.load_model(tmp_path / "open.armnn", cache_dir=cache, **arguments)
    given = np.float32([[-1, 2, -3, 4]] * 3)
    right = {"backends": ["CpuAcc"], "backend_options": {"CpuAcc": {"NumberOfThreads": 1}}}
    model = armnn.load_model(tmp_path / "open.armnn", cache_dir=cache, **right)
    np.testing.assert_array_equal(model.run({"x": given})["y"], np.maximum(given, 0))
