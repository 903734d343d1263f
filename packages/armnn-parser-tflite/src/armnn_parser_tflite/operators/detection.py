# SPDX-License-Identifier: MIT
"""Boxes from the output of a detector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.flexbuffer import read_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation

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
