# SPDX-License-Identifier: MIT
"""Runtimes at once have CpuAcc with their own options."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends import HostAllocator
from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ROWS, DEPTH, COLUMNS = 64, 96, 80
X = np.random.default_rng(3).standard_normal((ROWS, DEPTH), np.float32)


class Recorded(HostAllocator):
    def __init__(self) -> None:
        self.sizes: list[int] = []

    def allocate(self, size: int, alignment: int) -> NDArray[np.uint8]:
        self.sizes.append(size)
        return super().allocate(size, alignment)


def weights(seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((COLUMNS, DEPTH), np.float32)


def network(seed: int) -> Network:
    net = Network("dense")
    x = net.add_input("x", TensorInfo((ROWS, DEPTH)))
    dense = net.add_fully_connected(x, weights(seed), transpose_weight_matrix=True)
    net.add_output("y", net.add_softmax(dense))
    return net


def expected(seed: int) -> NDArray[np.float64]:
    powers = np.exp(X.astype(np.float64) @ weights(seed).T)
    result: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return result


def options(given: Mapping[str, Any], allocator: HostAllocator | None = None) -> CreationOptions:
    allocators = {} if allocator is None else {"CpuAcc": allocator}
    return CreationOptions(backend_options={"CpuAcc": given}, custom_allocators=allocators)


def threads_of(runtime: Runtime) -> object:
    (cpu,) = runtime.registry.get("CpuAcc").devices()  # type: ignore[attr-defined] # in C
    return cpu.info["NumberOfThreads by default"]


def test_runtimes_at_once_keep_their_own_options_and_allocators() -> None:
    allocators = [Recorded(), None, Recorded()]
    runtimes = [
        Runtime(options({"NumberOfThreads": number}, allocator))
        for number, allocator in zip((1, 2, 3), allocators, strict=True)
    ]
    models = [each.load_model(network(i), ["CpuAcc"]) for i, each in enumerate(runtimes)]
    assert [threads_of(each) for each in runtimes] == [1, 2, 3]
    for seed, model in enumerate(models):
        np.testing.assert_allclose(model.run({"x": X})["y"], expected(seed), atol=1e-5)
    taken = [0 if each is None else len(each.sizes) for each in allocators]
    assert taken[0] > 0 < taken[2]
    runtimes[0].close()
    np.testing.assert_allclose(models[2].run({"x": X})["y"], expected(2), atol=1e-5)
    for each in runtimes:
        each.close()


def test_fast_math_of_one_runtime_leaves_the_other_exact() -> None:
    with Runtime(options({"FastMathEnabled": True})) as fast, Runtime() as exact:
        quick = fast.load_model(network(5), ["CpuAcc"])
        plain = exact.load_model(network(5), ["CpuAcc"])
        told = fast.load_model(
            network(5), ["CpuAcc"], backend_options={"CpuAcc": {"FastMathEnabled": False}}
        )
        right = plain.run({"x": X})["y"]
        np.testing.assert_array_equal(told.run({"x": X})["y"], right)
        np.testing.assert_allclose(quick.run({"x": X})["y"], right, atol=0.05)
        np.testing.assert_array_equal(plain.run({"x": X})["y"], right)


def test_runtimes_that_come_and_go_in_threads_do_not_disturb_each_other() -> None:
    wrong: list[object] = []

    def work(seed: int) -> None:
        for turn in range(6):
            allocator = Recorded() if turn % 2 else None
            with Runtime(options({"NumberOfThreads": 1 + (seed + turn) % 3}, allocator)) as runtime:
                model = runtime.load_model(network(seed), ["CpuAcc"])
                result = model.run({"x": X})["y"]
                if not np.allclose(result, expected(seed), atol=1e-5):
                    wrong.append((seed, turn))
                if threads_of(runtime) != 1 + (seed + turn) % 3:
                    wrong.append(("threads", seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_cached_program_belongs_to_the_options_of_its_runtime(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One compiled with fast math serves no exact runtime."""
    caplog.set_level(logging.INFO, "armnn.backends.cache")
    tmp_path.chmod(0o700)
    for given in ({"FastMathEnabled": True}, {}, {"FastMathEnabled": True}, {}):
        with Runtime(options(given)) as runtime:
            model = runtime.load_model(network(7), ["CpuAcc"], cache_dir=tmp_path)
            np.testing.assert_allclose(model.run({"x": X})["y"], expected(7), atol=0.05)
    outcomes = [record.message.split(": ")[-1] for record in caplog.records]
    assert outcomes == ["compiled and stored"] * 2 + ["taken from the cache"] * 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"NumberOfThread": 2}, "'NumberOfThread' is not known.*; did you mean NumberOfThreads?"),
        ({"fastmath": True}, "'fastmath' is not known, expected NumberOfThreads or FastMathEna"),
        ({"fastmathenable": 1}, "; did you mean FastMathEnabled"),
        ({"Speed": 2}, "(?m)expected NumberOfThreads or FastMathEnabled$"),
        ({"NumberOfThreads": -1}, "NumberOfThreads is '-1', expected a number from 0 on"),
        ({"FastMathEnabled": "yes"}, "FastMathEnabled is 'yes', expected true or false"),
    ],
)
def test_a_wrong_option_of_a_runtime_is_refused_when_it_is_made(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Runtime(options(given))


def in_a_new_process(code: str, **environment: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


BEGIN = """
import json, os
import numpy as np
import armnn
def runtime(number):
    given = {"CpuAcc": {"NumberOfThreads": number}}
    return armnn.Runtime(armnn.CreationOptions(backend_options=given))
"""

COUNTED = """
net = armnn.Network("rows")
x = net.add_input("x", armnn.TensorInfo((64, 64)))
net.add_output("y", net.add_softmax(net.add_batch_mat_mul(x, x)))
counts, kept = [], []
runtimes = [runtime(1), runtime(4), runtime(3)]
for each in runtimes:
    before = len(os.listdir("/proc/self/task"))
    kept.append(each.load_model(net, ["CpuAcc"]))  # else its threads end with it
    kept[-1].run({"x": np.ones((64, 64), np.float32)})
    counts.append(len(os.listdir("/proc/self/task")) - before)
print(json.dumps(counts))
"""

SHARED = """
runtimes = [runtime(1), runtime(2)]
one, two = (each.registry.get("CpuAcc") for each in runtimes)
print(json.dumps([
    one is two, one.library is two.library, one.start().pointer == two.start().pointer
]))
"""


def test_each_runtime_starts_as_many_threads_as_it_was_told() -> None:
    # With this variable every loop is split, however small.
    assert in_a_new_process(BEGIN + COUNTED, ARMNN_CPUACC_THREADS="1") == [0, 3, 2]


def test_runtimes_share_the_mapped_file_and_not_the_backend() -> None:
    assert in_a_new_process(BEGIN + SHARED) == [False, True, False]
