# SPDX-License-Identifier: MIT
"""The memory planner: a pure function from lifetimes to offsets.

The strategies carry the names of Arm NN's ``IMemoryOptimizerStrategy`` library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from armnn.backends.memory import ALIGNMENT
from armnn.errors import ArmnnError


class MemoryValidationError(ArmnnError, RuntimeError):
    """Two tensors share bytes in the same step."""


@dataclass(frozen=True, slots=True)
class Block:
    """A tensor as the planner sees it.

    Attributes:
        first: The step that writes it.
        last: The last step that reads it, at least ``first``.
        size: Bytes.
    """

    first: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The offsets of the blocks.

    Attributes:
        offsets: One per block, in the order of the blocks; multiples of the alignment.
        size: Bytes of the arena that holds them all.
    """

    offsets: tuple[int, ...]
    size: int


Strategy: TypeAlias = "Callable[[Sequence[Block]], Layout]"
"""A function from lifetimes to offsets; it must depend on nothing else."""


def constant_memory(blocks: Sequence[Block]) -> Layout:
    """Give each block memory of its own (Arm NN: ``ConstantMemoryStrategy``).

    Nothing is reused, so every tensor can be looked at after a run.
    """
    offsets: list[int] = []
    end = 0
    for block in blocks:
        offsets.append(end)
        end += _aligned(block.size)
    return Layout(tuple(offsets), end)


def single_axis_priority_list(blocks: Sequence[Block]) -> Layout:
    """Place the largest blocks first, each at the lowest offset.

    (Arm NN: ``SingleAxisPriorityList``.) A gap is looked for among the blocks that live at the
    same time. Greedy by size is within a few per cent of the optimum on real networks
    (Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net Inference").
    """
    offsets = [0] * len(blocks)
    placed: list[int] = []
    by_size = sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first, i))
    for index in by_size:
        block = blocks[index]
        neighbours = sorted(
            (offsets[other], offsets[other] + _aligned(blocks[other].size))
            for other in placed
            if _overlap(blocks[other], block)
        )
        offset = 0
        for start, end in neighbours:
            if start - offset >= block.size:
                break
            offset = max(offset, end)
        offsets[index] = offset
        placed.append(index)
    size = max((o + _aligned(b.size) for o, b in zip(offsets, blocks, strict=True)), default=0)
    return Layout(tuple(offsets), size)


def validate_layout(blocks: Sequence[Block], layout: Layout) -> None:
    """Check a layout.

    Raises:
        MemoryValidationError: Two blocks that live at the same time overlap, one leaves the arena
            or is not aligned, or one has no offset.
    """
    if len(layout.offsets) != len(blocks):
        raise MemoryValidationError(
            f"there are {len(layout.offsets)} offsets for {len(blocks)} blocks"
        )
    for index, block in enumerate(blocks):
        start = layout.offsets[index]
        if start % ALIGNMENT or start < 0 or start + block.size > layout.size:
            raise MemoryValidationError(
                f"block {index} of {block.size} bytes at {start} is not aligned to {ALIGNMENT} or "
                f"leaves the arena of {layout.size} bytes"
            )
        for other in range(index):
            other_start = layout.offsets[other]
            if (
                _overlap(block, blocks[other])
                and start < other_start + blocks[other].size
                and other_start < start + block.size
            ):
                raise MemoryValidationError(
                    f"blocks {other} and {index} live at the same time and share bytes"
                )


def _overlap(first: Block, second: Block) -> bool:
    return first.first <= second.last and second.first <= first.last


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
