# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from armnn.debugging.alone import as_bfloat16


def test_numbers_too_large_for_bfloat16_are_infinite_without_a_warning() -> None:
    made = as_bfloat16(np.array([1e300, -1e39, 1 + 2.0**-9, 1 + 2.0**-7]))
    np.testing.assert_array_equal(made, [np.inf, -np.inf, 1, 1 + 2.0**-7])
