# SPDX-License-Identifier: MIT
"""Comparison of CpuAcc with CpuRef on random networks.

    python packages/armnn-backend-neon/tools/cpuacc_random.py [--count 1000] [--first 0]

Networks take turns at the levels of this machine, with one, two and three threads.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import numpy as np
from cpuacc_kit import LEVELS, THREADS
from random_networks import random_network

import armnn

RANGE = 1e-4
"""The most that an output may differ, relative to the largest number of it or 1."""


def difference(seed: int, threads: int) -> tuple[float, int]:
    """Return the largest difference and the number of CpuAcc's layers."""
    network, feed = random_network(seed)
    options = {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        right = runtime.load_model(network, backends=["CpuRef"]).run(feed)
        loaded = runtime.load_model(network, backends=["CpuAcc", "CpuRef"], backend_options=options)
        made = loaded.run(feed)
        taken = sum(row.backend == "CpuAcc" for row in loaded.report)
    worst = 0.0
    for name, wanted in right.items():
        if made[name].shape != wanted.shape or not np.array_equal(
            np.isfinite(made[name]), np.isfinite(wanted)
        ):
            return np.inf, taken
        finite = np.isfinite(wanted)
        size = max(1.0, float(np.abs(wanted[finite]).max(initial=0)))
        off = np.abs(made[name][finite] - wanted[finite]).max(initial=0)
        worst = max(worst, float(off) / size)
    return worst, taken


def run(first: int, count: int, step: int) -> int:
    """Compare every step-th network; return 1 if one differs."""
    worst, layers = 0.0, 0
    for seed in range(first, first + count, step):
        threads = THREADS[seed // step % len(THREADS)]
        off, taken = difference(seed, threads)
        layers += taken
        worst = max(worst, off)
        if off > RANGE:
            print(f"network {seed} with {threads} threads differs by {off:.2g} of its range")
            return 1
    print(f"{os.environ['ARMNN_CPUACC_ISA']}: {layers} layers agree, {worst:.2g} at most")
    return 0


def main() -> int:
    """Compare at each level; return 1 if a network differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many networks")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    arguments = parser.parse_args()
    if "ARMNN_CPUACC_ISA" in os.environ:
        return run(arguments.first, arguments.count, len(LEVELS))
    failed = 0
    for place, level in enumerate(LEVELS):  # a process for each: the level is chosen once
        command = [sys.executable, __file__, "--first", str(arguments.first + place)]
        command += ["--count", str(arguments.count - place)]
        failed |= subprocess.run(command, env={**os.environ, "ARMNN_CPUACC_ISA": level}).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
