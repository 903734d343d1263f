# SPDX-License-Identifier: MIT
"""Times of a model, beside other run times: ``armnn_tools.benchmarking`` of armnn-tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.installing import forward

forward(__name__)

if TYPE_CHECKING:
    from armnn_tools.benchmarking import *  # noqa: F403
