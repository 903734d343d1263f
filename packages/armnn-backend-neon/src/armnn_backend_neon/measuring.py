# SPDX-License-Identifier: MIT
"""Times of layers by each kernel that can compute them.

Each layer stands between two others, as in a model: its image was just written and its output is
read next. Its weights come from behind the second cache, which other memory fills before each run,
and from the third one where they fit, which the networks of other kernels filled: a network runs
once unmeasured before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

import armnn
from armnn.profiling import Recorder

FORCED: Final = "ARMNN_CPUACC_KERNEL"
"""The environment variable that names a kernel; layers that it cannot compute choose as usual."""

CHOSEN: Final = ""
"""Names no kernel: the costs choose."""

_POINTS: Final = (6, 8)
"""The points that filters of Winograd along one axis transform at a time."""

_MOST_BLOCK_COLUMNS: Final = 32
_OTHERS: Final = np.ones(2 * 1024 * 1024, np.float32)
"""The memory that fills the second cache between the runs.

Zeros would all be one page of memory. Twice a cache of 1 MB leaves weights in it, eight times does
not (Zen 5).
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """A convolution; stride and padding are equal in both axes.

    Attributes:
        image: Height and width of the input, which is padded to keep them.
        channels: The channels of the input.
        outputs: Channels of the output.
        window: Height and width; (1, 1) for a product of matrices.
        stride: The stride of the window.
        is_depthwise: Each output channel reads one of the input.
        is_of_bytes: Image, weights and outputs are quantized to 8 bits.
    """

    image: tuple[int, int]
    channels: int
    outputs: int
    window: tuple[int, int]
    stride: int = 1
    is_depthwise: bool = False
    is_of_bytes: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """A layer by a kernel.

    Attributes:
        shape: The layer.
        kernel: The name of the kernel.
        work: How many of each unit of ``cpp/costs/work.h`` it does.
        predicted_ns: By the costs of this process.
        ns: The least time of its runs.
        runs: The time of each of them.
    """

    shape: Shape
    kernel: str
    work: Mapping[str, float]
    predicted_ns: float
    ns: float
    runs: tuple[float, ...] = ()


_FLOATS: Final = ((armnn.DataType.FLOAT32,),) * 3
_BYTES: Final = (
    (armnn.DataType.QASYMM_S8, 0.02, 5),
    (armnn.DataType.QSYMM_S8, 0.01),
    (armnn.DataType.QASYMM_S8, 0.5, -3),
)
"""Types, scales and zero points of image, weights and outputs."""

_MOST_MULTIPLY_ADDS = 60_000_000
_FIRST: Final = Shape((28, 28), 32, 32, (1, 1))


def chosen(shapes: Sequence[Shape], *, fast_math: bool = False) -> list[str]:
    """Return the name of each layer's chosen kernel."""
    with _Network(shapes, CHOSEN, fast_math) as network:
        return [row.kernel for row in network.run()]


def kernels_of(shape: Shape, *, fast_math: bool = False) -> list[str]:
    """Return the kernels that may compute a layer.

    CpuAcc may still refuse one; then it chooses as usual.

    Args:
        shape: The layer.
        fast_math: Whether those in bfloat16 are among them.
    """
    (height, width), names = shape.window, ["plain"]
    if shape.is_depthwise or shape.is_of_bytes:
        return names
    if width > 1:
        most = _MOST_BLOCK_COLUMNS // shape.outputs
        names += [f"plain {together}" for together in range(2, most + 1)]
    if fast_math:
        names += [f"{name} bfloat16" for name in names]
    if shape.stride > 1:
        return names
    if (height, width) == (3, 3):
        names += [f"winograd_2d {side}" for side in (2, 4, 6)]
    for axis, taps in (("across", width), ("down", height)):
        outputs = [points - taps + 1 for points in _POINTS if 3 <= taps < points]
        names += [f"winograd_1d {count} {axis}" for count in outputs]
    return names


def measure(
    shapes: Sequence[Shape],
    kernels: Sequence[str] | None = None,
    *,
    rounds: int = 10,
    fast_math: bool = False,
) -> list[Measured]:
    """Run each layer by each kernel that can compute it.

    On one thread, kernels in turns.

    Args:
        shapes: The layers, side by side in one network for each kernel. To compare kernels, name
            one layer twice and look at the second: what slows one kernel's turn slows the others',
            and the first has just used the memory that the second needs.
        kernels: Names, as ``ARMNN_CPUACC_KERNEL`` takes them; by default all that the layers may
            have.
        rounds: How often each runs.
        fast_math: With ``FastMathEnabled``.
    """
    own_kernels = [kernels_of(shape, fast_math=fast_math) for shape in shapes]
    names = kernels or list(dict.fromkeys(name for own in own_kernels for name in own))
    found: dict[tuple[int, str], list[Measured]] = {}
    networks: list[tuple[str, list[int], _Network]] = []
    try:
        for kernel in names:
            places = [place for place, own in enumerate(own_kernels) if kernel in own]
            if places:
                layers = [shapes[place] for place in places]
                networks.append((kernel, places, _Network(layers, kernel, fast_math)))
        for _ in range(rounds):
            for kernel, places, network in networks:
                network.warm()
                for place, row in zip(places, network.run(), strict=True):
                    if _is_of(kernel, row):
                        found.setdefault((place, kernel), []).append(row)
    finally:
        for *_, network in networks:
            network.close()
    return [_summary(found[key]) for key in sorted(found)]


def _is_of(kernel: str, row: Measured) -> bool:
    return row.kernel == kernel or row.shape.is_depthwise or row.shape.is_of_bytes


def _summary(rows: Sequence[Measured]) -> Measured:
    runs = tuple(row.ns for row in rows)
    return replace(rows[0], ns=min(runs), runs=runs)


def random_shapes(count: int, seed: int) -> Iterator[Shape]:
    """Yield distinct convolutions of the sizes of public models."""
    generator = np.random.default_rng(seed)
    seen: set[Shape] = set()
    while len(seen) < count:
        side = int(generator.choice([7, 8, 10, 14, 16, 20, 28, 32, 40, 56, 64]))
        is_line = generator.random() < 0.15
        window = int(generator.choice([1, 3, 3, 3, 5, 7]))
        shape = Shape(
            image=(1, 4 * side) if is_line else (side, side),
            channels=int(generator.choice([3, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512])),
            outputs=int(generator.choice([1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512])),
            window=(1, window) if is_line else (window, window),
            stride=1 if is_line or generator.random() < 0.8 else 2,
        )
        taps = shape.window[0] * shape.window[1]
        pixels = shape.image[0] * shape.image[1]
        if (
            shape not in seen
            and pixels * taps * shape.channels * shape.outputs < _MOST_MULTIPLY_ADDS
        ):
            seen.add(shape)
            yield shape


class _Network:
    """All layers side by side, by one kernel."""

    def __init__(self, shapes: Sequence[Shape], kernel: str, fast_math: bool) -> None:
        # The first layer of a run finds caches that Python used: it is run and not looked at.
        self._shapes = shapes = (_FIRST, *shapes)
        self._runtime = armnn.Runtime()
        options = {"NumberOfThreads": "1", "FastMathEnabled": str(fast_math).lower()}
        with _forced(kernel):
            self._loaded = self._runtime.load_model(
                network_of(shapes), backends=["CpuAcc"], model_options={"CpuAcc": options}
            )
        generator = np.random.default_rng(0)
        self._inputs = {
            f"x{place}": _numbers(generator, (1, *s.image, s.channels), is_of_bytes=s.is_of_bytes)
            for place, s in enumerate(shapes)
        }
        # Given, so that no run pays for memory that the system has to clear.
        self._outputs = self._loaded.run(self._inputs)

    def __enter__(self) -> _Network:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._runtime.close()

    def warm(self) -> None:
        """Run, so that the weights are in the third cache."""
        self._loaded.run(self._inputs, self._outputs)

    def run(self) -> list[Measured]:
        """Return the times of a run by layer."""
        recorder = Recorder()
        _OTHERS.sum()
        self._loaded.run(self._inputs, self._outputs, profiler=recorder)
        by_name = {
            event.name: _row(event.details, event.duration_ns)
            for event in recorder.events
            if "kernel" in event.details
        }
        return [
            Measured(shape, *by_name[f"layer{place}"])
            for place, shape in enumerate(self._shapes)
            if place > 0
        ]


def _numbers(
    generator: np.random.Generator, size: tuple[int, ...], *, is_of_bytes: bool
) -> np.ndarray[Any, Any]:
    if is_of_bytes:
        return generator.integers(-128, 127, size, np.int8, endpoint=True)
    return generator.uniform(-1, 1, size).astype(np.float32)


def _row(details: Mapping[str, Any], ns: int) -> tuple[str, dict[str, float], float, float]:
    work = json.loads(str(details["work"]))
    return str(details["kernel"]), work, float(details["predicted_ns"]), float(ns)


def network_of(shapes: Sequence[Shape]) -> armnn.Network:
    """Return the layers side by side."""
    network = armnn.Network()
    generator = np.random.default_rng(1)
    for place, shape in enumerate(shapes):
        image, kernel, made = _BYTES if shape.is_of_bytes else _FLOATS
        size = (1, *shape.image, shape.channels)
        given = network.add_input(f"x{place}", armnn.TensorInfo(size, *image))
        x = network.add_activation(given, function=armnn.ActivationFunction.RELU)
        (height, width), stride = shape.window, shape.stride
        top, left = (height - 1) // 2, (width - 1) // 2
        same: dict[str, Any] = {
            "pad_top": top,
            "pad_bottom": height - 1 - top,
            "pad_left": left,
            "pad_right": width - 1 - left,
            "stride_x": stride,
            "stride_y": stride,
        }
        own = (
            (1, height, width, shape.channels)
            if shape.is_depthwise
            else (shape.outputs, height, width, shape.channels)
        )
        numbers = _numbers(generator, own, is_of_bytes=shape.is_of_bytes)
        weights = network.add_constant(numbers, armnn.TensorInfo(own, *kernel))
        add = (
            network.add_depthwise_convolution2d if shape.is_depthwise else network.add_convolution2d
        )
        y = add(
            x,
            weights,
            data_layout="NHWC",
            name=f"layer{place}",
            output=armnn.TensorInfo(None, *made),
            **same,
        )
        network.add_output(f"y{place}", network.add_mean(y, axis=[1, 2]))
    return network


@contextmanager
def _forced(kernel: str) -> Iterator[None]:
    before = os.environ.pop(FORCED, None)
    if kernel:
        os.environ[FORCED] = kernel
    try:
        yield
    finally:
        os.environ.pop(FORCED, None)
        if before is not None:
            os.environ[FORCED] = before
