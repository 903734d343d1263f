# SPDX-License-Identifier: MIT
"""Running the backend-independent passes, constant folding first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from armnn.optimizer.passes import PASSES, run_passes
from armnn.optimizer.passes.fold_constants import fold_constants

if TYPE_CHECKING:
    from armnn.graph import Network
    from armnn.optimizer.specialise import Evaluate


def rewrite(network: Network, evaluate: Evaluate) -> int:
    """Rewrite a network in place; return how many changes were made.

    Args:
        network: What is rewritten; it computes the same before and after.
        evaluate: Computes a layer whose inputs are constant.
    """
    return run_passes(network, (partial(fold_constants, evaluate=evaluate), *PASSES))
