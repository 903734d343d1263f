# SPDX-License-Identifier: MIT
"""A network as one HTML file, with times and verdicts.

:func:`described` makes the document, :func:`page` the file around it.
"""

from __future__ import annotations

from armnn.viewing.document import described
from armnn.viewing.measurements import times_in_trace, trace_for_page, verdicts_in_comparison
from armnn.viewing.page import page

__all__ = ["described", "page", "times_in_trace", "trace_for_page", "verdicts_in_comparison"]
