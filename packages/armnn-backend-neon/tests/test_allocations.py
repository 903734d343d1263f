# SPDX-License-Identifier: MIT
"""A run allocates nothing: CpuAcc's allocator calls are counted."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn import DataLayout, DataType, Network, Runtime, TensorInfo
from armnn.graph import Value
from armnn.layers.matmul import MatMulNBitsDescriptor
from armnn.types import ActivationFunction, UnaryOperation

NHWC = DataLayout.NHWC


def ramp(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def images() -> Network:
    """Return a network of convolutions, joined, resized and averaged.

    They are Winograd, gemm and depthwise ones.
    """
    net = Network("images")
    x = net.add_input("x", TensorInfo((1, 32, 32, 16)))
    same: dict[str, Any] = {
        "pad_left": 1,
        "pad_right": 1,
        "pad_top": 1,
        "pad_bottom": 1,
        "data_layout": NHWC,
    }
    wide = net.add_convolution2d(x, ramp(64, 3, 3, 16), ramp(64), **same)
    deep = net.add_convolution2d(wide, ramp(64, 3, 3, 64), ramp(64), **same)
    each = net.add_depthwise_convolution2d(deep, ramp(1, 3, 3, 64), ramp(64), **same)
    total = net.add_activation(net.add_addition(each, wide), function=ActivationFunction.TANH)
    joined = net.add_concat([total, deep], axis=3)
    cut = net.add_softmax(net.add_slice(joined, begin=[0, 1, 2, 3], size=[1, 9, 9, 20]))
    net.add_output("y", net.add_mean(cut, axis=(1, 2)))
    return net


def sequences() -> Network:
    """Return recurrences, normalization, and gemms of two computed operands."""
    net = Network("sequences")
    x = net.add_input("x", TensorInfo((6, 2, 16)))
    states, _ = net.add_gru(x, ramp(1, 48, 16), ramp(1, 48, 16), ramp(1, 96))
    lines = net.add_reshape(states, target_shape=(12, 16))
    normal = net.add_layer_normalization(lines, ramp(16), ramp(16))
    square = net.add_batch_mat_mul(normal, net.add_transpose(lines, dim_mappings=(1, 0)))
    net.add_output("y", net.add_elementwise_unary(square, operation=UnaryOperation.SIN))
    return net


def stored() -> Network:
    """Return windows, sums and functions of bytes."""
    info = TensorInfo((1, 16, 16, 32), DataType.QASYMM_S8, 0.05, 3)
    net = Network("bytes")
    x = net.add_input("x", info)
    weights = TensorInfo((32, 3, 3, 32), DataType.QSYMM_S8, 0.01)
    data = np.arange(32 * 9 * 32, dtype=np.int8).reshape(weights.static_shape)
    made = net.add_convolution2d(
        x,
        net.add_constant(data, weights),
        pad_left=1, pad_right=1, pad_top=1, pad_bottom=1, data_layout=NHWC,
        output=info,
    )  # fmt: skip
    total = net.add_addition(made, x, output=info)
    net.add_output(
        "y", net.add_softmax(total, output=TensorInfo(None, info.data_type, 1 / 256, -128))
    )
    return net


def halves() -> Network:
    """Return gemms with float16 weights, of copied rows too."""
    net = Network("halves")
    x = net.add_input("x", TensorInfo((1, 64, 64, 256)))
    weights = [ramp(*shape).astype(np.float16) for shape in ((64, 1, 1, 256), (64, 8))]
    made = net.add_convolution2d(
        x, weights[0].astype(np.float32), stride_x=2, stride_y=2, data_layout=NHWC
    )
    lines = net.add_reshape(made, target_shape=(1024, 64))
    net.add_output("y", net.add_fully_connected(lines, weights[1].astype(np.float32)))
    return net


def decoder() -> Network:
    """Return a step of a decoder: weights of 4 bits, new rows of a cache, attention to it."""
    net = Network("decoder")
    x = net.add_input("x", TensorInfo((1, 64)))

    def projected(value: Value, columns: int, accuracy_level: int) -> Value:
        weights = np.arange(columns * 32, dtype=np.uint8).reshape(columns, 32)
        scales, zeros = ramp(columns, 2), ramp(columns, 2) + 8
        held = [net.add_constant(each) for each in (weights, scales, zeros)]
        descriptor = MatMulNBitsDescriptor(bits=4, block_size=32, accuracy_level=accuracy_level)
        return net.add("MatMulNBits", [value, *held, None], descriptor).output

    normal = net.add_rms_normalization(x, net.add_constant(ramp(64)))
    query, key = (
        net.add_reshape(projected(normal, heads * 16, 4), target_shape=(1, heads, 1, 16))
        for heads in (4, 2)
    )
    at, count = (net.add_constant(np.array([n], np.int64)) for n in (20, 21))
    cosines, sines = (net.add_constant(ramp(1, 8)) for _ in range(2))
    turned = net.add_rotary_embedding(query, cosines, sines)
    cache = net.add_tensor_scatter(net.add_constant(ramp(1, 2, 32, 16)), key, at)
    made = net.add_cached_attention(turned, cache, cache, count)
    net.add_output("y", projected(net.add_reshape(made, target_shape=(1, 64)), 96, 0))
    return net


NETWORKS: dict[str, Callable[[], Network]] = {
    "images": images,
    "sequences": sequences,
    "stored": stored,
    "halves": halves,
    "decoder": decoder,
}


def count(name: str, threads: int) -> tuple[int, int]:
    """Return the allocations of loading, first and four more runs."""
    counter = ctypes.CDLL(None)
    counter.counted.restype = ctypes.c_ulong
    counter.count_from.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    with Runtime() as runtime:
        runtime.load_model(NETWORKS[name](), backends=["CpuAcc"])  # maps the library
        places = [
            int(end, 16)
            for line in Path("/proc/self/maps").read_text().splitlines()
            if "Arm_CpuAcc_backend" in line
            for end in line.split()[0].split("-")
        ]
        counter.count_from(min(places), max(places))
        options = {"CpuAcc": {"NumberOfThreads": threads}}
        model = runtime.load_model(
            NETWORKS[name](), backends=["CpuAcc"], backend_options=options, strict=True
        )
        (info,) = model.inputs.values()
        feed = {"x": np.ones(info.static_shape, info.data_type.numpy_dtype)}
        model.run(feed)
        before = counter.counted()
        for _ in range(4):
            model.run(feed)
        return before, counter.counted() - before


@pytest.fixture(scope="module")
def counting_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the counting library."""
    made = tmp_path_factory.mktemp("counter") / "allocations.so"
    source = Path(__file__).with_name("allocations.c")
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", str(made), str(source)], check=True)
    return made


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NETWORKS)
def test_no_run_after_the_first_allocates(counting_library: Path, name: str, threads: int) -> None:
    # All loops are split, however short they are.
    settings = {"LD_PRELOAD": str(counting_library), "ARMNN_CPUACC_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, __file__, name, str(threads)],
        env={**os.environ, **settings},
        check=True,
        capture_output=True,
        text=True,
    )
    before, while_running = map(int, done.stdout.split())
    assert before > 20
    assert while_running == 0


if __name__ == "__main__":
    print(*count(sys.argv[1], int(sys.argv[2])))
