# SPDX-License-Identifier: MIT
"""The layout of a lane's memory.

A lane is one bound step with a thread of the worker. Its host block begins with a command, its
worker block with an answer; tensors follow. Both sides wake each other by an eventfd; the words in
memory only save them from sleeping.
"""

from __future__ import annotations

import time
from typing import Final

COMMAND_BYTES: Final = 64
"""Of the host: sequence number, deadline (perf_counter_ns, 0 without one), whether to stop."""
SEQUENCE, DEADLINE, STOP = 0, 1, 2

ANSWER_BYTES: Final = 1088
"""Of the worker: sequence number with a mark, outcome, bytes of the text; the text."""
DONE, OUTCOME, TEXT_SIZE = 0, 1, 2
TEXT_AT: Final = 64
SUCCESS, FAILURE = 0, 1

DONE_MARK: Final = 0x41524D4E << 32
"""In an answer, so that no stray write passes for one; sequence numbers have 32 bits."""
SEQUENCES: Final = 1 << 32

GAP: Final = 64
"""Bytes around each tensor that the worker writes; the host checks them after each run."""
GAP_BYTE: Final = 0xA5

SPIN_NS: Final = 20_000
"""How long each side looks at the memory before it sleeps."""


def seen(words: memoryview, at: int, wanted: int, nanoseconds: int = SPIN_NS) -> bool:
    """Poll a word briefly; return whether it came."""
    if words[at] == wanted:
        return True
    now = time.perf_counter_ns
    until = now() + nanoseconds
    while now() < until:
        if words[at] == wanted:
            return True
    return False


def words_of(memory: memoryview, size: int) -> memoryview:
    """Return the words at the beginning of a block."""
    return memory[:size].cast("Q")
