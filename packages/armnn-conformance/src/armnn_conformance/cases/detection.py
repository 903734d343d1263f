# SPDX-License-Identifier: MIT
"""Conformance cases of DetectionPostProcess and NonMaxSuppression, box by box."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.layers.detection import DetectionPostProcessDescriptor, NonMaxSuppressionDescriptor
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.operands import FLOATS, REAL, tensor, values

Rows: TypeAlias = list[list[float]]

_DECODED = Tolerance("an exponential and products in float32", rtol=1e-4, atol=1e-5)


def _overlap(a: Sequence[float], b: Sequence[float]) -> float:
    height = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    width = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return height * width / (both - height * width)


def _apart(boxes: Any, scores: Any, order: list[int], limit: int, iou: float) -> list[int]:
    kept: list[int] = []
    for box in sorted(order, key=lambda b: (-scores[b], b)):
        if len(kept) < limit and all(_overlap(boxes[k], boxes[box]) <= iou for k in kept):
            kept.append(box)
    return kept


def _decoded(d: DetectionPostProcessDescriptor, code: Any, anchor: Any) -> list[float]:
    y = code[0] / d.scale_y * anchor[2] + anchor[0]
    x = code[1] / d.scale_x * anchor[3] + anchor[1]
    h = math.exp(code[2] / d.scale_h) * anchor[2] / 2
    w = math.exp(code[3] / d.scale_w) * anchor[3] / 2
    return [y - h, x - w, y + h, x + w]


def _detections(
    d: DetectionPostProcessDescriptor, codes: Any, scores: Any, anchors: Any
) -> tuple[NDArray[Any], ...]:
    boxes = [_decoded(d, code, anchor) for code, anchor in zip(codes, anchors, strict=True)]
    scores = scores[:, scores.shape[1] - d.num_classes :]
    found: list[tuple[int, int]] = []
    for label in range(d.num_classes if d.use_regular_nms else 1):
        ranks = scores[:, label] if d.use_regular_nms else scores.max(1)
        limit = d.detections_per_class if d.use_regular_nms else d.max_detections
        left = [b for b in range(len(boxes)) if ranks[b] >= d.nms_score_threshold]
        for box in _apart(boxes, ranks, left, limit, d.nms_iou_threshold):
            best = sorted(range(d.num_classes), key=lambda c: -scores[box, c])
            labels = [label] if d.use_regular_nms else best[: d.max_classes_per_detection]
            found += [(box, each) for each in labels]
    if d.use_regular_nms:
        found = sorted(found, key=lambda pair: -scores[pair])[: d.max_detections]
    places = d.max_detections * d.max_classes_per_detection
    results = np.zeros((1, places, 4)), np.zeros((1, places)), np.zeros((1, places))
    for place, (box, label) in enumerate(found):
        results[0][0, place] = boxes[box]
        results[1][0, place], results[2][0, place] = label, scores[box, label]
    return (*results, np.array([len(found)], np.float64))


_SCALES = {"scale_x": 4.0, "scale_y": 3.0, "scale_w": 2.0, "scale_h": 5.0}
_FAST = {"max_detections": 3, "num_classes": 3, "nms_iou_threshold": 0.3, **_SCALES}
_REGULAR = {**_FAST, "use_regular_nms": True, "detections_per_class": 2, "max_detections": 4}
_ROWS: tuple[tuple[str, dict[str, Any], int, bool], ...] = (
    ("fast", _FAST, 7, False),
    ("fast with two classes", {**_FAST, "max_classes_per_detection": 2}, 7, False),
    ("fast without background", _FAST | {"num_classes": 4}, 7, True),
    ("fast above a score", {**_FAST, "nms_score_threshold": 0.6}, 7, False),
    ("fast, nothing left", {**_FAST, "nms_score_threshold": 2.0}, 7, True),
    ("regular", _REGULAR, 7, False),
    ("regular above a score", {**_REGULAR, "nms_score_threshold": 0.6}, 7, False),
    ("regular, one box", _REGULAR, 1, True),
)


@cases(DetectionPostProcessDescriptor, types=REAL)
def detection_post_process(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both suppressions, scales, thresholds, background, one box."""
    for name, fields, count, edge in _ROWS:
        d = DetectionPostProcessDescriptor(**fields)
        codes = values(data_type, (1, count, 4), -1, 1, seed=1)
        scores = values(data_type, (1, count, 4), 0.05, 0.95, seed=2)
        anchors = values(data_type, (count, 4), 0.4, 0.9, seed=3, constant=True)
        yield case(
            data_type,
            name,
            d,
            [codes, scores, anchors],
            _detections(d, codes.real[0], scores.real[0], anchors.real),
            outputs=[DataType.FLOAT32] * 4,
            tolerance=_DECODED,
            edge=edge,
        )


# Worked by hand. All anchors are one high and one wide and nothing is encoded, so a box is its
# anchor; beside those of its column (the x of its center) no box overlaps it.
#   box  center y, x   background  class 0  class 1
#    0     0.0,  0.0      0.5       0.75     0.25     it shares with box 1: 0.75 / 1.25 = 0.6
#    1     0.25, 0.0      0.5       0.75     0.5
#    2     0.0, 10.0      0.5       0.25     0.75     it shares with box 3: 0.25 / 1.75 = 1/7
#    3     0.75, 10.0     0.5       0.5      0.75
_ANCHORS: Rows = [[0, 0, 1, 1], [0.25, 0, 1, 1], [0, 10, 1, 1], [0.75, 10, 1, 1]]
_SCORES: Rows = [[0.5, 0.75, 0.25], [0.5, 0.75, 0.5], [0.5, 0.25, 0.75], [0.5, 0.5, 0.75]]
_CORNERS: Rows = [
    [-0.5, -0.5, 0.5, 0.5],
    [-0.25, -0.5, 0.75, 0.5],
    [-0.5, 9.5, 0.5, 10.5],
    [0.25, 9.5, 1.25, 10.5],
]
_BY_HAND: tuple[tuple[str, dict[str, Any], list[int], list[int], list[float]], ...] = (
    # All boxes have the same best score, so they come in their order; box 1 overlaps box 0.
    ("ties in order", {"nms_iou_threshold": 0.5}, [0, 2, 3], [0, 1, 1], [0.75] * 3),
    # Boxes 0 and 1 share 0.6 and no more, so both stay.
    (
        "an overlap below the threshold",
        {"nms_iou_threshold": 0.625},
        [0, 1, 2],
        [0, 0, 1],
        [0.75] * 3,
    ),
    # 1/7 is too much now: box 3 goes, too.
    ("a small overlap", {"nms_iou_threshold": 0.125}, [0, 2], [0, 1], [0.75] * 2),
    # A box whose score is the threshold stays.
    (
        "a score at the threshold",
        {"nms_iou_threshold": 0.5, "nms_score_threshold": 0.75},
        [0, 2, 3],
        [0, 1, 1],
        [0.75] * 3,
    ),
    # Class by class: of class 0 boxes 0 (1 overlaps it) and 3, of class 1 boxes 2 and 3. The best
    # three of these four are those with 0.75, the class that comes first before the other.
    (
        "ties of classes",
        {"nms_iou_threshold": 0.5, "use_regular_nms": True, "detections_per_class": 2},
        [0, 2, 3],
        [0, 1, 1],
        [0.75] * 3,
    ),
    # One of each class, and the better one first; they are as good, so class 0 is.
    (
        "one of each class",
        {"nms_iou_threshold": 0.5, "use_regular_nms": True, "detections_per_class": 1},
        [0, 2],
        [0, 1],
        [0.75] * 2,
    ),
)


_UNSCALED: dict[str, Any] = dict.fromkeys(_SCALES, 1.0)


@cases(DetectionPostProcessDescriptor, types=FLOATS)
def detections_by_hand(data_type: DataType) -> Iterator[LayerCase]:
    """Cover equal scores and overlaps around the threshold.

    One score is at the threshold: see the table.
    """
    for name, fields, boxes, labels, scores in _BY_HAND:
        d = DetectionPostProcessDescriptor(max_detections=3, num_classes=2, **_UNSCALED, **fields)
        results = np.zeros((1, 3, 4)), np.zeros((1, 3)), np.zeros((1, 3))
        for result, found in zip(
            results, ([_CORNERS[b] for b in boxes], labels, scores), strict=True
        ):
            result[0, : len(boxes)] = np.array(found)
        operands = [
            tensor(data_type, np.zeros((1, 4, 4))),
            tensor(data_type, [_SCORES]),
            tensor(data_type, _ANCHORS, constant=True),
        ]
        yield case(
            data_type,
            name,
            d,
            operands,
            (*results, np.array([len(boxes)], np.float64)),
            outputs=[DataType.FLOAT32] * 4,
            tolerance=_DECODED,
            edge=True,
        )


@cases(NonMaxSuppressionDescriptor, types=FLOATS)
def suppression_by_hand(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the table's boxes: equal scores, scores at the threshold."""
    boxes = tensor(data_type, [_CORNERS])
    scores = tensor(data_type, [np.array(_SCORES)[:, 1:].T])
    rows: dict[str, tuple[dict[str, Any], list[list[int]]]] = {
        # Class 0: 0, then 1 overlaps it, 3 and 2 share 1/7. Class 1: 2 and 3, then 1 and not 0.
        "ties in order": (
            {"iou_threshold": 0.5},
            [[0, 0, 0], [0, 0, 3], [0, 0, 2], [0, 1, 2], [0, 1, 3], [0, 1, 1]],
        ),
        "scores at the threshold go": (
            {"iou_threshold": 0.5, "score_threshold": 0.5},
            [[0, 0, 0], [0, 1, 2], [0, 1, 3]],
        ),
    }
    for name, (fields, found) in rows.items():
        d = NonMaxSuppressionDescriptor(max_output_boxes_per_class=4, **fields)
        outputs = [DataType.SIGNED64]
        expected = np.array(found, np.int64)
        yield case(data_type, name, d, [boxes, scores], expected, outputs=outputs, edge=True)


@cases(NonMaxSuppressionDescriptor, types=REAL)
def non_max_suppression(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each parameter, both box formats, and no result.

    Corners are in any order.
    """
    usual = {"max_output_boxes_per_class": 3, "iou_threshold": 0.2}
    rows: tuple[tuple[str, dict[str, Any], bool], ...] = (
        ("corners", usual, False),
        ("a center", {**usual, "center_point_box": True}, False),
        ("above a score", {**usual, "score_threshold": 0.5}, False),
        ("no overlap at all", {**usual, "iou_threshold": 0.0}, True),
        ("none wanted", {"iou_threshold": 0.5}, True),
    )
    boxes = values(data_type, (2, 6, 4), 0.1, 1.0, seed=4)
    scores = values(data_type, (2, 3, 6), 0.05, 0.95, seed=5)
    for name, fields, edge in rows:
        d = NonMaxSuppressionDescriptor(**fields)
        found = []
        for n, c in np.ndindex(2, 3):
            corners = [_corners(box, d.center_point_box) for box in boxes.real[n].tolist()]
            ranks = scores.real[n, c]
            left = [b for b in range(6) if ranks[b] > d.score_threshold]
            limit = d.max_output_boxes_per_class
            found += [[n, c, b] for b in _apart(corners, ranks, left, limit, d.iou_threshold)]
        expected = np.array(found, np.int64).reshape(-1, 3)
        outputs = [DataType.SIGNED64]
        yield case(data_type, name, d, [boxes, scores], expected, outputs=outputs, edge=edge)


def _corners(box: list[float], centered: bool) -> list[float]:
    a, b, c, d = box
    if centered:
        return [a - c / 2, b - d / 2, a + c / 2, b + d / 2]
    return [min(a, c), min(b, d), max(a, c), max(b, d)]
