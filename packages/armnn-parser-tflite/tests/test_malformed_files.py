# SPDX-License-Identifier: MIT
"""Every malformed file ends in a network or ParseError."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse


def _seeds(lite: Any) -> list[bytes]:
    """Return a convolution, and a detector with a custom operator."""
    convolution = lite.build(
        [
            lite.Op("CONV_2D", ["x", "w", "b"], ["c"], {"strideH": 1, "strideW": 1}),
            lite.Op("RESHAPE", ["c", "s"]),
        ],
        {
            "x": lite.Tensor("int8", (1, 4, 4, 2), scale=0.5, signature=(-1, 4, 4, 2)),
            "w": lite.constant(np.ones((3, 2, 2, 2), np.int8), scale=[0.1, 0.2, 0.3]),
            "b": lite.constant(np.int32([1, 2, 3])),
            "c": lite.Tensor("int8", (1, 4, 4, 3), scale=0.5),
            "s": lite.constant(np.int32([-1, 48])),
            "y": lite.Tensor("int8", (1, 48), scale=0.5),
        },
    )
    options = dict.fromkeys(
        (
            "max_detections",
            "max_classes_per_detection",
            "num_classes",
            "y_scale",
            "x_scale",
            "h_scale",
            "w_scale",
        ),
        1,
    ) | {"nms_score_threshold": 0.5, "nms_iou_threshold": 0.5}
    detector = lite.build(
        lite.Op(
            "TFLite_Detection_PostProcess",
            ["e", "s", "a"],
            list("pqrt"),
            custom_options=bytes(flexbuffers.Dumps(options)),
        ),
        {
            "e": lite.Tensor(shape=(1, 6, 4)),
            "s": lite.Tensor(shape=(1, 6, 2)),
            "a": lite.constant(np.zeros((6, 4), np.float32)),
            **{name: lite.Tensor() for name in "pqrt"},
        },
        ["e", "s"],
        list("pqrt"),
    )
    return [convolution, detector]


def _ends_cleanly(data: bytes) -> None:
    with contextlib.suppress(ParseError):
        parse(data)


@pytest.mark.parametrize("index", [0, 1])
def test_every_truncation_ends_cleanly(lite: Any, index: int) -> None:
    data = _seeds(lite)[index]
    parse(data)
    for length in range(0, len(data), 7):
        _ends_cleanly(data[:length])


@settings(
    max_examples=400, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    index=st.integers(0, 1),
    edits=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6
    ),
)
def test_changed_bytes_end_cleanly(lite: Any, index: int, edits: list[tuple[float, int]]) -> None:
    data = bytearray(_seeds(lite)[index])
    for place, byte in edits:
        data[int(place * len(data))] = byte
    _ends_cleanly(bytes(data))


@settings(
    max_examples=200, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    index=st.integers(0, 1),
    place=st.floats(0, 1, exclude_max=True),
    word=st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31), 2**16, 4, -4]),
)
def test_changed_offsets_end_cleanly(lite: Any, index: int, place: float, word: int) -> None:
    data = bytearray(_seeds(lite)[index])
    at = int(place * (len(data) // 4)) * 4
    data[at : at + 4] = word.to_bytes(4, "little", signed=True)
    _ends_cleanly(bytes(data))
