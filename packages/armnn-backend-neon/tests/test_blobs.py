# SPDX-License-Identifier: MIT
"""Stored programs compute the same; unfit ones are recompiled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import DataLayout, DataType, Network, Runtime, TensorInfo
from armnn.profiling import Recorder
from armnn.storage.folder import SUFFIX, pack, unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

IMAGE = TensorInfo((1, 9, 7, 16))


def random(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def convolutions() -> Network:
    """Return five convolutions: deep, shallow, grouped, depthwise, another."""
    net = Network("convolutions")
    x = net.add_input("x", IMAGE)
    nhwc = DataLayout.NHWC
    deep = net.add_convolution2d(x, random(8, 3, 3, 16), random(8), data_layout=nhwc)
    grouped = net.add_convolution2d(deep, random(4, 1, 1, 4), data_layout=nhwc)
    shallow = net.add_convolution2d(grouped, random(16, 3, 3, 4), data_layout=nhwc)
    weights, bias = random(1, 2, 2, 16), random(16)
    channels = net.add_depthwise_convolution2d(shallow, weights, bias, data_layout=nhwc)
    spread = net.add_transpose_convolution2d(
        channels, random(3, 2, 2, 16), stride_x=2, stride_y=2, data_layout=nhwc
    )
    net.add_output("y", spread)
    return net


def recurrences() -> Network:
    net = Network("recurrences")
    x = net.add_input("x", TensorInfo((5, 1, 3)))
    sequence = net.add_gru(x, random(1, 12, 3), random(1, 12, 4), random(1, 24))
    net.add_output("y", sequence[0])
    return net


def products() -> Network:
    """Return gemms with packed, unpacked and shared weights."""
    net = Network("products")
    x = net.add_input("x", TensorInfo((6, 16)))
    weights = net.add_constant(random(16, 16))
    same = net.add_fully_connected(x, weights, transpose_weight_matrix=True)
    also = net.add_fully_connected(same, weights, transpose_weight_matrix=True)
    batch = net.add_batch_mat_mul(also, random(16, 8))
    net.add_output("y", net.add_multiplication(batch, random(6, 8)))
    net.add_output("z", net.add_addition(also, weights_row(net)))
    return net


def weights_row(net: Network) -> Any:
    return net.add_constant(random(16))


def quantized() -> Network:
    net = Network("quantized")
    x = net.add_input("x", TensorInfo((1, 8, 8, 4), DataType.QASYMM_S8, 0.5, 3))
    weights = net.add_constant(
        np.arange(-108, 108, dtype=np.int8).reshape(6, 3, 3, 4),
        TensorInfo((6, 3, 3, 4), DataType.QSYMM_S8, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], axis=0),
    )
    out = TensorInfo((1, 6, 6, 6), DataType.QASYMM_S8, 40.0, -5)
    y = net.add_convolution2d(x, weights, data_layout=DataLayout.NHWC, output=out)
    net.add_output("y", y)
    return net


def steps(*shape: int) -> NDArray[np.int8]:
    return np.random.default_rng(len(shape)).integers(-127, 128, shape, np.int8)


def wide() -> Network:
    """Return products in 16 bits, which are computed in floats.

    Two have weights of the same bytes and other scales.
    """
    net = Network("wide")
    value = net.add_input("x", TensorInfo((24, 160), DataType.QSYMM_S16, 0.01, 0))
    rows = np.arange(1, 161, dtype=np.float32)
    for scales in (rows / 4000, rows[::-1] / 3000):
        info = TensorInfo((160, 160), DataType.QSYMM_S8, scales.tolist(), axis=0)
        weights = net.add_constant(steps(160, 160), info)
        out = TensorInfo((24, 160), DataType.QSYMM_S16, 0.02, 0)
        value = net.add_fully_connected(value, weights, transpose_weight_matrix=True, output=out)
    net.add_output("y", value)
    return net


NETWORKS = {make.__name__: make for make in (convolutions, products, recurrences, quantized, wide)}


def outcomes(network: Network, folder: Path, **options: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the programs' outcomes and outputs in a runtime."""
    recorder = Recorder()
    (info,) = [layer.output.info for layer in network.inputs]
    data = np.random.default_rng(1).integers(-9, 9, info.static_shape)
    with Runtime() as runtime:
        optimized = runtime.optimize(
            network,
            ["CpuAcc"],
            backend_options={"CpuAcc": options},
            cache_dir=folder,
            profiler=recorder,
        )
        outputs = runtime.load_network(optimized).run(
            {"x": data.astype(info.data_type.numpy_dtype)}
        )
    events = [event.details for event in recorder.events if event.name == "cache"]
    return [str(details["outcome"]) for details in events], outputs


@pytest.mark.parametrize("name", NETWORKS)
def test_a_stored_program_computes_the_same_bits(name: str, tmp_path: Path) -> None:
    first, expected = outcomes(NETWORKS[name](), tmp_path / "cache")
    second, got = outcomes(NETWORKS[name](), tmp_path / "cache")
    assert (first, second) == (["compiled and stored"], ["taken from the cache"])
    for output, values in expected.items():
        np.testing.assert_array_equal(got[output], values)


def stored(folder: Path) -> Path:
    (path,) = folder.glob(f"*{SUFFIX}")
    return path


def test_weights_are_stored_packed_and_not_a_second_time(tmp_path: Path) -> None:
    net = Network("square")
    x = net.add_input("x", TensorInfo((4, 256)))
    net.add_output("y", net.add_fully_connected(x, random(256, 288)))  # columns that fill panels
    outcomes(net, tmp_path / "cache")
    bytes_of_weights = 256 * 288 * 4
    size = stored(tmp_path / "cache").stat().st_size
    assert bytes_of_weights <= size < bytes_of_weights + 4 * 4096  # both begin with a page


def test_weights_that_become_floats_are_stored_as_steps(tmp_path: Path) -> None:
    """Two threads may have too few rows each."""
    outcomes(wide(), tmp_path / "cache", NumberOfThreads="1")
    assert stored(tmp_path / "cache").stat().st_size < 1.5 * 2 * 160 * 160


def test_a_program_is_taken_at_the_level_that_it_is_for(tmp_path: Path, level: str) -> None:
    code = (
        "import sys; from test_blobs import *; print(*outcomes(products(), Path(sys.argv[1]))[0])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "cache")]
    there = {**os.environ, "ARMNN_CPUACC_ISA": level}
    folder = Path(__file__).parent
    subprocess.run(command, env=there, cwd=folder, check=True, capture_output=True)
    again = subprocess.run(
        command, env=there, cwd=folder, check=True, capture_output=True, text=True
    )
    assert again.stdout == "taken from the cache\n"
    (outcome,), _ = outcomes(products(), tmp_path / "cache")
    assert outcome == "taken from the cache" or outcome.startswith(
        f"compiled again: its device_fingerprint is '{level}, costs "
    )


def test_a_program_that_ends_too_early_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    outcomes(quantized(), folder)
    header, (whole,) = unpack(memoryview(stored(folder).read_bytes()))
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        stored(folder).write_bytes(b"".join(pack(header, [[whole[:size]]])))
        assert outcomes(quantized(), folder)[0] == ["compiled again: it ends too early"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data + b"?", "bytes follow its end"),
        (lambda data: data[:24] + b"?" + data[25:], "another build of CpuAcc wrote it"),
        (
            lambda data: data[:16] + b"\xff" * 8 + data[24:],
            "it holds a list of 18446744073709551615",
        ),
        (lambda data: b"\xff" * 8 + data[8:], "it ends too early"),
        (lambda data: data[:8] + b"\xff" * 8 + data[16:], "it ends too early"),
        (lambda data: data.replace(b"gemm 1", b"gemm 7"), "its digest differs"),
        (lambda data: data.replace(b"Addition", b"Addition"[::-1]), "its digest differs"),
    ],
)
def test_a_damaged_program_is_compiled_again_and_says_why(
    tmp_path: Path, damage: Callable[[bytes], bytes], reason: str
) -> None:
    folder = tmp_path / "cache"
    outcomes(products(), folder)
    header, (whole,) = unpack(memoryview(stored(folder).read_bytes()))
    stored(folder).write_bytes(b"".join(pack(header, [[damage(bytes(whole))]])))
    (outcome,) = outcomes(products(), folder)[0]
    assert outcome.startswith("compiled again: ")
    assert reason in outcome
