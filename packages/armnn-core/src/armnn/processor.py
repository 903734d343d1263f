# SPDX-License-Identifier: MIT
"""The machine's processor, and the CPUs the process may use."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

CPUINFO = Path("/proc/cpuinfo")
_NAMES: Final = ("model name", "Model", "Hardware", "cpu model", "CPU part")
_REVISION: Final = ("cpu family", "model", "stepping", "CPU implementer", "CPU variant")
_ENOUGH: Final = 1 << 14
"""Bytes that hold all about one CPU; Linux takes long to write the rest on large machines."""


def described_processor() -> str:
    """Return the processor's name as far as known, and CPUs."""
    total = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    limited = "" if usable == total else f", of which this process may use {usable}"
    return f"{_name(_facts())}, {total} CPU{'s' if total > 1 else ''}{limited}"


def processor_revision() -> str:
    """Return family, model and stepping as Linux knows them, or ""."""
    facts = _facts()
    return ", ".join(f"{name} {facts[name]}" for name in _REVISION if facts.get(name))


def _name(facts: dict[str, str]) -> str:
    """Return Linux's name of the processor, else the architecture."""
    found = next((facts[name] for name in _NAMES if facts.get(name)), "")
    return f"{found} ({platform.machine()})" if found else platform.machine()


def _facts() -> dict[str, str]:
    """Return the facts that Linux knows of the first CPU."""
    try:
        with CPUINFO.open(errors="replace") as file:
            lines = file.read(_ENOUGH).splitlines()
    except OSError:
        lines = []
    facts: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts
