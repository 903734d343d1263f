# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.tensor import TensorInfo
from armnn.types import DataType

if TYPE_CHECKING:
    import pytest


def test_debug_logs_real_values_and_passes_them_on(
    run_layer: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    x = np.array([4, 6], np.int8)
    with caplog.at_level(logging.INFO, logger="armnn_backend_ref"):
        (y,) = run_layer("Debug", [(x, TensorInfo((2,), DataType.QASYMM_S8, 0.5, 0))])
    assert y.tolist() == [4, 6]
    assert caplog.messages == ["float32[2]: [2. 3.]"]
