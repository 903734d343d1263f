# SPDX-License-Identifier: MIT
"""Fixtures: this machine's instruction-set levels, and layers of bytes."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import runpy
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn_backend_neon.backend import CpuAccBackend
from armnn_backend_neon.costs import file_text

Array: TypeAlias = NDArray[Any]

BUILD = runpy.run_path(str(Path(__file__).resolve().parents[1] / "native_build/levels.py"))
COSTS = tempfile.TemporaryDirectory(prefix="armnn-costs-")
"""Has the costs by which all tests choose kernels; it goes with the process."""
ZEN_3 = "AMD EPYC, family 25, model 1"
COSTS_OF = ("AMD EPYC, family 25, model 17", ZEN_3, ZEN_3)
"""Whose they are, for registers of 16, 8 and 4 floats: a Zen 4 and a Zen 3."""

# Where the kernel says what an Arm CPU has: the words of getauxval, and the bits of each.
AUXILIARY = {16: {"asimd": 1, "asimdhp": 10, "asimddp": 20}, 26: {"i8mm": 13, "bf16": 14}}


def use_costs() -> None:
    """Choose kernels by the same costs on every CPU.

    They are read when the library is opened, which happens below, for the list of its levels. A
    multiply-add in bfloat16 takes no time: each product that may be rounded is, where the level
    multiplies bfloat16.
    """
    tool = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools/measure_costs.py"))
    built_in = tool["read_tables"]()
    own = [built_in[cpu, lanes] for cpu, lanes in zip(COSTS_OF, (16, 8, 4), strict=True)]
    own = [replace(costs, ns={**costs.ns, "bfloat16_multiply_add": 0.0}) for costs in own]
    path = Path(COSTS.name, "costs")
    path.write_text(file_text(COSTS_OF[0], own), encoding="utf-8")
    os.environ.setdefault("ARMNN_CPUACC_COSTS", str(path))


use_costs()
# Of threads more than CPUs are an edge that tests go to on any machine.
os.environ.setdefault("ARMNN_CPUACC_MOST_THREADS", "8")


def levels() -> list[str]:
    """Return this CPU's levels that the library has, best first, or the environment's one."""
    named = os.environ.get("ARMNN_CPUACC_ISA")
    return [named] if named else [name for name in levels_of_cpu() if name in compiled_levels()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Compile what a test compiles per level for the library's levels only."""
    if "compiled_level" in metafunc.fixturenames:
        every = BUILD["levels_of"](platform.machine())
        here = [level for level in every if level.name in compiled_levels()]
        metafunc.parametrize("compiled_level", here, ids=lambda level: level.name)


@functools.cache
def compiled_levels() -> list[str]:
    """Return the library's levels for this CPU: a build may be for its best one alone."""
    (cpu,) = CpuAccBackend().devices()
    return str(cpu.info["ARMNN_CPUACC_ISA may be"]).split(", ")


def levels_of_cpu() -> list[str]:
    """Return all levels of this machine, best first."""
    every = BUILD["levels_of"](platform.machine())
    if platform.machine() == "x86_64":
        return [level.name for level in BUILD["levels_of_processor"](every)]
    # Not from /proc/cpuinfo, which an emulator does not change.
    auxiliary = ctypes.CDLL(None).getauxval
    auxiliary.argtypes, auxiliary.restype = [ctypes.c_ulong], ctypes.c_ulong
    cpu = {
        flag
        for word, bits in AUXILIARY.items()
        for flag, bit in bits.items()
        if auxiliary(word) >> bit & 1
    }
    return [level.name for level in every if cpu.issuperset(level.cpu)]


@pytest.fixture
def best_level() -> str:
    """Return the level that this machine uses unasked.

    One that asks the system for its registers is used when it is named or measured.
    """
    asking = {level.name for level in BUILD["levels_of"](platform.machine()) if level.permission}
    here = levels()
    return next((name for name in here if name not in asking), here[0])


@pytest.fixture(params=levels())
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set and return a level; new runtimes use CpuAcc there."""
    name: str = request.param
    monkeypatch.setenv("ARMNN_CPUACC_ISA", name)
    return name


@pytest.fixture
def computes_in_float16(level: str) -> bool:
    """Return whether the level computes in Float16.

    It does by itself, or because the CPU does.
    """
    by_name = {each.name: each for each in BUILD["levels_of"](platform.machine())}
    own = by_name[level]
    whole = by_name[own.adds_to or level]
    return "pointwise_float16" in own.sources or whole.adds_if_there in levels_of_cpu()


@pytest.fixture
def multiplies_bfloat16(level: str) -> bool:
    """Return whether the level has products of bfloat16, its own or of the level it adds to."""
    by_name = {each.name: each for each in BUILD["levels_of"](platform.machine())}
    own: Any = by_name[level]
    while own and "gemm_bfloat16" not in own.sources:
        own = by_name.get(own.adds_to)
    return own is not None


@pytest.fixture
def run_network(level: str) -> Callable[..., Array]:
    """Return a function that runs a one-output network."""

    def run(network: armnn.Network, threads: int = 2, **feeds: Array) -> Array:
        options = {"CpuAcc": {"NumberOfThreads": threads}}
        with armnn.Runtime() as runtime:
            loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
            (result,) = loaded.run(feeds).values()
            return np.array(result)

    return run


@pytest.fixture
def check_bytes() -> Callable[..., None]:
    """Return a function that compares bytes with real numbers.

    The real numbers are in steps from a zero point. Bytes may be off by one step, but only where
    the real number is so close to a half that the last rounding of a sum, which is scaled in
    float32 or fixed point, may fall either way.
    """

    def check(actual: Array, real: Array, zero_point: int, lowest: int = -256) -> None:
        limits = np.iinfo(actual.dtype)
        away = np.trunc(real + np.copysign(0.5, real)) + zero_point
        expected = np.clip(away, max(limits.min, lowest), limits.max)
        off = np.abs(actual - expected)
        assert actual.shape == expected.shape
        assert off.max(initial=0) <= 1
        near_half = np.abs(np.abs(real - np.trunc(real)) - 0.5) < 1e-3
        assert not np.any((off == 1) & ~near_half)

    return check
