# SPDX-License-Identifier: MIT
"""The measurement of a model beside other runtimes."""

from armnn.benchmarking.measuring import Measurement, bench
from armnn.benchmarking.worker import PEERS

__all__ = ["PEERS", "Measurement", "bench"]
