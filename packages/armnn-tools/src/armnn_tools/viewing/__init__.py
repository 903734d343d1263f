# SPDX-License-Identifier: MIT
"""A network as one HTML file, with times and verdicts.

:func:`described` makes the document, :func:`page` the file around it.
"""

from __future__ import annotations

from armnn_tools.viewing.document import (
    described,
    page,
    times_in_trace,
    trace_for_page,
    verdicts_in_comparison,
)

__all__ = ["described", "page", "times_in_trace", "trace_for_page", "verdicts_in_comparison"]
