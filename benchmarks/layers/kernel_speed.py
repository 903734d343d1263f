# SPDX-License-Identifier: MIT
"""Single layers on CpuAcc in GFLOP/s, beside the machine's.

    python -m benchmarks.layers.kernel_speed

One thread, float32. The peak is that of independent multiply-adds in registers, in the widest
vectors that gcc uses for this machine. A layer that uses each of its numbers only a few times is
bound by reading them: its roof is the least of the peak and what the measured bandwidth leaves it.
That is the bandwidth of reading an array of 4 MiB again and again; what does not fit into the
caches comes slower. A layer is a network of its own: copies of its input and output are in its
time.
"""

from __future__ import annotations

import math
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import armnn
from armnn import DataLayout, Network, TensorInfo

PEAK = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined __AVX512F__
#define BYTES 64
#elif defined __AVX__
#define BYTES 32
#else
#define BYTES 16
#endif
typedef float vector __attribute__((vector_size(BYTES)));
#define CHAINS 12
#define STEPS 500000L
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
#define READ (4L << 20)
static double gigabytes_per_second(void) {
  float *numbers = aligned_alloc(64, READ);
  for (long i = 0; i < READ / 4; ++i) numbers[i] = 1.0f;
  vector sums[8] = {{0}};
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    const double start = now();
    for (const char *at = (char *)numbers; at < (char *)numbers + READ; at += 8 * BYTES) {
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) sums[i] += *(const vector *)(at + i * BYTES);
    }
    const double took = now() - start;
    if (took < best) best = took;
  }
  for (int i = 1; i < 8; ++i) sums[0] += sums[i];
  volatile float sink = sums[0][0];
  (void)sink;
  free(numbers);
  return READ / best * 1e-9;
}
int main(void) {
  vector x[CHAINS], scale = {0}, shift = {0};
  for (int i = 0; i < CHAINS; ++i) x[i] = scale;
  __asm__ volatile("" : "+x"(scale), "+x"(shift));
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    const double start = now();
    for (long step = 0; step < STEPS; ++step) {
#pragma GCC unroll 12
      for (int i = 0; i < CHAINS; ++i) x[i] = x[i] * scale + shift;
    }
    const double took = now() - start;
    if (took < best) best = took;
  }
  for (int i = 1; i < CHAINS; ++i) x[0] += x[i];
  volatile float sink = x[0][0];
  (void)sink;
  printf("%f %f\\n", 2.0 * STEPS * CHAINS * (BYTES / 4) / best * 1e-9, gigabytes_per_second());
  return 0;
}
"""
ROUNDS, RUNS_SECONDS = 7, 0.1


class Machine(NamedTuple):
    """What one core does at best.

    Attributes:
        gflops: Its multiply-add peak, in GFLOP/s.
        gigabytes: What it reads, in GB/s.
    """

    gflops: float
    gigabytes: float

    def roof(self, products: int, numbers: int) -> float:
        """Return the highest GFLOP/s for multiply-adds and numbers."""
        return min(self.gflops, self.gigabytes * 2 * products / (4 * numbers))


def machine_limits(architecture: str) -> Machine:
    """Return the best of some rounds."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "peak.c"), Path(folder, "peak")
        source.write_text(PEAK if _is_x86() else PEAK.replace('"+x"', '"+w"'), encoding="utf-8")
        flags = ["-O3", f"-march={architecture}", "-ffast-math"]
        subprocess.run(["gcc", *flags, "-o", program, source], check=True)
        done = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
        gflops, gigabytes = map(float, done.stdout.split())
        return Machine(gflops, gigabytes)


def _is_x86() -> bool:
    return platform.machine() in ("x86_64", "AMD64")


def layers() -> Iterator[tuple[str, Network, tuple[int, ...], int]]:
    """Yield a layer's name, network, input shape and multiply-adds."""
    noise = np.random.default_rng(0)

    def constant(network: Network, *shape: int) -> armnn.Value:
        return network.add_constant(noise.uniform(-1, 1, shape).astype(np.float32))

    for size, deep, wide, window in (
        (56, 64, 64, 1),
        (28, 256, 256, 1),
        (56, 64, 64, 3),
        (14, 256, 256, 3),
    ):
        network, shape = Network("convolution"), (1, size, size, deep)
        x, pad = network.add_input("x", TensorInfo(shape)), window // 2
        weights = constant(network, wide, window, window, deep)
        y = network.add_convolution2d(
            x,
            weights,
            pad_left=pad,
            pad_right=pad,
            pad_top=pad,
            pad_bottom=pad,
            data_layout=DataLayout.NHWC,
        )
        network.add_output("y", y)
        what = f"Convolution2d {window}x{window}, {deep} to {wide} channels, {size}x{size}"
        yield what, network, shape, size * size * deep * wide * window * window
    for window in (3, 5):
        network, shape = Network("depthwise"), (1, 56, 56, 128)
        x, pad = network.add_input("x", TensorInfo(shape)), window // 2
        weights = constant(network, 1, window, window, 128)
        y = network.add_depthwise_convolution2d(
            x,
            weights,
            pad_left=pad,
            pad_right=pad,
            pad_top=pad,
            pad_bottom=pad,
            data_layout=DataLayout.NHWC,
        )
        network.add_output("y", y)
        what = f"DepthwiseConvolution2d {window}x{window}, 128 channels, 56x56"
        yield what, network, shape, 56 * 56 * 128 * window * window
    for rows, deep, wide in ((1, 1024, 1024), (128, 384, 1536), (512, 512, 512)):
        network = Network("fully connected")
        x = network.add_input("x", TensorInfo((rows, deep)))
        network.add_output("y", network.add_fully_connected(x, constant(network, deep, wide)))
        yield f"FullyConnected, {rows} x {deep} x {wide}", network, (rows, deep), rows * deep * wide


def measure(architecture: str = "native") -> dict[str, Any]:
    """Return the machine's limits and each layer's GFLOP/s.

    Args:
        architecture: The instructions of the limits, as ``-march`` of gcc takes it.
    """
    before, timed = machine_limits(architecture), []
    for what, network, shape, products in layers():
        loaded = armnn.load_model(
            network, ["CpuAcc"], backend_options={"CpuAcc": {"NumberOfThreads": 1}}
        )
        feed = {"x": np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)}
        rounds = [_seconds(loaded, feed) for _ in range(ROUNDS)]
        timed.append((what, products, _numbers(network), statistics.median(rounds)))
    limits = Machine(*map(max, zip(before, machine_limits(architecture), strict=True)))
    rows = [
        {
            "layer": what,
            "gflops": 2e-9 * products / seconds,
            "roof_gflops": limits.roof(products, numbers),
        }
        for what, products, numbers, seconds in timed
    ]
    return {"peak_gflops": limits.gflops, "gigabytes_per_second": limits.gigabytes, "layers": rows}


def _numbers(network: Network) -> int:
    """Return how many numbers a layer reads and writes.

    They are all values of its network.
    """
    values = [value for layer in network.layers for value in layer.outputs]
    return sum(math.prod(value.info.static_shape) for value in values)


def _seconds(loaded: armnn.LoadedNetwork, feed: dict[str, Any]) -> float:
    """Return a run's median time in a short burst."""
    times: list[float] = []
    while sum(times) < RUNS_SECONDS:
        start = time.perf_counter()
        loaded.run(feed)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Measure and print."""
    measured = measure()
    peak = measured["peak_gflops"]
    print(f"peak: {peak:.0f} GFLOP/s, {measured['gigabytes_per_second']:.0f} GB/s")
    for row in measured["layers"]:
        share, of_roof = (
            row["gflops"] / most for most in (measured["peak_gflops"], row["roof_gflops"])
        )
        what = f"{row['layer']:52s} {row['gflops']:7.1f} GFLOP/s"
        print(f"{what} {share:5.0%} of the peak {of_roof:5.0%} of the roof")


if __name__ == "__main__":
    main()
