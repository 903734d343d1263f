# SPDX-License-Identifier: MIT
"""Control flow by Switch and Merge, resolved by its condition.

A Switch passes its input to one of two branches, a Merge passes on the output of the branch that
was taken (TensorFlow: Switch and Merge). With the condition known, both are removed, and so is the
other branch.
"""

from __future__ import annotations

from armnn.errors import GraphError
from armnn.graph import Layer, Network, Value

CONTROL_FLOW = ("Switch", "Merge")
"""Layers that no backend computes; they wait until their condition is known."""


def resolve_branch(network: Network, layer: Layer, dead: dict[Value, None]) -> bool:
    """Resolve a branching layer, or one on an untaken branch.

    Args:
        network: Is changed: readers of what is taken read the value itself.
        layer: Its producers have been resolved.
        dead: Values on branches that are not taken; what the layer makes is added if it is dead.

    Returns:
        Whether the layer needs nothing more.

    Raises:
        GraphError: An output of the network is on a branch that is not taken.
    """
    if not dead and layer.type not in CONTROL_FLOW:
        return False  # as nearly all
    alive = [value for value in layer.inputs if value is not None and value not in dead]
    is_dead = len(alive) < sum(value is not None for value in layer.inputs)
    if layer.type == "Merge" and is_dead and alive:
        network.replace_uses(layer.output, alive[0])
        return True
    if is_dead:
        if layer.type == "Output":
            raise GraphError(
                f"the output {layer.name!r} is on a branch that is not taken: join the branches "
                "with a Merge layer"
            )
        dead.update(dict.fromkeys(layer.outputs))
        return True
    condition = layer.constant("condition") if layer.type == "Switch" else None
    if condition is None:
        return False
    not_taken, taken = layer.outputs if condition.reshape(()) else reversed(layer.outputs)
    network.replace_uses(taken, alive[0])
    dead[not_taken] = None
    return True
