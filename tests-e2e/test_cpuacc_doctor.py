# SPDX-License-Identifier: MIT
"""``armnn doctor`` shows CpuAcc's processor, level and threads."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from armnn_backend_neon.backend import CpuAccBackend

Run = Callable[..., subprocess.CompletedProcess[str]]
ISA, THREADS = "ARMNN_CPUACC_ISA", "ARMNN_CPUACC_THREADS"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ISA, raising=False)
    monkeypatch.delenv(THREADS, raising=False)


@pytest.fixture
def levels(no_variables: None) -> list[str]:
    """Return the levels that the device reports, best first."""
    (cpu,) = CpuAccBackend().devices()
    return str(cpu.info[f"{ISA} may be"]).split(", ")


def rows_of(text: str, title: str) -> list[list[str]]:
    """Return a table's rows as cells."""
    _, _, below = text.partition(f"\n{title}\n\n")
    table, _, _ = below.partition("\n\n")
    return [re.split(r" {2,}", line.strip()) for line in table.splitlines()[2:]]


def processor_name() -> str:
    """Return Linux's name of the processor.

    On Arm it may have no name, only a number of its part.
    """
    cpuinfo = Path("/proc/cpuinfo").read_text()
    named = re.search(r"^(?:model name|CPU part)\s*: (.+)$", cpuinfo, re.MULTILINE)
    return named[1].strip() if named else platform.machine()


def facts(document: Mapping[str, Any]) -> dict[str, str]:
    said = document["backend_facts"]
    return {each["name"]: each["value"] for each in said if each["backend"] == "CpuAcc"}


def test_it_shows_the_processor_the_level_and_the_threads(
    installed: Run, levels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ISA, levels[-1])
    monkeypatch.setenv(THREADS, "3")
    shown = installed("armnn", "doctor", "--backends", "CpuAcc")
    assert shown.returncode == 0, shown.stdout
    system = dict(row[:2] for row in rows_of(f"\n{shown.stdout}", "System"))
    assert processor_name() in system["processor"]
    assert f"{os.cpu_count()} CPU" in system["processor"]
    said = rows_of(shown.stdout, "What backends say of themselves")
    assert ["CpuAcc", "device 0", f"{levels[-1]} (cpu)"] in said
    assert ["CpuAcc", "device 0: NumberOfThreads by default", "3"] in said
    assert ["CpuAcc", f"device 0: {ISA} may be", ", ".join(levels)] in said
    environment = [row[:2] for row in rows_of(shown.stdout, "Environment")]
    assert [ISA, levels[-1]] in environment
    assert [THREADS, "3"] in environment


def test_its_json_has_the_same(
    installed: Run, levels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ISA, levels[-1])
    monkeypatch.setenv(THREADS, "3")
    document = json.loads(installed("armnn", "doctor", "--json").stdout)
    assert processor_name() in document["system"]["processor"]
    assert facts(document)["device 0"] == f"{levels[-1]} (cpu)"
    assert facts(document)["device 0: NumberOfThreads by default"] == "3"
    assert facts(document)[f"device 0: {ISA} may be"] == ", ".join(levels)
    values = {each["name"]: each["value"] for each in document["environment"]}
    assert (values[ISA], values[THREADS]) == (levels[-1], "3")


def test_a_level_that_the_machine_lacks_is_reported_with_those_that_are_there(
    installed: Run, levels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ISA, "avx1024")
    reason = f"{ISA} names a level that this CPU or this build lacks, expected one of "
    reason += ", ".join(levels)
    shown = installed("armnn", "doctor", "--backends", "CpuAcc")
    assert shown.returncode == 1
    _, _, wrong = shown.stdout.partition("\nWhat is wrong:\n")
    assert reason in wrong
    assert [ISA, "avx1024"] in [row[:2] for row in rows_of(shown.stdout, "Environment")]
    asked = installed("armnn", "doctor", "--backends", "CpuAcc", "--json")
    assert asked.returncode == 1
    found = {each["id"]: each for each in json.loads(asked.stdout)["backends"]}
    assert found["CpuAcc"]["state"] == "failed"
    assert reason in found["CpuAcc"]["reason"]
