# SPDX-License-Identifier: MIT
"""Networks in new shapes, beside fresh loads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.profiling import Recorder
from armnn.types import ActivationFunction, PoolingAlgorithm

Array = NDArray[Any]
SAME: dict[str, Any] = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}


def noise(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def convolved(random: np.random.Generator) -> Network:
    """Return a random network of convolutions, of any size."""
    net = Network("convolved")
    channels = int(random.integers(1, 20))
    x = net.add_input("x", TensorInfo(("n", "h", "w", channels)))
    for number in range(4):
        wide = int(random.integers(1, 40))
        kind = random.choice(["three", "one", "depthwise", "pooled", "added"])
        if kind == "depthwise":
            x = net.add_depthwise_convolution2d(
                x, noise(number, 1, 3, 3, channels), data_layout=DataLayout.NHWC, **SAME
            )
        elif kind == "pooled":
            x = net.add_pooling2d(
                x, pool_type=PoolingAlgorithm.MAX, pool_width=2, pool_height=2, stride_x=2,
                stride_y=2, data_layout=DataLayout.NHWC,
            )  # fmt: skip
        elif kind == "added":
            x = net.add_addition(x, net.add_activation(x, function=ActivationFunction.TANH))
        else:
            size, pads = (3, SAME) if kind == "three" else (1, {})
            weights = noise(number, wide, size, size, channels)
            x = net.add_convolution2d(x, weights, data_layout=DataLayout.NHWC, **pads)
            channels = wide
    shape = net.add_shape(x, output=DataType.SIGNED64)
    first = net.add_gather(shape, np.array([0]), axis=0)
    flat = net.add_concat([first, np.array([-1])], axis=0)
    net.add_output("y", net.add("Reshape", [x, flat], name="flat").output)
    return net


def attending(random: np.random.Generator) -> Network:
    """Return a random network over texts of any length."""
    net = Network("attending")
    heads, depth = int(random.integers(1, 4)), int(random.integers(2, 20))
    x = net.add_input("x", TensorInfo(("n", "h", "w", heads * depth)))
    shape = net.add_shape(x, output=DataType.SIGNED64)
    batch, high, wide = (net.add_gather(shape, np.array([i]), axis=0) for i in range(3))
    length = net.add_multiplication(high, wide)
    target = net.add_concat([batch, length, np.array([heads]), np.array([depth])], axis=0)
    split = net.add("Reshape", [x, target], name="split").output
    queries = net.add_transpose(split, dim_mappings=(0, 2, 1, 3))
    keys = net.add_transpose(split, dim_mappings=(0, 2, 3, 1))
    scores = net.add_softmax(net.add_batch_mat_mul(queries, keys))
    mixed = net.add_batch_mat_mul(scores, queries)
    table = net.add_constant(noise(5, 400, depth))
    end = net.add_concat([length, np.array([depth])], axis=0)
    slots = [table, np.array([0, 0]), end, np.array([1, 1])]
    rows = net.add("StridedSlice", slots, name="rows").output
    net.add_output("y", net.add_addition(mixed, rows))
    return net


def shared(random: np.random.Generator) -> Network:
    """Return depthwise layers that read the same weights."""
    net = Network("shared")
    channels = int(random.integers(1, 100))
    x = net.add_input("x", TensorInfo(("n", "h", "w", channels)))
    window = (1, *random.choice([(3, 3), (3, 1), (1, 3)]).tolist(), channels)
    filters = net.add_constant(noise(1, *window))
    scales = random.uniform(0.001, 0.01, channels).astype(np.float32)
    info = TensorInfo(window, DataType.QSYMM_S8, scales, axis=3)
    narrow = net.add_constant(random.integers(-127, 128, window, np.int8), info)
    for dilation in (1, 2):
        x = net.add_depthwise_convolution2d(
            x, filters, data_layout=DataLayout.NHWC, dilation_y=dilation, **SAME
        )
    for zero_point, kind in ((3, DataType.QASYMM_S8), (100, DataType.QASYMM_U8)):
        for stride in (1, 2):
            x = net.add_quantize(x, output=TensorInfo(None, kind, 0.05, zero_point))
            x = net.add_depthwise_convolution2d(
                x, narrow, data_layout=DataLayout.NHWC, stride_x=stride, **SAME,
                output=TensorInfo(None, kind, 0.05, zero_point + stride),
            )  # fmt: skip
            x = net.add_dequantize(x)
    net.add_output("y", x)
    return net


def sizes(random: np.random.Generator, network: Network) -> tuple[int, ...]:
    (info,) = (layer.output.info for layer in network.inputs)
    assert info.shape is not None
    return (*(int(random.integers(1, 4)), *random.integers(16, 20, 2).tolist()), int(info.shape[3]))


@pytest.mark.parametrize("make", [convolved, attending])
@pytest.mark.parametrize("seed", range(4))
def test_each_new_shape_computes_the_bits_of_a_fresh_load(
    make: Callable[[np.random.Generator], Network], seed: int
) -> None:
    random = np.random.default_rng(seed)
    network = make(random)
    model = armnn.load_model(network, backends=["CpuAcc"], strict=True)
    for _ in range(4):
        feed = {"x": random.uniform(-2, 2, sizes(random, network)).astype(np.float32)}
        fresh = armnn.load_model(network, backends=["CpuAcc"], strict=True)
        assert model.run(feed)["y"].tobytes() == fresh.run(feed)["y"].tobytes()
    fixed = {"x": (2, 17, 18, feed["x"].shape[3])}
    feed = {"x": random.uniform(-2, 2, fixed["x"]).astype(np.float32)}
    expected = armnn.load_model(network, backends=["CpuRef"]).run(feed)["y"]
    np.testing.assert_allclose(
        model.run(feed)["y"], expected, rtol=1e-4, atol=2e-5 * np.abs(expected).max()
    )


def residual(*shape: int | str) -> Network:
    """Return moved axes plus a matrix product of them."""
    net = Network("residual")
    x = net.add_input("x", TensorInfo((shape[0], 8, shape[1])))
    moved = net.add_transpose(x, dim_mappings=(0, 2, 1))
    made = net.add_batch_mat_mul(moved, net.add_constant(noise(3, 8, 8)))
    net.add_output("y", net.add_transpose(net.add_addition(made, moved), dim_mappings=(1, 0, 2)))
    return net


def joined(*shape: int | str) -> Network:
    """Return a convolution of samples that are pooled as one."""
    net = Network("joined")
    x = net.add_input("x", TensorInfo((shape[0], 3, 6, 6)))
    made = net.add_convolution2d(x, noise(3, 4, 3, 1, 1), data_layout=DataLayout.NCHW)
    one = net.add_reshape(made, target_shape=(1, -1, 6, 6))
    window: dict[str, Any] = {"pool_width": 2, "pool_height": 2}
    net.add_output("y", net.add_pooling2d(one, pool_type=PoolingAlgorithm.MAX, **window))
    return net


def steps_of(model: Any, feed: dict[str, Array]) -> tuple[int, bytes]:
    """Return how many steps a run has, and its result."""
    recorder = Recorder()
    made = model.run(feed, profiler=recorder)["y"]
    steps = [each for each in recorder.events if each.details.get("category") == "kernel"]
    return len(steps), made.tobytes()


@pytest.mark.parametrize("make", [residual, joined])
def test_a_sample_alone_is_computed_by_the_steps_of_a_fixed_shape(
    make: Callable[..., Network],
) -> None:
    model = armnn.load_model(make("n", "t"), backends=["CpuAcc"], strict=True)
    for shape in ((2, 6), (1, 6), (2, 1), (1, 1)):
        fixed = make(*shape)
        (info,) = (layer.output.info for layer in fixed.inputs)
        feed = {"x": noise(7, *info.static_shape)}
        alone = armnn.load_model(fixed, backends=["CpuAcc"], strict=True)
        assert steps_of(model, feed) == steps_of(alone, feed)


@pytest.mark.parametrize("seed", range(6))
def test_layers_that_share_weights_have_them_packed_each_as_it_reads_them(
    seed: int, tmp_path: Path
) -> None:
    random = np.random.default_rng(seed)
    network = shared(random)
    armnn.save(network, tmp_path / "shared.armnn")
    model = armnn.load_model(network, backends=["CpuAcc"], strict=True)
    expected = armnn.load_model(network, backends=["CpuRef"])
    for _ in range(3):
        feed = {"x": random.uniform(-2, 2, sizes(random, network)).astype(np.float32)}
        made = [model.run(feed)["y"]]
        for _ in ("compiled", "stored"):
            fresh = armnn.load_model(
                tmp_path / "shared.armnn", backends=["CpuAcc"], cache_dir=tmp_path / "cache"
            )
            made.append(fresh.run(feed)["y"])
        assert made[0].tobytes() == made[1].tobytes() == made[2].tobytes()
        np.testing.assert_allclose(made[0], expected.run(feed)["y"], atol=0.11)


def test_a_shape_is_stored_unless_another_one_leads_to_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    net = Network("dense")
    x = net.add_input("x", TensorInfo((None, 7)))
    y = net.add_fully_connected(x, noise(1, 9, 7), transpose_weight_matrix=True)
    net.add_output("y", net.add_activation(y, function=ActivationFunction.TANH))
    armnn.save(net, tmp_path / "dense.armnn")
    caplog.set_level(logging.INFO, "armnn.backends.cache")
    expected = {}
    for stored, taken in (({5}, set()), ({3}, {5}), ({8}, {5, 3}), (set(), {5, 3, 8})):
        model = armnn.load_model(
            tmp_path / "dense.armnn", backends=["CpuAcc"], cache_dir=tmp_path / "cache"
        )
        for size in (5, 3, 8):
            caplog.clear()
            made = model.run({"x": noise(size, size, 7)})["y"].tobytes()
            assert expected.setdefault(size, made) == made
            words = ["stored"] * (size in stored) + ["taken from the cache"] * (size in taken)
            assert len(caplog.messages) == 2 * len(words)  # a model and a program
            assert all(words[0] in line for line in caplog.messages)
        model.unload()


def test_the_footprint_of_a_further_shape_is_that_of_a_fresh_load() -> None:
    network = convolved(np.random.default_rng(3))
    _, _, _, channels = network.inputs[0].output.info.shape or ()
    shapes = [(1, 16, 12, channels), (2, 24, 20, channels), (1, 8, 9, channels)]

    def footprints(*wanted: Any) -> list[Any]:
        model = armnn.load_model(network, backends=["CpuAcc"], strict=True)
        for shape in wanted:
            model.run({"x": noise(1, *shape)})
        return list(dict.fromkeys(row.footprint for row in model.report if row.footprint))

    found = footprints(*shapes)
    assert found == [each for shape in shapes for each in footprints(shape)]
    assert len({each.arena_bytes for each in found}) == len(shapes)


def test_threads_with_several_shapes_at_once_share_working_memory() -> None:
    network = attending(np.random.default_rng(1))
    model = armnn.load_model(network, backends=["CpuAcc"], strict=True)
    random = np.random.default_rng(2)
    feeds = [
        {"x": random.uniform(-2, 2, sizes(random, network)).astype(np.float32)} for _ in range(6)
    ]
    expected = [
        armnn.load_model(network, backends=["CpuAcc"]).run(feed)["y"].tobytes() for feed in feeds
    ]
    barrier = threading.Barrier(4)

    def work(seed: int) -> bool:
        barrier.wait()
        order = np.random.default_rng(seed).integers(0, 6, 30)
        return all(model.run(feeds[i])["y"].tobytes() == expected[i] for i in order)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
