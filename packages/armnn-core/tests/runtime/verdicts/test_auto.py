# SPDX-License-Identifier: MIT
"""Loading with backends="auto"."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn.backends import refresh
from armnn.backends.registry import BackendRegistry
from armnn.errors import InvalidArgumentError, PlacementError, UnknownBackendError, UnknownNameError
from armnn.graph import Network
from armnn.optimizer import OptimizerOptions
from armnn.runtime.verdicts import (
    Trial,
    Verdict,
    builds_of,
    choose,
    identity_of_file,
    identity_of_network,
    this_machine,
    user_verdicts,
    write_verdict,
)
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, DataType

ADD = BinaryOperation.ADD
X = {"x": np.linspace(-1, 1, 1 << 16, dtype=np.float32).reshape(64, 1024)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the user's file of verdicts be a test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    refresh()


def verdict_for(
    model: str, *backends: str, options: dict[str, dict[str, int]] | None = None
) -> Verdict:
    """Return a verdict for this machine and these builds."""
    builds = builds_of(["CpuRef", *backends], BackendRegistry().entries())
    trial = Trial(tuple(backends) or ("CpuRef",), options or {}, 12.0, 0.1)
    return Verdict((model,), this_machine(), builds, "2026-11-22", (trial,))


def test_the_verdict_in_the_users_file_chooses(two_layers: Network) -> None:
    path = user_verdicts()
    assert path is not None
    write_verdict(path, verdict_for(identity_of_network(two_layers)))
    loaded = armnn.load_model(two_layers, "auto")
    assert loaded.report.layers_by_backend == {"CpuRef": 2}
    assert loaded.report.choice == "chosen by measurement on 2026-11-22: CpuRef: 12 us"
    assert "backends chosen by measurement" in str(loaded.report)
    assert "choice of backends" in str(armnn.optimize(two_layers, ["auto"]))


def test_the_same_verdict_gives_the_same_plan_and_bits(two_layers: Network, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    write_verdict(path, verdict_for(identity_of_network(two_layers)))
    first, second = (armnn.load_model(two_layers, "auto", verdicts=str(path)) for _ in range(2))
    assert first.report == second.report
    assert first.run(X)["y"].tobytes() == second.run(X)["y"].tobytes()


def test_a_verdict_costs_a_load_little(two_layers: Network, tmp_path: Path) -> None:
    path, model = tmp_path / "verdicts.json", tmp_path / "two.armnn"
    armnn.save(two_layers, model)
    for number in range(40):
        write_verdict(path, verdict_for(f"another {number}"))
    write_verdict(path, verdict_for(identity_of_file(model)))
    registry, spent = BackendRegistry(), []
    for _ in range(9):
        began = time.thread_time()
        choice = choose(model, OptimizerOptions(verdicts=str(path)), registry)
        spent.append(time.thread_time() - began)
    assert choice.backends == ("CpuRef",)
    assert min(spent) < 2e-3


def test_a_file_beside_the_model_comes_before_the_users(
    two_layers: Network, tmp_path: Path
) -> None:
    model = tmp_path / "two.armnn"
    armnn.save(two_layers, model)
    identity = identity_of_file(model)
    mine = user_verdicts()
    assert mine is not None
    write_verdict(mine, verdict_for(identity))
    beside = verdict_for(identity, options={"CpuRef": {}})
    write_verdict(tmp_path / "two.armnn.verdicts.json", replace(beside, day="2020-01-01"))
    loaded = armnn.load_model(model, "auto")
    assert loaded.report.choice.startswith("chosen by measurement on 2020-01-01")
    expected = armnn.load_model(model, ["CpuRef"]).run(X)["y"]
    np.testing.assert_array_equal(loaded.run(X)["y"], expected)


def test_without_a_verdict_the_usual_order_holds_and_says_so(
    two_layers: Network, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        loaded = armnn.load_model(two_layers, "auto")
    assert loaded.report.layers_by_backend == armnn.load_model(two_layers).report.layers_by_backend
    assert "was not measured on this machine; run armnn tune" in loaded.report.choice
    assert "run armnn tune to measure" in caplog.text


def test_a_stale_verdict_is_not_followed(two_layers: Network, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    verdict = verdict_for(identity_of_network(two_layers))
    write_verdict(path, replace(verdict, builds={"CpuRef": "another 9"}))
    choice = armnn.load_model(two_layers, "auto", verdicts=str(path)).report.choice
    assert "holds no more: it measured another 9, but armnn-backend-ref" in choice


def test_a_damaged_file_is_an_error_only_if_it_was_named(
    two_layers: Network, tmp_path: Path
) -> None:
    path = user_verdicts()
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert "is not a file of verdicts" in armnn.load_model(two_layers, "auto").report.choice
    with pytest.raises(PlacementError, match="is not a file of verdicts"):
        armnn.load_model(two_layers, "auto", verdicts=str(path))


def test_a_file_that_others_may_write_is_not_read(two_layers: Network) -> None:
    path = user_verdicts()
    assert path is not None
    write_verdict(path, verdict_for(identity_of_network(two_layers)))
    path.chmod(0o666)
    assert "not measured" in armnn.load_model(two_layers, "auto").report.choice


def test_the_callers_options_win_over_the_verdicts(two_layers: Network, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    verdict = verdict_for(identity_of_network(two_layers), options={"CpuRef": {"unknown": 1}})
    write_verdict(path, verdict)
    with pytest.raises(InvalidArgumentError, match="unknown"):
        armnn.load_model(two_layers, "auto", verdicts=str(path))


def test_a_cached_model_and_a_prepared_file_follow_the_verdict(
    two_layers: Network, tmp_path: Path
) -> None:
    model, cache, path = tmp_path / "two.armnn", tmp_path / "c", tmp_path / "verdicts.json"
    armnn.save(two_layers, model)
    cache.mkdir(mode=0o700)
    write_verdict(path, verdict_for(identity_of_file(model)))
    for _ in range(2):
        loaded = armnn.load_model(model, "auto", verdicts=str(path), cache_dir=cache)
        assert loaded.report.choice.startswith("chosen by measurement")
    prepared = tmp_path / "two.armnn-prepared"
    with armnn.Runtime() as runtime:
        runtime.compile_network(two_layers, prepared, "auto")
    assert armnn.load_model(prepared, "auto").run(X)["y"].shape == (64, 1024)


def test_the_removed_budget_says_what_measures_now(two_layers: Network) -> None:
    message = r"no option 'auto_budget' of the optimizer any more: armnn tune MODEL"
    with pytest.raises(UnknownNameError, match=message):
        armnn.load_model(two_layers, "auto", auto_budget=3)  # type: ignore[call-arg]
    with pytest.raises(UnknownNameError, match=message):
        OptimizerOptions(auto_budget=3)  # type: ignore[call-arg]


def test_auto_stands_alone(two_layers: Network) -> None:
    with pytest.raises(UnknownBackendError, match="auto"):
        armnn.load_model(two_layers, ["auto", "CpuRef"])


def test_the_identity_of_a_network_is_all_but_its_weights() -> None:
    def made(weight: float, name: str = "n", size: int = 4) -> Network:
        net = Network(name)
        constant = net.add_constant(np.full((size,), weight, np.float32), name="w")
        x = net.add_input("x", TensorInfo((1, size), DataType.FLOAT32))
        net.add_output("y", net.add_elementwise_binary(x, constant, operation=ADD, name="add"))
        return net

    assert identity_of_network(made(1.0)) == identity_of_network(made(2.0, "other"))
    assert identity_of_network(made(1.0)) != identity_of_network(made(1.0, size=5))


def test_the_identity_of_a_file_covers_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    content = bytearray(1 << 20)
    found = set()
    for place in (0, (1 << 20) - 1):
        content[place] = 1
        path.write_bytes(content)
        found.add(identity_of_file(path))
    path.write_bytes(content[:-1])
    assert len(found | {identity_of_file(path)}) == 3
