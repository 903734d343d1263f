# SPDX-License-Identifier: MIT
"""Rewrites of a network that help every backend.

There is one file for each. A pass changes a network in place, through the network's own operations,
and returns how many times it changed something. The network computes the same before and after: its
outputs keep their names and infos, layers keep the backends that they were meant for. A pass does
nothing where it needs a dimension that is unknown, and nothing when it is run again at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, TypeAlias

from armnn._logging import Logger
from armnn.optimizer.passes.cancel_inverse_conversions import cancel_inverse_conversions
from armnn.optimizer.passes.cancel_inverse_permutes import cancel_inverse_permutes
from armnn.optimizer.passes.convert_constants import convert_constants
from armnn.optimizer.passes.delete_broadcast_to import delete_broadcast_to
from armnn.optimizer.passes.fold_batch_normalization import fold_batch_normalization
from armnn.optimizer.passes.fold_channel_arithmetic import fold_channel_arithmetic
from armnn.optimizer.passes.fold_constants import fold_constants
from armnn.optimizer.passes.fold_pad import fold_pad
from armnn.optimizer.passes.fold_quantization import fold_quantization
from armnn.optimizer.passes.max_min_into_bounded_relu import max_min_into_bounded_relu
from armnn.optimizer.passes.merge_reshapes import merge_reshapes
from armnn.optimizer.passes.move_permute_down import move_permute_down
from armnn.optimizer.passes.permute_as_reshape import permute_as_reshape
from armnn.optimizer.passes.permute_batch_to_space_as_depth_to_space import (
    permute_batch_to_space_as_depth_to_space,
)
from armnn.optimizer.passes.recognize_embedding import recognize_embedding
from armnn.optimizer.passes.recognize_gelu import recognize_gelu
from armnn.optimizer.passes.recognize_hard_swish import recognize_hard_swish
from armnn.optimizer.passes.recognize_layer_normalization import recognize_layer_normalization
from armnn.optimizer.passes.recognize_swish import recognize_swish
from armnn.optimizer.passes.remove_dead_layers import remove_dead_layers
from armnn.optimizer.passes.squash_equal_siblings import squash_equal_siblings

if TYPE_CHECKING:
    from armnn.graph import Network

Pass: TypeAlias = "Callable[[Network], int]"
"""Changes a network in place and returns how many times it changed something."""

PASSES: tuple[Pass, ...] = (
    squash_equal_siblings,
    cancel_inverse_conversions,
    convert_constants,
    move_permute_down,
    cancel_inverse_permutes,
    permute_batch_to_space_as_depth_to_space,
    permute_as_reshape,
    merge_reshapes,
    delete_broadcast_to,
    max_min_into_bounded_relu,
    recognize_embedding,
    recognize_hard_swish,
    recognize_gelu,
    recognize_layer_normalization,
    recognize_swish,
    fold_batch_normalization,
    fold_channel_arithmetic,
    fold_pad,
    remove_dead_layers,
)
"""The passes in their order; callers that can compute layers put ``fold_constants`` before them."""

MAX_ROUNDS = 100
"""How often each pass runs at most; each round but the last finds what the one before uncovered."""

PassControl: TypeAlias = "Callable[[str, Network, Pass], int]"
"""Runs a pass, given its name, and returns the number of changes; 0 if it leaves it out."""

pass_control: ContextVar[PassControl | None] = ContextVar("pass_control", default=None)
"""What runs the passes of this thread, if anything else than themselves."""

_log = Logger(__name__)


def run_passes(network: Network, passes: Sequence[Pass] = PASSES) -> int:
    """Run the passes in order until none changes anything.

    A network that still changes after :data:`MAX_ROUNDS` rounds is left as it is then, which is as
    right as any round before: two passes undo each other's work, and a warning is logged.

    Args:
        network: Is changed in place.
        passes: What to run, in this order.

    Returns:
        How many changes were made.
    """
    total = idle = 0
    for rewrite in chain.from_iterable(repeat(passes, MAX_ROUNDS)):
        changes = _run(network, rewrite)
        total += changes
        idle = 0 if changes else idle + 1
        if idle == len(passes):  # none needs to see the same network again
            return total
    _log.warning("network %r: the passes still find work after %d rounds", network.name, MAX_ROUNDS)
    return total


def _run(network: Network, rewrite: Pass) -> int:
    control = pass_control.get()
    changes = rewrite(network) if control is None else control(_name(rewrite), network, rewrite)
    if changes:
        _log.debug("network %r: %s, changes: %d", network.name, _name(rewrite), changes)
    return changes


def _name(rewrite: Pass) -> str:
    function = rewrite.func if isinstance(rewrite, partial) else rewrite
    return str(getattr(function, "__name__", function))


__all__ = [
    "MAX_ROUNDS",
    "PASSES",
    "Pass",
    "PassControl",
    "cancel_inverse_conversions",
    "cancel_inverse_permutes",
    "convert_constants",
    "delete_broadcast_to",
    "fold_batch_normalization",
    "fold_channel_arithmetic",
    "fold_constants",
    "fold_pad",
    "fold_quantization",
    "max_min_into_bounded_relu",
    "merge_reshapes",
    "move_permute_down",
    "pass_control",
    "permute_as_reshape",
    "permute_batch_to_space_as_depth_to_space",
    "recognize_embedding",
    "recognize_gelu",
    "recognize_hard_swish",
    "recognize_layer_normalization",
    "recognize_swish",
    "remove_dead_layers",
    "run_passes",
    "squash_equal_siblings",
]
