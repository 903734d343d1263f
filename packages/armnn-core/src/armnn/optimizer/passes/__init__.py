# SPDX-License-Identifier: MIT
"""Rewrites of a network that help every backend.

There is one file for each. A pass changes a network in place, through the network's own operations,
and returns how many times it changed something. The network computes the same before and after: its
outputs keep their names and infos, layers keep the backends that they were meant for. A pass does
nothing where it needs a dimension that is unknown, and nothing when it is run again at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import chain, repeat
from typing import TypeAlias

from armnn.graph import Network
from armnn.optimizer.passes._on_demand import PassOnDemand

Pass: TypeAlias = "Callable[[Network], int]"
"""Changes a network in place and returns how many times it changed something."""

_ARITHMETIC = (
    *("Addition", "Subtraction", "Multiplication", "Division", "Maximum", "Minimum"),
    "ElementwiseBinary",
)
_CONVERSIONS = ("Cast", "ConvertFp16ToFp32", "ConvertFp32ToFp16")
_REAL_CONVOLUTIONS = (
    "Convolution2d",
    "DepthwiseConvolution2d",
    "TransposeConvolution2d",
    "Convolution3d",
)
_CONVOLUTIONS = (*_REAL_CONVOLUTIONS, "ConvolutionInteger")
_LINEAR = (*_REAL_CONVOLUTIONS, "FullyConnected")
_PERMUTATIONS = ("Permute", "Transpose")
_PRODUCTS = ("Multiplication", "ElementwiseBinary Mul")
_POOLINGS = ("Pooling2d", "Pooling3d")
_ROOTS = (
    *("Activation Sqrt", "ElementwiseUnary Sqrt", "ElementwiseUnary Rsqrt"),
    "LayerNormalization",
)

PASSES: tuple[Pass, ...] = (
    PassOnDemand("squash_equal_siblings"),
    PassOnDemand("cancel_inverse_conversions", _CONVERSIONS, behind=_CONVERSIONS),
    PassOnDemand("convert_constants", _CONVERSIONS, behind=("Constant",)),
    PassOnDemand("move_permute_down", _PERMUTATIONS),
    PassOnDemand("cancel_inverse_permutes", _PERMUTATIONS),
    PassOnDemand("permute_batch_to_space_as_depth_to_space", ("BatchToSpaceNd",)),
    PassOnDemand("permute_as_reshape", _PERMUTATIONS),
    PassOnDemand("merge_reshapes", ("Reshape",)),
    PassOnDemand("delete_broadcast_to", ("BroadcastTo",)),
    PassOnDemand(
        "max_min_into_bounded_relu",
        ("Maximum", "ElementwiseBinary Maximum"),
        ("Minimum", "ElementwiseBinary Minimum"),
    ),
    PassOnDemand("recognize_embedding", ("BatchMatMul",), ("Comparison",)),
    PassOnDemand("recognize_hard_swish", ("Activation BoundedReLu",), _PRODUCTS),
    PassOnDemand("recognize_gelu", ("ElementwiseUnary Erf",), _PRODUCTS),
    PassOnDemand("recognize_layer_normalization", _ROOTS, _ARITHMETIC),
    PassOnDemand("recognize_swish", ("Activation Sigmoid",), _PRODUCTS),
    PassOnDemand("fold_batch_normalization", ("BatchNormalization",), behind=_LINEAR),
    PassOnDemand("fold_channel_arithmetic", ("Activation Linear", *_ARITHMETIC), behind=_LINEAR),
    PassOnDemand("fold_pad", ("Pad",), (*_CONVOLUTIONS, *_POOLINGS)),
    PassOnDemand("remove_dead_layers"),
)
"""The passes in their order; callers that can compute layers put ``fold_constants`` before them."""

MAX_ROUNDS = 100
"""How often each pass runs at most; each round but the last finds what the one before uncovered."""

PassControl: TypeAlias = "Callable[[str, Network, Pass], int]"
"""Runs a pass, given its name, and returns the number of changes; 0 if it leaves it out."""

pass_control: ContextVar[PassControl | None] = ContextVar("pass_control", default=None)
"""What runs the passes of this thread, if anything else than themselves."""

_log = logging.getLogger(__name__)


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


__all__ = ["MAX_ROUNDS", "PASSES", "Pass", "PassControl", "pass_control", "run_passes"]
