# SPDX-License-Identifier: MIT
"""Backends whose processes may be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.backends.workers import WorkerOwner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from armnn.backends import Backend
    from armnn.isolation.supervisor import Supervisor


class Supervised(WorkerOwner):
    """A backend whose process may be lost.

    Attributes:
        supervisor: Keeps its worker running.
    """

    supervisor: Supervisor

    def end_worker(self) -> None:
        """End the worker; a later call starts one again."""
        self.supervisor.close()


def supervisors_of(backends: Iterable[Backend]) -> dict[str, Supervisor]:
    """Return the supervisors of isolated backends, by id."""
    return {each.id: each.supervisor for each in backends if isinstance(each, Supervised)}
