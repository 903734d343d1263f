# SPDX-License-Identifier: MIT
"""The backend that shares a tensor's memory."""

from __future__ import annotations

from armnn.backends import SHARED_MEMORY, SharedMemory
from armnn.backends.calling import call
from armnn.runtime.plans.cache import NetworkPlans


def shared_memory_beside(plans: NetworkPlans, name: str) -> SharedMemory | None:
    """Return the extension of the backend beside a tensor.

    Before there is a plan, the most preferred backend that has the extension is meant.

    Args:
        plans: The plans of the network.
        name: An input or output of it.
    """
    beside = {owner for plan in plans.plans for owner in plan.owners(name)}
    for candidate in plans.optimized.participants.all:
        if not beside or candidate.id in beside:
            extension: SharedMemory | None = call(
                candidate.id, candidate.backend, "extension", SHARED_MEMORY
            )
            if extension is not None:
                return extension
    return None
