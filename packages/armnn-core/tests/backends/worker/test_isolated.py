# SPDX-License-Identifier: MIT
"""Networks on backends in worker processes."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isolated_backends as samples
import numpy as np
import pytest
from dlpack_producer import Producer
from worker_in_thread import workers_in_threads

import armnn
from armnn import CreationOptions, LoadedNetwork, Network, Runtime, TensorInfo
from armnn.backends.crashes import forget_lost_workers, lost_workers
from armnn.backends.worker.connection import START_SECONDS, WorkerConnection
from armnn.backends.worker.supervisor import Supervisor
from armnn.errors import (
    BackendUnavailableError,
    CancelledError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
    UnknownBackendError,
    WorkerLostError,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.worker.protocol import Message

SHAPE = (4, 5)
GOOD = np.linspace(-2, 2, 20, dtype=np.float32).reshape(SHAPE)
EXPECTED = np.maximum(GOOD, 0)


def rectifier(name: str = "rectified") -> Network:
    network = Network("rectifier")
    x = network.add_input("x", TensorInfo(SHAPE))
    network.add_output("y", network.add_activation(x, function="ReLu", name=name))
    return network


def fed(fault: str = "") -> dict[str, NDArray[Any]]:
    made = GOOD.copy()
    if fault:
        made[0, 0] = samples.CODES[fault]
    return {"x": made}


def supervisor_of(runtime: Runtime, backend_id: str) -> Supervisor:
    backend: Any = runtime.registry.get(backend_id)
    found: Supervisor = backend.supervisor
    return found


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _registered(_own_cache: None) -> Iterator[None]:
    kinds = (samples.Honest, samples.Hostile, samples.Patient, samples.Lying)
    for kind in kinds:
        armnn.register_backend(kind.id, kind)
    yield
    for kind in kinds:
        armnn.unregister_backend(kind.id)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with Runtime(CreationOptions(isolate=["Hostile"])) as made:
        yield made


@pytest.fixture(scope="module")
def model(runtime: Runtime) -> LoadedNetwork:
    return runtime.load_model(rectifier(), ["Hostile", "Honest"])


def recovered(runtime: Runtime) -> Supervisor:
    supervisor = supervisor_of(runtime, "Hostile")
    assert supervisor.wait(START_SECONDS), "no worker is started again"
    return supervisor


@pytest.fixture(autouse=True)
def _settled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Settle: a next test may have workers in its process."""
    yield
    if "runtime" in request.fixturenames:
        recovered(request.getfixturevalue("runtime"))


# -- what works ------------------------------------------------------------------------------------


def test_an_isolated_backend_computes_in_another_process(
    runtime: Runtime, model: LoadedNetwork
) -> None:
    np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
    assert [row.backend for row in model.report] == ["Hostile"]
    with pytest.raises(WorkerLostError, match="was asked to"):
        raise supervisor_of(runtime, "Hostile").link().lose("was asked to")
    assert "was asked to" in model.faults[-1]


def test_a_record_has_the_fault_and_the_backend_that_answered(model: LoadedNetwork) -> None:
    before = model.record()
    np.testing.assert_array_equal(model.run(fed("SIGSEGV"))["y"][1:], EXPECTED[1:])
    after = model.record()
    (row,) = after.document["plan"]
    assert row["backend"] == "Honest"
    assert "SIGSEGV" in row["reason"]
    assert "SIGSEGV" in after.document["faults"][-1]
    found = [each.item for each in before.differences(after)]
    assert found == ["plan.rectified", "faults"]


def test_a_dropped_network_is_freed_in_the_worker(runtime: Runtime, model: LoadedNetwork) -> None:
    model.run(fed())
    link = supervisor_of(runtime, "Hostile").link()
    with runtime.load_model(rectifier(), ["Hostile", "Honest"]) as unloaded:
        unloaded.run(fed())
    del unloaded
    left = len(link._numbers)
    for _ in range(3):
        dropped = runtime.load_model(rectifier(), ["Hostile", "Honest"])
        dropped.run(fed())
        assert len(link._numbers) > left
        del dropped
        until = time.monotonic() + 10
        while len(link._numbers) > left and time.monotonic() < until:
            time.sleep(0.001)
        assert len(link._numbers) == left
    np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
    assert supervisor_of(runtime, "Hostile").link() is link


def test_bound_calls_and_callers_outputs_are_filled(model: LoadedNetwork) -> None:
    faults = len(model.faults)
    target = np.full(SHAPE, 7, np.float32)
    assert model.run(fed(), {"y": target})["y"] is target
    np.testing.assert_array_equal(target, EXPECTED)
    given = fed()
    call = model.bind(given)
    np.testing.assert_array_equal(call()["y"], EXPECTED)
    given["x"][1:] = 3
    np.testing.assert_array_equal(call()["y"][1:], np.full((3, 5), 3, np.float32))
    assert len(model.faults) == faults, "the other backend has answered"


def test_arrays_that_a_bound_call_makes_are_shared_with_the_worker(
    runtime: Runtime, model: LoadedNetwork
) -> None:
    faults = len(model.faults)
    with model.bind({"x": SHAPE}) as call:
        assert call.copied == ()
        for given, expected in ((GOOD, EXPECTED), (GOOD + 1, np.maximum(GOOD + 1, 0))):
            call.inputs["x"][...] = given
            np.testing.assert_array_equal(call()["y"], expected)
        assert len(model.faults) == faults, "the other backend has answered"


def test_tensors_of_other_libraries_reach_the_worker(model: LoadedNetwork) -> None:
    x, y = (Producer(GOOD.tobytes(), SHAPE) for _ in range(2))
    faults = len(model.faults)
    model.run({"x": x}, {"y": y})
    assert y.read(GOOD.nbytes) == EXPECTED.tobytes()
    with model.bind({"x": x}) as call:
        np.testing.assert_array_equal(call()["y"], EXPECTED)
    assert len(model.faults) == faults, "the other backend has answered"


@pytest.mark.parametrize("fault", samples.ENDING)
def test_a_fault_in_a_bound_call_is_answered_from_its_shared_arrays(
    runtime: Runtime, model: LoadedNetwork, fault: str
) -> None:
    with model.bind({"x": SHAPE}) as call:
        call.inputs["x"][...] = fed(fault)["x"]
        made = call()["y"]
        assert made is call.outputs["y"]
        np.testing.assert_array_equal(made, np.maximum(fed(fault)["x"], 0))
        recovered(runtime)
        faults = len(model.faults)
        call.inputs["x"][...] = GOOD
        np.testing.assert_array_equal(call()["y"], EXPECTED)
        assert call.copied == ()
        assert len(model.faults) == faults, "the other backend has answered"


def test_a_bound_call_that_writes_over_its_input_computes_from_what_it_was(
    runtime: Runtime, model: LoadedNetwork
) -> None:
    given = fed("SIGSEGV")
    expected = np.maximum(given["x"], 0)
    with model.bind(given, {"y": given["x"]}) as call:
        np.testing.assert_array_equal(call()["y"], expected)


def test_a_call_can_be_bound_while_no_worker_runs(
    runtime: Runtime, model: LoadedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(self: Supervisor, *, wait: bool = True) -> WorkerConnection:
        raise WorkerLostError("is not there", "Hostile")

    recovered(runtime)
    with monkeypatch.context() as patch:
        patch.setattr(Supervisor, "link", no_link)
        call = model.bind({"x": SHAPE})
    call.inputs["x"][...] = GOOD
    np.testing.assert_array_equal(call()["y"], EXPECTED)
    assert call.copied == ("x", "y")


def test_a_frames_transport_computes_the_same() -> None:
    command = [sys.executable, "-m", "armnn.backends.worker.worker"]
    folders = os.pathsep.join([str(Path(samples.__file__).parent), *sys.path])
    board = ["env", f"PYTHONPATH={folders}", *command]
    options = CreationOptions(boards={"desk": board})
    with (
        workers_in_threads(),
        Runtime(options) as runtime,
        pytest.raises(BackendUnavailableError, match="no backend"),
    ):
        runtime.load_model(rectifier(), ["board://desk/Nothing"])
    with Runtime(options) as runtime:
        model = runtime.load_model(rectifier(), ["board://desk/CpuRef", "Honest"])
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
        assert [row.backend for row in model.report] == ["board://desk/CpuRef"]
        os.kill(_pid(supervisor_of(runtime, "board://desk/CpuRef")), signal.SIGKILL)
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)


@pytest.mark.parametrize("first", ["python3", "armnn"])
def test_ssh_starts_the_worker_by_the_python_that_has_the_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    board, here = tmp_path / "board", tmp_path / "here"
    start = f"#!/bin/sh\necho {{}} $* >> {tmp_path}/log\n{{}}\n"
    works = f'PYTHONPATH={os.pathsep.join(sys.path)} exec {sys.executable} "$@"'
    scripts = {
        board / "python3": works if first == "python3" else "exit 1",
        board / "armnn": works.replace('"$@"', '-m armnn "$@"'),
        here / "ssh": f'for last; do :; done; PATH={board}:/usr/bin:/bin exec sh -c "$last"',
    }
    for path, text in scripts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(start.format(path.name, text))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    with Runtime() as runtime:
        model = runtime.load_model(rectifier(), ["ssh://me@board/CpuRef"])
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
    command, *started = (tmp_path / "log").read_text().splitlines()
    assert command.startswith("ssh -T -o BatchMode=yes me@board sh -c ")
    last = {"python3": "python3 -m armnn worker", "armnn": "armnn worker"}
    assert started == ["python3 -c import armnn", last[first]]


def test_people_are_told_that_programs_start_the_worker() -> None:
    other, terminal = os.openpty()
    ran = subprocess.run(
        [sys.executable, "-m", "armnn", "worker"],
        stdin=terminal,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(other)
    os.close(terminal)
    assert ran.returncode == 1
    assert ran.stderr.startswith("armnn: error: standard input is a terminal: expected a program")


def _pid(supervisor: Supervisor) -> int:
    pid = supervisor.link().pid
    assert pid is not None
    return pid


def test_options_reach_the_worker_and_are_checked_there() -> None:
    for options, message in (({"Speed": 2}, ""), ({"Sped": 2}, "Honest has no option 'Sped'")):
        creation = CreationOptions(isolate=["Honest"], backend_options={"Honest": options})
        with workers_in_threads():
            if message:
                with pytest.raises(InvalidArgumentError, match=message):
                    Runtime(creation)
            else:
                Runtime(creation).close()


# -- what fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", samples.ENDING)
def test_a_fault_in_execute_is_answered_by_the_next_backend(
    runtime: Runtime, model: LoadedNetwork, fault: str
) -> None:
    given = fed(fault)
    np.testing.assert_array_equal(model.run(given)["y"], np.maximum(given["x"], 0))
    recovered(runtime)
    assert fault in model.faults[-1]
    assert "of 'rectified'" in model.faults[-1]
    assert "isolated_backends:Hostile" in model.faults[-1]
    assert ("isolated_backends.py" in model.faults[-1]) == (fault == "SIGSEGV"), "the frame"
    np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)


def test_an_endless_call_is_answered_by_the_next_backend() -> None:
    with Runtime(CreationOptions(isolate=["Hostile"], isolate_timeout=0.3)) as runtime:
        model = runtime.load_model(rectifier(), ["Hostile", "Honest"])
        given = fed("spins")
        np.testing.assert_array_equal(model.run(given)["y"], np.maximum(given["x"], 0))
        assert "did not answer within 0.3 s in call 1 of 'rectified'" in model.faults[-1]
        (row,) = model.report
        assert row.backend == "Honest"
        assert "did not answer within 0.3 s" in row.reason
        assert dict(model.planned_report.layers_by_backend) == {"Hostile": 1}


def test_the_report_names_the_backend_that_ran_the_last_call(
    runtime: Runtime, model: LoadedNetwork
) -> None:
    assert dict(model.report.layers_by_backend) == {"Hostile": 1}
    model.run(fed("SIGSEGV"))
    assert dict(model.report.layers_by_backend) == {"Honest": 1}
    assert dict(model.planned_report.layers_by_backend) == {"Hostile": 1}
    (row,) = model.report
    assert row.refusals[0].backend == "Hostile"
    assert row.reason.startswith("Hostile: the worker of backend 'Hostile'")
    assert "ended with SIGSEGV in call" in row.reason
    assert "on Honest" in str(model)
    recovered(runtime)
    model.run(fed())
    assert model.report.rows == model.planned_report.rows
    assert dict(model.report.layers_by_backend) == {"Hostile": 1}


@pytest.mark.parametrize("way", ["bind", "submit", "run_async"])
def test_the_report_is_of_calls_of_every_kind(
    runtime: Runtime, model: LoadedNetwork, way: str
) -> None:
    given = fed()
    calls: dict[str, Callable[[], Any]] = {
        "bind": model.bind(given),
        "submit": lambda: model.submit(given).result(),
        "run_async": lambda: asyncio.run(model.run_async(given)),
    }
    call = calls[way]
    call()
    assert dict(model.report.layers_by_backend) == {"Hostile": 1}
    given["x"][...] = fed("SIGSEGV")["x"]
    call()
    assert dict(model.report.layers_by_backend) == {"Honest": 1}
    recovered(runtime)
    given["x"][...] = fed()["x"]
    call()
    assert dict(model.report.layers_by_backend) == {"Hostile": 1}


def test_a_time_limit_of_calls_is_none_of_a_compilation() -> None:
    def waits(frame: Message) -> Message:
        if "views" in frame.document or "answers" in frame.document:
            threading.Event().wait(0.02)
        return frame

    options = CreationOptions(isolate=["Honest"], isolate_timeout=0.01)
    with workers_in_threads(waits), Runtime(options) as runtime:
        model = runtime.load_model(rectifier(), ["Honest", "Hostile"])
        assert [row.backend for row in model.report] == ["Honest"]


@pytest.mark.parametrize("fault", samples.QUIET)
def test_what_a_worker_does_to_itself_changes_nothing_here(fault: str) -> None:
    """Other tests have other workers.

    Who held a descriptor that the fault closed closes its number once more, some time.
    """
    before = os.getcwd(), signal.getsignal(signal.SIGINT)
    given = fed(fault)
    with Runtime(CreationOptions(isolate=["Hostile"])) as runtime:
        model = runtime.load_model(rectifier(), ["Hostile", "Honest"])
        starts = supervisor_of(runtime, "Hostile").starts
        np.testing.assert_array_equal(model.run(given)["y"], np.maximum(given["x"], 0))
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
        assert before == (os.getcwd(), signal.getsignal(signal.SIGINT))
        again = runtime.load_model(rectifier("another"), ["Hostile"])
        np.testing.assert_array_equal(again.run(fed())["y"], EXPECTED)
        assert supervisor_of(runtime, "Hostile").starts == starts
    assert 1 + 2**-60 == 1, "the rounding mode is to nearest"


@pytest.mark.parametrize(
    ("fault", "message"), [("raises", "a bad value"), ("sys.exit(3)", "SystemExit")]
)
def test_an_exception_in_a_worker_is_raised_here(
    runtime: Runtime, model: LoadedNetwork, fault: str, message: str
) -> None:
    with pytest.raises(ExecutionError, match=message):
        model.run(fed(fault))
    np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)


def test_memory_is_bounded() -> None:
    options = CreationOptions(isolate=["Hostile"], isolate_memory=1 << 28)
    with Runtime(options) as runtime:
        model = runtime.load_model(rectifier(), ["Hostile", "Honest"])
        with pytest.raises(ExecutionError, match="Unable to allocate") as caught:
            model.run(fed("memory"))
        assert isinstance(caught.value.__cause__, ExecutionError)
        assert isinstance(caught.value.__cause__.__cause__, MemoryError)
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)


def test_without_another_backend_the_error_names_the_fault() -> None:
    with Runtime(CreationOptions(isolate=["Hostile"])) as runtime:
        model = runtime.load_model(rectifier(), ["Hostile"])
        with pytest.raises(WorkerLostError, match=r"SIGSEGV in call 1 of 'rectified'"):
            model.run(fed("SIGSEGV"))
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)


def test_workers_that_answer_no_call_are_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Supervisor, "_pause", lambda _, seconds: waits.append(seconds))
    with workers_in_threads(), Runtime(CreationOptions(isolate=["Honest"])) as runtime:
        model = runtime.load_model(rectifier(), ["Honest", "Hostile"])
        supervisor = supervisor_of(runtime, "Honest")
        while supervisor.starts < 20:
            try:
                link = supervisor.link()
            except WorkerLostError:
                break
            link.lose("broke")
        assert supervisor.starts == 6
        assert waits == [0.1, 0.2, 0.4, 0.8]
        assert "ended 6 times in succession before it answered a call" in caplog.text
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
        assert supervisor.starts == 6, "the other backend answers, and no worker is started"


def test_a_step_whose_worker_is_lost_meanwhile_keeps_no_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(link: WorkerConnection) -> int:
        raise WorkerLostError("it ended just now", link.recipe.name)

    with workers_in_threads(), Runtime(CreationOptions(isolate=["Honest"])) as runtime:
        model = runtime.load_model(rectifier(), ["Honest", "Hostile"])
        supervisor = supervisor_of(runtime, "Honest")
        supervisor.link().lose("broke")
        model.run(fed())  # prepares the other backend
        assert supervisor.wait(START_SECONDS)
        monkeypatch.setattr(WorkerConnection, "watch", lost)
        before = set(os.listdir("/proc/self/fd"))
        for _ in range(5):
            np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
        assert set(os.listdir("/proc/self/fd")) - before == set()


def test_a_worker_lost_just_now_is_replaced_once(runtime: Runtime) -> None:
    supervisor = recovered(runtime)
    starts, link = supervisor.starts, supervisor.link()
    told, link._lost = link._lost, lambda _: None  # another thread is on its way to say so
    link.lose("broke")
    with pytest.raises(WorkerLostError, match="broke"):
        supervisor.link(wait=False)
    told(link)
    recovered(runtime)
    assert supervisor.starts == starts + 1
    assert "broke" in str(supervisor.faults[-1])


def test_a_fault_is_remembered_until_it_is_forgotten() -> None:
    forget_lost_workers()
    with Runtime(CreationOptions(isolate=["Hostile"])) as runtime:
        model = runtime.load_model(rectifier(), ["Hostile", "Honest"])
        os.kill(_pid(supervisor_of(runtime, "Hostile")), signal.SIGKILL)
        model.run(fed())
        recovered(runtime)
        assert lost_workers() == [], "a kill by others is no fault of the backend"
        model.run(fed("SIGSEGV"))
        assert "SIGSEGV" in model.faults[-1]
    (fault,) = lost_workers()
    assert (fault.backend, fault.origin) == ("Hostile", "isolated_backends:Hostile")
    assert "ended with SIGSEGV in call" in fault.text
    forget_lost_workers()
    assert lost_workers() == []


def test_a_crash_while_layers_are_asked_about_sends_them_on() -> None:
    with Runtime(CreationOptions(isolate=["Lying"])) as runtime:
        model = runtime.load_model(rectifier("crash"), ["Lying", "Honest"])
        (row,) = model.report
        assert row.backend == "Honest"
        assert "SIGABRT while it had to answer 'query'" in row.reason
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)


def test_a_crash_while_a_workload_is_made_is_among_the_faults() -> None:
    with Runtime(CreationOptions(isolate=["Lying"])) as runtime:
        model = runtime.load_model(rectifier("crash at work"), ["Lying", "Honest"])
        assert [row.backend for row in model.report] == ["Honest"]
        np.testing.assert_array_equal(model.run(fed())["y"], EXPECTED)
        (fault,) = model.faults
        assert "SIGABRT" in fault
        assert "Lying" in fault


class SoonSet(threading.Event):
    """Is set in the middle of a step."""

    asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked > 5


def test_a_run_can_be_cancelled_or_end_by_its_deadline() -> None:
    with workers_in_threads(), Runtime(CreationOptions(isolate=["Patient"])) as runtime:
        model = runtime.load_model(rectifier(), ["Patient", "Honest"])
        with pytest.raises(ExecutionError, match="it was stopped") as caught:
            model.run(fed(), cancel=SoonSet())
        assert not isinstance(caught.value, CancelledError | WorkerLostError)
        with pytest.raises((DeadlineExceededError, ExecutionError), match=r"stopped|time was up"):
            model.run(fed(), timeout=0.05, cancel=threading.Event())


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backends", "options", "kind", "message"),
    [
        (["isolated:Honst"], {}, UnknownBackendError, "did you mean 'isolated:Honest'"),
        (["isolated:"], {}, UnknownBackendError, "got '' for its id"),
        (["ssh://-oProxyCommand=x/CpuRef"], {}, UnknownBackendError, "for the machine"),
        (["board://pi/CpuRef"], {}, UnknownBackendError, "There is no board 'pi'"),
        (None, {"isolate": ["Honst"]}, UnknownBackendError, "did you mean 'Honest'"),
        (None, {"isolate": "all"}, InvalidArgumentError, "a list of ids such as"),
        (None, {"isolate_timeout": 0.0}, InvalidArgumentError, "more than 0"),
        (None, {"isolate_memory": 5}, InvalidArgumentError, "134217728 at least"),
        (None, {"boards": {"pi": []}}, InvalidArgumentError, "the words of a command"),
    ],
)
def test_wrong_wishes_are_refused(
    backends: list[str] | None,
    options: Mapping[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message), Runtime(CreationOptions(**options)) as runtime:
        runtime.load_model(rectifier(), backends)


def test_a_backend_of_a_function_cannot_be_isolated() -> None:
    class Local(samples.Honest):
        id = "Local"

    options = CreationOptions(isolate=["Local"])
    with (
        armnn.register_backend("Local", Local),
        pytest.raises(BackendUnavailableError, match="move it into a module"),
        Runtime(options) as runtime,
    ):
        runtime.load_model(rectifier(), ["Local"])


# -- many kills ------------------------------------------------------------------------------------


def test_kills_under_load_cost_no_answer(runtime: Runtime, model: LoadedNetwork) -> None:
    model.run(fed())
    wrong: list[object] = []
    has_ended = threading.Event()

    def work() -> None:
        while not (has_ended.is_set() or wrong):  # a test that fails must not leave it running
            try:
                if not np.array_equal(model.run(fed())["y"], EXPECTED):
                    wrong.append("another result")
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    try:
        for _ in range(3):
            supervisor = recovered(runtime)
            killed = supervisor.link()
            os.kill(_pid(supervisor), signal.SIGKILL)
            until = time.monotonic() + START_SECONDS
            while supervisor.link() is killed and time.monotonic() < until:  # until it is noticed
                threading.Event().wait(0.01)
        recovered(runtime)
    finally:
        has_ended.set()
        for each in threads:
            each.join()
    assert wrong == []


def test_a_closed_runtime_leaves_nothing(runtime: Runtime) -> None:
    gc.collect()  # of what errors of other tests refer to
    before = set(os.listdir("/proc/self/fd")), threading.active_count()
    with Runtime(CreationOptions(isolate=["Hostile"])) as other:
        model = other.load_model(rectifier(), ["Hostile", "Honest"])
        model.run(fed())
        pid = _pid(supervisor_of(other, "Hostile"))
        model.run(fed("SIGSEGV"))
    assert not Path(f"/proc/{pid}").exists()
    del other, model
    assert before == (set(os.listdir("/proc/self/fd")), threading.active_count())
