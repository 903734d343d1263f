# SPDX-License-Identifier: MIT
"""The best boxes of a detector: DetectionPostProcess and NonMaxSuppression.

The meaning is that of TensorFlow Lite's custom operator TFLite_Detection_PostProcess and of ONNX.
Boxes of equal score are taken in their order.
"""

from __future__ import annotations

import numpy as np

from armnn.layers.detection import DetectionPostProcessDescriptor, NonMaxSuppressionDescriptor
from armnn_backend_ref.ops._registry import Array, op


@op("DetectionPostProcess")
def detection_post_process(
    d: DetectionPostProcessDescriptor, encodings: Array, scores: Array, anchors: Array
) -> tuple[Array, ...]:
    """Return boxes, classes, scores and their count.

    The shapes are [1,D,4], [1,D], [1,D] and [1]; entries beyond the count are zero.
    """
    boxes = _decoded(d, encodings[0], anchors)
    scores = scores[0, :, scores.shape[2] - d.num_classes :]  # the background comes first
    select = _class_by_class if d.use_regular_nms else _box_by_box
    chosen, classes = select(d, boxes, scores)
    count = len(chosen)
    places = d.max_detections * d.max_classes_per_detection
    results = [np.zeros((1, places, *shape), np.float32) for shape in ((4,), (), ())]
    for result, values in zip(
        results, (boxes[chosen], classes, scores[chosen, classes]), strict=True
    ):
        result[0, :count] = values
    return (*results, np.array([count], np.float32))


def _decoded(d: DetectionPostProcessDescriptor, encodings: Array, anchors: Array) -> Array:
    """Return [B,4]: lower corner (y, x), then upper corner."""
    scales = np.array([d.scale_y, d.scale_x, d.scale_h, d.scale_w], encodings.dtype)
    encoded = encodings / scales
    centers = encoded[:, :2] * anchors[:, 2:] + anchors[:, :2]
    halves = np.exp(encoded[:, 2:]) * (anchors[:, 2:] / 2)
    return np.concatenate([centers - halves, centers + halves], 1)


def _box_by_box(
    d: DetectionPostProcessDescriptor, boxes: Array, scores: Array
) -> tuple[Array, Array]:
    """Suppress boxes by their best scores, then choose classes ("fast")."""
    kept = _suppressed(d, boxes, scores.max(1, initial=-np.inf), d.max_detections)
    best = _descending(scores[kept])[:, : d.max_classes_per_detection]
    return np.repeat(kept, best.shape[1]), best.reshape(-1)


def _class_by_class(
    d: DetectionPostProcessDescriptor, boxes: Array, scores: Array
) -> tuple[Array, Array]:
    """Suppress boxes class by class, then keep the best ("regular")."""
    kept = [_suppressed(d, boxes, column, d.detections_per_class) for column in scores.T]
    chosen = np.concatenate([np.empty(0, np.intp), *kept])
    classes = np.repeat(np.arange(len(kept)), [len(places) for places in kept])
    best = _descending(scores[chosen, classes])[: d.max_detections]
    return chosen[best], classes[best]


def _suppressed(
    d: DetectionPostProcessDescriptor, boxes: Array, scores: Array, limit: int
) -> Array:
    """Return the boxes that survive suppression, best first.

    A box is dropped if it overlaps a better one that was kept by more than the threshold.
    """
    left = _descending(scores)
    left = left[scores[left] >= d.nms_score_threshold]
    return _apart(boxes, left, limit, d.nms_iou_threshold)


def _apart(boxes: Array, left: Array, limit: int, threshold: float) -> Array:
    """Return the boxes that overlap none before them, best first."""
    kept: list[int] = []
    boxes = boxes.astype(np.float64)  # areas of float32 overflow, or vanish, for legal sides
    while len(left) and len(kept) < limit:
        kept.append(int(left[0]))
        left = left[1:]
        left = left[~(_overlap(boxes[kept[-1]], boxes[left]) > threshold)]
    return np.array(kept, np.intp)


def _overlap(box: Array, others: Array) -> Array:
    """Return intersection over union of a box with others."""
    shared = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = np.maximum(shared, 0).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1)
    overlap: Array = common / ((box[2:] - box[:2]).prod() + areas - common)
    return overlap


def _descending(values: Array) -> Array:
    return np.argsort(-values, axis=-1, kind="stable")


@op("NonMaxSuppression")
def non_max_suppression(d: NonMaxSuppressionDescriptor, boxes: Array, scores: Array) -> Array:
    """Return [K,3]: batch item, class and box, kept ones only."""
    limit = d.max_output_boxes_per_class
    found = [np.empty((0, 3), np.intp)]
    for item, corners in enumerate(_corners(boxes.astype(np.float64), d.center_point_box)):
        for label, of_class in enumerate(scores[item]):
            left = _descending(of_class)
            left = left[of_class[left] > d.score_threshold]
            kept = _apart(corners, left, limit, d.iou_threshold)
            found.append(np.stack([np.full_like(kept, item), np.full_like(kept, label), kept], 1))
    return np.concatenate(found)


def _corners(boxes: Array, center_point_box: bool) -> Array:
    """Return each box as lower corner, then upper corner, [...,4]."""
    pairs = boxes.reshape(*boxes.shape[:-1], 2, 2)
    if center_point_box:
        centers, sizes = pairs[..., 0, :], pairs[..., 1, :]
        return np.concatenate([centers - sizes / 2, centers + sizes / 2], -1)
    return np.sort(pairs, -2).reshape(boxes.shape)
