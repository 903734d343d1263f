# SPDX-License-Identifier: MIT
"""States in memory that a worker maps: what ends the worker, or copies this process."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import isolated_backends as samples
import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends.worker.connection import START_SECONDS

RNG = np.random.default_rng(11)
ROWS = RNG.standard_normal((7, 1, 2, 1, 4)).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def _registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("cache")
        (cache / "deaths").touch()
        patch.setenv("XDG_CACHE_HOME", str(cache))
        for kind in (samples.Honest, samples.Hostile, samples.Mortal):
            armnn.register_backend(kind.id, kind)
        yield
        for kind in (samples.Honest, samples.Hostile, samples.Mortal):
            armnn.unregister_backend(kind.id)


def several() -> Network:
    """Return a network with a recurrent state, a cache that fills up, and a ring."""
    network = Network("several")
    x, h = (network.add_input(name, TensorInfo((1, 2, 1, 4))) for name in ("x", "h"))
    past, ring = (
        network.add_input(name, TensorInfo((1, 2, size, 4)))
        for name, size in (("past", 16), ("ring", 3))
    )
    at, count, turn = (
        network.add_input(name, TensorInfo((1,), "Signed64")) for name in ("at", "count", "turn")
    )
    new = network.add_addition(x, network.add_activation(h, function="TanH"), name="new")
    keys = network.add_tensor_scatter(past, new, at, name="keys")
    last = network.add_tensor_scatter(ring, new, turn, circular=True, name="last")
    attention = network.add_cached_attention(x, keys, keys, count, name="attention")
    network.add_output("h_out", new)
    network.add_output("present", keys)
    network.add_output("ring_out", last)
    mean = network.add_reduce(last, reduce_operation="Mean", axis=(2,), keep_dims=True)
    network.add_output("y", network.add_addition(attention, mean, name="y"))
    return network


STATES = {"h_out": "h", "present": "past", "ring_out": "ring"}


def fed(number: int) -> dict[str, Any]:
    return {"x": ROWS[number], "turn": np.array([number])}


@pytest.mark.parametrize(("backends", "calls"), [(["Mortal", "CpuRef"], 7), (["Mortal"], 4)])
def test_a_worker_that_is_killed_in_a_call_loses_no_state(backends: list[str], calls: int) -> None:
    plain = armnn.load_model(several(), ["CpuRef"], states=STATES)
    with Runtime(CreationOptions(isolate=["Mortal"])) as runtime:
        stream = runtime.load_model(several(), backends, states=STATES).stream()
        model, supervisor = stream.network, runtime.registry.get("Mortal").supervisor
        call = stream.bind({"x": ROWS[0].shape, "turn": (1,)})
        for number in range(calls):
            given = fed(number)
            if number % 3 == 0:
                made = stream.run(given)
            else:
                for name, array in given.items():
                    call.inputs[name][...] = array
                made = call() if number % 3 == 1 else call.submit().result(60)
            assert made["y"].tobytes() == plain.run(given)["y"].tobytes(), number
            assert supervisor.wait(START_SECONDS)  # so that each call begins in a worker
        assert len(model.faults) >= calls // 2
        states, expected = stream.states(), plain.states()
        assert all(states[name].tobytes() == expected[name].tobytes() for name in expected)


def test_a_step_on_an_isolated_backend_copies_its_new_rows_only() -> None:
    with Runtime(CreationOptions(isolate=["CpuRef"])) as runtime:
        model = runtime.load_model(several(), ["CpuRef"], states=STATES)
        _check_scarce_descriptors(model)
        stream = model.stream()
        call = stream.bind({"x": ROWS[0].shape, "turn": (1,)})
        assert call.copies == {}
        for number in range(6):
            before = stream.copied_bytes
            if number % 2:
                stream.run(fed(number))
            else:
                call()
            assert stream.copied_bytes - before == ROWS[number].nbytes
        # Where other backends have to answer, the states are copied for that call.
        supervisor: Any = runtime.registry.get("CpuRef").supervisor  # type: ignore[attr-defined]  # of an isolated one
        supervisor.link().lose("was asked to")
        before = stream.copied_bytes
        call()
        every = sum(2 * array.nbytes for array in call.states.values())
        assert stream.copied_bytes - before == every + ROWS[0].nbytes


def _check_scarce_descriptors(model: armnn.LoadedNetwork) -> None:
    """Check that streams copy their states before they take the last descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    plain = armnn.load_model(several(), ["CpuRef"], states=STATES)
    streams = [model.stream() for _ in range(12)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 100, hard))
    try:
        for number in range(3):
            expected = plain.run(fed(number))["y"].tobytes()
            assert all(each.run(fed(number))["y"].tobytes() == expected for each in streams)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    copied = [stream.copied_bytes > 3 * ROWS[0].nbytes for stream in streams]
    assert copied == sorted(copied)
    assert (copied[0], copied[-1]) == (False, True)


FORKED = """\
import os, sys
import numpy as np
import armnn
from test_isolated_states import ROWS, STATES, fed, several

with armnn.Runtime(armnn.CreationOptions(isolate=["CpuRef"])) as runtime:
    stream = runtime.load_model(several(), ["CpuRef"], states=STATES).stream()
    plain = armnn.load_model(several(), ["CpuRef"], states=STATES)
    call = stream.bind({"x": ROWS[0].shape, "turn": (1,)})
    call.inputs["x"][...] = ROWS[0]
    assert call()["y"].tobytes() == plain.run(fed(0))["y"].tobytes()
    call.inputs["x"][...] = ROWS[1]
    call.inputs["turn"][...] = 1
    child = os.fork()
    if not child:
        for each in (call.inputs, call.outputs, call.states):
            for array in each.values():
                array[...] = 7
        refused = 0
        for run in (call, lambda: stream.run(fed(1)), lambda: stream.run(fed(1), timeout=9)):
            try:
                run()
            except armnn.errors.ExecutionError as error:
                refused += "forked from: load the model after the fork" in str(error)
        os._exit(refused)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert call()["y"].tobytes() == plain.run(fed(1))["y"].tobytes()
    print(len(stream.network.faults))
"""


def test_a_forked_process_writes_no_state_of_this_one() -> None:
    tests = Path(__file__).parent
    path = os.pathsep.join([str(tests), str(tests.parents[1]), *filter(None, sys.path)])
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("3\n0\n", "")


def test_an_interrupted_call_is_over_before_the_next_one() -> None:
    network = Network("rectifier")
    x = network.add_input("x", TensorInfo((4, 5)))
    network.add_output("y", network.add_activation(x, function="ReLu"))
    with Runtime(CreationOptions(isolate=["Hostile"])) as runtime:
        model = runtime.load_model(network, ["Hostile", "Honest"])
        call = model.bind({"x": (4, 5)})
        call()
        call.inputs["x"][0, 0] = samples.CODES["spins"]
        # A shell without job control lets the processes in its background ignore SIGINT.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            call()
        timer.join()
        signal.signal(signal.SIGINT, before)
        call.inputs["x"][...] = 0.5
        np.testing.assert_array_equal(call()["y"], call.inputs["x"])
        assert "was interrupted in call 2 of" in model.faults[0]
