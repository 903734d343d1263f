# SPDX-License-Identifier: MIT
"""Weights are packed to the same bits from every layout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import armnn
from armnn import DataLayout, Network, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray


IMAGE, TAPS = (1, 9, 9, 3), (20, 3, 3, 3)
"""An image and weights, the channels last."""


def outputs(
    shape: tuple[int, int, int], window: int, stride: int, layout: DataLayout, threads: int
) -> NDArray[Any]:
    """Return what a convolution computes, channels last.

    Args:
        shape: Side of the image, input channels and output channels.
        window: Side of the window.
        stride: Of the window.
        layout: That of image and weights.
        threads: How many pack and compute.
    """
    side, depth, columns = shape
    rng = np.random.default_rng(window)
    x = rng.standard_normal((1, side, side, depth), np.float32)
    w = rng.standard_normal((columns, window, window, depth), np.float32)
    if layout is DataLayout.NCHW:
        x, w = (np.ascontiguousarray(each.transpose(0, 3, 1, 2)) for each in (x, w))
    net = Network("convolution")
    given = net.add_input("x", TensorInfo(x.shape))
    made = net.add_convolution2d(given, w, stride_x=stride, stride_y=stride, data_layout=layout)
    net.add_output("y", made)
    with armnn.Runtime() as runtime:
        options = {"CpuAcc": {"NumberOfThreads": threads}}
        loaded = runtime.load_network(armnn.optimize(net, ["CpuAcc"], backend_options=options))
        y = loaded.run({"x": x})["y"]
    result: NDArray[Any] = y.transpose(0, 2, 3, 1) if layout is DataLayout.NCHW else y
    return result


@pytest.mark.parametrize(
    ("shape", "window", "stride"),
    [
        ((9, 19, 37), 3, 2),  # taps side by side; panels and depths that are not full
        ((11, 130, 65), 5, 2),  # in several pieces
        ((17, 5, 33), 13, 1),  # more taps than are turned together
        ((20, 17, 70), 3, 1),  # Winograd's filtering
        ((8, 40, 100), 1, 1),
    ],
)
def test_layouts_give_the_same_bits_by_any_number_of_threads(
    shape: tuple[int, int, int], window: int, stride: int
) -> None:
    alone = outputs(shape, window, stride, DataLayout.NHWC, 1)
    assert np.abs(alone).max() > 1
    for threads in (1, 3):
        last, first = (
            outputs(shape, window, stride, layout, threads)
            for layout in (DataLayout.NHWC, DataLayout.NCHW)
        )
        np.testing.assert_array_equal(first, last)
        # Shares of an image may end in other tiles, which sum in another order.
        np.testing.assert_allclose(last, alone, rtol=0, atol=1e-5 * np.abs(alone).max())


def test_packing_has_a_time_of_its_own() -> None:
    weights = np.ones((256, 256), np.float32)
    net = Network("fully connected")
    net.add_output("y", net.add_fully_connected(net.add_input("x", TensorInfo((1, 256))), weights))
    times = armnn.load_model(net, backends=["CpuAcc"]).load_times
    assert times["pack"] > 0
    assert times["compile"] > 0


HUGE = """
import re, numpy as np, armnn
network = armnn.Network()
x = network.add_input("x", armnn.TensorInfo((1, 768)))
network.add_output("y", network.add_fully_connected(x, np.ones((768, 768), np.float32)))
loaded = armnn.Runtime().load_model(network, backends=["CpuAcc"])
maps = re.split(r"\\n(?=[0-9a-f]+-)", open("/proc/self/smaps").read())
flagged = [each for each in maps if re.search("VmFlags:.* hg", each)]
sizes = [int(re.search(r"Size: +([0-9]+)", each)[1]) for each in flagged]
print(sum(sizes) >= 2048)
"""


def test_large_packed_weights_may_lie_in_huge_pages() -> None:
    """Take 2.25 MiB: NumPy asks for pages from 4 on."""
    run = subprocess.run([sys.executable, "-c", HUGE], check=True, capture_output=True, text=True)
    assert run.stdout == "True\n"


MANY = """
import gc, re, numpy as np, armnn

def flagged():
    maps = re.split(r"\\n(?=[0-9a-f]+-)", open("/proc/self/smaps").read())
    huge = [each for each in maps if re.search("VmFlags:.* hg", each)]
    return sum(int(re.search("Rss: +([0-9]+)", each)[1]) for each in huge)

rng = np.random.default_rng(1)
weights = rng.standard_normal((16, 512, 512), np.float32) / 32
network = armnn.Network()
value = network.add_input("x", armnn.TensorInfo((3, 512)))
for each in weights:
    value = network.add_fully_connected(value, each)
network.add_output("y", value)
x = expected = rng.standard_normal((3, 512), np.float32)
for each in weights:
    expected = expected @ each
before = flagged()
first = armnn.load_model(network, backends=["CpuAcc"])
second = armnn.load_model(network, backends=["CpuAcc"])
both = flagged()
first.unload()
difference = abs(second.run({"x": x})["y"] - expected).max()
second.unload()
del first, second
gc.collect()
print(both - before, flagged() - before, difference < 1e-5 * abs(expected).max())
"""


def test_many_packed_weights_lie_in_huge_pages_once_and_go() -> None:
    """Pack sixteen of 1 MiB; blocks have them all."""
    run = subprocess.run([sys.executable, "-c", MANY], check=True, capture_output=True, text=True)
    loaded, left, is_right = run.stdout.split()
    assert 16 << 10 <= int(loaded) < 18 << 10, "KiB"
    assert int(left) <= 64
    assert is_right == "True"


def test_a_direct_convolution_is_stored_with_packed_weights_in_both_layouts(tmp_path: Path) -> None:
    """Stored plain, each load would reorder and pack them."""
    image, weights = (
        np.random.default_rng(1).standard_normal(s, np.float32) for s in (IMAGE, TAPS)
    )
    sizes, results = set(), []
    for layout, order in ((DataLayout.NHWC, (0, 1, 2, 3)), (DataLayout.NCHW, (0, 3, 1, 2))):
        x, taps = image.transpose(order), np.ascontiguousarray(weights.transpose(order))
        net = Network("direct")
        given = net.add_input("x", TensorInfo(x.shape))
        net.add_output("y", net.add_convolution2d(given, taps, data_layout=layout))
        file, runtime = tmp_path / "direct.armnn-prepared", armnn.Runtime()
        runtime.compile_network(net, file, ["CpuAcc"])
        sizes.add(file.stat().st_size)
        made = runtime.load_model(file).run({"x": x})["y"]
        results.append(made.transpose(np.argsort(order)))
    assert len(sizes) == 1
    np.testing.assert_array_equal(*results)
    expected = np.einsum(
        "yxhwc,ohwc->yxo",
        sliding_window_view(image[0], (3, 3), (0, 1)).transpose(0, 1, 3, 4, 2),
        weights,
    )
    np.testing.assert_allclose(results[0][0], expected, rtol=1e-5, atol=1e-5)
