# SPDX-License-Identifier: MIT
"""Reductions of planted faults, tried in child processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import Network, OptimizerOptions, TensorInfo
from armnn.backends.registry import BackendRegistry
from armnn.errors import BackendError, InvalidArgumentError
from armnn.graph import OperatorCall
from armnn.layers.plumbing import StandInDescriptor
from armnn_tools.debugging import Progress, ReduceOptions, Reduction, reduce
from armnn_tools.debugging.reducing import result
from armnn_tools.debugging.reducing.judge import Judge
from armnn_tools.debugging.reducing.variants import Variant
from armnn_tools.debugging.reducing.worker import Job
from fakes.faults import FaultyBackend
from fakes.plugins import backend_plugin, installed

SOURCE = """
import os
import numpy as np
from fakes.faults import Fault, FaultyBackend


def rows_above_one(call):
    made = call.right()[0]
    made[1:] *= np.float32(1.01)
    return [made]


def crash(call):
    if call.operands[0].shape[0] > 1:
        os.abort()
    return call.right()


def worn_out(call):
    seen.append(call.layer)
    if len(seen) > 1:
        raise RuntimeError("worn out")
    return call.right()


seen = []
changes = {"Softmax": rows_above_one, "LogSoftmax": crash, "CumSum": worn_out}
faults = [Fault("", "", layer, change) for layer, change in changes.items()]
backend = FaultyBackend.around("CpuRef", *faults)
"""
AS_BUILT = OptimizerOptions(rewrite=False)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install a backend that is wrong from row two on."""
    folder = tmp_path_factory.mktemp("site")
    with installed(folder, backend_plugin("Faulty", source=SOURCE)):
        yield


def network_with(layer: str, blocks: int = 1) -> Network:
    """Return a network with one layer of that type."""
    network = Network("whole")
    x = network.add_input("x", TensorInfo((4, 16)))
    weights = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    value = x
    for _ in range(blocks):
        value = network.add_activation(network.add_floor(value), function="Abs")
    value = network.add_fully_connected(value, weights)
    value = network.add(layer, [value], name="culprit").output
    network.add_output("y", network.add_addition(value, x))
    return network


@pytest.fixture
def one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a script confirm a failure once, to save processes."""
    monkeypatch.setattr(result, "_CONFIRMED", 1)


def crashing() -> Network:
    """Return a small network: each crash takes a process."""
    network = Network("crashing")
    value = network.add_activation(network.add_input("x", TensorInfo((2, 1))), function="Abs")
    network.add_output("y", network.add_log_softmax(value, name="culprit"))
    return network


def reduced(network: Network, target: Path, **options: Any) -> Reduction:
    return reduce(network, ["Faulty"], target, options=AS_BUILT, **options)


def run_of(script: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_wrong_layer_is_left_alone_with_two_rows(faulty: None, tmp_path: Path) -> None:
    told: list[Progress] = []
    target = tmp_path / "small.armnn"
    found = reduced(network_with("Softmax", 5), target, progress=told.append)
    assert found.types == ("Softmax",)
    assert found.layers_before == 13
    assert (found.confirmed, found.runs, found.is_complete) == (3, 3, True)
    assert found.failure.finding is not None
    assert found.failure.finding.figures.largest == pytest.approx(0.01, rel=0.05)
    small = armnn.parse(target)
    assert small.inputs[0].output.info.shape == (2, 1)
    assert found.size == target.stat().st_size < 2048
    assert [each.tries for each in told] == sorted(each.tries for each in told)
    assert told[-1].layers == 1
    assert {each.name for each in found.files} == {
        "small.armnn",
        "small.inputs.npz",
        "small.expected.npz",
        "small.py",
    }


def test_operators_in_python_become_inputs(faulty: None, one_run: None, tmp_path: Path) -> None:
    network = Network("whole")
    x = network.add_input("x", TensorInfo((4, 3)))
    with armnn.register_operator("mine", "Twice", lambda x: x * 2) as operator:
        descriptor = StandInDescriptor(num_outputs=1)
        layer = network.add("StandIn", [network.add_floor(x)], descriptor, outputs=[x.info])
        layer.compiled, layer.backend_hint = OperatorCall(operator, {}, [True]), "Python"
        network.add_output("y", network.add_softmax(layer.output))
        found = reduced(network, tmp_path / "small.armnn")
    assert found.types == ("Softmax",)
    assert found.layers_before == 2


def test_a_crash_is_reduced_by_its_signal(faulty: None, one_run: None, tmp_path: Path) -> None:
    found = reduced(crashing(), tmp_path / "small.armnn", check="crash")
    assert found.types == ("LogSoftmax",)
    assert found.failure.marks[0] == "SIGABRT"
    assert found.confirmed == 1
    assert found.as_dict()["failure"].startswith("crash: SIGABRT: ")


@pytest.mark.parametrize(("is_fresh", "failing"), [(False, [0, 1]), (True, [0, 0])])
def test_a_fresh_process_knows_nothing_of_other_tries(
    is_fresh: bool, failing: list[int], faulty: None, tmp_path: Path
) -> None:
    judge = Judge(Job("crash", ["Faulty"], "CpuRef"), tmp_path, is_fresh=is_fresh)
    found = []
    try:
        for rows in (2, 3):
            network = Network("sums")
            x = network.add_input("x", TensorInfo((rows,)))
            network.add_output("y", network.add_cum_sum(x, axis=0))
            variant = Variant(network, {"x": np.ones(rows, np.float32)})
            found.append(len(judge.failures(variant, 1)))
    finally:
        judge.close()
    assert found == failing


def test_a_command_is_judged_by_its_status(faulty: None, tmp_path: Path) -> None:
    code = "import sys, armnn; sys.exit(7 * ('LogSoftmax' in str(armnn.parse(sys.argv[1]))))"
    command = f'{sys.executable} -c "{code}" {{model}} {{inputs}}'
    target = tmp_path / "small.armnn"
    found = reduced(crashing(), target, check=command)
    assert found.types == ("LogSoftmax",)
    assert found.failure.marks == ("exit code 7",)
    assert found.runs == 0
    assert found.files[0] == target


def test_the_time_limit_leaves_the_smallest_so_far(
    faulty: None, one_run: None, tmp_path: Path
) -> None:
    limits = ReduceOptions(time_limit=1e-6)
    found = reduced(network_with("Softmax"), tmp_path / "a.armnn", limits=limits)
    assert not found.is_complete
    assert len(found.types) == 5
    assert found.confirmed == 1


@pytest.mark.parametrize(
    ("layer", "check", "message"),
    [
        ("LogSoftmax", "compare", r"cannot be compared on Faulty: crash: SIGABRT.*check crash"),
        ("Softmax", "crash", r"nothing to reduce: it neither crashes nor hangs nor fails in 'wh"),
        ("Floor", "compare", r"no layer is wrong in 'whole' on Faulty with 1 set\(s\) of inputs"),
    ],
)
def test_a_model_that_does_not_fail_so_is_refused(
    layer: str, check: str, message: str, faulty: None, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        reduced(network_with(layer), tmp_path / "a.armnn", check=check)


def test_a_backend_of_this_process_only_is_refused(tmp_path: Path) -> None:
    right = BackendRegistry(armnn.CreationOptions()).get("CpuRef")
    armnn.register_backend("Mine", lambda: FaultyBackend(right, backend_id="Mine"))
    try:
        with pytest.raises(BackendError, match=r"'Mine'.*has no effect there"):
            reduce(network_with("Floor"), ["Mine"], tmp_path / "a.armnn")
    finally:
        armnn.unregister_backend("Mine")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"check": "prog file"},
            r"check is 'prog file', expected compare, crash, or a command",
        ),
        ({"options": 3}, "the options"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        reduce(network_with("Floor"), ["CpuRef"], tmp_path / "a.armnn", **options)


def test_limits_are_above_zero() -> None:
    with pytest.raises(InvalidArgumentError, match="time_limit is 0, expected more than 0"):
        ReduceOptions(time_limit=0)
