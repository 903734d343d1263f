# SPDX-License-Identifier: MIT
"""Working memory comes from the user's allocator, and returns."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends import HostAllocator
from armnn.errors import ArmnnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHAPE = (16, 512)
DATA = np.linspace(-1, 1, 16 * 512, dtype=np.float32).reshape(SHAPE)


class Recorded(HostAllocator):
    """Records requests, and must end without any."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.in_use: list[NDArray[np.uint8]] = []
        self.is_exhausted = False
        self._lock = threading.Lock()

    def allocate(self, size: int, alignment: int) -> NDArray[np.uint8]:
        if self.is_exhausted:
            raise MemoryError("nothing is left")
        block = super().allocate(size, alignment)
        with self._lock:
            self.sizes.append(size)
            self.in_use.append(block)
        return block

    def free(self, block: NDArray[Any]) -> None:
        with self._lock:
            self.in_use = [each for each in self.in_use if each is not block]
        super().free(block)


def softmax(x: NDArray[Any]) -> NDArray[Any]:
    powers = np.exp(x.astype(np.float64))
    result: NDArray[Any] = powers / powers.sum(axis=-1, keepdims=True)
    return result


def functions() -> Network:
    """Return functions that overwrite each other's results."""
    net = Network("functions")
    value = net.add_input("x", TensorInfo(SHAPE))
    for _ in range(3):
        value = net.add_softmax(value)
    net.add_output("y", value)
    return net


def runtime_with(allocator: HostAllocator) -> Runtime:
    return Runtime(CreationOptions(custom_allocators={"CpuAcc": allocator}))


def test_the_arena_and_the_outputs_are_the_allocators_and_are_given_back() -> None:
    allocator = Recorded()
    with runtime_with(allocator) as runtime:
        model = runtime.load_model(functions(), backends=["CpuAcc"])
        (result,) = model.run({"x": DATA}).values()
        np.testing.assert_allclose(result, softmax(softmax(softmax(DATA))), rtol=1e-5)
        (part,) = model.report.compiled_parts
        inside, around = min(allocator.sizes), max(allocator.sizes)
        assert part.footprint.arena_bytes == DATA.nbytes
        assert DATA.nbytes <= inside <= DATA.nbytes + 64  # the rest lets kernels read ahead
        assert around >= 2 * DATA.nbytes  # input and output
        asked = len(allocator.sizes)
        model.run({"x": DATA})
        assert len(allocator.sizes) == asked
    assert not allocator.in_use


def test_without_memory_a_run_fails_and_the_next_one_with_memory_works() -> None:
    allocator = Recorded()
    with runtime_with(allocator) as runtime:
        model = runtime.load_model(functions(), backends=["CpuAcc"])
        allocator.is_exhausted = True
        with pytest.raises((MemoryError, ArmnnError), match="nothing is left"):
            model.run({"x": DATA})
        allocator.is_exhausted = False
        model.run({"x": DATA})
    assert not allocator.in_use


def test_a_block_waits_for_larger_shapes_until_others_need_less_than_half() -> None:
    allocator = Recorded()
    options = CreationOptions(custom_allocators={"CpuAcc": allocator}, plan_limit=2)
    net = Network("open")
    value = net.add_input("x", TensorInfo(("n", 512)))
    for _ in range(3):
        value = net.add_softmax(value)
    net.add_output("y", value)

    def blocks(sizes: list[int]) -> list[int]:
        """Return the rows of blocks for one intermediate tensor."""
        return [size // 2048 for size in sizes if size % 2048 == 64]

    with Runtime(options) as runtime:
        model = runtime.load_model(net, backends=["CpuAcc"])
        for rows in (16, 12, 10, 16, 9, 15):  # two at a time are kept
            model.run({"x": DATA[:rows]})
        assert blocks(allocator.sizes) == [16]
        assert blocks([each.nbytes for each in allocator.in_use]) == [16]
        for rows in (2, 3):
            model.run({"x": DATA[:rows]})
        assert all(rows < 16 for rows in blocks([each.nbytes for each in allocator.in_use]))
