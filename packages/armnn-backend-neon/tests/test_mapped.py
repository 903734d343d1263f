# SPDX-License-Identifier: MIT
"""Programs read their weights in the mapped file."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import armnn
from armnn.backends.capi.programs import count_lent

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIDE = 1024
X = np.random.default_rng(0).standard_normal((2, SIDE), np.float32)
LOAD = """
import sys, armnn, numpy
model = armnn.load_model(sys.argv[1], ["CpuAcc"], cache_dir=sys.argv[2])
y = model.run({"x": numpy.ones((2, 1024), numpy.float32)})["y"]
"""
LOAD_SHAPES = """
import sys, armnn
shapes = [{"x": (rows, 1024)} for rows in map(int, sys.argv[3:])]
model = armnn.load_model(sys.argv[1], ["CpuAcc"], cache_dir=sys.argv[2], shapes=shapes)
print(model.load_times["pack"] > 0, model.load_times["compile"] > 0)
"""
WAIT = "print('ready', flush=True); sys.stdin.readline(); print(open('/proc/self/smaps').read())"
MODULES = "print(*sys.modules)"
NEEDLESS = (
    "armnn.optimizer.passes",
    "armnn.parsing.",
    "armnn_tools.cli",
    "armnn_backend_ref",
    "armnn_parser_",
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the path of a model of two large products."""
    draw = np.random.default_rng(1)
    network = armnn.Network("products")
    x = network.add_input("x", armnn.TensorInfo((2, SIDE)))
    for _ in range(2):
        x = network.add_fully_connected(x, draw.standard_normal((SIDE, SIDE), np.float32) / SIDE)
    network.add_output("y", x)
    path = tmp_path / "model.armnn"
    armnn.save(network, path)
    return path


def load(model: Path) -> armnn.LoadedNetwork:
    return armnn.load_model(model, ["CpuAcc"], cache_dir=model.parent / "cache")


def run(model: Path) -> NDArray[np.float32]:
    with load(model) as loaded:
        return loaded.run({"x": X})["y"]


def test_weights_are_lent_until_their_last_program_ends(model: Path) -> None:
    gc.collect()  # programs of other tests
    before = count_lent()
    expected = run(model)
    gc.collect()  # else what that program packed is used
    first, second = load(model), load(model)
    assert count_lent() > before
    first.unload()
    del first
    gc.collect()
    np.testing.assert_array_equal(second.run({"x": X})["y"], expected)
    second.unload()
    del second
    gc.collect()
    assert count_lent() == before


def test_a_file_that_is_replaced_meanwhile_does_not_disturb_who_reads_it(model: Path) -> None:
    expected = run(model)
    with load(model) as loaded:
        (file,) = (model.parent / "cache").glob("*.armnn-prepared")
        file.unlink()
        run(model)  # makes the file again
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], expected)


@pytest.mark.parametrize("end", [0, 100, -100])
def test_a_program_that_is_cut_is_made_again(model: Path, end: int) -> None:
    expected = run(model)
    (file,) = (model.parent / "cache").glob("*.armnn-prepared")
    good = file.read_bytes()
    file.write_bytes(good[:end])
    np.testing.assert_array_equal(run(model), expected)
    assert file.read_bytes() == good


def test_two_processes_have_the_packed_weights_once(model: Path) -> None:
    run(model)
    command = [sys.executable, "-c", LOAD + WAIT, str(model), str(model.parent / "cache")]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for each in both:
        assert each.stdout.readline() == "ready\n"
    # The first tells while the second is still there.
    told = [both[0].communicate("\n")[0], both[1].communicate("\n")[0]]
    resident, share, dirty = of_file(told[0])
    weights = 2 * SIDE * SIDE * 4 // 1024
    assert resident >= weights
    assert share <= 0.55 * resident
    assert dirty == 0


def test_another_shape_uses_the_packed_weights_of_the_file(tmp_path: Path) -> None:
    network = armnn.Network("of any batch")
    x = network.add_input("x", armnn.TensorInfo((None, SIDE)))
    weights = np.random.default_rng(1).standard_normal((SIDE, SIDE), np.float32)
    network.add_output("y", network.add_fully_connected(x, weights))
    armnn.save(network, tmp_path / "model.armnn")
    command = [sys.executable, "-c", LOAD_SHAPES, str(tmp_path / "model.armnn"), str(tmp_path)]

    def packs_and_compiles(*rows: str) -> list[str]:
        done = subprocess.run([*command, *rows], capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert packs_and_compiles("2") == ["True", "True"]
    assert packs_and_compiles("2") == ["False", "False"]
    assert packs_and_compiles("2", "3") == ["False", "True"]
    assert packs_and_compiles("4") == ["True", "True"]  # no program of another one is there


def of_file(smaps: str) -> tuple[int, int, int]:
    """Return Rss, Pss and Private_Dirty of prepared models."""
    found = [0, 0, 0]
    for part in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", smaps):
        if ".armnn-prepared" in part.splitlines()[0]:
            for index, name in enumerate(("Rss", "Pss", "Private_Dirty")):
                (kilobytes,) = re.findall(rf"^{name}: +(\d+) kB", part, re.MULTILINE)
                found[index] += int(kilobytes)
    return found[0], found[1], found[2]


def test_a_load_from_the_cache_imports_no_pass_schema_or_parser(model: Path) -> None:
    run(model)
    command = [sys.executable, "-c", LOAD + MODULES, str(model), str(model.parent / "cache")]
    for _ in range(3):  # the digests of model and prepared file are kept by then
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.startswith("armnn")}
    assert [name for name in ours if name.startswith(NEEDLESS)] == []
    assert not {"armnn.optimizer.phases", "armnn.graph._builders"} & ours
    assert len(ours) < 160
    assert not {"onnx", "google.protobuf"} & loaded
