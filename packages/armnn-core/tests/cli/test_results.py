# SPDX-License-Identifier: MIT
"""Best classes, labels and summaries of outputs."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from armnn import DataType, TensorInfo
from armnn.cli import results as module
from armnn.cli.results import (
    Labels,
    best_classes,
    check_labels,
    class_counts,
    labels_in_metadata,
    read_labels,
    real_values,
    summary,
    written,
)
from armnn.errors import InvalidArgumentError


def ranking(values: object, count: int) -> list[tuple[int, int, int]]:
    return [(one.row, one.rank, one.index) for one in best_classes(np.array(values), count, None)]


def test_the_highest_values_come_first_and_equal_ones_in_order() -> None:
    assert ranking([1.0, 5.0, 3.0, 5.0], 3) == [(0, 1, 1), (0, 2, 3), (0, 3, 2)]


def test_nan_comes_last_and_infinity_first() -> None:
    assert ranking([np.nan, -np.inf, 1.0, np.inf], 4) == [
        (0, 1, 3),
        (0, 2, 2),
        (0, 3, 1),
        (0, 4, 0),
    ]


def test_there_are_never_more_classes_than_values() -> None:
    assert ranking([2, 1], 10) == [(0, 1, 0), (0, 2, 1)]
    assert ranking([[7]], 10) == [(0, 1, 0)]


def test_each_row_is_ranked_up_to_a_limit() -> None:
    assert ranking([[0, 1], [1, 0]], 1) == [(0, 1, 1), (1, 1, 0)]
    assert len(best_classes(np.zeros((100, 3)), 1, None)) == module.ROW_LIMIT


def test_large_integers_keep_their_order() -> None:
    assert ranking(np.array([3, 200, 100], np.uint8), 2) == [(0, 1, 1), (0, 2, 2)]


def test_labels_are_one_a_line_in_utf8(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeffKätzchen\r\nHund\n".encode())
    assert read_labels(path) == Labels(("Kätzchen", "Hund"), str(path))


def test_a_file_of_labels_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LABELS_BYTES_LIMIT", 5)
    path = tmp_path / "labels.txt"
    path.write_text("a\nb\nc\n")
    with pytest.raises(InvalidArgumentError, match=r"labels.txt' are 6 bytes, expected at most 5"):
        read_labels(path)


def test_metadata_with_a_line_for_each_class_is_labels() -> None:
    metadata = {"author": "me", "character": "0\n90\n180", "other": "a\nb\nc"}
    labels = labels_in_metadata(metadata, [7, 3])
    assert labels == Labels(("0", "90", "180"), "the model's metadata entry 'character'")
    assert labels_in_metadata(metadata, [4]) is None
    assert labels_in_metadata({"author": "me"}, [1]) is None


def test_labels_must_go_with_an_output() -> None:
    labels = Labels(("a", "b"), "names.txt")
    check_labels(labels, {"scores": 2, "boxes": 4})
    with pytest.raises(InvalidArgumentError, match=r"has 2 labels.*classes: 3 of 'scores'"):
        check_labels(labels, {"scores": 3})
    with pytest.raises(InvalidArgumentError, match="no output has any"):
        check_labels(labels, {})


def test_scalars_and_empty_outputs_have_no_classes() -> None:
    outputs = {"s": np.zeros(()), "e": np.zeros((0, 5)), "x": np.zeros((2, 5))}
    assert class_counts(outputs) == {"x": 5}


def test_quantised_outputs_become_real_values() -> None:
    info = TensorInfo((2,), DataType.QASYMM_U8, 0.5, 10)
    assert real_values(np.array([10, 14], np.uint8), info).tolist() == [0.0, 2.0]
    plain = np.array([1.0])
    assert real_values(plain, TensorInfo((1,), DataType.FLOAT64)) is plain


def test_a_small_output_is_told_in_full() -> None:
    assert summary(np.array([[1, 2]], np.int64)) == {"values": [[1, 2]]}
    assert summary(np.array(True)) == {"values": True}
    assert summary(np.array([0.5], ml_dtypes.bfloat16)) == {"values": [0.5]}
    assert summary(np.zeros((0, 2))) == {"values": []}
    assert written(np.array([1, 2])) == "[1 2]"


def test_a_large_output_is_told_in_figures() -> None:
    assert summary(np.arange(1000)) == {
        "min": 0, "max": 999, "mean": 499.5, "not_finite": 0, "first": [0, 1, 2, 3, 4, 5],
    }  # fmt: skip
    assert written(np.arange(1000)) == "min 0, max 999, mean 499.5, begins with 0 1 2 3 4 5"


def test_an_output_without_a_finite_value_has_no_figures() -> None:
    found = summary(np.full(100, np.nan))
    assert set(found) == {"not_finite", "first"}
    assert found["not_finite"] == 100
    assert written(np.full(100, np.nan)).startswith("100 NaN or infinite, begins with nan")
