# SPDX-License-Identifier: MIT
"""One good file works among every kind of bad one.

The bad ones are reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_files import FILES, fill

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends import BackendEntry, BackendState
from armnn.errors import BackendUnavailableError
from armnn_tools.cli.main import main

pytestmark = pytest.mark.xdist_group("bad files")  # of one worker: files are tried out once

# Many times what a file takes, so that a busy machine tells none of them wrong.
PATIENCE = 4.0
BAD = [row for row in FILES if "stage" in row]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, compiled: Callable[..., Path]) -> Path:
    made = tmp_path_factory.mktemp("judged")
    fill(made, compiled)
    return made


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def entries(folder: Path, cache: str) -> dict[str, BackendEntry]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", cache)
        with Runtime(options(folder)) as runtime:
            found = [entry for entry in runtime.registry.entries() if not entry.is_static]
            return {Path(entry.origin).name: entry for entry in found}


def options(folder: Path) -> CreationOptions:
    return CreationOptions(
        dynamic_backends_path=str(folder),
        enable_static_backends=False,
        probe_timeout=PATIENCE,
    )


def test_every_file_has_an_entry(entries: dict[str, BackendEntry]) -> None:
    assert list(entries) == sorted(row["name"] for row in FILES)
    assert len(BAD) >= 20


@pytest.mark.parametrize("row", BAD, ids=lambda row: row["name"])
def test_each_bad_file_is_turned_down_at_its_stage_with_its_reason(
    entries: dict[str, BackendEntry], row: dict[str, Any]
) -> None:
    entry = entries[row["name"]]
    assert entry.state in (BackendState.FAILED, BackendState.INCOMPATIBLE)
    assert (entry.stage, bool(re.match(row["reason"], entry.reason))) == (row["stage"], True), (
        entry.reason
    )


@pytest.mark.usefixtures("entries")
def test_the_good_one_works_among_them(
    folder: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    net = Network("sum")
    info = TensorInfo((2, 3))
    a, b = net.add_input("a", info), net.add_input("b", info)
    net.add_output("sum", net.add_addition(a, b))
    with Runtime(options(folder)) as runtime:
        model = runtime.load_model(net, backends=["Good"])
        left, right = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 5, np.float32)
        result = model.run({"a": left, "b": right})["sum"]
        with pytest.raises(BackendUnavailableError, match=r"'FailingExecute' .* out of order"):
            runtime.optimize(net, backends=["FailingExecute"])
    np.testing.assert_array_equal(result, [[5, 6, 7], [8, 9, 10]])


@pytest.mark.usefixtures("entries")
def test_doctor_names_stage_and_reason_of_each(
    folder: Path,
    cache: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    asked = ["--dynamic-backends-path", str(folder), "--probe-timeout", str(PATIENCE)]
    assert main(["doctor", "--json", *asked, "--backends", "Good"]) == 0
    document = json.loads(capsys.readouterr().out)
    told = {Path(b["origin"]).name: (b["stage"], b["reason"]) for b in document["backends"]}
    for row in BAD:
        stage, reason = told[row["name"]]
        assert stage == row["stage"]
        assert re.match(row["reason"], reason), reason
    texts = "\n".join(finding["text"] for finding in document["findings"])
    assert all(row["name"] in texts for row in BAD)
    assert main(["doctor", *asked, "--backends", "Liar"]) == 1
    assert "claims the layer type 'ArmnnProbeMadeUp'" in capsys.readouterr().out
