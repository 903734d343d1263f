# SPDX-License-Identifier: MIT
"""Timed events of preparation and runs, and their file."""

from __future__ import annotations

from armnn.profiling.chrome_trace import chrome_trace, write_chrome_trace
from armnn.profiling.events import Event, Recorder

__all__ = ["Event", "Recorder", "chrome_trace", "write_chrome_trace"]
