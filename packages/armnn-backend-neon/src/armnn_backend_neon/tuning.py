# SPDX-License-Identifier: MIT
"""The measurement behind ``armnn tune --machine``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

import armnn
from armnn_backend_neon.backend import CpuAccBackend
from armnn_backend_neon.costs import file_text, fit
from armnn_backend_neon.measuring import Measured, Shape, measure

SHAPES: Final = (
    *(Shape((28, 28), 64, outputs, (1, 1)) for outputs in (16, 32, 128)),
    Shape((14, 14), 256, 64, (1, 1)),
    Shape((7, 7), 512, 512, (1, 1)),
    Shape((7, 7), 1024, 512, (1, 1)),
    Shape((1, 1), 512, 1024, (1, 1)),
    Shape((56, 56), 16, 16, (1, 1)),
    Shape((28, 28), 32, 32, (3, 3)),
    Shape((14, 14), 64, 64, (3, 3)),
    Shape((14, 14), 128, 128, (3, 3)),
    Shape((7, 7), 128, 192, (3, 3)),
    Shape((28, 28), 32, 48, (3, 3), 2),
    Shape((1, 160), 64, 64, (1, 5)),
    Shape((1, 96), 32, 80, (1, 7)),
    Shape((1, 200), 96, 32, (1, 3)),
    Shape((56, 56), 3, 16, (3, 3), 2),
    Shape((40, 40), 8, 32, (3, 3)),
    Shape((24, 24), 12, 24, (5, 5)),
    Shape((16, 16), 512, 16, (3, 3)),
    Shape((7, 7), 16, 32, (1, 1)),
    Shape((8, 8), 24, 64, (1, 1)),
    Shape((1, 28), 32, 16, (1, 3)),
    Shape((7, 7), 16, 16, (3, 3)),
    Shape((10, 10), 16, 24, (3, 3)),
    Shape((7, 7), 3, 16, (3, 3)),
    Shape((8, 8), 8, 8, (5, 5)),
    Shape((1, 40), 16, 24, (1, 5)),
)
"""Layers whose times determine all units; small ones determine the time of an operation."""

FILTERS: Final = (
    "winograd_2d 2",
    "winograd_2d 4",
    *(f"winograd_1d {outputs} across" for outputs in (2, 4, 6)),
)

NARROW: Final = (
    Shape((32, 32), 128, 1, (3, 3)),
    Shape((20, 20), 96, 4, (3, 3)),
    Shape((24, 24), 12, 2, (3, 3)),
)
"""Layers of few outputs, several of which side by side may be computed as one row."""

CACHES: Final = {"first_cache": "1", "second_cache": "2", "third_cache": "3"}
_SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
_SMALL = {"first_cache": 32 * 1024, "second_cache": 512 * 1024, "third_cache": 4 * 1024 * 1024}
_THREADS = "ARMNN_CPUACC_THREADS"
_FORKS = 60
_READS = 3
_MOST_READ = 128 * 1024 * 1024
_CHUNK = 4096


def cpu_name() -> str:
    """Return the CPU's name and generation; "" if it is unknown.

    Several generations may have one name: ``AMD EPYC, family 26, model 2``.
    """
    first, *_ = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")
    pairs = (line.partition(":") for line in first.splitlines())
    facts = {key.strip(): value.strip() for key, _, value in pairs}
    numbers = {"family": "cpu family", "model": "model"}
    named = [f"{field} {facts[key]}" for field, key in numbers.items() if key in facts]
    return ", ".join([facts["model name"], *named]) if "model name" in facts else ""


def caches() -> dict[str, int]:
    """Return the bytes of each level of caches.

    Where the system does not tell, they are those of a small core.
    """
    sizes = dict(_SMALL)
    for folder in sorted(_SYSTEM.glob("index*")):
        level, kind, size = (
            (folder / name).read_text(encoding="ascii").strip()
            for name in ("level", "type", "size")
        )
        for cache, own in CACHES.items():
            if own == level and kind != "Instruction":
                sizes[cache] = int(size[:-1]) * {"K": 1024, "M": 1024**2}[size[-1]]
    return sizes


def measured_rows(rounds: int = 4) -> list[Measured]:
    """Return the layers of :data:`SHAPES` by each kernel."""
    filtered = [shape for shape in SHAPES if max(shape.window) > 1]
    rows = measure(SHAPES, ("plain",), rounds=rounds)
    rows += measure(filtered, FILTERS, rounds=rounds)
    rows += measure(NARROW, ("plain", "plain 4", "plain 6", "plain 8"), rounds=rounds)
    return rows + measure(SHAPES[:8], ("plain bfloat16",), rounds=rounds, fast_math=True)


def known_ns() -> dict[str, float]:
    """Return the times of units that no layer determines."""
    return {"element": element_ns(), "memory_byte": memory_byte_ns(), "fork": fork_ns()}


def measure_machine() -> dict[str, Any]:
    """Measure this machine at the level that is used.

    Returns:
        The content of a file of costs, the nanoseconds of each unit, the variable of the
        environment that names such a file, and the path where it is found without one.
    """
    costs = fit(measured_rows(), lanes(), caches(), known_ns())
    return {
        "text": file_text(cpu_name(), [costs]),
        "costs": dict(costs.ns),
        "variable": "ARMNN_CPUACC_COSTS",
        "kept": kept_file(),
    }


def kept_file() -> str | None:
    """Return the path that CpuAcc reads unasked.

    It is ``$XDG_CONFIG_HOME/armnn/CpuAcc.costs``, by default in ``~/.config``; None if the process
    has the rights of another user.
    """
    if (os.geteuid(), os.getegid()) != (os.getuid(), os.getgid()):
        return None
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return str(Path(folder) / "armnn" / "CpuAcc.costs")


def lanes() -> int:
    """Return the floats in a register of the used level."""
    return int(CpuAccBackend().devices()[0].info["floats in a register"])


def fork_ns() -> float:
    """Return the nanoseconds of a loop that two threads share."""
    with _threads("1"):
        alone = _least_run_ns(2 * _CHUNK)
    with _threads("2"):
        shared = _least_run_ns(2 * _CHUNK)
    return max(200.0, shared - alone / 2)


def element_ns() -> float:
    """Return the nanoseconds in which a number is copied."""
    with _threads("1"):
        short, long = _least_run_ns(_CHUNK), _least_run_ns(8 * _CHUNK)
    return max(0.01, (long - short) / (7 * _CHUNK))


def memory_byte_ns() -> float:
    """Return the nanoseconds of a byte that no cache has."""
    beyond = np.ones(min(2 * caches()["third_cache"], _MOST_READ) // 4, np.float32)
    return min(_timed(beyond.max) for _ in range(_READS)) / beyond.nbytes


def _least_run_ns(count: int) -> float:
    network = armnn.Network()
    x = network.add_input("x", armnn.TensorInfo((count,)))
    network.add_output("y", network.add_activation(x, function=armnn.ActivationFunction.RELU))
    inputs = {"x": np.ones(count, np.float32)}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"])
        outputs = loaded.run(inputs)
        with loaded.bind(inputs, outputs) as call:
            return min(_timed(call) for _ in range(_FORKS))


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter_ns()
    call()
    return float(time.perf_counter_ns() - begin)


@contextmanager
def _threads(count: str) -> Iterator[None]:
    """Let networks share every loop among so many threads."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = count
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
