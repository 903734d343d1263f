# SPDX-License-Identifier: MIT
"""Images sampled between pixels, with the bits of NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import Network, TensorInfo
from armnn.types import DataLayout, ResizeMethod

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Whole vectors, halves of them, and parts, at each level.
CHANNELS = [1, 2, 3, 4, 7, 8, 12, 16, 21, 24, 40]


def sampled(images: NDArray[Any], axis: int, factor: int) -> NDArray[Any]:
    """Enlarge an axis by a power of two."""
    old = images.shape[axis]
    places = np.arange(old * factor) / factor
    low = np.floor(places).astype(int)
    share = (places - low).astype(np.float32).reshape([-1 if i == axis else 1 for i in range(4)])
    one, other = images.take(low, axis), images.take(np.minimum(low + 1, old - 1), axis)
    with np.errstate(invalid="ignore"):
        return np.where(share == 0, one, one * (1 - share) + other * share)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("channels", CHANNELS)
def test_pixels_between_pixels_are_mixed(channels: int, threads: int, level: str) -> None:
    x = np.random.default_rng(channels).standard_normal((2, 5, 3, channels)).astype(np.float32)
    x[0, 1, 1], x[1, 4, 2, 0] = np.inf, np.finfo(np.float32).max
    network = Network("resized")
    image = network.add_input("x", TensorInfo(x.shape))
    resized = network.add_resize(
        image,
        target_height=20,
        target_width=6,
        method=ResizeMethod.BILINEAR,
        data_layout=DataLayout.NHWC,
    )
    network.add_output("y", resized)
    options = {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        model = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
        made = model.run({"x": x})["y"]
    np.testing.assert_array_equal(made, sampled(sampled(x, 1, 4), 2, 2))
