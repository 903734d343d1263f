# SPDX-License-Identifier: MIT
"""Products of one-hot rows and a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import ComparisonOperation, DataType

recognize_embedding = named_pass("recognize_embedding")

TABLE = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
NUMBERS = np.arange(5, dtype=np.int32)
LIMITS = np.iinfo(np.int32)
INDICES = np.array([[0, 1, 4, 2], [3, -1, 5, 0], [-5, 7, LIMITS.min, LIMITS.max]])


def product(
    indices: TensorInfo | None = None,
    numbers: Any = NUMBERS,
    table: Any = TABLE,
    *,
    is_first: bool = False,
    operation: str = "EQUAL",
    **matmul: Any,
) -> tuple[Network, Value]:
    """Return a network with a product, and its one-hot rows."""
    network = Network()
    x = network.add_input("x", indices or TensorInfo((3, 4, 1), DataType.SIGNED32))
    row = network.add_constant(np.reshape(numbers, (1, 1, -1)))
    operands = (row, x) if is_first else (x, row)
    equal = network.add_comparison(*operands, operation=ComparisonOperation[operation])
    hot = network.add_cast(equal, output=TensorInfo(None, DataType.FLOAT32))
    matrix = network.add_constant(table)
    network.add_output("y", network.add_batch_mat_mul(hot, matrix, name="last", **matmul))
    return network, hot


@pytest.mark.parametrize("is_first", [True, False])
def test_rows_are_gathered_and_others_are_zeros(
    compute: Callable[..., dict[str, Any]], is_first: bool
) -> None:
    network, _ = product(is_first=is_first)
    feeds = {"x": INDICES[..., np.newaxis]}
    expected = compute(network, feeds)["y"]
    assert recognize_embedding(network) == 1
    np.testing.assert_array_equal(compute(network, feeds)["y"], expected)
    assert not expected[1, 1:3].any()
    assert "BatchMatMul" not in {layer.type for layer in network.layers}
    assert network.find("last").type == "Reshape"
    assert recognize_embedding(network) == 0


def recognizes(*arguments: Any, **options: Any) -> bool:
    return recognize_embedding(product(*arguments, **options)[0]) == 1


def test_other_products_stay() -> None:
    assert recognizes()
    assert not recognizes(numbers=np.array([0, 1, 2, 4, 3], np.int32))
    assert not recognizes(numbers=np.arange(1, 6, dtype=np.int32))
    assert not recognizes(operation="GREATER")
    assert not recognizes(table=TABLE[:, :3].T.copy(), transpose_y=True)


def test_a_matrix_that_zeros_do_not_take_out_stays() -> None:
    for strange in (np.inf, np.nan):
        table = TABLE.copy()
        table[2, 1] = strange
        assert not recognizes(table=table)


def test_indices_that_no_gather_takes_stay() -> None:
    assert not recognizes(TensorInfo((3, 4, 1), DataType.SIGNED64), np.arange(5))
    assert not recognizes(TensorInfo((3, 4, 1)), np.arange(5, dtype=np.float32))
    assert not recognizes(TensorInfo((3, 4, 5), DataType.SIGNED32))


def test_unknown_sizes_wait() -> None:
    assert not recognizes(TensorInfo((None, 4, 1), DataType.SIGNED32))


def test_rows_that_others_read_stay() -> None:
    network, hot = product()
    network.add_output("hot", hot)
    assert recognize_embedding(network) == 0
