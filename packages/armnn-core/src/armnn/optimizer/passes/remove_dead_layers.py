# SPDX-License-Identifier: MIT
"""Layers that no output depends on go."""

from __future__ import annotations

from armnn.graph import Network


def remove_dead_layers(network: Network) -> int:
    """Remove layers that no output of the network depends on.

    The inputs of the network stay: callers go on passing them.

    Returns:
        How many layers went.
    """
    return network.remove_unused()
