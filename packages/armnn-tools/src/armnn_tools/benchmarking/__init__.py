# SPDX-License-Identifier: MIT
"""The measurement of a model beside other runtimes."""

from armnn_tools.benchmarking.measuring import Measurement, bench
from armnn_tools.benchmarking.worker import PEERS

__all__ = ["PEERS", "Measurement", "bench"]
