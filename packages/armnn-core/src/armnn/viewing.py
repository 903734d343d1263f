# SPDX-License-Identifier: MIT
"""A model's graph as a page: ``armnn_tools.viewing`` of armnn-tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.installing import forward

forward(__name__)

if TYPE_CHECKING:
    from armnn_tools.viewing import *  # noqa: F403
