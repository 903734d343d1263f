# SPDX-License-Identifier: MIT
"""Tuning: tiles are measured at load, kept, and make the same bits."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn_backend_cl import tuning
from armnn_backend_cl.launches import Launch, Tile

X = np.random.default_rng(1).standard_normal((1, 9, 9, 20)).astype(np.float32)


def network(rows: int = 81) -> Network:
    """Return a convolution with a sum fused behind it, and a product of computed matrices."""
    rng = np.random.default_rng(2)
    net = Network("products")
    x = net.add_input("x", TensorInfo(X.shape))
    weights = net.add_constant(rng.standard_normal((20, 3, 3, 20)).astype(np.float32))
    y = net.add_convolution2d(
        x, weights, pad_left=1, pad_right=1, pad_top=1, pad_bottom=1, data_layout="NHWC"
    )
    y = net.add_activation(net.add_addition(y, x), function="ReLu")
    y = net.add_reshape(y, target_shape=(rows, 1620 // rows))
    net.add_output("y", net.add_batch_mat_mul(y, y, transpose_y=True))
    return net


class Times:
    """Times of tiles in the place of a device's, and how many were asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, best: Tile | None = None) -> None:
        self.measured: list[Tile] = []
        self.best = best
        monkeypatch.setattr(tuning._Measurement, "time", self._time)
        monkeypatch.setattr(tuning._Measurement, "again", lambda _, tile: self._of(tile))

    def _of(self, tile: Tile) -> float:
        return 1.0 if tile == self.best else 2.0

    def _time(self, launch: Launch, least: float = math.inf) -> float:
        assert launch.tiling is not None
        self.measured.append(launch.tiling.tile)
        return self._of(launch.tiling.tile)


def run(level: int = 0, file: Path | str = "", *, of_model: bool = False) -> bytes:
    """Return the bits of the network's output."""
    tuned = {"TuningLevel": level, **({"TuningFile": str(file)} if file else {})}
    options = {"GpuAcc": {} if of_model else tuned}, {"GpuAcc": tuned if of_model else {}}
    with Runtime(CreationOptions(backend_options=options[0])) as runtime:
        model = runtime.load_model(network(), backends=["GpuAcc"], backend_options=options[1])
        return model.run({"x": X})["y"].tobytes()


@pytest.fixture(autouse=True)
def no_blobs_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("tile", [Tile(2, 8, 1, 32), Tile(8, 4, 2, 256)], ids=str)
def test_tiles_make_the_same_bits(monkeypatch: pytest.MonkeyPatch, tile: Tile) -> None:
    plain = run()
    times = Times(monkeypatch, tile)
    made: list[Launch] = []
    kind = tuning.Tuner.tuned

    def tuned(*given: Any) -> list[Launch]:
        found = kind(*given)
        made.extend(found)
        return found

    monkeypatch.setattr(tuning.Tuner, "tuned", tuned)
    assert run(level=3) == plain
    assert [each.tiling.tile for each in made if each.tiling is not None] == [tile, tile]
    assert tile in times.measured


def test_a_device_measures_at_load_and_not_in_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "tuned.json"
    counted: list[Tile] = []
    kind = tuning._Measurement.again

    def again(self: Any, tile: Tile) -> float:
        counted.append(tile)
        return kind(self, tile)

    monkeypatch.setattr(tuning._Measurement, "again", again)
    with Runtime(
        CreationOptions(backend_options={"GpuAcc": {"TuningLevel": 1, "TuningFile": str(file)}})
    ) as runtime:
        model = runtime.load_model(network(), backends=["GpuAcc"])
        assert len(set(counted)) >= 2
        counted.clear()
        made = model.run({"x": X})["y"].tobytes()
        assert counted == []
    assert made == run()
    known = json.loads(file.read_text())["tiles"]
    assert sorted(key.split(": ")[-1].split()[0] for key in known) == ["convolve", "matmul"]


def test_levels_try_more(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for level in (1, 2, 3):
        times = Times(monkeypatch)
        run(level)
        counts.append(len(times.measured))
    assert counts[0] < counts[1] < counts[2]


def test_what_was_measured_is_kept_in_the_file_and_by_the_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, best = tmp_path / "tuned.json", Tile(4, 16, 1)
    times = Times(monkeypatch, best)
    run(1, file)
    assert times.measured
    whole = json.loads(file.read_text())
    assert [1, 4, 16, 1, 64] in whole["tiles"].values()
    times.measured.clear()
    for level, path in ((1, file), (0, file), (1, tmp_path / "other.json"), (1, "")):
        run(level, path, of_model=level == 0)  # the file's, the file's, and twice the host's
    assert times.measured == []
    assert json.loads((tmp_path / "other.json").read_text()) == whole
    run(2, file)  # more thorough
    assert times.measured


def test_networks_that_are_tuned_together_share_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = {"GpuAcc": {"TuningLevel": 1, "TuningFile": str(tmp_path / "tuned.json")}}
    Times(monkeypatch)
    with Runtime(CreationOptions(backend_options=options)) as one:
        with Runtime(CreationOptions(backend_options=options)) as other:
            one.load_model(network(), backends=["GpuAcc"])
            other.load_model(network(rows=30), backends=["GpuAcc"])
        one.load_model(network(rows=20), backends=["GpuAcc"])
    assert len(json.loads((tmp_path / "tuned.json").read_text())["tiles"]) == 4


def test_a_tile_that_no_product_has_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "tuned.json"
    times = Times(monkeypatch)
    run(1, file)
    known = json.loads(file.read_text())
    known["tiles"] = {key: [1, 3, 255, 256, 0] for key in known["tiles"]}
    file.write_text(json.dumps(known))
    times.measured.clear()
    plain = run()
    assert run(0, file) == plain
    assert times.measured == []
    assert run(1, file) == plain
    assert times.measured


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read TuningFile .*: No such file or directory; TuningLevel 1 to 3 writes"),
        (b"", "begins with b'': expected JSON with the format 'GpuAcc tuning 1'"),
        (b"[" * 100_000, "expected JSON with the format"),
        (b"\xff\xfe", "expected JSON with the format"),
        (b'{"format": "GpuAcc tuning 2", "tiles": {}}', "expected JSON with the format"),
        (b'{"format": "GpuAcc tuning 1", "tiles": []}', "expected JSON with the format"),
        (b'{"format": "GpuAcc tuning 1", "tiles": {"a": 1}}', "has 1 for 'a': expected a level"),
        (
            b'{"format": "GpuAcc tuning 1", "tiles": {"a": [1, 4, 16, 1, 1e9]}}',
            "has .* for 'a': expected a level, at most 3, and rows",
        ),
        (b'{"format": "GpuAcc tuning 1", "tiles": {"a": [4, 4, 16, 1, 64]}}', "a level, at most 3"),
        (
            b'{"format": "GpuAcc tuning 1", "tiles": {"a": [1, 4, 16, true, 64]}}',
            "expected a level",
        ),
        (b" " * ((1 << 24) + 1), "of at most 16777216 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "tuned.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidArgumentError, match=words):
        run(0, file)


@pytest.mark.parametrize("level", [0, 1])
def test_a_pipe_is_refused_at_once(tmp_path: Path, level: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgumentError, match=r"cannot read TuningFile .*: it is not a reg"):
        tuning.Tuner(level, str(tmp_path / "pipe"))


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"cannot write TuningFile .*: No such file"):
        run(1, tmp_path / "nowhere" / "tuned.json")


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_is_0_to_3(level: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"TuningLevel .* is {level}: expected 0, which"):
        run(level)


def test_a_tile_that_cannot_run_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, values in (("_ROWS", (4,)), ("_WIDTHS", (16,)), ("_SIDES", (1,))):
        monkeypatch.setattr(tuning, name, values)
    monkeypatch.setattr(tuning, "_GROUPS", (64, 1 << 20))  # no device has groups of a million
    found = []
    kind = tuning._Measurement.time

    def time(self: Any, launch: Launch, least: float = math.inf) -> float:
        found.append(kind(self, launch, least))
        return found[-1]

    monkeypatch.setattr(tuning._Measurement, "time", time)
    assert run(3) == run()
    assert math.inf in found
    assert any(map(math.isfinite, found))
