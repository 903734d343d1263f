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
BITS = """
import hashlib, sys
import numpy as np
import armnn
from armnn import DataLayout, DataType, Network, TensorInfo
kind, fast, threads = sys.argv[1:4]
rng = np.random.default_rng(5)
image, window = (2, 23, 29, 50), (45, 3, 3, 50)
network = Network()
if kind == "bytes":
    x = rng.integers(-128, 127, image, np.int8, endpoint=True)
    w = rng.integers(-127, 127, window, np.int8, endpoint=True)
    given = network.add_input("x", TensorInfo(image, DataType.QASYMM_S8, 0.5, -9))
    info = TensorInfo(window, DataType.QASYMM_S8, 0.25, int(sys.argv[4]))
    weights = network.add_constant(w, info)
    output = {"output": TensorInfo(None, DataType.QASYMM_S8, 400.0, 20)}
else:
    x = rng.standard_normal(image, np.float32)
    given, output = network.add_input("x", TensorInfo(image)), {}
    weights = network.add_constant(rng.standard_normal(window, np.float32))
pads = dict.fromkeys(("pad_top", "pad_left", "pad_bottom", "pad_right"), 1)
made = network.add_convolution2d(given, weights, data_layout=DataLayout.NHWC, **pads, **output)
network.add_output("y", made)
options = {"CpuAcc": {"FastMathEnabled": fast == "fast", "NumberOfThreads": int(threads)}}
with armnn.Runtime() as runtime:
    loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
    print(hashlib.sha256(loaded.run({"x": x})["y"].tobytes()).hexdigest())
"""


def child(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    kept = {name: text for name, text in os.environ.items() if name != "ARMNN_CPUACC_ISA"}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def test_a_level_that_was_not_measured_must_be_named() -> None:
    level, *facts = child(DEVICE).stdout.splitlines()
    assert level != LEVEL
    (reason,) = (fact for fact in facts if fact.startswith("without"))
    assert reason == (
        f"without {LEVEL}: the time of its tile registers was not measured on this CPU; "
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


def bits(level: str, kind: str, fast: str, threads: int, zero_point: int = 0) -> str:
    """Return the digest of a convolution's output."""
    ended = child(BITS, kind, fast, str(threads), str(zero_point), ARMNN_CPUACC_ISA=level)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_bytes_have_the_bits_of_the_level_below() -> None:
    """Convolved directly there; weights with a zero point, too."""
    below = child(DEVICE).stdout.splitlines()[0]
    for zero_point in (0, 3):
        made, expected = (bits(level, "bytes", "exact", 2, zero_point) for level in (LEVEL, below))
        assert made == expected


def test_bfloat16_has_the_same_bits_on_any_number_of_threads() -> None:
    found = {bits(LEVEL, "floats", "fast", threads) for threads in (1, 2, 3, 7)}
    assert len(found) == 1
    assert found.isdisjoint({bits(LEVEL, "floats", "exact", 1)})
