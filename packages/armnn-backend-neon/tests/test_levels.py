# SPDX-License-Identifier: MIT
"""The instruction-set level is the best one of the CPU, unless the environment names another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import armnn
from armnn_backend_neon.backend import CpuAccBackend

if TYPE_CHECKING:
    import pytest


def test_the_best_level_is_chosen(best_level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARMNN_CPUACC_ISA", raising=False)
    (cpu,) = CpuAccBackend().devices()
    assert (cpu.name, cpu.kind) == (best_level, "cpu")


def test_the_environment_chooses(level: str) -> None:
    (cpu,) = CpuAccBackend().devices()
    assert cpu.name == level
    assert cpu.fingerprint == level


def test_the_device_says_what_may_be_chosen(
    best_level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "3")
    (cpu,) = CpuAccBackend().devices()
    levels = str(cpu.info["ARMNN_CPUACC_ISA may be"]).split(", ")
    assert levels[0] == best_level
    assert cpu.name in levels
    assert cpu.info["NumberOfThreads by default"] == 3


def test_the_tests_of_a_level_run_at_that_level(level: str) -> None:
    with armnn.Runtime() as runtime:
        backend = runtime.registry.get("CpuAcc")
        assert isinstance(backend, CpuAccBackend)
        (cpu,) = backend.devices()
    assert cpu.name == level
