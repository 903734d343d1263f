# SPDX-License-Identifier: MIT
"""Backends that compute right except for one planted fault.

They prove that a tool which looks for wrong layers finds them.
"""

from __future__ import annotations

from armnn_conformance.faults._backend import FaultyBackend
from armnn_conformance.faults._fault import Call, Fault
from armnn_conformance.faults.networks import pair_of, planted_network
from armnn_conformance.faults.table import FAULTS, PAIRS

__all__ = ["FAULTS", "PAIRS", "Call", "Fault", "FaultyBackend", "pair_of", "planted_network"]
