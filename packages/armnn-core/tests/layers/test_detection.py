# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType

PARAMETERS = {"max_detections": 5, "max_classes_per_detection": 2, "num_classes": 3}
OPERANDS = {"box_encodings": (1, 6, 4), "scores": (1, 6, 4), "anchors": (6, 4)}


def test_there_is_room_for_every_class_of_every_detection(infer):
    assert infer("DetectionPostProcess", OPERANDS, **PARAMETERS) == (
        TensorInfo((1, 10, 4)),
        TensorInfo((1, 10)),
        TensorInfo((1, 10)),
        TensorInfo((1,)),
    )


@pytest.mark.parametrize("change", [{"scores": (1, 6, 3)}, {"scores": (None, "b", None)}])
def test_scores_may_lack_the_background_or_be_unknown(infer, change):
    infos = infer("DetectionPostProcess", OPERANDS | change, **PARAMETERS)
    assert infos[0].shape == (1, 10, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"box_encodings": (1, 6, 5)},
        {"box_encodings": (1, 7, 4)},
        {"box_encodings": (2, 6, 4)},
        {"scores": (1, 5, 4)},
        {"scores": (1, 6, 5)},
        {"scores": (2, 6, 4)},
        {"anchors": (7, 4)},
        {"anchors": (6, 3)},
    ],
)
def test_operands_must_agree(infer, change):
    with pytest.raises(ShapeError, match=r"do not agree: expected \[1,B,4\], \[1,B,4\] \(or 3, wi"):
        infer("DetectionPostProcess", OPERANDS | change, **PARAMETERS)


def test_how_many_boxes_are_kept_is_not_known(infer):
    (info,) = infer("NonMaxSuppression", [("n", 6, 4), ("n", 3, 6)])
    assert info == TensorInfo((None, 3), DataType.SIGNED64)


@pytest.mark.parametrize("scores", [(1, 3, 5), (2, 3, 6)])
def test_scores_that_do_not_fit_their_boxes_are_refused(infer, scores):
    with pytest.raises(ShapeError, match=r"do not agree: expected \[N,B,4\] and \[N,classes,B\]"):
        infer("NonMaxSuppression", [(1, 6, 4), scores])


def test_a_negative_count_of_boxes_is_refused(infer):
    with pytest.raises(InvalidArgumentError, match="'max_output_boxes_per_class' is -1, expected"):
        infer("NonMaxSuppression", [(1, 6, 4), (1, 1, 6)], max_output_boxes_per_class=-1)
