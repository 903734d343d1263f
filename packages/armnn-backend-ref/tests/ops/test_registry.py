# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import pytest

from armnn.layers import LAYERS
from armnn_backend_ref.ops import OPS, Array, op


def test_every_layer_with_a_kernel_has_an_operation_and_no_other() -> None:
    computed = {spec.name for spec in LAYERS.values() if not spec.no_kernel}
    assert {OPS[name].layer for name in computed} == computed
    assert set(OPS) == computed


@pytest.mark.parametrize("name", [s.name for s in LAYERS.values() if not s.no_kernel])
def test_an_operation_stands_in_the_module_of_its_layers_family(name: str) -> None:
    module = OPS[name].function.__module__.rpartition(".")[2]
    assert module == LAYERS[name].family


def test_a_layer_has_one_operation() -> None:
    def again(_d: Any, x: Array) -> Array:
        return x

    with pytest.raises(ValueError, match="'Softmax' has two operations: keep one of them"):
        op("Softmax")(again)
