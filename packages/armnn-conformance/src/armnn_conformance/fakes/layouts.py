# SPDX-License-Identifier: MIT
"""A fake backend that computes in one layout only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.backends import Support
from armnn.types import DataLayout
from armnn_conformance.fakes.ordinary import SelectiveBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from armnn.backends import Backend, ModelContext
    from armnn.graph import Layer


class OneLayoutBackend(SelectiveBackend):
    """Refuses images in another layout, and wishes its own."""

    id = "OneLayout"

    def __init__(
        self,
        backend_id: str | None = None,
        support: Mapping[str, bool | str] | None = None,
        *,
        layout: DataLayout = DataLayout.NHWC,
        default: bool | str = False,
        inner: Backend | None = None,
    ) -> None:
        """Make a backend of one layout.

        Args:
            backend_id: Its id.
            support: See :class:`SelectiveBackend`.
            layout: The layout that it computes in.
            default: See :class:`SelectiveBackend`.
            inner: What runs the layers.
        """
        super().__init__(backend_id, support, default=default, inner=inner)
        self._layout = layout

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Refuse an image in another layout, with the wish."""
        answer = super().supports(layer, model)
        own = getattr(layer.descriptor, "data_layout", self._layout)
        if not answer or own is self._layout:
            return answer
        return Support.no(f"it computes in {self._layout.name}, not {own.name}", self._layout)
