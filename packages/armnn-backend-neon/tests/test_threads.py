# SPDX-License-Identifier: MIT
"""Threads share work, change no result, and end properly."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import DataLayout, LoadedNetwork, Network, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

IMAGE = (1, 24, 20, 16)
STEPS = 6


def tower() -> Network:
    """Return convolutions, a sum and a mean, of many sizes."""
    generator = np.random.default_rng(5)
    net = Network("tower")
    x = net.add_input("x", TensorInfo(IMAGE))
    for _ in range(STEPS):
        w = generator.standard_normal((16, 3, 3, 16), np.float32) * np.float32(0.1)
        weights = net.add_constant(w)
        padded = net.add_pad(x, pad_list=((0, 0), (1, 1), (1, 1), (0, 0)))
        deep = net.add_convolution2d(padded, weights, data_layout=DataLayout.NHWC)
        bounded = net.add_activation(deep, function=armnn.ActivationFunction.TANH, a=1.0, b=1.0)
        x = net.add_addition(bounded, x)
    net.add_output("y", net.add_mean(x, axis=(1, 2), keep_dims=False))
    return net


@contextmanager
def loaded(threads: int | None = None) -> Iterator[LoadedNetwork]:
    options = {} if threads is None else {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        yield runtime.load_model(tower(), backends=["CpuAcc"], backend_options=options)


def image(seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(IMAGE, np.float32)


def alone(seed: int) -> NDArray[Any]:
    with loaded(1) as network:
        return network.run({"x": image(seed)})["y"]


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_number_of_threads_does_not_change_a_bit(threads: int) -> None:
    with loaded(threads) as network:
        for seed in range(3):
            np.testing.assert_array_equal(network.run({"x": image(seed)})["y"], alone(seed))


@pytest.mark.parametrize(
    ("shape", "window", "columns"),
    [
        ((1, 14, 14, 64), (3, 3), 64),
        ((1, 7, 28, 33), (3, 3), 80),
        ((3, 9, 8, 32), (1, 7), 40),
        ((1, 8, 8, 4), (5, 5), 24),
    ],
)
@pytest.mark.usefixtures("level")
def test_blocks_of_other_sizes_do_not_change_a_bit(
    shape: tuple[int, ...], window: tuple[int, int], columns: int
) -> None:
    one, *others = by_threads(shape, window, columns)
    for each in others:
        np.testing.assert_array_equal(each, one)


@pytest.mark.parametrize("kernel", ["winograd_2d 2", "winograd_2d 4", "winograd_1d 4 across"])
@pytest.mark.parametrize("shape", [(1, 7, 7, 64), (2, 6, 9, 40)])
@pytest.mark.usefixtures("level")
def test_few_tiles_of_many_columns_are_shared_without_changing_a_bit(
    shape: tuple[int, ...], kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "plain")
    plain, *_ = by_threads(shape, (3, 3), 520)
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", kernel)
    one, *others = by_threads(shape, (3, 3), 520)
    assert not np.array_equal(one, plain)
    assert np.abs(one - plain).max() <= 2e-5 * np.abs(plain).max()
    for each in others:
        np.testing.assert_array_equal(each, one)


def by_threads(shape: tuple[int, ...], window: tuple[int, int], columns: int) -> list[NDArray[Any]]:
    """Return a convolution's outputs by 1 to 8 threads."""
    generator = np.random.default_rng(1)
    weights = generator.standard_normal((columns, *window, shape[3]), np.float32)
    net = Network("filtered")
    pads = {"pad_top": window[0] // 2, "pad_left": window[1] // 2}
    x = net.add_input("x", TensorInfo(shape))
    y = net.add_convolution2d(x, net.add_constant(weights), data_layout=DataLayout.NHWC, **pads)
    net.add_output("y", y)
    image = generator.standard_normal(shape, np.float32)
    made = []
    with armnn.Runtime() as runtime:
        for threads in (1, 2, 3, 4, 8):
            options = {"CpuAcc": {"NumberOfThreads": threads}}
            loaded = runtime.load_model(net, backends=["CpuAcc"], backend_options=options)
            made.append(loaded.run({"x": image})["y"])
    return made


def test_calls_at_the_same_time_compute_what_they_compute_alone() -> None:
    right = [alone(seed) for seed in range(4)]
    wrong: list[int] = []
    with loaded(2) as network:

        def call(seed: int) -> None:
            results = [network.run({"x": image(seed)})["y"] for _ in range(30)]
            wrong.extend(seed for result in results if not np.array_equal(result, right[seed]))

        callers = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert wrong == []


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_child_after_a_fork_computes_with_threads_of_its_own() -> None:
    right = alone(0)
    with loaded(3) as network:
        network.run({"x": image(0)})
        child = os.fork()
        if child == 0:
            same = np.array_equal(network.run({"x": image(0)})["y"], right)
            threads = len(os.listdir("/proc/self/task"))
            os._exit(0 if same and threads == 3 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        np.testing.assert_array_equal(network.run({"x": image(0)})["y"], right)


def test_idle_threads_use_no_cpu() -> None:
    with loaded(4) as network:
        network.run({"x": image(0)})
        time.sleep(0.05)
        before = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - before < 0.03


COUNT = """
import os
import numpy as np
import armnn
os.sched_setaffinity(0, {cpus})
x = np.ones((1, 256, 256), np.float32)
net = armnn.Network("square")
a = net.add_input("a", armnn.TensorInfo(x.shape))
net.add_output("y", net.add_batch_mat_mul(a, a))
model = armnn.load_model(net, backends=["CpuAcc"], backend_options={options})
before = len(os.listdir("/proc/self/task"))
model.run({{"a": x}})
print(len(os.listdir("/proc/self/task")) - before)
"""


def started(cpus: set[int], options: dict[str, Any]) -> int:
    """Return the threads that a process with these CPUs starts."""
    code = COUNT.format(cpus=cpus, options=options)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(run.stdout)


def test_by_default_there_are_as_many_threads_as_cpus_to_use() -> None:
    one = {min(os.sched_getaffinity(0))}
    assert started(one, {}) == 0
    assert started(one, {"CpuAcc": {"NumberOfThreads": 0}}) == 0


def test_more_threads_than_cpus_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARMNN_CPUACC_MOST_THREADS")
    one = {min(os.sched_getaffinity(0))}
    assert started(one, {"CpuAcc": {"NumberOfThreads": 3}}) == 0


def test_a_cap_of_threads_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_MOST_THREADS", "2")
    with armnn.Runtime() as runtime:
        for threads in (2, 5, 5):
            options = {"CpuAcc": {"NumberOfThreads": threads}}
            runtime.load_model(tower(), backends=["CpuAcc"], backend_options=options)
    assert [each.message for each in caplog.records] == [
        "NumberOfThreads is 5, but there are 2 CPUs to use: it takes 2"
    ]


def test_as_many_threads_as_asked_for_share_the_work() -> None:
    one = {min(os.sched_getaffinity(0))}
    assert started(one, {"CpuAcc": {"NumberOfThreads": 3}}) == 2
