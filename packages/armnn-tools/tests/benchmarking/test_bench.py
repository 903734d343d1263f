# SPDX-License-Identifier: MIT
"""Measurements in real child processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import Network
from armnn.errors import ArmnnError, InvalidArgumentError
from armnn_tools.benchmarking import Measurement, bench, worker
from armnn_tools.benchmarking.measuring import write_plot
from fakes.plugins import backend_plugin, installed

_WITH_THREADS = """
from armnn_backend_ref import backend as reference

class backend(reference.RefBackend):
    id = "Threaded"

    def create_model_context(self, options):
        if options != {"NumberOfThreads": 3}:
            raise ValueError(f"got {dict(options)}")
        return super().create_model_context({})
"""


@pytest.fixture
def model(tmp_path: Path, two_layers: Network) -> Path:
    path = tmp_path / "two.armnn"
    armnn.save(two_layers, path)
    return path


@pytest.fixture
def inputs(two_layers: Network) -> list[np.ndarray]:
    return [np.zeros(layer.output.info.static_shape, np.float32) for layer in two_layers.inputs]


def test_a_model_is_measured(model: Path, inputs: list[np.ndarray]) -> None:
    told: list[str] = []
    (ours,) = bench(model, ["CpuRef"], inputs=inputs, seconds=0.1, streams=2, tell=told.append)
    assert (ours.name, ours.fault) == ("armnn", "")
    assert told == ["Loading armnn", "Measuring armnn in turns"]
    assert ours.latencies_ns == sorted(ours.latencies_ns)
    assert len(ours.latencies_ns) >= 5 * 2  # turns, streams
    assert 0 < ours.percentile(50) <= ours.percentile(99)
    assert ours.runs_per_second > 0 < ours.load_seconds


def test_the_number_of_threads_reaches_backends_that_have_the_option(
    model: Path, inputs: list[np.ndarray], tmp_path: Path
) -> None:
    plugin = backend_plugin("Threaded", distribution="armnn-backend-t", source=_WITH_THREADS)
    with installed(tmp_path / "packages", plugin):
        chosen = ["Threaded", "CpuRef"]  # CpuRef has no such option
        (told,) = bench(model, chosen, inputs=inputs, seconds=0.05, threads=3)
        assert told.fault == ""
        (untold,) = bench(model, chosen, inputs=inputs, seconds=0.05)
    assert "got {}" in untold.fault


def test_a_runtime_that_fails_is_a_row_and_the_others_are_measured(
    model: Path, inputs: list[np.ndarray]
) -> None:
    ours, other = bench(model, ["CpuRef"], inputs=inputs, against=["onnxruntime"], seconds=0.05)
    assert ours.fault == ""
    assert other.fault  # it is not installed here, and reads no .armnn files where it is
    assert set(other.as_dict()) == {"name", "fault"}


def test_a_runtime_that_is_not_installed_is_named_with_the_remedy() -> None:
    message = "no_such cannot be imported .*install it with 'pip install no-such', or leave it out"
    with pytest.raises(InvalidArgumentError, match=message):
        worker._module("no_such.interpreter", "no-such")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"against": ["onnxrntime"]}, "no runtime 'onnxrntime' to measure.*'onnxruntime'"),
        ({"seconds": 0}, "bench got 0 seconds, 1 streams and 0 threads: expected more than 0"),
        ({"streams": 0}, "3 seconds, 0 streams"),
        ({"threads": -1}, "-1 threads"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ArmnnError, match=message):
        bench("model.onnx", inputs=[], **wrong)  # type: ignore[arg-type] # on purpose


def test_percentiles_are_those_of_the_runs() -> None:
    measured = Measurement("x", 0.5, 3.0, [1_000_000, 2_000_000, 3_000_000], 10.0)
    assert measured.percentile(50) == 2.0
    assert measured.as_dict() == {
        "name": "x",
        "p50_ms": 2.0,
        "p90_ms": pytest.approx(2.8),
        "p99_ms": pytest.approx(2.98),
        "min_ms": 1.0,
        "runs_per_second": 10.0,
        "runs": 3,
        "load_ms": 500.0,
        "first_ms": 3.0,
    }


def test_a_plot_of_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"--plot got 'times.gif', expected a name that"):
        write_plot("times.gif", "", [])
