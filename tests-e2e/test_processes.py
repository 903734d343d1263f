# SPDX-License-Identifier: MIT
"""Loaded models travel to other processes.

Process pools and cluster frameworks need that.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from operator import methodcaller
from pathlib import Path

import numpy as np

import armnn


def test_a_model_runs_in_other_processes(model: Callable[[str], Path]) -> None:
    loaded = armnn.load_model(model("text_direction"), backends=["CpuRef"])
    generator = np.random.default_rng(0)
    feeds = [
        {"x": generator.uniform(-1, 1, (batch, 3, 48, 192)).astype(np.float32)} for batch in (1, 2)
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        answers = [pool.submit(methodcaller("run", feed), loaded).result(120) for feed in feeds]
    for feed, answer in zip(feeds, answers, strict=True):
        for name, expected in loaded.run(feed).items():
            np.testing.assert_array_equal(answer[name], expected)
