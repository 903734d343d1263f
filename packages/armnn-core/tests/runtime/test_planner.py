# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn.backends import ALIGNMENT
from armnn.runtime.planner import (
    STRATEGIES,
    Block,
    Layout,
    MemoryValidationError,
    validate_layout,
)

blocks = st.lists(
    st.builds(
        lambda first, length, size: Block(first, first + length, size),
        st.integers(0, 20),
        st.integers(0, 10),
        st.integers(0, 5000),
    ),
    max_size=30,
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(blocks=blocks)
def test_blocks_that_live_together_share_no_byte(strategy: str, blocks: list[Block]) -> None:
    layout = STRATEGIES[strategy](blocks)
    validate_layout(blocks, layout)
    # Said again without the validator: mark every byte line that a block owns at each step.
    for step in range(32):
        owned: set[int] = set()
        for block, offset in zip(blocks, layout.offsets, strict=True):
            if block.first <= step <= block.last:
                lines = set(range(offset // ALIGNMENT, -(-(offset + block.size) // ALIGNMENT)))
                assert not lines & owned
                owned |= lines


@given(blocks=blocks)
def test_reuse_never_needs_more_than_separate_memory(blocks: list[Block]) -> None:
    separate = STRATEGIES["ConstantMemoryStrategy"](blocks).size
    reused = STRATEGIES["SingleAxisPriorityList"](blocks).size
    busiest = max(
        (sum(-(-b.size // 64) * 64 for b in blocks if b.first <= t <= b.last) for t in range(32)),
        default=0,
    )
    assert busiest <= reused <= separate


def test_a_chain_of_layers_needs_two_buffers() -> None:
    chain = [Block(i, i + 1, 1024) for i in range(10)]
    assert STRATEGIES["SingleAxisPriorityList"](chain).size == 2048
    assert STRATEGIES["ConstantMemoryStrategy"](chain).size == 10 * 1024


def test_a_small_block_goes_into_a_gap_that_fits() -> None:
    big, small, late = Block(0, 1, 640), Block(0, 3, 64), Block(2, 3, 640)
    layout = STRATEGIES["SingleAxisPriorityList"]([big, small, late])
    assert layout == Layout((0, 640, 0), 704)


def test_no_blocks_need_no_memory() -> None:
    assert STRATEGIES["SingleAxisPriorityList"]([]) == Layout((), 0)


@pytest.mark.parametrize(
    ("offsets", "size", "message"),
    [
        ((0, 0), 128, "share bytes"),
        ((0, 32), 128, "not aligned"),
        ((0, 128), 128, "leaves the arena"),
        ((0,), 128, "there are 1 offsets for 2 blocks"),
    ],
)
def test_the_validator_refuses_a_bad_layout(
    offsets: tuple[int, ...], size: int, message: str
) -> None:
    with pytest.raises(MemoryValidationError, match=message):
        validate_layout([Block(0, 1, 64), Block(1, 2, 64)], Layout(offsets, size))
