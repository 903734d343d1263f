# SPDX-License-Identifier: MIT
"""Recording of profiling events."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

import armnn
from armnn.backends import ProfilingSink
from armnn.profiling import Recorder


def test_events_are_kept_in_the_order_in_which_they_are_reported() -> None:
    recorder = Recorder()
    recorder.event("second", 20, 50, category="layer", type="Addition")
    recorder.event("first", 10, 15)
    second, first = recorder.events
    assert (second.name, second.start_ns, second.end_ns, second.duration_ns) == (
        "second", 20, 50, 30,
    )  # fmt: skip
    assert second.details == {"category": "layer", "type": "Addition"}
    assert second.thread_id == threading.get_ident()
    assert first.details == {}


def test_a_recorder_is_a_sink_for_backends() -> None:
    assert isinstance(Recorder(), ProfilingSink)


def test_nothing_is_kept_while_recording_is_off() -> None:
    recorder = Recorder(is_recording=False)
    recorder.event("warm-up", 0, 1)
    recorder.is_recording = True
    recorder.event("measured", 1, 2)
    recorder.is_recording = False
    recorder.event("after", 2, 3)
    assert [event.name for event in recorder.events] == ["measured"]
    assert recorder.dropped == 0


def test_events_beyond_the_limit_are_counted_instead_of_kept() -> None:
    recorder = Recorder(limit=2)
    for number in range(5):
        recorder.event(str(number), number, number)
    assert [event.name for event in recorder.events] == ["0", "1"]
    assert recorder.dropped == 3
    recorder.clear()
    assert (recorder.events, recorder.dropped) == ((), 0)


def test_a_span_takes_as_long_as_its_body_and_survives_an_error() -> None:
    recorder = Recorder()
    before = time.perf_counter_ns()
    with pytest.raises(ValueError, match="inside"), recorder.span("work", category="phase"):
        raise ValueError("inside")
    after = time.perf_counter_ns()
    (event,) = recorder.events
    assert before <= event.start_ns <= event.end_ns <= after
    assert (event.name, event.details) == ("work", {"category": "phase"})


def test_an_event_that_was_recorded_does_not_change() -> None:
    recorder = Recorder()
    recorder.event("layer", 0, 1, backend="CpuRef")
    (event,) = recorder.events
    with pytest.raises(TypeError):
        event.details["backend"] = "Other"  # type: ignore[index]  # that it is refused is tested
    with pytest.raises(AttributeError):
        event.name = "other"  # type: ignore[misc]  # that it is refused is tested


def test_events_of_many_threads_are_all_kept() -> None:
    recorder = Recorder()
    threads = [
        threading.Thread(target=lambda: [recorder.event("e", i, i + 1) for i in range(200)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recorder.events) == 1600


def test_profiling_is_imported_when_it_is_asked_for() -> None:
    asked = (
        "import sys, armnn; name = 'armnn.profiling'; print(name in sys.modules, "
        "'profiling' in dir(armnn), armnn.profiling is sys.modules[name])"
    )
    run = subprocess.run([sys.executable, "-c", asked], stdout=subprocess.PIPE, text=True)
    assert run.stdout == "False True True\n"


def test_what_armnn_does_not_have_is_no_part_of_it() -> None:
    misspelt = "profilling"
    with pytest.raises(AttributeError, match="module 'armnn' has no attribute 'profilling'"):
        getattr(armnn, misspelt)
