# SPDX-License-Identifier: MIT
"""Sums of blocks: they are those of the whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from armnn import DataType, TensorInfo
from armnn.debugging.blocks import ELEMENTS, Sums, blocks_of, where
from armnn.debugging.judging import Opinions, judge

SHAPE = (3, ELEMENTS // 2 + 7)
RNG = np.random.default_rng(0)


def arrays() -> list[np.ndarray]:
    truth = RNG.standard_normal(SHAPE)
    got, reference = ((truth + RNG.normal(0, s, SHAPE)).astype(np.float32) for s in (1e-3, 1e-4))
    return [got, reference, truth, truth + 1e-2]


def test_the_sums_are_those_of_the_whole() -> None:
    got, reference, truth, allowed = arrays()
    got[1, 2], reference[2, 3], truth[0, -1] = np.nan, np.inf, -np.inf
    sums, count = Sums(), 0
    for block in blocks_of(got, reference, truth, allowed):
        sums.add(block)
        count += 1
    usable = np.isfinite(got) & np.isfinite(reference) & np.isfinite(truth)
    g, r, t, a = (each[usable].astype(np.float64) for each in (got, reference, truth, allowed))
    noise = np.maximum(np.abs(r - t), np.abs(a - t))
    assert count == 2
    assert sums.count == got.size - 3
    assert (sums.error, sums.noise, sums.size) == (
        np.abs(g - t).max(),
        noise.max(),
        np.abs(t).max(),
    )
    assert sums.rms(sums.noise_squares) == pytest.approx(np.sqrt(np.mean(noise**2)))
    assert sums.cosine == pytest.approx(np.corrcoef(g, t)[0, 1], rel=1e-4)


def test_nothing_finite_has_no_sums() -> None:
    sums = Sums()
    nan = np.full(4, np.nan)
    for block in blocks_of(nan, nan, None, None):
        sums.add(block)
    assert (sums.count, sums.rms(0.0), sums.cosine) == (0, 0.0, 1.0)


def test_a_place_in_a_later_block_is_found() -> None:
    got, reference, *_ = arrays()
    got[2, 5] = 100
    far = where(blocks_of(got, reference, None, None), lambda block: block.got > 50, SHAPE)
    assert np.argwhere(far).tolist() == [[2, 5]]


def test_the_first_wrong_element_of_a_later_block_is_named() -> None:
    _, reference, truth, _ = arrays()
    got = reference.copy()
    got[2, 5] += 1
    info = TensorInfo(SHAPE, DataType.FLOAT32)
    figures = judge(Opinions(got, reference, truth), info, 1e-7)
    assert (figures.first, figures.count, figures.total) == ((2, 5), 1, got.size)
    assert figures.got == pytest.approx(truth[2, 5] + 1, abs=1e-3)
