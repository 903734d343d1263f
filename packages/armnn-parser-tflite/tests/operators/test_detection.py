# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse

OPTIONS = {
    "max_detections": 4,
    "max_classes_per_detection": 1,
    "detections_per_class": 2,
    "use_regular_nms": False,
    "nms_score_threshold": 0.1,
    "nms_iou_threshold": 0.5,
    "num_classes": 3,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}
NAMES = ["boxes", "classes", "scores_out", "count"]


def _op(lite: Any, options: dict[str, Any]) -> Any:
    return lite.Op(
        "TFLite_Detection_PostProcess",
        ["e", "s", "a"],
        NAMES,
        custom_options=bytes(flexbuffers.Dumps(options)),
    )


@pytest.mark.parametrize("regular", [False, True])
def test_boxes_are_those_of_litert(lite: Any, rng: np.random.Generator, regular: bool) -> None:
    boxes = 12
    centers = rng.uniform(0.2, 0.8, (boxes, 2))
    anchors = np.concatenate([centers, np.full((boxes, 2), 0.3)], 1).astype(np.float32)
    lite.check(
        _op(lite, {**OPTIONS, "use_regular_nms": regular}),
        {"a": lite.constant(anchors)},
        {
            "e": rng.normal(size=(1, boxes, 4)).astype(np.float32),
            "s": rng.uniform(size=(1, boxes, 4)).astype(np.float32),
        },
        NAMES,
        atol=1e-5,
    )


def test_missing_options_are_named(lite: Any) -> None:
    options = {name: value for name, value in OPTIONS.items() if not name.startswith("x_")}
    tensors = {name: lite.Tensor() for name in NAMES} | {
        "e": lite.Tensor(shape=(1, 6, 4)),
        "s": lite.Tensor(shape=(1, 6, 4)),
        "a": lite.constant(np.zeros((6, 4), np.float32)),
    }
    with pytest.raises(ParseError, match="its options lack x_scale"):
        parse(lite.build(_op(lite, options), tensors, ["e", "s"], NAMES))


BOXES = np.float32(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1]]
)
SCORES = np.float32([0.9, 0.75, 0.6, 0.95, 0.5])


def _suppression(lite: Any, version: int, most: int = 4, score: float = 0.0, sigma: float = 0.0):
    names = ["x", "s", "most", "iou", "score", *(["sigma"] if version == 5 else [])]
    outputs = ["y", *(["scores"] if version == 5 else []), "count"]
    tensors = {
        "most": lite.constant(np.int32(most)),
        "iou": lite.constant(np.float32(0.5)),
        "score": lite.constant(np.float32(score)),
        "sigma": lite.constant(np.float32(sigma)),
        "y": lite.Tensor("int32"),
        "count": lite.Tensor("int32"),
    }
    return lite.Op(f"NON_MAX_SUPPRESSION_V{version}", names, outputs), tensors, outputs


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(("most", "score"), [(4, 0.0), (2, 0.0), (5, 0.92), (3, 2.0), (0, 0.0)])
def test_non_max_suppression(lite: Any, version: int, most: int, score: float) -> None:
    op, tensors, outputs = _suppression(lite, version, most, score)
    lite.check(op, tensors, {"x": BOXES, "s": SCORES}, outputs)


def test_scores_that_sink_are_refused(lite: Any) -> None:
    op, tensors, outputs = _suppression(lite, 5, sigma=0.5)
    tensors |= {"x": lite.Tensor(shape=(5, 4)), "s": lite.Tensor(shape=(5,))}
    model = lite.build(op, tensors | {"scores": lite.Tensor()}, ["x", "s"], outputs)
    with pytest.raises(UnsupportedOperatorError, match="it lowers the scores of boxes"):
        parse(model)


def test_more_boxes_than_any_image_has_are_refused(lite: Any) -> None:
    op, tensors, outputs = _suppression(lite, 4, most=2**20)
    tensors |= {"x": lite.Tensor(shape=(5, 4)), "s": lite.Tensor(shape=(5,))}
    with pytest.raises(ParseError, match="it keeps 1048576 boxes: expected 0 to 65536"):
        parse(lite.build(op, tensors, ["x", "s"], outputs))
