# SPDX-License-Identifier: MIT
"""What builders need of a network, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph._operands import Operand
    from armnn.graph.layer import Layer
    from armnn.layers import Descriptor, LayerType, RequestedLike


class Adding(Protocol):
    """What layers can be added to."""

    def add(
        self,
        layer_type: LayerType | str | int,
        inputs: Sequence[Operand | None] = ...,
        descriptor: Descriptor | None = ...,
        *,
        name: str | None = ...,
        outputs: Sequence[RequestedLike] | None = ...,
    ) -> Layer:
        """Add a layer of any type."""
        ...
