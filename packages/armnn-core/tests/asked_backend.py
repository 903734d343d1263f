# SPDX-License-Identifier: MIT
"""A backend that records what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from armnn.backends import SUPPORTED, BackendVersion, ModelContext, SubgraphView, Support
from armnn.backends.contract import NetworkBackend

if TYPE_CHECKING:
    from armnn.graph import Layer


class Asked(NetworkBackend):
    """Takes all layers but those with reasons, and records queries."""

    id = "Asked"
    api_version = BackendVersion(1, 0)

    def __init__(self, **reasons: str) -> None:
        self.reasons = reasons
        self.queries: list[list[str]] = []
        self.questions: list[str] = []

    def query(self, view: SubgraphView, model: ModelContext) -> Sequence[Support]:
        self.queries.append([each.name for each in view.layers])
        return [self._answer(each) for each in view.layers]

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        self.questions.append(layer.name)
        return self._answer(layer)

    def _answer(self, layer: Layer) -> Support:
        reason = self.reasons.get(layer.name)
        return SUPPORTED if reason is None else Support.no(reason)

    def create_workload(self, layer: Layer, model: ModelContext) -> Any:
        raise NotImplementedError
