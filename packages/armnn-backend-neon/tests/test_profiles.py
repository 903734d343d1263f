# SPDX-License-Identifier: MIT
"""The times of layers in a profile are their own."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import armnn
from armnn.profiling import Recorder

SLOW_NS = 10_000_000


class SlowRecorder(Recorder):
    """Takes ten milliseconds for an event of a kernel."""

    def event(self, name: str, start_ns: int, end_ns: int, **details: Any) -> None:
        super().event(name, start_ns, end_ns, **details)
        begin = time.perf_counter_ns()
        while details.get("category") == "kernel" and time.perf_counter_ns() - begin < SLOW_NS:
            pass


def test_what_a_profiler_does_with_an_event_is_not_in_the_next_one() -> None:
    network = armnn.Network()
    x = network.add_input("x", armnn.TensorInfo((4, 8)))
    for _ in range(4):
        x = network.add_softmax(x)
    network.add_output("y", x)
    least: dict[int, int] = {}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"])
        for _ in range(5):
            recorder = SlowRecorder()
            loaded.run({"x": np.ones((4, 8), np.float32)}, profiler=recorder)
            kernels = [e for e in recorder.events if e.details.get("category") == "kernel"]
            for place, event in enumerate(kernels):
                least[place] = min(least.get(place, event.duration_ns), event.duration_ns)
    assert len(least) == 4
    assert max(least.values()) < SLOW_NS
