# SPDX-License-Identifier: MIT
"""Running networks: the runtime, loaded networks, plans, memory."""

from __future__ import annotations

from armnn.runtime.default import default_runtime, load_model, optimize
from armnn.runtime.loaded_network import LoadedNetwork
from armnn.runtime.runtime import Runtime

__all__ = ["LoadedNetwork", "Runtime", "default_runtime", "load_model", "optimize"]
