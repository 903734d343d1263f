# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import armnn
from armnn._process_memory import collection_waits
from armnn.errors import ModelFileNotFoundError


@pytest.fixture(autouse=True)
def collector_goes_on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_collector_waits_inside_and_goes_on_after() -> None:
    with collection_waits():
        assert not gc.isenabled()
        with collection_waits():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_the_caller_has_switched_off_stays_off() -> None:
    gc.disable()
    with collection_waits():
        pass
    assert not gc.isenabled()


def test_the_collector_goes_on_after_an_error() -> None:
    with pytest.raises(ModelFileNotFoundError, match=r"no model file 'missing\.onnx'"):
        armnn.load_model("missing.onnx")
    assert gc.isenabled()


def test_the_one_that_began_may_end_first() -> None:
    first, second = collection_waits(), collection_waits()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_the_last_of_several_threads_lets_the_collector_go_on() -> None:
    inside, leave = threading.Event(), threading.Event()

    def wait() -> None:
        with collection_waits():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=wait)
    thread.start()
    assert inside.wait(10)
    with collection_waits():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def generation_of(thing: object) -> int:
    """Return an object's generation, -1 without one."""
    found = [each for each in range(3) if any(thing is one for one in gc.get_objects(each))]
    return found[0] if found else -1


def test_objects_count_as_old_after_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    with collection_waits():
        monkeypatch.setitem(sys.modules, "a_module_of_this_test", ModuleType("a_module"))
        thing: list[Any] = []
        gone: list[Any] = []
        gone.append(gone)
        del gone
        assert generation_of(thing) == 0
    assert generation_of(thing) == 2
    assert gc.collect() >= 1, "what is in cycles is still found"


def test_objects_stay_young_without_imports() -> None:
    gc.collect()
    with collection_waits():
        thing: list[Any] = []
    assert generation_of(thing) in (0, 1)


def test_what_an_application_has_frozen_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    thing: list[Any] = []
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collection_waits():
            monkeypatch.setitem(sys.modules, "a_module_of_this_test", ModuleType("a_module"))
        assert gc.get_freeze_count() == pytest.approx(frozen, abs=100)
        assert generation_of(thing) == -1
    finally:
        gc.unfreeze()


class Sink:
    """Notes in which phases the collector was on."""

    def __init__(self) -> None:
        self.seen: dict[str, bool] = {}

    def event(self, name: str, *_: Any, **__: Any) -> None:
        self.seen[name] = gc.isenabled()


def network_of(shape: tuple[int | None, ...]) -> armnn.Network:
    network = armnn.Network("n")
    x = network.add_input("x", armnn.TensorInfo(shape))
    network.add_output("y", network.add_addition(x, x))
    return network


def test_the_collector_waits_while_a_model_is_loaded() -> None:
    sink = Sink()
    armnn.load_model(network_of((2,)), ["CpuRef"], profiler=sink)
    assert sink.seen["rewrite"] is sink.seen["assign backends"] is False
    assert gc.isenabled()


def test_the_collector_waits_while_other_shapes_are_prepared() -> None:
    sink = Sink()
    model = armnn.load_model(network_of((None,)), ["CpuRef"], profiler=sink)
    assert "assign backends" not in sink.seen
    model.run({"x": np.zeros(3, np.float32)})
    assert sink.seen["assign backends"] is False
    assert gc.isenabled()
