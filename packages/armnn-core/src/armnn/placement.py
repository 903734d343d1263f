# SPDX-License-Identifier: MIT
"""Measuring which backends run a model fastest: ``armnn_tools.placement`` of armnn-tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.installing import forward

forward(__name__)

if TYPE_CHECKING:
    from armnn_tools.placement import *  # noqa: F403
