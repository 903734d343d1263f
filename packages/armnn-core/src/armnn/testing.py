# SPDX-License-Identifier: MIT
"""The old name of ``armnn_conformance``, until core 2.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armnn.installing import forward

forward(__name__)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return the attribute of the kit of a name."""
