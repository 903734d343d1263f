# SPDX-License-Identifier: MIT
"""Rewrites of a network that help every backend.

There is one file for each family of them. A pass changes a network in place, through the network's
own operations, and returns how many times it changed something. The network computes the same
before and after: its outputs keep their names and infos, layers keep the backends that they were
meant for. A pass does nothing where it needs a dimension that is unknown, and nothing when it is
run again at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import chain, repeat
from typing import TypeAlias

from armnn.graph import Network
from armnn.optimizer.passes.cleanup import (
    Evaluate,
    fold_constants,
    remove_dead_layers,
    squash_equal_siblings,
)
from armnn.optimizer.passes.conversions import cancel_inverse_conversions, convert_constants
from armnn.optimizer.passes.fold_pad import fold_pad
from armnn.optimizer.passes.linear import fold_batch_normalization, fold_channel_arithmetic
from armnn.optimizer.passes.permutes import (
    cancel_inverse_permutes,
    move_permute_down,
    permute_batch_to_space_as_depth_to_space,
)
from armnn.optimizer.passes.quantization import FoldPolicy, fold_quantization
from armnn.optimizer.passes.recognize import (
    max_min_into_bounded_relu,
    recognize_embedding,
    recognize_gelu,
    recognize_hard_swish,
    recognize_layer_normalization,
    recognize_swish,
)
from armnn.optimizer.passes.reshapes import (
    delete_broadcast_to,
    merge_reshapes,
    permute_as_reshape,
)
from armnn.types import QuantizedArithmetic

Pass: TypeAlias = "Callable[[Network], int]"
"""Changes a network in place and returns how many times it changed something."""


class _PassForLayers:
    """A pass, with the layers without which it changes nothing: most networks have work for few."""

    __slots__ = ("__name__", "_function", "_makers", "_needed", "_readers")

    def __init__(self, function: Pass, *needed: Iterable[str], behind: Iterable[str] = ()) -> None:
        """Keep the layer types that a network must have.

        Args:
            function: Changes a network in place; returns how many times.
            needed: Types of layers, or types and functions as in "Activation Sqrt"; a network must
                have one of each of these groups.
            behind: Types of layers; one of the first group must read a real value of one of them.
        """
        self.__name__ = function.__name__
        self._needed = tuple(map(frozenset, needed))
        self._makers = frozenset(behind)
        self._readers = frozenset(each.partition(" ")[0] for each in next(iter(needed), ()))
        self._function = function

    def __call__(self, network: Network) -> int:
        """Change a network; return how many times."""
        order = network.topological_order()
        for types in self._needed:
            if types.isdisjoint(order.types):
                return 0
        if self._makers and not order.reads(self._readers, self._makers):
            return 0
        return self._function(network)


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
    squash_equal_siblings,
    _PassForLayers(cancel_inverse_conversions, _CONVERSIONS, behind=_CONVERSIONS),
    _PassForLayers(convert_constants, _CONVERSIONS, behind=("Constant",)),
    _PassForLayers(move_permute_down, _PERMUTATIONS),
    _PassForLayers(cancel_inverse_permutes, _PERMUTATIONS),
    _PassForLayers(permute_batch_to_space_as_depth_to_space, ("BatchToSpaceNd",)),
    _PassForLayers(permute_as_reshape, _PERMUTATIONS),
    _PassForLayers(merge_reshapes, ("Reshape",)),
    _PassForLayers(delete_broadcast_to, ("BroadcastTo",)),
    _PassForLayers(
        max_min_into_bounded_relu,
        ("Maximum", "ElementwiseBinary Maximum"),
        ("Minimum", "ElementwiseBinary Minimum"),
    ),
    _PassForLayers(recognize_embedding, ("BatchMatMul",), ("Comparison",)),
    _PassForLayers(recognize_hard_swish, ("Activation BoundedReLu",), _PRODUCTS),
    _PassForLayers(recognize_gelu, ("ElementwiseUnary Erf",), _PRODUCTS),
    _PassForLayers(recognize_layer_normalization, _ROOTS, _ARITHMETIC),
    _PassForLayers(recognize_swish, ("Activation Sigmoid",), _PRODUCTS),
    _PassForLayers(fold_batch_normalization, ("BatchNormalization",), behind=_LINEAR),
    _PassForLayers(fold_channel_arithmetic, ("Activation Linear", *_ARITHMETIC), behind=_LINEAR),
    _PassForLayers(fold_pad, ("Pad",), (*_CONVOLUTIONS, *_POOLINGS)),
    remove_dead_layers,
)
"""The passes in their order; callers that can compute layers put ``fold_constants`` before them."""

MAX_ROUNDS = 100
"""How often each pass runs at most; each round but the last finds what the one before uncovered."""

PassControl: TypeAlias = "Callable[[str, Network, Pass], int]"
"""Runs a pass, given its name, and returns the number of changes; 0 if it leaves it out."""

pass_control: ContextVar[PassControl | None] = ContextVar("pass_control", default=None)
"""The function that runs the passes of this thread, if it is not the usual one."""

_log = logging.getLogger(__name__)


def rewrite(network: Network, evaluate: Evaluate, accepts: FoldPolicy) -> int:
    """Rewrite a network in place; return the number of changes.

    Args:
        network: The network to rewrite; it computes the same before and after.
        evaluate: Computes a layer whose inputs are constant.
        accepts: Whether a layer on quantized values may replace one on floats.
    """
    changes = 0
    if quantizes(network):
        # Before weights are dequantized: their layers may take them as they are stored.
        fold_others = partial(fold_constants, evaluate=evaluate, leaving=("Dequantize",))
        first: tuple[Pass, ...] = (squash_equal_siblings, fold_others)
        if network.quantized_arithmetic is QuantizedArithmetic.REAL:  # else none is folded
            first = (*first, partial(fold_quantization, accepts=accepts))
        changes = run_passes(network, first)
    passes: tuple[Pass, ...] = (partial(fold_constants, evaluate=evaluate), *PASSES)
    return changes + run_passes(network, passes)


def quantizes(network: Network) -> bool:
    """Return whether a layer stores real numbers in steps."""
    return any(layer.type == "Quantize" for layer in network.layers)


def run_passes(network: Network, passes: Sequence[Pass] = PASSES) -> int:
    """Run the passes in order until none changes anything.

    A network that still changes after :data:`MAX_ROUNDS` rounds is left as it is then, which is as
    right as any round before: two passes undo each other's work, and a warning is logged.

    Args:
        network: Is changed in place.
        passes: The passes to run, in this order.

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
    "pass_control",
    "quantizes",
    "rewrite",
    "run_passes",
]
