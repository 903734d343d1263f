# SPDX-License-Identifier: MIT
"""Equal models, costs and levels compute equal bits."""

from __future__ import annotations

import os
import subprocess
import sys

THREADS = (1, 2, 3, 8)

PROGRAM = f"""
import hashlib, numpy as np, armnn
from armnn_backend_neon.measuring import Shape, network_of

def products():
    network = armnn.Network()
    x = network.add_input("x", armnn.TensorInfo((3, 37, 64)))
    weights = np.random.default_rng(1).standard_normal((3, 64, 96), np.float32)
    y = network.add_softmax(network.add_batch_mat_mul(x, network.add_constant(weights)))
    network.add_output("y", y)
    network.add_output("means", network.add_mean(y, axis=(1,), keep_dims=False))
    return network

convolutions = [
    Shape((14, 14), 64, 64, (3, 3)),
    Shape((1, 160), 32, 48, (1, 5)),
    Shape((9, 9), 96, 2, (3, 3)),
    Shape((28, 28), 24, 24, (3, 3), is_depthwise=True),
    Shape((14, 14), 32, 48, (1, 1), is_of_bytes=True),
    Shape((14, 14), 24, 24, (3, 3), is_depthwise=True, is_of_bytes=True),
]
for is_fast in (False, True):
    for made in (products, lambda: network_of(convolutions)):
        for threads in {THREADS}:
            options = {{"CpuAcc": {{"NumberOfThreads": threads, "FastMathEnabled": is_fast}}}}
            with armnn.Runtime() as runtime:
                loaded = runtime.load_model(made(), backends=["CpuAcc"], model_options=options)
                generator = np.random.default_rng(2)
                feeds = {{}}
                for name, info in loaded.inputs.items():
                    numbers = generator.standard_normal(info.shape, np.float32)
                    whole = info.data_type is not armnn.DataType.FLOAT32
                    feeds[name] = (numbers * 40).astype(np.int8) if whole else numbers
                y = loaded.run(feeds)
            bits = b"".join(y[name].tobytes() for name in sorted(y))
            print(hashlib.sha256(bits).hexdigest(), end=" ")
        print()
"""


def computed() -> list[list[str]]:
    """Return what a fresh process prints, a row per model.

    Each row has a digest per number of threads.
    """
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, stdout=subprocess.PIPE, text=True
    )
    return [line.split() for line in run.stdout.splitlines()]


def test_threads_and_processes_compute_the_same_bits(level: str) -> None:
    assert os.environ["ARMNN_CPUACC_ISA"] == level
    assert os.path.exists(os.environ["ARMNN_CPUACC_COSTS"])
    first, second = computed(), computed()
    assert first == second
    assert [len(row) for row in first] == [len(THREADS)] * 4
    for row in first:
        assert len(set(row)) == 1, row
    floats, fast = first[:2], first[2:]
    with_products = "bf16" in level or "amx" in level
    assert (floats[0] != fast[0]) == with_products  # so the option did reach the kernels
