# SPDX-License-Identifier: MIT
"""The error of bytes that are no message."""

from __future__ import annotations


class MalformedError(Exception):
    """The bytes are not in the wire format, or incomplete."""
