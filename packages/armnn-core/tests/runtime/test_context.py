# SPDX-License-Identifier: MIT
"""Events that a backend reports inside a part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import Workload
from armnn.backends.contract import current_control
from armnn.profiling import Recorder


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ({"backend": "Fake"}, {"backend": "Fake", "type": "Addition"}),
        ({"backend": "Fake", "type": "MatMul"}, {"backend": "Fake", "type": "MatMul"}),
        ({"backend": "Other"}, {"backend": "Other"}),
        ({}, {}),
    ],
)
def test_an_event_inside_a_layer_learns_its_type(
    make_backend: Any, make_runtime: Any, said: dict[str, str], known: dict[str, str]
) -> None:
    class Telling(Workload):
        def bind(self, inputs, outputs):
            def step() -> None:
                current_control.get().profiler.event("total", 1, 2, **said)

            return step

    backend = make_backend("Fake", create_workload=lambda *_: Telling())
    network = Network("sum")
    x = network.add_input("x", TensorInfo((4,)))
    network.add_output("y", network.add_addition(x, x, name="total"))
    recorder = Recorder()
    model = make_runtime(backend).load_model(network, ["Fake"])
    model.run({"x": np.zeros(4, np.float32)}, profiler=recorder)
    told, layer, run = recorder.events
    assert (told.name, told.start_ns, told.end_ns, told.details) == ("total", 1, 2, known)
    assert (layer.details["category"], run.details["category"]) == ("layer", "run")
