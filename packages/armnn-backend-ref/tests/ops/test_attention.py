# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from onnx.reference.ops.op_attention import _compute_attention
from onnx.reference.ops.op_rotary_embedding import rotary_embedding

from armnn.errors import ExecutionError
from armnn.layers.attention import (
    AttentionDescriptor,
    CachedAttentionDescriptor,
    RotaryEmbeddingDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType


def heads(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


QUERY, KEY, VALUE = heads(0, 2, 4, 3, 8), heads(1, 2, 4, 5, 8), heads(2, 2, 4, 5, 6)
SEEN = np.random.default_rng(3).random((2, 4, 3, 5)) < 0.6
SEEN[..., 0] = True


def assert_attends(result, expected):
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("d", "attributes"),
    [
        (AttentionDescriptor(), {}),
        (AttentionDescriptor(scale=0.3), {"scale": 0.3}),
        (AttentionDescriptor(causal=True), {"is_causal": True}),
        (AttentionDescriptor(softcap=0.7), {"softcap": 0.7}),
        (AttentionDescriptor(softcap=0.7, causal=True), {"softcap": 0.7, "is_causal": True}),
    ],
    ids=["plain", "scale", "causal", "softcap", "softcap and causal"],
)
@pytest.mark.parametrize(
    "mask",
    [None, SEEN, SEEN[0, 0], SEEN[:1, :1], heads(4, 2, 1, 3, 5), heads(5, 1, 5)],
    ids=["none", "seen", "plane", "one head", "bias", "row"],
)
def test_attention_agrees_with_the_onnx_reference(compute, d, attributes, mask):
    # The reference broadcasts a mask only where no causal one is added.
    full = None if mask is None else np.broadcast_to(mask, SEEN.shape)
    expected = _compute_attention(QUERY, KEY, VALUE, full, **attributes)[0]
    assert_attends(compute(d, QUERY, KEY, VALUE, mask), expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_neighboring_heads_share_a_key(compute, groups):
    key, value = KEY[:, :groups], VALUE[:, :groups]
    repeated = [np.repeat(array, 4 // groups, axis=1) for array in (key, value)]
    expected = _compute_attention(QUERY, *repeated)[0]
    assert_attends(compute(AttentionDescriptor(), QUERY, key, value, None), expected)


def test_queries_behind_a_cache_see_all_of_it(compute):
    past, new = (KEY[:, :, :2], VALUE[:, :, :2]), (KEY[:, :, 2:], VALUE[:, :, 2:])
    expected = _compute_attention(QUERY, *new, None, *past, is_causal=True)[0]
    d = AttentionDescriptor(causal=True, causal_from_end=True)
    assert_attends(compute(d, QUERY, KEY, VALUE, None), expected)


def test_a_query_that_sees_nothing_gives_zero(compute):
    mask = np.ones((3, 5), np.bool_)
    mask[1] = False
    y = compute(AttentionDescriptor(), QUERY, KEY, VALUE, mask)
    assert not y[:, :, 1].any()
    assert y[:, :, 0].all()
    # Of three queries and one key, the first two stand before it.
    d = AttentionDescriptor(causal=True, causal_from_end=True)
    y = compute(d, QUERY, KEY[:, :, :1], VALUE[:, :, :1], None)
    assert not y[:, :, :2].any()
    np.testing.assert_array_equal(y[:, :, 2], VALUE[:, :, 0])


def test_without_keys_all_is_zero(compute):
    y = compute(AttentionDescriptor(), QUERY, KEY[:, :, :0], VALUE[:, :, :0], None)
    assert y.shape == (2, 4, 3, 6)
    assert not y.any()


@pytest.mark.parametrize(
    ("data_type", "tolerance"), [(DataType.FLOAT16, 2e-3), (DataType.BFLOAT16, 2e-2)]
)
def test_halves_attend_in_single_precision(run_layer, data_type, tolerance):
    operands = [array.astype(data_type.numpy_dtype) for array in (QUERY, KEY, VALUE)]
    (y,) = run_layer("Attention", [*operands, None])
    assert y.dtype == data_type.numpy_dtype
    wide = [array.astype(np.float64) for array in operands]
    expected = _compute_attention(*wide)[0]
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def test_quantized_heads_are_decoded(run_layer):
    info = TensorInfo((1, 1, 2, 1), DataType.QASYMM_S8, 0.5, 3)
    query, key = np.int8([[[[3], [3]]]]), np.int8([[[[9], [-9]]]])  # queries of 0 see all alike
    value = np.int8([[[[7], [-1]]]])  # 2 and -2
    (y,) = run_layer("Attention", [(query, info), (key, info), (value, info), None])
    assert y.tolist() == [[[[3], [3]]]]


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("pairs", [4, 3, 1])
def test_rotation_agrees_with_the_onnx_reference(compute, interleaved, pairs):
    x, angles = heads(6, 2, 3, 5, 8), heads(7, 2, 5, pairs)
    cos, sin = np.cos(angles), np.sin(angles)
    expected = rotary_embedding(
        x, cos, sin, interleaved=interleaved, rotary_embedding_dim=2 * pairs
    )
    d = RotaryEmbeddingDescriptor(interleaved=interleaved)
    np.testing.assert_allclose(compute(d, x, cos, sin), expected, rtol=1e-6, atol=1e-6)


def test_angles_of_positions_hold_for_the_whole_batch(compute):
    x, angles = heads(6, 2, 3, 5, 8), heads(7, 5, 4)
    cos, sin = np.cos(angles), np.sin(angles)
    each = compute(RotaryEmbeddingDescriptor(), x, *(np.stack([a, a]) for a in (cos, sin)))
    for shape in ((5, 4), (1, 5, 4)):
        y = compute(RotaryEmbeddingDescriptor(), x, cos.reshape(shape), sin.reshape(shape))
        np.testing.assert_array_equal(y, each)


def test_a_quarter_turn_swaps_a_pair(compute):
    x = np.float32([[[[1, 2, 3, 4, 9]]]])
    cos, sin = np.zeros((1, 1, 2), np.float32), np.ones((1, 1, 2), np.float32)
    assert compute(RotaryEmbeddingDescriptor(), x, cos, sin).tolist() == [[[[-3, -4, 1, 2, 9]]]]
    d = RotaryEmbeddingDescriptor(interleaved=True)
    assert compute(d, x, cos, sin).tolist() == [[[[-2, 1, -4, 3, 9]]]]


@pytest.mark.parametrize(
    ("d", "attributes"),
    [
        (CachedAttentionDescriptor(), {"is_causal": True}),
        (CachedAttentionDescriptor(causal=False), {}),
        (CachedAttentionDescriptor(window=2), {"is_causal": True, "left_window_size": 1}),
        (CachedAttentionDescriptor(scale=0.3, softcap=0.7), {"is_causal": True, "softcap": 0.7}),
    ],
    ids=["causal", "all", "window", "scale and softcap"],
)
@pytest.mark.parametrize("lengths", [[5, 3], [4, 4], [1, 0]])
@pytest.mark.parametrize("mask", [None, SEEN, heads(4, 2, 1, 3, 5)], ids=["none", "seen", "bias"])
def test_a_cache_agrees_with_the_onnx_reference(compute, d, attributes, lengths, mask):
    counts = np.array(lengths)
    if d.scale:
        attributes = {**attributes, "scale": d.scale}
    expected = _compute_attention(QUERY, KEY, VALUE, mask, nonpad_kv_seqlen=counts, **attributes)[0]
    assert_attends(compute(d, QUERY, KEY, VALUE, counts, mask, None), expected)


def test_what_is_behind_the_keys_that_count_is_not_read(compute):
    key, value = KEY.copy(), VALUE.copy()
    key[:, :, 3:], value[:, :, 3:] = np.nan, np.inf
    d = CachedAttentionDescriptor()
    y = compute(d, QUERY, key, value, np.array(3), None, None)
    np.testing.assert_array_equal(
        y, compute(d, QUERY, KEY[:, :, :3], VALUE[:, :, :3], np.array([3]), None, None)
    )


def test_a_sink_is_a_key_whose_value_is_zero(compute):
    sink = heads(8, 4)
    # A key that matches each head's queries by its sink, beside the others.
    query = np.concatenate([QUERY, np.ones((2, 4, 3, 1), np.float32)], -1)
    key = np.concatenate([KEY, np.zeros((2, 4, 5, 1), np.float32)], -1)
    extra = np.zeros((2, 4, 1, 9), np.float32)
    extra[..., 0, 8] = sink
    with_sink = np.concatenate([extra, key], 2)
    values = np.concatenate([np.zeros((2, 4, 1, 6), np.float32), VALUE], 2)
    expected = _compute_attention(query, with_sink, values, scale=1.0)[0]
    d = CachedAttentionDescriptor(scale=1.0, causal=False)
    assert_attends(compute(d, query, key, VALUE, np.array(5), None, sink), expected)


@pytest.mark.parametrize("lengths", [[5, 6], [-1, 0], [2**40, 1]])
def test_a_length_beyond_the_cache_is_an_error(compute, lengths):
    wrong = next(each for each in lengths if not 0 <= each <= 5)
    with pytest.raises(ExecutionError, match=f"a cache of 5 keys cannot have {wrong}: expected 0"):
        compute(CachedAttentionDescriptor(), QUERY, KEY, VALUE, np.array(lengths), None, None)
