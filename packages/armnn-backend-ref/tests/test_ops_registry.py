# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import pytest

from armnn.layers import LAYERS
from armnn_backend_ref.ops import FAMILIES, OPS, Array, op


def test_every_layer_with_a_kernel_has_an_operation() -> None:
    computed = {spec.name for spec in LAYERS.values() if not spec.no_kernel}
    assert set(OPS) == computed


def test_an_operation_stands_in_the_module_of_its_layers_family() -> None:
    modules = {family.__name__.rpartition(".")[2] for family in FAMILIES}
    for name, operation in OPS.items():
        module = operation.function.__module__.rpartition(".")[2]
        assert module == LAYERS[name].family, f"{name} is in {module}.py"
        assert module in modules


def test_a_layer_has_one_operation() -> None:
    def again(_d: Any, x: Array) -> Array:
        return x

    with pytest.raises(ValueError, match="'Softmax' has two operations: keep one of them"):
        op("Softmax")(again)
