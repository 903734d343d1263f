# SPDX-License-Identifier: MIT
"""Debug: what flows through a network, written to the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from armnn_backend_ref.ops._registry import Array, op

if TYPE_CHECKING:
    from armnn.layers.plumbing import DebugDescriptor

_LOG = logging.getLogger(__name__)


@op("Debug")
def debug(_d: DebugDescriptor, x: Array) -> Array:
    """Log the real values at level INFO and return them."""
    _LOG.info("%s%s: %s", x.dtype, list(x.shape), x)
    return x
