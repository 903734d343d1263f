# SPDX-License-Identifier: MIT
"""The machine's processor, and the CPUs the process may use."""

from __future__ import annotations

import os
import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
_NAMES = ("model name", "Model", "Hardware", "cpu model", "CPU part")


def described_processor() -> str:
    """Return the processor's name as far as known, and CPUs."""
    total = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    limited = "" if usable == total else f", of which this process may use {usable}"
    return f"{_name()}, {total} CPU{'s' if total > 1 else ''}{limited}"


def _name() -> str:
    """Return Linux's name of the processor, else the architecture."""
    try:
        lines = CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    facts: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    found = next((facts[name] for name in _NAMES if facts.get(name)), "")
    return f"{found} ({platform.machine()})" if found else platform.machine()
