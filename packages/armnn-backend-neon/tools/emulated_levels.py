# SPDX-License-Identifier: MIT
"""Test the choice of a level with emulated tile registers.

``cpuacc_amx.py`` runs them; the environment of each process says whether the system permits the
registers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LEVEL = "avx512_amx"
REFUSED = "CPUACC_REFUSES_TILES"
DEVICE = """
from armnn_backend_neon.backend import CpuAccBackend
(cpu,) = CpuAccBackend().devices()
print(cpu.name, *(f"{name}: {text}" for name, text in cpu.info.items()), sep="\\n")
"""
MEASURE = """
from armnn_backend_neon.tuning import measure_machine
print(measure_machine()["text"])
"""


def child(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    kept = {name: text for name, text in os.environ.items() if name != "ARMNN_CPUACC_ISA"}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def test_a_level_that_was_not_measured_must_be_named() -> None:
    level, *facts = child(DEVICE).stdout.splitlines()
    assert level != LEVEL
    (reason,) = (fact for fact in facts if fact.startswith("without"))
    assert reason == (
        f"without {LEVEL}: what its registers take is not measured on this CPU; "
        f"ARMNN_CPUACC_ISA={LEVEL} uses them"
    )
    named, *facts = child(DEVICE, ARMNN_CPUACC_ISA=LEVEL).stdout.splitlines()
    assert named == LEVEL
    assert not [fact for fact in facts if fact.startswith("without")]


def test_a_measured_level_is_used_unless_the_system_refuses_it(tmp_path: Path) -> None:
    costs = tmp_path / "costs"
    measured = child(MEASURE, ARMNN_CPUACC_ISA=LEVEL)
    assert "\ntile_register_product " in measured.stdout, measured.stderr
    costs.write_text(measured.stdout)
    level, *facts = child(DEVICE, ARMNN_CPUACC_COSTS=str(costs)).stdout.splitlines()
    assert level == LEVEL
    assert not [fact for fact in facts if fact.startswith("without")]
    level, *facts = child(
        DEVICE, ARMNN_CPUACC_COSTS=str(costs), **{REFUSED: "1"}
    ).stdout.splitlines()
    assert level != LEVEL
    assert f"without {LEVEL}: the system refuses its registers (arch_prctl)" in facts


def test_a_refused_level_that_is_named_is_an_error() -> None:
    ended = child(DEVICE, ARMNN_CPUACC_ISA=LEVEL, **{REFUSED: "1"})
    assert ended.returncode == 1
    expected = f"the system refuses this process the registers of the level {LEVEL}"
    assert expected in ended.stderr
