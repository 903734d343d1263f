# SPDX-License-Identifier: MIT
"""The type of what computes constant layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from armnn.graph import Layer


class Evaluate(Protocol):
    """Computes a layer whose inputs are constant."""

    def __call__(
        self, layer: Layer, spare: NDArray[Any] | None = None, /
    ) -> Sequence[NDArray[Any]] | None:
        """Return the outputs' data, None if nothing here can.

        Args:
            layer: The layer.
            spare: The data of an input that nothing else needs; an output may be written there.
        """
