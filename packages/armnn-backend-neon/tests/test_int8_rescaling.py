# SPDX-License-Identifier: MIT
"""Bytes of different scales, joined, compared or sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.types import BinaryOperation, ResizeMethod

Array: TypeAlias = NDArray[Any]

S8, U8, S16 = DataType.QASYMM_S8, DataType.QASYMM_U8, DataType.QSYMM_S16
MADE = TensorInfo(None, S8, 0.0625, -20)
KINDS = [(S8, 0.0625, -20), (S8, 0.05, 3), (U8, 0.11, 130), (S16, 0.001, 0)]


def stored(shape: tuple[int, ...], kind: DataType, seed: int) -> Array:
    limits = np.iinfo(kind.numpy_dtype)
    rng = np.random.default_rng(seed)
    numbers: Array = rng.integers(limits.min, limits.max, shape, kind.numpy_dtype, endpoint=True)
    return numbers


def real(data: Array, info: TensorInfo) -> Array:
    values: Array = (data.astype(np.float64) - info.zero_point) * np.float32(info.scale)
    return values


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("layer", ["concat", "stack"])
def test_what_is_joined_gets_the_scale_of_the_whole(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    layer: str,
    other: tuple[DataType, float, int],
) -> None:
    shape = (2, 3, 17)
    infos = [TensorInfo(shape, S8, 0.0625, -20), TensorInfo(shape, *other)]
    network = Network()
    values = [network.add_input(name, info) for name, info in zip("xy", infos, strict=True)]
    if layer == "concat":
        made = network.add_concat(values, axis=1, output=MADE)
    else:
        made = network.add_stack(values, axis=1, output=MADE)
    network.add_output("z", made)
    x, y = stored(shape, S8, 1), stored(shape, other[0], 2)
    join = np.concatenate if layer == "concat" else np.stack
    joined = join([real(x, infos[0]), real(y, infos[1])], 1)
    check_bytes(run_network(network, x=x, y=y), joined / MADE.scale, MADE.zero_point)


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize(
    "shapes", [((2, 5, 17), (2, 5, 17)), ((2, 5, 17), (5, 1)), ((1,), (4, 33))]
)
@pytest.mark.parametrize("operation", ["MAXIMUM", "MINIMUM"])
def test_the_larger_and_the_smaller_of_two(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    operation: str,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    other: tuple[DataType, float, int],
) -> None:
    infos = [TensorInfo(shapes[0], U8, 0.07, 100), TensorInfo(shapes[1], *other)]
    network = Network()
    x, y = (network.add_input(name, info) for name, info in zip("xy", infos, strict=True))
    made = network.add_elementwise_binary(x, y, operation=BinaryOperation[operation], output=MADE)
    network.add_output("z", made)
    choose = np.maximum if operation == "MAXIMUM" else np.minimum
    feeds = {"x": stored(shapes[0], U8, 1), "y": stored(shapes[1], other[0], 2)}
    chosen = choose(real(feeds["x"], infos[0]), real(feeds["y"], infos[1]))
    check_bytes(run_network(network, **feeds), chosen / MADE.scale, MADE.zero_point)


@pytest.mark.parametrize("made", [MADE, TensorInfo(None, U8, 0.05, 130)])
@pytest.mark.parametrize("method", [ResizeMethod.BILINEAR, ResizeMethod.NEAREST_NEIGHBOR])
@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("size", [(10, 6), (3, 7), (1, 1)])
def test_images_are_sampled(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    size: tuple[int, int],
    layout: DataLayout,
    method: ResizeMethod,
    made: TensorInfo,
) -> None:
    is_last = layout is DataLayout.NHWC
    x = stored((2, 5, 3, 7) if is_last else (2, 7, 5, 3), S8, 1)
    info = TensorInfo(x.shape, S8, 0.0625, -20)
    network = Network()
    resized = network.add_resize(
        network.add_input("x", info),
        target_height=size[0],
        target_width=size[1],
        method=method,
        data_layout=layout,
        output=made,
    )
    network.add_output("y", resized)
    images = real(x if is_last else x.transpose(0, 2, 3, 1), info)
    expected = sampled(sampled(images, 1, size[0], method), 2, size[1], method)
    expected = expected if is_last else expected.transpose(0, 3, 1, 2)
    check_bytes(run_network(network, x=x), expected / np.float32(made.scale), made.zero_point)


def sampled(images: Array, axis: int, size: int, method: ResizeMethod) -> Array:
    """Sample along an axis at i * old / new."""
    old = images.shape[axis]
    places = np.arange(size) * (old / size)
    low = np.floor(places).astype(int)
    share = (places - low if method is ResizeMethod.BILINEAR else np.zeros(size)).astype(np.float32)
    share = share.reshape([-1 if i == axis else 1 for i in range(4)])
    high = np.minimum(low + 1, old - 1)
    result: Array = images.take(low, axis) * (1 - share) + images.take(high, axis) * share
    return result
