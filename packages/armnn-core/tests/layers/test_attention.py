# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import InvalidArgumentError, ShapeError


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([(2, 6, 3, 4), (2, 2, 5, 4), (2, 2, 5, 7)], (2, 6, 3, 7)),
        ([("n", 6, "s", 4), ("n", 6, "l", 4), ("n", 6, "l", 4)], ("n", 6, "s", 4)),
        ([(None, 6, 1, 4), (2, None, 5, 4), (2, 3, 5, 7), (5,)], (2, 6, 1, 7)),
    ],
)
def test_each_query_gets_a_value(infer, operands, expected):
    assert infer("Attention", operands)[0].shape == expected


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([(2, 6, 4)] * 3, r"'query' has shape \[2,6,4\]: expected rank 4"),
        ([(2, 6, 3, 4), (2, 4, 5, 4), (2, 4, 5, 7)], "have 6 heads: expected a multiple of the 4"),
        ([(2, 6, 3, 4), (2, 6, 5, 3), (2, 6, 5, 7)], r"'key' has .* expected \[2,6,5,4\]"),
        ([(2, 6, 3, 4), (2, 6, 5, 4), (2, 6, 4, 7)], r"'value' has .* expected \[2,6,5,7\]"),
        (
            [(2, 6, 3, 4), (2, 6, 5, 4), (2, 6, 5, 7), (2, 3, 5)],
            r"'mask' has shape \[2,3,5\]: expected one that broadcasts to \[2,6,3,5\]",
        ),
    ],
)
def test_heads_that_do_not_fit_are_refused(infer, operands, message):
    with pytest.raises(ShapeError, match=message):
        infer("Attention", operands)


@pytest.mark.parametrize("name", ["scale", "softcap"])
def test_negative_numbers_are_refused(infer, name):
    with pytest.raises(InvalidArgumentError, match=rf"'{name}' is -1.0, expected at least 0"):
        infer("Attention", [(2, 6, 3, 4)] * 3, **{name: -1.0})


@pytest.mark.parametrize("angles", [(2, 5, 3), (1, 5, 4), (5, 4), ("n", 5, None)])
def test_turned_numbers_stay_where_they_are(infer, angles):
    assert infer("RotaryEmbedding", [(2, 3, 5, 8), angles, angles])[0].shape == (2, 3, 5, 8)


@pytest.mark.parametrize(
    ("cos", "sin", "message"),
    [
        ((5,), (5,), r"'cos' has shape \[5\]: expected rank 2 or 3"),
        ((2, 1, 4), (2, 1, 4), r"'cos' has shape \[2,1,4\]: expected 5 positions"),
        ((3, 5, 4), (3, 5, 4), r"'cos' has shape .* that broadcasts to \[2,5,4\]"),
        ((5, 4), (5, 3), r"'sin' has shape \[5,3\]: expected \[5,4\]"),
        ((5, 5), (5, 5), r"'cos' of shape \[5,5\] turns 10 numbers: .* has 8"),
    ],
)
def test_angles_that_do_not_fit_are_refused(infer, cos, sin, message):
    with pytest.raises(ShapeError, match=message):
        infer("RotaryEmbedding", [(2, 3, 5, 8), cos, sin])


@pytest.mark.parametrize("lengths", [(2,), (1,), ()])
def test_a_cache_has_room_for_more_keys(infer, lengths):
    operands = {"query": (2, 6, 1, 4), "key": (2, 2, 9, 4), "value": (2, 2, 9, 7)}
    operands |= {"lengths": lengths, "mask": (9,), "sink": (6,)}
    assert infer("CachedAttention", operands, window=3)[0].shape == (2, 6, 1, 7)


@pytest.mark.parametrize(
    ("lengths", "sink", "message"),
    [
        ((3,), None, r"'lengths' has shape \[3\]: .* to \[2\]"),
        ((2, 1), None, r"'lengths' has shape \[2,1\]"),
        ((2,), (2,), r"'sink' has shape \[2\]: expected \[6\]"),
    ],
)
def test_lengths_and_sinks_that_do_not_fit_are_refused(infer, lengths, sink, message):
    operands = {"query": (2, 6, 1, 4), "key": (2, 2, 9, 4), "value": (2, 2, 9, 4)}
    with pytest.raises(ShapeError, match=message):
        infer("CachedAttention", operands | {"lengths": lengths, "sink": sink})
