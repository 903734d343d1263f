# SPDX-License-Identifier: MIT
"""Timed events of preparation and runs, and their file."""

from __future__ import annotations

from armnn._load_times import imported_before
from armnn.profiling.formats import (
    arm_nn_profile,
    chrome_trace,
    write_arm_nn_profile,
    write_chrome_trace,
)
from armnn.profiling.layer_times import PLAIN_RUN, LayerTime, layer_times, timed_runs
from armnn.profiling.recorder import Event, Recorder

__all__ = [
    "PLAIN_RUN",
    "Event",
    "LayerTime",
    "Recorder",
    "arm_nn_profile",
    "chrome_trace",
    "imported_before",
    "layer_times",
    "timed_runs",
    "write_arm_nn_profile",
    "write_chrome_trace",
]
