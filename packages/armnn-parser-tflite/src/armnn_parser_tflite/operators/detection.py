# SPDX-License-Identifier: MIT
"""Boxes from a detector's output, and suppression of overlaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, cast, reshape, shape_vector
from armnn.types import DataType
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.flexbuffer import read_numbers
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.shapes import with_axis

_MOST_BOXES = 2**16
_REQUIRED = (
    "max_detections",
    "max_classes_per_detection",
    "nms_score_threshold",
    "nms_iou_threshold",
    "num_classes",
    "y_scale",
    "x_scale",
    "h_scale",
    "w_scale",
)


@operator("TFLite_Detection_PostProcess", custom=True)
def detection_post_process(operation: Operation) -> Sequence[Value]:
    """Add DetectionPostProcess."""
    numbers = read_numbers(operation.custom_options())
    absent = [name for name in _REQUIRED if name not in numbers]
    if absent:
        raise operation.error(f"its options lack {', '.join(absent)}")
    return operation.network.add_detection_post_process(
        operation.input(0),
        operation.input(1),
        operation.input(2),
        max_detections=int(numbers["max_detections"]),
        max_classes_per_detection=int(numbers["max_classes_per_detection"]),
        detections_per_class=int(numbers.get("detections_per_class", 100)),
        nms_score_threshold=float(numbers["nms_score_threshold"]),
        nms_iou_threshold=float(numbers["nms_iou_threshold"]),
        num_classes=int(numbers["num_classes"]),
        use_regular_nms=bool(numbers.get("use_regular_nms", 0)),
        scale_y=float(numbers["y_scale"]),
        scale_x=float(numbers["x_scale"]),
        scale_h=float(numbers["h_scale"]),
        scale_w=float(numbers["w_scale"]),
        name=operation.layer_name(),
    )


@operator("NON_MAX_SUPPRESSION_V4")
def non_max_suppression(operation: Operation) -> Sequence[Value]:
    """Add NonMaxSuppression; unused entries of the list are zero.

    The list of boxes has the length that is allowed.
    """
    chosen, count = _suppressed(operation)
    return [_lengthened(operation, chosen, ""), count]


@operator("NON_MAX_SUPPRESSION_V5")
def soft_non_max_suppression(operation: Operation) -> Sequence[Value]:
    """Add NonMaxSuppression with scores; refuse scores that decay."""
    if operation.known(5).any():
        raise RefusedError("it lowers the scores of boxes that overlap (soft_nms_sigma)")
    chosen, count = _suppressed(operation)
    scores = operation.network.add_gather(
        operation.input(1), chosen, name=operation.layer_name("chosen_scores")
    )
    chosen = _lengthened(operation, chosen, "")
    return [chosen, _lengthened(operation, scores, "scores"), count]


def _suppressed(operation: Operation) -> tuple[Value, Value]:
    """Return the kept boxes' numbers, and their count."""
    if operation.input(0).info.is_quantized:
        raise RefusedError("its boxes are quantized")
    most = operation.known_integer(2)
    thresholds = [operation.known(index) for index in (3, 4)]
    if not 0 <= most <= _MOST_BOXES or any(threshold.size != 1 for threshold in thresholds):
        raise operation.error(f"it keeps {most} boxes: expected 0 to {_MOST_BOXES}")
    iou, score = (float(threshold.item()) for threshold in thresholds)
    network = operation.network
    scores = with_axis(operation, operation.input(1), 0, "one_class")
    rows = network.add_non_max_suppression(
        with_axis(operation, operation.input(0), 0, "one_image"),
        with_axis(operation, scores, 0, "one_score"),
        max_output_boxes_per_class=most,
        iou_threshold=iou,
        score_threshold=score,
        name=operation.layer_name("rows"),
    )
    # A row is an image, a class and a box.
    place = network.add_constant(np.array(2, np.int32), name=operation.layer_name("place"))
    boxes = network.add_gather(rows, place, axis=1, name=operation.layer_name("boxes"))
    chosen = cast(operation, boxes, DataType.SIGNED32, "chosen")
    length = shape_vector(operation, chosen, "length")
    number = cast(operation, length, DataType.SIGNED32, "number")
    return chosen, reshape(operation, number, (), "count")


def _lengthened(operation: Operation, value: Value, part: str) -> Value:
    most = operation.known_integer(2)
    zeros = np.zeros(most, value.info.data_type.numpy_dtype)
    padding = operation.network.add_constant(zeros, name=operation.layer_name("zeros"))
    joined = operation.network.add_concat(
        [value, padding], axis=0, name=operation.layer_name("joined")
    )
    return operation.network.add_slice(
        joined, begin=(0,), size=(most,), name=operation.layer_name(part)
    )
