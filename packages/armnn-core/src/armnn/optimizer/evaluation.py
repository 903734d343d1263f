# SPDX-License-Identifier: MIT
"""The type of what computes constant layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from armnn.graph import Layer

Evaluate: TypeAlias = "Callable[[Layer], Sequence[NDArray[Any]] | None]"
"""Computes a layer whose inputs are constant; None if nothing here can."""
