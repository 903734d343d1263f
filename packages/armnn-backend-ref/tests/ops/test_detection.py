# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.layers.detection import (
    DetectionPostProcessDescriptor,
    NonMaxSuppressionDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType

RunLayer = Callable[..., tuple[NDArray[Any], ...]]

ANCHORS = np.array([[0.5, 0.5, 1, 1], [0.5, 0.5, 1, 1], [0.5, 10.5, 1, 1], [0.5, 100.5, 1, 1]])
SCORES = [[0, 0.9, 0.1], [0, 0.75, 0.8], [0, 0.6, 0.4], [0, 0.3, 0.2]]


def detect(
    run_layer: RunLayer, encodings: Any = None, scores: Any = SCORES, **fields: Any
) -> tuple[NDArray[Any], ...]:
    d = DetectionPostProcessDescriptor(
        **{
            "max_detections": 3,
            "nms_score_threshold": 0.25,
            "nms_iou_threshold": 0.5,
            "num_classes": 2,
            "scale_x": 10.0,
            "scale_y": 10.0,
            "scale_w": 5.0,
            "scale_h": 5.0,
            **fields,
        }
    )
    encodings = np.zeros((len(ANCHORS), 4)) if encodings is None else np.asarray(encodings)
    operands = [np.array(array, np.float32) for array in (encodings[None], [scores], ANCHORS)]
    return run_layer("DetectionPostProcess", operands, d)


def test_fast_suppression_drops_what_overlaps_a_better_box(run_layer: RunLayer) -> None:
    boxes, classes, scores, count = detect(run_layer)
    assert count.tolist() == [3]
    np.testing.assert_allclose(boxes[0], [[0, 0, 1, 1], [0, 10, 1, 11], [0, 100, 1, 101]])
    assert classes.tolist() == [[0, 0, 0]]
    np.testing.assert_allclose(scores, [[0.9, 0.6, 0.3]])


def test_regular_suppression_works_class_by_class(run_layer: RunLayer) -> None:
    boxes, classes, scores, count = detect(
        run_layer, use_regular_nms=True, detections_per_class=2, max_detections=4
    )
    assert count.tolist() == [4]
    np.testing.assert_allclose(scores, [[0.9, 0.8, 0.6, 0.4]])
    assert classes.tolist() == [[0, 1, 0, 1]]
    np.testing.assert_allclose(boxes[0, :, 1], [0, 0, 10, 10])


def test_each_box_may_have_several_classes(run_layer: RunLayer) -> None:
    boxes, classes, scores, count = detect(run_layer, max_detections=2, max_classes_per_detection=2)
    assert count.tolist() == [4]
    assert classes.tolist() == [[0, 1, 0, 1]]
    np.testing.assert_allclose(scores, [[0.9, 0.1, 0.6, 0.4]])
    np.testing.assert_allclose(boxes[0, :, 1], [0, 0, 10, 10])


def test_boxes_are_decoded_from_their_anchors(run_layer: RunLayer) -> None:
    encodings = np.zeros((4, 4))
    encodings[0] = [5, -10, 5 * np.log(2), 5 * np.log(4)]
    boxes, *_ = detect(run_layer, encodings)
    # Center (0.5 + 0.5, 0.5 - 1), height 2 and width 4.
    np.testing.assert_allclose(boxes[0, 0], [0, -2.5, 2, 1.5], atol=1e-6)


def test_places_that_are_left_over_are_zero(run_layer: RunLayer) -> None:
    boxes, classes, scores, count = detect(run_layer, max_detections=5, nms_score_threshold=0.5)
    assert count.tolist() == [2]
    assert not boxes[0, 2:].any()
    assert scores[0, 2:].tolist() == classes[0, 2:].tolist() == [0, 0, 0]


def test_scores_may_come_without_a_background(run_layer: RunLayer) -> None:
    _, classes, scores, _ = detect(run_layer, scores=[row[1:] for row in SCORES])
    assert classes.tolist() == [[0, 0, 0]]
    np.testing.assert_allclose(scores, [[0.9, 0.6, 0.3]])


def test_a_limit_of_zero_keeps_nothing(run_layer: RunLayer) -> None:
    boxes, _, _, count = detect(run_layer, max_detections=0)
    assert boxes.shape == (1, 0, 4)
    assert count.tolist() == [0]


def test_boxes_of_equal_score_come_in_their_order(run_layer: RunLayer) -> None:
    scores = [[0, 0.5, 0.5]] * 4
    boxes, classes, _, _ = detect(run_layer, scores=scores)
    np.testing.assert_allclose(boxes[0, :, 1], [0, 10, 100])
    assert classes.tolist() == [[0, 0, 0]]


def test_quantized_scores_are_real_values(run_layer: RunLayer) -> None:
    d = DetectionPostProcessDescriptor(
        max_detections=1, num_classes=1, scale_x=1, scale_y=1, scale_w=1, scale_h=1
    )
    info = TensorInfo((1, 1, 2), DataType.QASYMM_U8, 0.01, 50)
    operands = [
        np.zeros((1, 1, 4), np.float32),
        (np.array([[[50, 125]]], np.uint8), info),
        np.array([[0, 0, 1, 1]], np.float32),
    ]
    _, _, scores, _ = run_layer("DetectionPostProcess", operands, d)
    np.testing.assert_allclose(scores, [[0.75]], rtol=1e-6)


@pytest.mark.parametrize("center_point_box", [False, True])
@pytest.mark.parametrize("iou_threshold", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("score_threshold", [-1.0, 0.5])
@pytest.mark.parametrize("limit", [0, 2, 50])
def test_boxes_apart_agree_with_onnxruntime(
    compute, onnx_run, center_point_box, iou_threshold, score_threshold, limit
):
    rng = np.random.default_rng(7)
    boxes = rng.uniform(0, 5, (2, 30, 4)).astype(np.float32)  # corners in any order
    scores = rng.uniform(size=(2, 3, 30)).astype(np.float32)
    d = NonMaxSuppressionDescriptor(
        max_output_boxes_per_class=limit,
        iou_threshold=iou_threshold,
        score_threshold=score_threshold,
        center_point_box=center_point_box,
    )
    expected = onnx_run(
        "NonMaxSuppression",
        boxes,
        scores,
        np.int64([limit]),
        np.float32([iou_threshold]),
        np.float32([score_threshold]),
        center_point_box=int(center_point_box),
    )
    np.testing.assert_array_equal(compute(d, boxes, scores).reshape(-1, 3), expected)


def test_of_equal_scores_the_first_box_is_kept(compute):
    boxes = np.float32([[[0, 0, 1, 1], [0, 0, 1, 1], [5, 5, 6, 6]]])
    scores = np.float32([[[0.5, 0.5, 0.5]]])
    d = NonMaxSuppressionDescriptor(max_output_boxes_per_class=9, iou_threshold=0.5)
    assert compute(d, boxes, scores).tolist() == [[0, 0, 0], [0, 0, 2]]


def test_boxes_without_area_do_not_overlap(compute):
    boxes = np.zeros((1, 2, 4), np.float32)
    d = NonMaxSuppressionDescriptor(max_output_boxes_per_class=9)
    assert compute(d, boxes, np.float32([[[1, 2]]])).tolist() == [[0, 0, 1], [0, 0, 0]]


def test_without_boxes_none_is_kept(compute):
    d = NonMaxSuppressionDescriptor(max_output_boxes_per_class=9)
    boxes, scores = np.zeros((1, 0, 4), np.float32), np.zeros((1, 2, 0), np.float32)
    assert compute(d, boxes, scores).shape == (0, 3)
