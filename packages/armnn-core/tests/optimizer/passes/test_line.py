# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from armnn.graph import Network
from armnn.optimizer.passes.recognize import LONGEST, line_of, lines_of
from armnn.tensor import TensorInfo


def test_a_line_is_followed_through_numbers_only_so_far() -> None:
    network = Network()
    value = network.add_input("x", TensorInfo((2,)))
    for number in range(LONGEST + 5):
        value = network.add_addition(value, np.full(1, number, np.float32))
    assert len(list(lines_of(value))) == LONGEST + 1
    line = line_of(value)
    assert (line.factor, line.offset) == (1, sum(range(5, LONGEST + 5)))
