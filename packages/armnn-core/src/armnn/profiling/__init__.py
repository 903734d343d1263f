# SPDX-License-Identifier: MIT
"""Where the time goes: events recorded while a network is prepared and run, and their file."""

from __future__ import annotations

from armnn.profiling.chrome_trace import chrome_trace, write_chrome_trace
from armnn.profiling.events import Event, Recorder

__all__ = ["Event", "Recorder", "chrome_trace", "write_chrome_trace"]
