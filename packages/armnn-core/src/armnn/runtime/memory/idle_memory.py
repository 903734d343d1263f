# SPDX-License-Identifier: MIT
"""A bound on working memory between runs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    class Keeper(Protocol):
        """A plan, as far as its idle contexts are concerned."""

        @property
        def arena_bytes(self) -> int:
            """The working memory of one context."""

        @property
        def idle_bytes(self) -> int:
            """The working memory of idle contexts."""

        def drop_contexts(self) -> None:
            """Free these contexts."""


SLACK_BYTES = 4 << 20
"""What the contexts of all plans may keep beyond the memory of the largest."""


class IdleMemory:
    """The plans of one network, and their idle memory.

    All together keep no more than one context of the largest plan does, and :data:`SLACK_BYTES`; a
    plan keeps what it needs for the threads that run it. Contexts of the plans that have waited
    longest go first; they are made again when the plan runs, in less than a millisecond.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: OrderedDict[Keeper, None] = OrderedDict()

    def make_room(self, plan: Keeper, further: int = 0) -> None:
        """Bound the memory for a plan's returned or new context.

        Args:
            plan: The plan.
            further: The memory of the context that it makes.
        """
        with self._lock:
            self._plans[plan] = None
            self._plans.move_to_end(plan)
            if len(self._plans) == 1:
                return
            most, excess, waiting = 0, further - SLACK_BYTES, []
            for each in self._plans:
                most = max(most, each.arena_bytes)
                idle = each.idle_bytes
                excess += idle
                if idle and each is not plan:
                    waiting.append(each)
            excess -= most
        for other in waiting:
            if excess <= 0:
                return
            excess -= other.idle_bytes
            other.drop_contexts()

    def forget(self, plan: Keeper) -> None:
        """Count a plan no longer."""
        with self._lock:
            self._plans.pop(plan, None)


__all__ = ["SLACK_BYTES", "IdleMemory"]
