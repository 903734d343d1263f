# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from armnn.errors import ParseError
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
    centres = rng.uniform(0.2, 0.8, (boxes, 2))
    anchors = np.concatenate([centres, np.full((boxes, 2), 0.3)], 1).astype(np.float32)
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
