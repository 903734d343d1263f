# SPDX-License-Identifier: MIT
"""Boxes from the output of a detector: DetectionPostProcess and NonMaxSuppression."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import require_rank, same_dimension
from armnn.layers._spec import Inputs, Numerics, Shapes, filling, layer, result, slot
from armnn.tensor import format_shape
from armnn.types import DataType

_FLOAT = (DataType.FLOAT32,)


def _detections(descriptor: DetectionPostProcessDescriptor, inputs: Inputs) -> Shapes:
    boxes = require_rank(inputs, "box_encodings", 3)
    scores = require_rank(inputs, "scores", 3)
    anchors = require_rank(inputs, "anchors", 2)
    classes = descriptor.num_classes
    with_background = same_dimension(scores[2], classes + 1) or same_dimension(scores[2], classes)
    if not (
        same_dimension(boxes[0], 1)
        and same_dimension(scores[0], 1)
        and same_dimension(boxes[1], scores[1])
        and same_dimension(boxes[1], anchors[0])
        and same_dimension(boxes[2], 4)
        and same_dimension(anchors[1], 4)
        and with_background
    ):
        raise ShapeError(
            f"box_encodings {format_shape(boxes)}, scores {format_shape(scores)} and anchors "
            f"{format_shape(anchors)} do not agree: expected [1,B,4], [1,B,{classes + 1}] (or "
            f"{classes}, without background) and [B,4]"
        )
    count = descriptor.max_detections * descriptor.max_classes_per_detection
    return [(1, count, 4), (1, count), (1, count), (1,)]


@layer(
    15,
    inputs=[
        slot("box_encodings", "[1,B,4]: y, x, height, width, relative to the anchors."),
        slot("scores", "[1,B,num_classes + 1], the background first; the latter may be absent."),
        slot("anchors", "[B,4]: center y, center x, height, width."),
    ],
    outputs=[
        result("detection_boxes", "[1,D,4]: y and x of two corners.", data_types=_FLOAT),
        result("detection_classes", "Shape [1,D].", data_types=_FLOAT),
        result("detection_scores", "Shape [1,D].", data_types=_FLOAT),
        result("num_detections", "Shape [1].", data_types=_FLOAT),
    ],
    infer=_detections,
    numerics=Numerics(decides=True),
    axes="batch, boxes or classes, and corners or boxes",
)
class DetectionPostProcessDescriptor(Descriptor):
    """Boxes decoded from anchors, then non-maximum suppression (TFLite_Detection_PostProcess).

    D = max_detections * max_classes_per_detection.

    Attributes:
        max_detections: How many boxes are kept.
        max_classes_per_detection: How many classes a box may have, in the fast suppression.
        detections_per_class: How many boxes of a class are kept, in the regular suppression.
        nms_score_threshold: Boxes with lower scores go.
        nms_iou_threshold: A box that overlaps a better one by more than this goes.
        num_classes: Without the background.
        use_regular_nms: Whether boxes are suppressed class by class.
        scale_x: The divisor of the encoded x.
        scale_y: The divisor of the encoded y.
        scale_w: The divisor of the encoded width.
        scale_h: The divisor of the encoded height.
    """

    max_detections: int = parameter(0, at_least=0)
    max_classes_per_detection: int = parameter(1, at_least=1)
    detections_per_class: int = parameter(1, at_least=1)
    nms_score_threshold: float = 0.0
    nms_iou_threshold: float = 0.0
    num_classes: int = parameter(0, at_least=0)
    use_regular_nms: bool = False
    scale_x: float = 0.0
    scale_y: float = 0.0
    scale_w: float = 0.0
    scale_h: float = 0.0


def _suppressed(_descriptor: NonMaxSuppressionDescriptor, inputs: Inputs) -> Shapes:
    boxes, scores = require_rank(inputs, "boxes", 3), require_rank(inputs, "scores", 3)
    if not (
        same_dimension(boxes[0], scores[0])
        and same_dimension(boxes[1], scores[2])
        and same_dimension(boxes[2], 4)
    ):
        raise ShapeError(
            f"boxes {format_shape(boxes)} and scores {format_shape(scores)} do not agree: expected "
            "[N,B,4] and [N,classes,B]"
        )
    return [(None, 3)]


@layer(
    1022,
    inputs=[
        slot("boxes", "[N,B,4]: y and x of two opposite corners; see ``center_point_box``."),
        slot("scores", "Shape [N,classes,B]."),
        filling("max_output_boxes_per_class", "A tensor of one integer."),
        filling("iou_threshold", "A tensor of one number."),
        filling("score_threshold", "A tensor of one number."),
    ],
    outputs=[
        result(
            "selected_indices",
            "[number of boxes kept,3]: item of the batch, class and box.",
            data_types=[DataType.SIGNED64],
        )
    ],
    infer=_suppressed,
    data_dependent=True,
    numerics=Numerics(decides=True),
    axes="batch, boxes or classes, and corners or boxes",
)
class NonMaxSuppressionDescriptor(Descriptor):
    """Each class's best boxes that overlap no better one.

    ONNX: NonMaxSuppression. They stand in the order of items, classes and falling scores; of equal
    scores the lower index comes first.

    Attributes:
        max_output_boxes_per_class: How many boxes of a class of an item are kept at most.
        iou_threshold: A box goes if intersection / union with a better one is above this.
        score_threshold: Only boxes with a score above this are kept; -inf for all.
        center_point_box: Whether a box is given as x and y of its center, width and height.
    """

    max_output_boxes_per_class: int = parameter(0, at_least=0)
    iou_threshold: float = parameter(0.0, at_least=0)
    score_threshold: float = 0.0
    center_point_box: bool = False
