# SPDX-License-Identifier: MIT
"""The child process that probes a file.

It imports armnn-backend-api, not the core.
"""

from __future__ import annotations

from typing import Final

LARGEST_OUTPUT: Final = 1 << 24
"""Bytes that the process may write to any one file, stdout and stderr among them."""

LARGEST_MEMORY: Final = 1 << 32
"""Bytes of private memory of the process, and resident bytes with all that it starts."""
