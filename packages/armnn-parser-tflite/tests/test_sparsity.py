# SPDX-License-Identifier: MIT
"""Sparse constants, against the dense ones they encode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

MATRIX = np.float32([[0, 0, 5, 0], [0, 0, 0, 0], [1, 0, 0, 7]])
ROWS = np.float32([5, 1, 7])


def _vector(lite: Any, level: Any, field: str, numbers: list[int], kind: str) -> None:
    vector = getattr(lite.schema, kind + "T")()
    vector.values = numbers
    setattr(level, field, vector)
    setattr(level, field + "Type", getattr(lite.schema.SparseIndexVector, kind))


def _dense_level(lite: Any, size: int) -> Any:
    level = lite.schema.DimensionMetadataT()
    level.format, level.denseSize = 0, size
    return level


def _sparse_level(
    lite: Any, segments: list[int], indices: list[int], kind: str = "Uint8Vector"
) -> Any:
    level = lite.schema.DimensionMetadataT()
    level.format = 1
    _vector(lite, level, "arraySegments", segments, kind)
    _vector(lite, level, "arrayIndices", indices, kind)
    return level


def _model(
    lite: Any,
    stored: NDArray[Any],
    shape: tuple[int, ...],
    order: list[int],
    levels: list[Any],
    blocks: list[int] | None = None,
) -> bytes:
    """Return a model that adds a sparse constant."""

    def edit(model: Any) -> None:
        sparsity = lite.schema.SparsityParametersT()
        sparsity.traversalOrder, sparsity.dimMetadata = order, levels
        sparsity.blockMap = [] if blocks is None else blocks
        model.subgraphs[0].tensors[1].sparsity = sparsity

    data: bytes = lite.build(
        [lite.Op("DENSIFY", ["w"], ["d"]), lite.Op("ADD", ["x", "d"])],
        {
            "x": lite.Tensor(shape=shape),
            "w": lite.Tensor("float32", shape, stored),
            "d": lite.Tensor(shape=shape),
            "y": lite.Tensor(shape=shape),
        },
        edit=edit,
    )
    return data


def _weights(data: bytes) -> NDArray[Any]:
    constant = parse(data).find("w").data
    assert constant is not None
    return constant


@pytest.mark.parametrize("kind", ["Int32Vector", "Uint16Vector", "Uint8Vector"])
def test_compressed_rows(lite: Any, kind: str) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3], kind)]
    np.testing.assert_array_equal(_weights(_model(lite, ROWS, (3, 4), [0, 1], levels)), MATRIX)


def test_compressed_columns(lite: Any) -> None:
    levels = [_dense_level(lite, 4), _sparse_level(lite, [0, 1, 1, 2, 3], [2, 0, 2])]
    data = _model(lite, np.float32([1, 5, 7]), (3, 4), [1, 0], levels)
    np.testing.assert_array_equal(_weights(data), MATRIX)


def test_blocks_of_an_axis(lite: Any) -> None:
    """One block of 2 is stored per row of 4."""
    levels = [
        _dense_level(lite, 2),
        _sparse_level(lite, [0, 1, 2], [1, 0]),
        _dense_level(lite, 2),
    ]
    data = _model(lite, np.float32([1, 2, 3, 4]), (2, 4), [0, 1, 2], levels, [1])
    np.testing.assert_array_equal(_weights(data), [[0, 0, 1, 2], [3, 4, 0, 0]])


def test_densify_is_what_litert_makes_of_it(lite: Any) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3])]
    data = _model(lite, ROWS, (3, 4), [0, 1], levels)
    feeds = {"x": np.ones((3, 4), np.float32)}
    np.testing.assert_array_equal(lite.run(data, feeds)["y"], lite.run_litert(data, feeds)["y"])


@pytest.mark.parametrize(
    ("order", "segments", "indices", "blocks", "message"),
    [
        ([0, 0], [0, 1, 1, 3], [2, 0, 3], [], "levels are not those of its axes and blocks"),
        ([0, 1, 2], [0, 1, 1, 3], [2, 0, 3], [], "levels are not those of its axes and blocks"),
        ([0, 1], [0, 1, 1, 3], [2, 0, 3], [5], "levels are not those of its axes and blocks"),
        ([0, 1], [0, 1], [2, 0, 3], [], "a level of it has 2 segments"),
        ([0, 1], [0, 1, 1, 4], [2, 0, 3], [], "a segment of it is outside of its level"),
        ([0, 1], [0, 3, 1, 3], [2, 0, 3], [], "a segment of it is outside of its level"),
        ([0, 1], [0, 1, 1, 3], [2, 0, 4], [], "an element of it is outside of its dimensions"),
    ],
)
def test_trees_that_do_not_fit_are_refused(
    lite: Any,
    order: list[int],
    segments: list[int],
    indices: list[int],
    blocks: list[int],
    message: str,
) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, segments, indices)]
    with pytest.raises(ParseError, match=f"the sparse tensor 'w' is malformed: .*{message}"):
        parse(_model(lite, ROWS, (3, 4), order, levels, blocks))


def test_a_level_below_zero_is_refused(lite: Any) -> None:
    levels = [_dense_level(lite, -3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3])]
    with pytest.raises(ParseError, match="a level of it has -3 indices"):
        parse(_model(lite, ROWS, (3, 4), [0, 1], levels))


def test_zeros_that_would_fill_the_memory_are_refused(lite: Any) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3])]
    with pytest.raises(ParseError, match="its vectors are longer than the file"):
        parse(_model(lite, ROWS, (2**15, 2**15), [0, 1], levels))
    levels = [_dense_level(lite, 2**30), _dense_level(lite, 2**30)]
    with pytest.raises(ParseError, match="its vectors are longer than the file"):
        parse(_model(lite, ROWS, (3, 4), [0, 1], levels))


def test_a_level_without_its_vectors_is_refused(lite: Any) -> None:
    level = lite.schema.DimensionMetadataT()
    level.format = 1
    with pytest.raises(ParseError, match="a level of it has 0 segments"):
        parse(_model(lite, ROWS, (3, 4), [0, 1], [_dense_level(lite, 3), level]))
