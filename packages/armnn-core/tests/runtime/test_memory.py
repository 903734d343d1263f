# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn.backends import ALIGNMENT
from armnn.errors import InvalidArgumentError
from armnn.runtime.memory import (
    STRATEGIES,
    Block,
    Layout,
    MemoryValidationError,
    plan_memory,
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
    layout = plan_memory(blocks, strategy)
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
    separate = plan_memory(blocks, "ConstantMemoryStrategy").size
    reused = plan_memory(blocks, "SingleAxisPriorityList").size
    busiest = max(
        (sum(-(-b.size // 64) * 64 for b in blocks if b.first <= t <= b.last) for t in range(32)),
        default=0,
    )
    assert busiest <= reused <= separate


def test_a_chain_of_layers_needs_two_buffers() -> None:
    chain = [Block(i, i + 1, 1024) for i in range(10)]
    assert plan_memory(chain, "SingleAxisPriorityList").size == 2048
    assert plan_memory(chain, "ConstantMemoryStrategy").size == 10 * 1024


def test_a_small_block_goes_into_a_gap_that_fits() -> None:
    big, small, late = Block(0, 1, 640), Block(0, 3, 64), Block(2, 3, 640)
    layout = plan_memory([big, small, late], "SingleAxisPriorityList")
    assert layout == Layout((0, 640, 0), 704)


def test_no_blocks_need_no_memory() -> None:
    assert plan_memory([], "SingleAxisPriorityList") == Layout((), 0)


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidArgumentError, match=r"no memory strategy 'Best'.*SingleAxis"):
        plan_memory([], "Best")


@pytest.mark.parametrize(
    ("offsets", "size", "message"),
    [
        ((0, 0), 128, "share bytes"),
        ((0, 32), 128, "not aligned"),
        ((0, 128), 128, "leaves the arena"),
    ],
)
def test_the_validator_refuses_a_bad_layout(
    offsets: tuple[int, ...], size: int, message: str
) -> None:
    with pytest.raises(MemoryValidationError, match=message):
        validate_layout([Block(0, 1, 64), Block(1, 2, 64)], Layout(offsets, size))
