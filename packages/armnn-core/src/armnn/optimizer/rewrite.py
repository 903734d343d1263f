# SPDX-License-Identifier: MIT
"""Running the passes: quantisation, constant folding, then the others.

The others know no backends.
"""

from __future__ import annotations

from functools import partial

from armnn.graph import Network
from armnn.optimizer.evaluation import Evaluate
from armnn.optimizer.passes import PASSES, Pass, run_passes
from armnn.optimizer.passes.fold_constants import fold_constants
from armnn.optimizer.passes.fold_quantization import Accepts, fold_quantization
from armnn.optimizer.passes.squash_equal_siblings import squash_equal_siblings
from armnn.types import QuantizedArithmetic


def rewrite(network: Network, evaluate: Evaluate, accepts: Accepts) -> int:
    """Rewrite a network in place; return the number of changes.

    Args:
        network: What is rewritten; it computes the same before and after.
        evaluate: Computes a layer whose inputs are constant.
        accepts: Whether a layer on quantised values may replace one on floats.
    """
    changes = 0
    if quantises(network):
        # Before weights are dequantised: their layers may take them as they are stored.
        fold_others = partial(fold_constants, evaluate=evaluate, leaving=("Dequantize",))
        first: tuple[Pass, ...] = (squash_equal_siblings, fold_others)
        if network.quantized_arithmetic is QuantizedArithmetic.REAL:  # else none is folded
            first = (*first, partial(fold_quantization, accepts=accepts))
        changes = run_passes(network, first)
    passes: tuple[Pass, ...] = (partial(fold_constants, evaluate=evaluate), *PASSES)
    return changes + run_passes(network, passes)


def quantises(network: Network) -> bool:
    """Return whether a layer stores real numbers in steps."""
    return any(layer.type == "Quantize" for layer in network.layers)
