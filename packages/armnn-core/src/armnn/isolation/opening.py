# SPDX-License-Identifier: MIT
"""Opens backends in worker processes, for registries."""

from __future__ import annotations

from armnn.backends import CreationOptions
from armnn.backends.journal import remember_lost_worker
from armnn.backends.workers import Place
from armnn.isolation.faults import Fault
from armnn.isolation.link import Recipe
from armnn.isolation.proxy import IsolatedBackend
from armnn.isolation.supervisor import Supervisor


def open_worker(place: Place, options: CreationOptions) -> IsolatedBackend:
    """Start a worker with a backend; return the backend's stand-in.

    Args:
        place: Which backend, and where.
        options: Of the runtime.

    Raises:
        ArmnnError: It cannot be started, or cannot load the backend.
    """
    recipe = Recipe(
        place.name,
        place.id,
        place.origin,
        place.command,
        options.isolate_timeout,
        options.isolate_memory,
        place.examined,
    )

    def tell(fault: Fault) -> None:
        remember_lost_worker(place.id, place.origin or recipe.place, str(fault))

    supervisor = Supervisor(recipe, tell)
    try:
        return IsolatedBackend(place.name, supervisor)
    except BaseException:
        supervisor.close()
        raise
