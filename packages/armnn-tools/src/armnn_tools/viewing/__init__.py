# SPDX-License-Identifier: MIT
"""A network as one HTML file, with times and findings.

:func:`described` makes the document, :func:`page` the file around it.
"""

from __future__ import annotations

from armnn_tools.viewing.document import (
    described,
    findings_in_comparison,
    page,
    times_in_trace,
    trace_for_page,
)

__all__ = ["described", "findings_in_comparison", "page", "times_in_trace", "trace_for_page"]
