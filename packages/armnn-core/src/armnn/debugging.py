# SPDX-License-Identifier: MIT
"""Finding the layers that a backend computes wrongly: ``armnn_tools.debugging`` of armnn-tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.installing import forward

forward(__name__)

if TYPE_CHECKING:
    from armnn_tools.debugging import *  # noqa: F403
