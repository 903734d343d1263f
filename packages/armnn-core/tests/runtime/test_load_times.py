# SPDX-License-Identifier: MIT
"""A loaded network has the times of its loading."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import weakref
import zipfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import _load_times
from armnn._load_times import (
    FIRST_RUN,
    IMPORT,
    REST,
    STAGES,
    TOTAL,
    count_packing,
    imported_before,
    measured,
    more,
    stage,
)

STEP = 1.0

CHILD = """
import json, sys, time
import numpy as np
begin = time.perf_counter()
import armnn
model = armnn.load_model(sys.argv[1], backends=["CpuRef"])
loaded = time.perf_counter()
before = dict(model.load_times)
array = np.ones((3, 2), np.float32)
start = time.perf_counter()
model.run({"x": array})
end = time.perf_counter()
print(json.dumps([loaded - begin, before, end - start, dict(model.load_times)]))
"""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock go on by a second per reading."""
    ticks = iter(range(1000))
    monkeypatch.setattr(_load_times.time, "perf_counter", lambda: next(ticks) * STEP)
    monkeypatch.setattr(_load_times, "_imported", [])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Make a module that imports another one; return its name."""
    (tmp_path / "armnn_test_outer.py").write_text("import armnn_test_inner\nVALUE = 3\n")
    (tmp_path / "armnn_test_inner.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield "armnn_test_outer"
    for name in ("armnn_test_outer", "armnn_test_inner"):
        sys.modules.pop(name, None)


class Loaded:
    load_times: Mapping[str, float]


def saved(folder: Path, *shape: int | None) -> Path:
    """Write a network that adds one; return its file."""
    network = armnn.Network("sum")
    x = network.add_input("x", armnn.TensorInfo(shape))
    network.add_output("y", network.add_addition(x, np.ones((1, 2), np.float32)))
    armnn.save(network, folder / "sum.armnn")
    return folder / "sum.armnn"


def summed(times: Mapping[str, float]) -> float:
    """Return the sum of all that is not the total."""
    return sum(seconds for name, seconds in times.items() if name != TOTAL)


@pytest.mark.usefixtures("clock")
def test_a_stage_has_its_time_without_the_stages_inside() -> None:
    @measured
    def load() -> Loaded:
        with stage("compile"), stage("read"):
            pass
        with stage("read"):
            pass
        return Loaded()

    times = load().load_times
    # The clock is read 8 times: 7 seconds, of which compile takes 3 with 1 of a read inside.
    assert times[TOTAL] == 7
    assert (times["compile"], times["read"], times[REST]) == (2, 2, 3)
    assert summed(times) == times[TOTAL]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("reported", "counted"),
    [(2_000_000_000, 2), (9_000_000_000, 3), (0, 0), (-1, 0), (True, 0), ("1", 0), (None, 0)],
)
def test_what_a_backend_reports_as_packing_is_no_part_of_compiling(
    reported: object, counted: float
) -> None:
    @measured
    def load() -> Loaded:
        with stage("compile"):
            began = _load_times.time.perf_counter()
            for _ in range(2):
                _load_times.time.perf_counter()
            count_packing(reported, began)
        return Loaded()

    times = load().load_times
    assert times["pack"] == counted
    assert summed(times) == times[TOTAL]


def test_outside_of_a_load_nothing_is_counted() -> None:
    with stage("read"):
        pass
    count_packing(1, 0.0)


def test_a_load_within_a_load_has_times_of_its_own() -> None:
    @measured
    def inner() -> Loaded:
        with stage("parse"):
            return Loaded()

    @measured
    def outer() -> Loaded:
        assert inner().load_times["parse"] > 0
        return Loaded()

    assert outer().load_times["parse"] == 0


def test_a_failed_load_leaves_nothing_behind() -> None:
    @measured
    def load() -> Loaded:
        with stage("parse"):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        load()
    with stage("nonsense"):
        pass  # would be refused inside a load


def test_loading_a_file_has_the_times_of_its_stages(tmp_path: Path) -> None:
    file = saved(tmp_path, 1, 2)
    arguments = {"backends": ["CpuRef"], "cache_dir": tmp_path / "cache"}
    cold = armnn.load_model(file, **arguments).load_times
    cached = armnn.load_model(file, **arguments).load_times
    assert list(cold) == [*STAGES, REST, TOTAL]
    for name in ("parse", "infer", "passes", "assign", "compile", REST):
        assert cold[name] > 0
    assert cached["read"] > 0
    assert [cached[name] for name in ("parse", "infer", "passes", "compile")] == [0] * 4
    assert summed(cold) == pytest.approx(cold[TOTAL])


def test_the_stages_of_a_first_run_are_no_part_of_that_run(tmp_path: Path) -> None:
    model = armnn.load_model(saved(tmp_path, None, 2), backends=["CpuRef"])
    before = model.load_times
    assert before["compile"] == 0  # the shape is not known
    model.run({"x": np.ones((3, 2), np.float32)})
    after = model.load_times
    assert list(after) == [*STAGES, FIRST_RUN, REST, TOTAL]
    for name in ("passes", "assign", "compile", REST):
        assert after[name] > before[name]
    assert after["parse"] == before["parse"]
    assert after[FIRST_RUN] > 0
    assert summed(after) == pytest.approx(after[TOTAL])
    model.run({"x": np.ones((3, 2), np.float32)})
    model.run({"x": np.ones((4, 2), np.float32)})  # prepares shapes, but not for the first run
    model.prepare({"x": (5, 2)})
    assert model.load_times == after


@pytest.mark.parametrize("way", ["prepare", "bind"])
def test_what_is_prepared_before_a_first_run_counts_as_loading(tmp_path: Path, way: str) -> None:
    model = armnn.load_model(saved(tmp_path, None, 2), backends=["CpuRef"])
    before = model.load_times
    getattr(model, way)({"x": (3, 2)})
    after = model.load_times
    assert list(after) == list(before)
    assert after["compile"] > before["compile"] == 0
    assert summed(after) == pytest.approx(after[TOTAL])


def test_the_first_call_of_a_bound_call_is_a_first_run(tmp_path: Path) -> None:
    model = armnn.load_model(saved(tmp_path, 3, 2), backends=["CpuRef"])
    x = np.ones((3, 2), np.float32)
    first, second = model.bind({"x": x}), model.bind({"x": x})
    assert FIRST_RUN not in model.load_times
    first()
    after = model.load_times
    assert after[FIRST_RUN] > 0
    assert summed(after) == pytest.approx(after[TOTAL])
    for call in (first, first, second):
        call()
    model.run({"x": x})
    assert model.load_times == after


def test_a_call_that_a_backend_runs_is_no_first_run(tmp_path: Path) -> None:
    """Its thread does something else meanwhile."""
    model = armnn.load_model(saved(tmp_path, 3, 2), backends=["CpuRef"])
    x = np.ones((3, 2), np.float32)
    submitted, called = model.bind({"x": x}), model.bind({"x": x})
    submitted.submit().result()
    for _ in range(3):
        submitted()
    assert FIRST_RUN not in model.load_times
    called()
    assert FIRST_RUN in model.load_times


def test_a_bound_call_that_is_never_called_goes_at_once(tmp_path: Path) -> None:
    model = armnn.load_model(saved(tmp_path, 3, 2), backends=["CpuRef"])
    call = weakref.ref(model.bind({"x": np.ones((3, 2), np.float32)}))
    assert call() is None


def test_a_first_run_that_fails_is_none(tmp_path: Path) -> None:
    model = armnn.load_model(saved(tmp_path, None, 2), backends=["CpuRef"])
    before = model.load_times
    with pytest.raises(armnn.ArmnnError, match="expected"):
        model.run({"x": np.ones((3, 9), np.float32)})
    assert model.load_times == before
    model.run({"x": np.ones((3, 2), np.float32)})
    assert FIRST_RUN in model.load_times


@pytest.mark.usefixtures("clock")
def test_what_is_added_to_times_has_its_stages_too() -> None:
    loaded = Loaded()
    loaded.load_times = {"parse": 5.0, REST: 1.0, TOTAL: 6.0}
    with more(loaded, FIRST_RUN), stage("parse"):
        pass
    expected = {"parse": 6, FIRST_RUN: 2, REST: 1, TOTAL: 9}
    assert loaded.load_times == dict.fromkeys(STAGES, 0) | expected
    with more(loaded, REST):  # after the first run nothing belongs to it
        pass
    assert loaded.load_times[TOTAL] == 9


@pytest.mark.usefixtures("clock")
def test_an_import_counts_as_such_in_any_stage(module: str) -> None:
    @measured
    def load() -> Loaded:
        with stage("parse"):
            assert importlib.import_module(module).VALUE == 3
        return Loaded()

    times = load().load_times
    # Finding and executing take a second each, what the module imports counts as its execution.
    assert (times[IMPORT], times["parse"], times[REST]) == (2, 3, 2)
    assert times[TOTAL] == 7


@pytest.mark.usefixtures("clock")
def test_an_import_that_fails_does_so_as_ever(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text("raise ValueError('broken')")

    @measured
    def load() -> Loaded:
        with pytest.raises(ModuleNotFoundError, match="armnn_test_nothing"):
            importlib.import_module("armnn_test_nothing")
        with pytest.raises(ValueError, match="broken"):
            importlib.import_module(module)
        return Loaded()

    assert load().load_times[IMPORT] == 3
    assert module not in sys.modules


@pytest.mark.usefixtures("clock")
def test_a_module_that_a_load_only_finds_is_executed_later(module: str) -> None:
    found = []

    @measured
    def load() -> Loaded:
        found.append(find_spec(module))
        return Loaded()

    assert load().load_times[IMPORT] == 1
    spec = found[0]
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    spec.loader.exec_module(made)  # again, as a reload does: it counts once
    assert made.VALUE == 3
    assert imported_before() == 1


@pytest.mark.usefixtures("clock")
def test_a_loader_of_several_modules_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as archive:
        archive.writestr("armnn_test_zipped.py", "")
    monkeypatch.syspath_prepend(tmp_path / "modules.zip")

    @measured
    def load() -> Loaded:
        made = importlib.import_module("armnn_test_zipped")
        assert "exec_module" not in vars(made.__loader__)
        return Loaded()

    load()
    del sys.modules["armnn_test_zipped"]


def test_the_watch_over_imports_is_there_once_and_finds_nothing_itself() -> None:
    for _ in range(2):
        measured(Loaded)()
    (watch,) = (each for each in sys.meta_path if each is _load_times._Watch)
    assert watch.find_spec("json") is None


@pytest.mark.usefixtures("clock")
def test_imports_before_a_load_are_a_part_of_it_once() -> None:
    with stage(IMPORT), stage(IMPORT):
        pass
    with pytest.raises(ImportError), stage(IMPORT):
        raise ImportError
    assert imported_before() == 4  # 3 of both stages together, 1 of the one that fails
    times = measured(Loaded)().load_times
    assert (times[IMPORT], times[REST], times[TOTAL]) == (4, 1, 5)
    assert imported_before() == 0
    assert measured(Loaded)().load_times[IMPORT] == 0


def test_in_a_fresh_process_the_stages_are_all_of_the_time(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(saved(tmp_path, None, 2))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    load, before, run, after = json.loads(done.stdout)
    # Outside are the modules of ``import armnn`` itself, and calls before and behind the clock.
    assert load * 0.8 - 0.002 <= before[TOTAL] <= load
    assert run * 0.8 - 0.002 <= after[TOTAL] - before[TOTAL] <= run
    assert before[IMPORT] > before[TOTAL] / 3  # most of so small a load
    for times in (before, after):
        assert summed(times) == pytest.approx(times[TOTAL])
        assert min(times.values()) >= 0
        assert times[REST] <= times[TOTAL] / 3
